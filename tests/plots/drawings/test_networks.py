"""Drawings of networks: the paper's conventions, and geometry that must hold for every network."""

import re
from functools import cache
from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.path import Path

import pfn
from pfn import t
from pfn.automata import RegularExpression
from pfn.models import (
    expression_network,
    language_chain,
    language_network,
    spectrogram_hierarchy,
    tracking_network,
)
from pfn.plots import Picture, draw
from pfn.plots.drawings.contents import scheme
from pfn.plots.drawings.curves import samples
from pfn.plots.drawings.marks import LINE_TEXT, PAPER, SHADE, dash_marks, text_size
from pfn.plots.drawings.networks import sketch_network
from tests import networks

x, h, y = pfn.Variable("x", 3), pfn.Variable("h", 2), pfn.Variable("y", 4)


def parameter(name, child, parent):
    return pfn.Parameter(name, shape=(child.size, parent.size))


THROUGH_TIME = {
    "itself": pfn.Network(
        pfn.Factorization(x[t], parameter("A", x, x) @ x[t - 1] + parameter("B", x, x) @ x[t - 2]),
        pfn.Factorization(y[t], parameter("C", y, x) @ x[t]),
    ),
    "windows": networks.decays(),
    "cycle": pfn.Network(
        pfn.Factorization(h[t], parameter("A", h, x) @ x[t - 1]), pfn.Factorization(x[t], parameter("B", x, h) @ h[t])
    ),
}
OF_THE_PAPER = {
    "section 2.2": networks.section_2_2(),
    "NMF": networks.plain_nmf(4, 3),
    "transitions": networks.automaton(networks.W_NONDETERMINISTIC),
    "hierarchy": networks.regular_expression(),
    "tracker": tracking_network(),
    "spectrogram": spectrogram_hierarchy(512, (50, 40), (2, 2), (1, 2)),
    "language": language_network(4319, 50, 100),
    "chain": language_chain(4319, 100, 2),
    "expression": expression_network(RegularExpression("a+b")),
}
NETWORKS = OF_THE_PAPER | THROUGH_TIME


def sketched(network, observed=(), slices=None, plates="N"):
    return sketch_network(scheme(network, observed, slices, plates))


@cache
def sketched_by_name(name, slices):
    return sketched(NETWORKS[name], slices=slices)


def text_box(line):
    width, height = text_size(line.text, LINE_TEXT)
    (x, y), half = line.text_place, (width / 2, height / 2)
    return x - half[0], y - half[1], x + half[0], y + half[1]


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def check_geometry(sketch):
    """Lines touch the nodes that they connect and no others; nodes and labels lie apart."""
    for line in sketch.lines:
        distances = sorted(float(node.shape.clearance(samples(line.curve)).min()) for node in sketch.nodes)
        assert distances[0] > -0.1
        assert len(distances) < 3 or distances[2] > 1.5
    for first, second in combinations(sketch.nodes, 2):
        ends = second.shape.centre + np.outer([-1, 0, 1], [second.shape.half_width - second.shape.half_height, 0])
        assert first.shape.clearance(ends).min() > second.shape.half_height
    labels = [text_box(line) for line in sketch.lines if line.text]
    for first, second in combinations(labels, 2):
        assert not overlap(first, second)
    for left, bottom, right, top in labels:
        grid = np.stack(np.meshgrid(np.linspace(left, right, 9), np.linspace(bottom, top, 5)), axis=-1)
        assert all(node.shape.clearance(grid).min() > 0 for node in sketch.nodes)


