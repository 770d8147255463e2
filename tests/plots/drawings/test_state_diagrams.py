"""State diagrams: every transition is an arrow between its states, clear of the others; hierarchies level by level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

import pfn
from pfn.automata import Hierarchy, RegularExpression, StateMachine
from pfn.models.targets import TargetModel
from pfn.models.tracking import PAPER_KINDS
from pfn.plots import draw
from pfn.plots.drawings.curves import samples
from pfn.plots.drawings.marks import IMPLIED, INK
from pfn.plots.drawings.state_diagrams import sketch_hierarchy, sketch_machine

STATES = ["S1", "S2", "S3", "S4"]
AROUND = [("S1", "S2"), ("S2", "S3"), ("S3", "S4"), ("S4", "S1")]
LABELS = ["t1", "t2", "t3", "t4", "t5", "t6"]
TARGETS = TargetModel(15, 5, PAPER_KINDS)
MACHINES = {
    "four states": StateMachine(STATES, [*AROUND, ("S3", "S3"), ("S2", "S4")], labels=LABELS),
    "deterministic": StateMachine(STATES, AROUND),
    "targets": TARGETS.state_machine,
    "positions": TARGETS.position_machine,
    "one state": StateMachine(["only"], [("only", "only")], start="only"),
    "no transition": StateMachine(["a", "b"], []),
    "everything": StateMachine(list("abcde"), [(a, b) for a in "abcde" for b in "abcde"]),
    "parallel": StateMachine(["p", "q"], [("p", "q"), ("p", "q"), ("q", "p")], labels=["one", "two", "back again"]),
    "parallel loops": StateMachine(["p", "q"], [("p", "p"), ("p", "p"), ("p", "q")], labels=["one", "two", "three"]),
    "odd names": StateMachine(["$", "a_b", "\\x^", " "], [("$", "a_b"), ("a_b", "\\x^"), ("\\x^", " ")]),
}
LOWER = StateMachine(["d", "e", "end"], [("d", "e"), ("e", "end"), ("e", "d")], start="d", end="end")
OTHER = StateMachine(["f", "g", "end"], [("f", "g"), ("g", "end")], start="f", end="end")
MIDDLE = StateMachine(["m", "n", "rest"], [("m", "n"), ("n", "rest")], start="m", end="rest")
PAPER_UPPER = StateMachine(
    ["a", "b", "S3", "c", "S5", "stop"],
    [("a", "a"), ("a", "b"), ("b", "S3"), ("b", "c"), ("S3", "c"), ("c", "S5"), ("S5", "stop"), ("stop", "a")],
    start="a",
    end="stop",
)
UPPER = StateMachine(["a", "S", "T"], [("a", "S"), ("S", "T"), ("T", "a")], start="a")
HIERARCHIES = {
    "a+b(de)*c(de)+": Hierarchy(PAPER_UPPER, {"S3": LOWER, "S5": LOWER}),
    "two machines below": Hierarchy(UPPER, {"S": LOWER, "T": OTHER}),
    "three levels": Hierarchy(UPPER, {"S": Hierarchy(MIDDLE, {"n": LOWER})}),
}


def check_arrows(shapes, transitions, lines):
    """Each line from its source to its target, touching no other state, and none on top of another."""
    assert len(lines) == len(transitions)
    curves = [samples(line.curve) for line in lines]
    for (source, target), points in zip(transitions, curves, strict=True):
        assert abs(shapes[source].clearance(points[0])) < 0.1
        assert abs(shapes[target].clearance(points[-1])) < 0.1
        for name, shape in shapes.items():
            if name not in (source, target):
                assert shape.clearance(points).min() > 2
    middles = np.array([points[len(points) // 2] for points in curves]).reshape(-1, 2)
    ends = np.array([points[[0, -1]] for points in curves]).reshape(-1, 4)
    for number, (middle, end) in enumerate(zip(middles, ends, strict=True)):
        same = np.linalg.norm(middles[:number] - middle, axis=1) < 3
        assert not (np.linalg.norm(ends[:number] - end, axis=1)[same] < 3).any()


def drawn_names(machine):
    return [*machine.states, *([machine.off] if machine.off else [])]


@pytest.mark.parametrize("name", MACHINES)
def test_every_transition_is_an_arrow_between_its_states(name):
    machine = MACHINES[name]
    sketch = sketch_machine(machine)
    shapes = {state: node.shape for state, node in zip(drawn_names(machine), sketch.nodes, strict=True)}
    check_arrows(shapes, machine.transitions, sketch.lines[: len(machine.transitions)])
    assert len(sketch.lines) == len(machine.transitions) + len(machine.start)
    assert draw(machine).svg()


@settings(max_examples=25, deadline=None)
@given(
    pairs=st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20),
    in_line=st.booleans(),
    off=st.booleans(),
)
def test_arrows_keep_clear_in_any_machine(pairs, in_line, off):
    names = [f"S{number}" for number in range(7)]
    transitions = [(names[a], names[b]) for a, b in sorted(pairs) if not (off and a == b == 6)]
    machine = StateMachine(names, transitions, start="S0" if in_line else (), off="S6" if off else None)
    sketch = sketch_machine(machine)
    shapes = {state: node.shape for state, node in zip(drawn_names(machine), sketch.nodes, strict=True)}
    check_arrows(shapes, transitions, sketch.lines[: len(transitions)])


def test_named_transitions_show_their_names():
    texts = [line.text for line in sketch_machine(MACHINES["four states"]).lines]
    assert texts == [f"$t_{{{number}}}$" for number in range(1, 7)]
    assert {line.text for line in sketch_machine(MACHINES["deterministic"]).lines} == {""}


def test_names_cover_no_state_and_no_other_name():
    sketch = sketch_machine(MACHINES["four states"])
    places = np.array([line.text_place for line in sketch.lines])
    assert all(node.shape.clearance(places).min() > 3 for node in sketch.nodes)
    apart = np.linalg.norm(places[:, None] - places, axis=-1) + 100 * np.eye(len(places))
    assert apart.min() > 10


def test_the_off_state_is_dashed_and_in_the_middle():
    *others, off = sketch_machine(TARGETS.state_machine).nodes
    assert off.outline == "dashed"
    assert {node.outline for node in others} == {"solid"}
    assert np.allclose(off.shape.centre, np.mean([node.shape.centre for node in others], axis=0))


def test_an_expression_shows_where_it_begins_and_may_end():
    expression = RegularExpression("a+b(de)*c(de)+")
    sketch = sketch_machine(expression.machine, expression.accepting)
    assert [node.text for node in sketch.nodes] == [f"${name[0]}_{{{name[1]}}}$" for name in expression.machine.states]
    assert [node.doubled for node in sketch.nodes] == [
        state in expression.accepting for state in expression.machine.states
    ]
    (entry,) = sketch.lines[len(expression.machine.transitions) :]
    assert abs(sketch.nodes[0].shape.clearance(entry.curve[-1])) < 0.1
    across = [node.shape.x for node in sketch.nodes]
    assert across == sorted(across)


@pytest.mark.parametrize("name", HIERARCHIES)
def test_a_hierarchy_shows_every_level_below_what_it_refines(name):
    hierarchy = HIERARCHIES[name]
    sketch = sketch_hierarchy(hierarchy, implicit=True)
    nodes = iter(sketch.nodes)
    heights = []
    for machine in reversed(hierarchy.levels):
        level = [next(nodes).shape for _ in machine.states]
        heights.append(level[0].y)
        assert {shape.y for shape in level} == {level[0].y}
    assert heights == sorted(heights, reverse=True)
    assert next(nodes, None) is None
    for box in sketch.boxes:
        inside = [node for node in sketch.nodes if box.left < node.shape.x < box.right]
        assert any(box.bottom < node.shape.y < box.top for node in inside)


@pytest.mark.parametrize("name", HIERARCHIES)
def test_implicit_transitions_are_blue(name):
    hierarchy = HIERARCHIES[name]
    drawn = dict.fromkeys((INK, IMPLIED), 0)
    for line in sketch_hierarchy(hierarchy, implicit=True).lines:
        if line.head:
            drawn[line.colour] += 1
    plain = [line for line in sketch_hierarchy(hierarchy, implicit=False).lines if line.head]
    assert {line.colour for line in plain} == {INK}
    assert drawn[INK] == len(plain)
    everything = sum(len(machine.transitions) for machine in hierarchy.levels)
    members = {"a+b(de)*c(de)+": [PAPER_UPPER, LOWER], "two machines below": [UPPER, LOWER, OTHER]}
    machines = members.get(name, [UPPER, MIDDLE, LOWER])
    starts = sum(len(machine.start) for machine in machines)
    assert drawn[INK] == sum(len(machine.transitions) for machine in machines) + starts
    assert drawn[IMPLIED] == everything - (drawn[INK] - starts)


def test_the_papers_hierarchy_has_its_eleven_and_five_transitions():
    blue = [
        line for line in sketch_hierarchy(HIERARCHIES["a+b(de)*c(de)+"], implicit=True).lines if line.colour == IMPLIED
    ]
    assert len(blue) == (11 - 8) + (5 - 3)


def test_equal_machines_share_a_box_below_their_states():
    sketch = sketch_hierarchy(HIERARCHIES["a+b(de)*c(de)+"], implicit=False)
    (box,) = sketch.boxes
    dotted = [line for line in sketch.lines if line.style == "dotted"]
    refining = [node.shape for node in sketch.nodes if node.text in ("$S_{3}$", "$S_{5}$")]
    assert len(dotted) == len(refining) == 2
    for line, shape in zip(dotted, refining, strict=True):
        assert abs(shape.clearance(line.curve[0])) < 0.1
        assert line.curve[-1][1] == pytest.approx(box.top)


def test_given_axes_are_drawn_on():
    figure = Figure()
    axes = figure.subplots()
    assert draw(HIERARCHIES["three levels"], ax=axes, implicit=True) is figure
    assert axes.patches


@pytest.mark.parametrize("options", [{"observed": ["x"]}, {"slices": 3}])
def test_options_of_networks_are_refused(options):
    with pytest.raises(pfn.OptionError, match="observed and slices belong to networks, found a StateMachine"):
        draw(MACHINES["deterministic"], **options)
