"""State diagrams of machines and of regular expressions."""

from collections.abc import Sequence

import numpy as np

from pfn.automata import RegularExpression, StateMachine
from pfn.automata.diagram import default_label
from pfn.plots.arrows import Arrow, arrows, entry
from pfn.plots.curves import Oval, Points
from pfn.plots.groups import state_names
from pfn.plots.shapes import PAPER, RADIUS, LineMark, NodeMark, Sketch, half_width, label_half_width
from pfn.plots.state_layout import BESIDE, reads_in_a_line, state_places
from pfn.plots.symbols import symbol

ARROW_ROOM = 28.0
"""Points that an arrow takes besides its name."""


def sketch_machine(machine: StateMachine, accepting: Sequence[str] = ()) -> Sketch:
    """The states and transitions of a machine; states in which one may end are doubled."""
    names, in_line = state_names(machine), reads_in_a_line(machine)
    wanted = _wanted(machine, names)
    room = max([BESIDE, *(2 * label_half_width(arrow.text) + ARROW_ROOM for arrow in wanted)])
    places = state_places(machine, [half_width(symbol(name).math()) for name in names], room)
    nodes = node_marks(machine, names, places, accepting)
    lines = arrows([node.shape for node in nodes], wanted, both_sides=not in_line, loops_up=in_line)
    return Sketch(nodes, [*lines, *entries(machine, names, nodes, in_line=in_line)])


def sketch_expression(expression: RegularExpression) -> Sketch:
    """The machine of an expression: letters with their positions, arrows into the initial, accepting ones doubled."""
    return sketch_machine(expression.machine, expression.accepting)


def node_marks(machine: StateMachine, names: Sequence[str], places: Points, accepting: Sequence[str]) -> list[NodeMark]:
    """The states in their places: dashed for off, doubled for an end."""
    final = {machine.end, *accepting}
    return [
        NodeMark(
            Oval(float(x), float(y), half_width(symbol(name).math()), RADIUS),
            symbol(name).math(),
            PAPER,
            "dashed" if name == machine.off else "solid",
            name in final,
        )
        for name, (x, y) in zip(names, places, strict=True)
    ]


def transition_name(source: str, target: str, label: str) -> str:
    """The name of a transition, if it was given one."""
    return "" if label.startswith(default_label(source, target)) else symbol(label).math()


def entries(machine: StateMachine, names: Sequence[str], nodes: Sequence[NodeMark], *, in_line: bool) -> list[LineMark]:
    """Arrows from nowhere into the start states: from the left, or from outside of the circle."""
    centre = np.mean([node.shape.centre for node in nodes], axis=0)
    found = []
    for name in machine.start:
        shape = nodes[names.index(name)].shape
        x, y = shape.centre - centre
        beside_loop = np.arctan2(y, x) + np.pi / 4
        angle = beside_loop if not in_line else np.pi if name == names[0] else -3 * np.pi / 4
        found.append(entry(shape, float(angle)))
    return found


def _wanted(machine: StateMachine, names: Sequence[str]) -> list[Arrow]:
    return [
        Arrow(names.index(source), names.index(target), transition_name(source, target, label))
        for (source, target), label in zip(machine.transitions, machine.transition_labels, strict=True)
    ]