@pytest.mark.parametrize("slices", [None, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_lines_keep_clear_of_nodes_and_labels_of_each_other(name, slices):
    check_geometry(sketched_by_name(name, slices))


@pytest.mark.parametrize("seed", range(6))
def test_lines_keep_clear_in_random_networks(seed):
    network = networks.random_problem(seed).network
    for slices in (None, 3):
        check_geometry(sketched(network, slices=slices))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("slices", [None, 3])
def test_every_arc_leads_from_its_parent_to_its_child(name, slices):
    network = NETWORKS[name]
    graph = network.graph() if slices is None else network.unroll(slices)
    sketch = sketched_by_name(name, slices)
    shape = {node: mark.shape for node, mark in zip(graph.nodes, sketch.nodes, strict=True)}
    arcs = [line for line in sketch.lines if line.head]
    for (parent, child), line in zip(graph.edges(), arcs, strict=True):
        assert abs(shape[parent].clearance(line.curve[0])) < 0.1
        assert abs(shape[child].clearance(line.curve[-1])) < 0.1


@pytest.mark.parametrize("name", OF_THE_PAPER)
def test_levels_go_down_and_time_to_the_right(name):
    network, sketch = OF_THE_PAPER[name], sketched_by_name(name, 3)
    graph = network.unroll(3)
    place = {node: mark.shape for node, mark in zip(graph.nodes, sketch.nodes, strict=True)}
    heights = {level: {place[node].y for node in graph if graph.nodes[node]["level"] == level} for level in range(1, 9)}
    of_levels = [found.pop() for found in heights.values() if found]
    assert of_levels == sorted(of_levels)
    assert not any(heights.values())
    for variable in network.variables:
        across = [place[node].x for node in graph if node[0] == variable.name]
        assert across == sorted(across)
        if len(across) > 2:
            assert np.ptp(np.diff(across)) < 0.2 * np.mean(np.diff(across))


def test_hidden_nodes_are_shaded_and_observed_ones_white():
    network = networks.section_2_2()
    fills = [node.fill for node in sketched(network, ["x1", network.variable("x3")]).nodes]
    white = [variable.name for variable, fill in zip(network.variables, fills, strict=True) if fill == PAPER]
    assert white == ["x1", "x3"]
    assert set(fills) == {PAPER, SHADE}
    assert draw(network, observed={"x1": np.ones((3, 2))}).axes


def test_dash_marks_tell_equations_of_one_child_apart():
    network = networks.section_2_2()
    arcs = [line for line in sketched(network, plates=None).lines if line.head]
    marks = {
        arc["parameter"]: len(dash_marks(line))
        for (_, _, arc), line in zip(network.graph().edges(data=True), arcs, strict=True)
    }
    together = {"W3": 1, "W4": 1, "W5": 2, "W6": 2, "W7": 3, "W8": 1, "W9": 2}
    assert {name: count for name, count in marks.items() if count} == together


@pytest.mark.parametrize("name", ["tracker", "section 2.2", "hierarchy"])
def test_dash_marks_touch_no_other_line(name):
    lines = sketched_by_name(name, None).lines
    drawn = [[Path(samples(line.curve)), *map(Path, dash_marks(line))] for line in lines]
    for own, *marks in drawn:
        others = [stroke for line in drawn if line[0] is not own for stroke in line]
        assert not [other for mark in marks for other in others if mark.intersects_path(other, filled=False)]


def test_crossings_that_need_not_be_are_avoided():
    arcs = [Path(samples(line.curve)) for line in sketched(networks.section_2_2()).lines]
    assert not [pair for pair in combinations(arcs, 2) if pair[0].intersects_path(pair[1], filled=False)]


def test_names_are_those_of_the_paper():
    tracker = sketched(tracking_network(), slices=2)
    assert {"$x^{4}_{2}$", "$h^{3}_{1}$"} <= {node.text for node in tracker.nodes}
    assert {"$W^{6}_{1}$", "$W^{6}_{2}$"} <= {line.text for line in tracker.lines}
    example = sketched(networks.section_2_2(), plates=None)
    assert {"$x_{12}$", "$W_{13}$"} <= {mark.text for mark in (*example.nodes, *example.lines)}


def test_a_folded_arc_says_how_many_slices_later_its_child_is():
    texts = [line.text for line in sketched(networks.automaton(networks.W_DETERMINISTIC)).lines if line.head]
    assert texts == ["$W_{1}$", r"$W_{2}$$\,({+1})$"]


@pytest.mark.parametrize("name", ["transitions", "hierarchy", "tracker"])
def test_dashed_lines_connect_what_is_forced_to_be_active_together(name):
    network = NETWORKS[name]
    graph = network.unroll(3)
    pairs = nx.Graph(graph.graph["coactivations"])
    drawn = nx.Graph()
    sketch = sketched_by_name(name, 3)
    shapes = dict(zip(graph.nodes, [mark.shape for mark in sketch.nodes], strict=True))
    for line in sketch.lines:
        if line.style == "dashed":
            ends = [node for node in graph for end in line.curve[[0, -1]] if abs(shapes[node].clearance(end)) < 0.1]
            assert len(ends) == 2
            drawn.add_edge(*ends)
    assert nx.is_forest(drawn)
    components = [sorted(map(sorted, map(list, nx.connected_components(found)))) for found in (drawn, pairs)]
    assert components[0] == components[1]


def test_plates_are_for_networks_without_links_in_time():
    nmf = networks.plain_nmf(4, 3)
    (plate,) = sketched(nmf).boxes
    assert plate.text == "$N$"
    assert sketched(nmf, plates=100).boxes[0].text == r"$\mathrm{100}$"
    assert all(plate.left < node.shape.x < plate.right for node in sketched(nmf).nodes)
    assert [node.text for node in sketched(nmf).nodes] == ["$x_{i}$", "$h_{i}$"]
    assert not sketched(nmf, plates=None).boxes
    assert not sketched(nmf, slices=3).boxes
    assert not sketched(NETWORKS["transitions"]).boxes


def test_the_same_drawing_gives_the_same_bytes():
    first, second = (draw(tracking_network(), slices=2).svg() for _ in range(2))
    assert first == second
    assert not re.search(r"20\d\d-", first)


def test_given_axes_hold_the_whole_drawing():
    figure = Figure(figsize=(4, 2))
    left, right = figure.subplots(1, 2)
    assert draw(networks.plain_nmf(4, 3), ax=right) is figure
    assert not left.patches
    assert right.patches
    assert isinstance(draw(networks.plain_nmf(4, 3)), Picture)


def test_wide_networks_get_wider_pictures():
    widths = [draw(NETWORKS["transitions"], slices=slices).get_size_inches()[0] for slices in (2, 4, 8)]
    assert all(wider > width + 1 for width, wider in pairwise(widths))


@pytest.mark.parametrize(
    ("thing", "options", "error", "match"),
    [
        (NETWORKS["NMF"], {"observed": ["z"]}, pfn.DeclarationError, "nothing called z. It has x, h, W, eq1"),
        (NETWORKS["NMF"], {"observed": "x"}, pfn.OptionError, r"list of variables, found 'x'. Write \['x'\]"),
        (NETWORKS["NMF"], {"slices": 0}, pfn.OptionError, "slices must be a whole number >= 1, found 0"),
        (NETWORKS["NMF"], {"slices": 2.5}, pfn.OptionError, "whole number >= 1, found 2.5"),
        (NETWORKS["transitions"], {"slices": 1}, pfn.OptionError, "at least 2, so that an equation fits in, found 1"),
        (NETWORKS["NMF"], {"implicit": True}, pfn.OptionError, "implicit belongs to hierarchies, found a Network"),
        (np.eye(2), {}, pfn.OptionError, "takes a Network, a StateMachine, .* found ndarray"),
    ],
)
def test_refusals_say_what_to_do(thing, options, error, match):
    with pytest.raises(error, match=match):
        draw(thing, **options)


def test_a_result_is_refused_with_its_network_named():
    result = pfn.learn(networks.plain_nmf(2, 1), {"x": np.ones((2, 3))}, iterations=1, progress=False)
    with pytest.raises(pfn.OptionError, match=r"found a Result. Write draw\(result.network"):
        draw(result)


def test_too_many_slices_are_refused() -> None:
    with pytest.raises(pfn.OptionError, match=r"slices must be at most 30, .* found 31"):
        draw(next(iter(NETWORKS.values())), slices=31)
