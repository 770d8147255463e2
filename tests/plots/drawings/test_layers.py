"""Layered layouts against slow and obvious answers: the fewest crossings, the least squares."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from scipy.optimize import minimize

from pfn.plots.drawings.layers import COHESION, GAP, NARROW_GAP, Layers, Line, Node, place

ARC = 1.0


def layered(levels, arcs, half_width=10.0):
    nodes = [Node(level, half_width, str(name), 0) for name, level in enumerate(levels)]
    return Layers.of(nodes, [Line(parent, child, 5.0, ARC) for parent, child in arcs])


def crossings(layers, order):
    """Pairs of lines between neighbouring rows whose ends are in opposite orders."""
    place_of = {item: number for row in order for number, item in enumerate(row)}
    links = [sorted((a, b), key=lambda item: layers.row[item]) for a, b, _ in layers.links]
    pairs = ((p, q) for p in links for q in links if layers.row[p[0]] == layers.row[q[0]])
    return sum(place_of[p[0]] < place_of[q[0]] and place_of[p[1]] > place_of[q[1]] for p, q in pairs)


def fewest_crossings(lower, upper, arcs):
    """The minimum over all orders of two rows of nodes."""

    def count(below, above):
        ends = [(below.index(child), above.index(parent)) for parent, child in arcs]
        return sum(p[0] < q[0] and p[1] > q[1] for p in ends for q in ends)

    return min(count(below, above) for below, above in product(permutations(lower), permutations(upper)))


@pytest.mark.parametrize("seed", range(30))
def test_orders_have_the_fewest_crossings_of_all(seed):
    random = np.random.default_rng(seed)
    lower, upper = range(4), range(4, 8)
    arcs = [(a, b) for a in upper for b in lower if random.random() < 0.45]
    layers = layered([0] * 4 + [1] * 4, arcs)
    assert crossings(layers, layers.order) == fewest_crossings(lower, upper, arcs)


def test_a_line_over_several_levels_has_a_place_in_each():
    layers = layered([0, 1, 2], [(2, 1), (1, 0), (2, 0)])
    route = layers.routes[2]
    assert [layers.row[item] for item in route] == [4, 3, 2, 1, 0]
    assert layers.label_place(2) == route[2]
    assert layers.half_width[route[2]] == 5.0
    assert sorted(item for row in layers.order for item in row) == list(range(len(layers.row)))


def wishes(layers, x):
    return sum(weight**2 * (x[a] - x[b]) ** 2 for a, b, weight in layers.links)


def gaps(layers, x):
    ends = np.array([pair for row in layers.order for pair in pairwise(row)])
    return np.diff(np.asarray(x)[ends])[:, 0] - np.asarray(layers.half_width)[ends].sum(axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_places_are_the_least_squares_that_keep_the_gaps(seed):
    random = np.random.default_rng(seed)
    arcs = [(a, b) for a in range(3, 6) for b in range(3) if random.random() < 0.6] + [(6, 3), (6, 0)]
    layers = layered([0, 0, 0, 1, 1, 1, 2], arcs)
    x, _ = place(layers, wide_gap=GAP, slope=0.5, deep_rows={})
    least = np.array([NARROW_GAP if layers.row[row[0]] % 2 else GAP for row in layers.order for _ in pairwise(row)])
    assert (gaps(layers, x) >= least - 1e-6).all()
    limits = {"type": "ineq", "fun": lambda trial: gaps(layers, trial) - least}
    found = minimize(lambda trial: wishes(layers, trial), x, constraints=limits)
    assert wishes(layers, x) <= found.fun * 1.001 + 0.01


def test_lines_are_as_steep_as_asked():
    layers = layered([0] * 9 + [1], [(9, child) for child in range(9)])
    for slope in (0.3, 1.0, 3.0):
        x, y = place(layers, wide_gap=GAP, slope=slope, deep_rows={})
        assert all(abs(y[a] - y[b]) >= slope * abs(x[a] - x[b]) - 1e-6 for a, b, _ in layers.links)


def test_deep_rows_get_their_room():
    layers = layered([0, 1], [(1, 0)])
    plain = place(layers, wide_gap=GAP, slope=0.5, deep_rows={}).y
    deep = place(layers, wide_gap=GAP, slope=0.5, deep_rows={2: 25.0}).y
    assert deep[1] - plain[1] == pytest.approx(25.0)


def test_slices_are_in_step_and_equal_ones_above_each_other():
    times = range(5)
    nodes = [Node(level, 10.0, name, time) for level, name in enumerate("xz") for time in times]
    lines = [Line(5 + time, time + lag, 5.0, ARC) for time in times for lag in (0, 1) if time + lag < 5]
    x, _ = place(Layers.of(nodes, lines), wide_gap=GAP, slope=0.5, deep_rows={})
    step = np.diff(x[:5]).mean()
    assert np.allclose(np.diff(x[:5]), step, rtol=0.1)
    assert np.abs(x[5:10] - x[:5]).max() < step / COHESION
