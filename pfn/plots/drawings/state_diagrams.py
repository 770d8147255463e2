"""State diagrams of machines, of regular expressions, and of hierarchies (section 4.1)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from pfn.automata import Hierarchy, StateMachine
from pfn.automata.diagram import default_label
from pfn.plots.drawings.contents import Group, groups_by_level, level_transitions, state_names
from pfn.plots.drawings.curves import Oval, Points, bowed, length_of, loop, place_along, samples, straight, trimmed
from pfn.plots.drawings.marks import (
    IMPLIED,
    INK,
    LINE_TEXT,
    PAPER,
    RADIUS,
    BoxMark,
    LineMark,
    NodeMark,
    Sketch,
    extent,
    half_width,
    label_half_width,
    moved,
    text_size,
)
from pfn.plots.notation import symbol

# States. A longer line of them would not fit on a page: more go around a circle.
LONGEST_LINE = 14
# States. The search for short arrows around a circle takes a second for that many, and grows with their cube.
LARGEST_SEARCH = 40

# Points between neighbouring states, edge to edge, unless the name of an arrow needs more.
STATE_GAP = 40.0
# Points that an arrow takes beside its name.
ARROW_ROOM = 28.0
# Points between an arrow and a state that it passes.
CLEARANCE = 5.0
# Height of a bowed arrow, relative to its length: one of two that go both ways, the step to the next try, the last try.
BOW = 0.13
BOW_STEP = 0.05
MOST_BOW = 1.6
# Least height, in points, of an arrow around a state: its ends are then apart from those of arrows between neighbours.
DETOUR = 44.0
# Points.
LOOP_SIZE = 17.0
ENTRY_LENGTH = 22.0
BOX_MARGIN = 10.0
# Points between the lowest mark of a level and the boxes of the next.
LEVEL_GAP = 30.0


class Arrow(NamedTuple):
    """A transition between states, by number."""

    source: int
    target: int
    text: str = ""
    colour: str = INK


def sketch_machine(machine: StateMachine, accepting: Sequence[str] = ()) -> Sketch:
    """States and transitions of a machine; its end and the accepting states of an expression are doubled."""
    names, in_line = state_names(machine), reads_in_a_line(machine)
    wanted = [
        Arrow(names.index(source), names.index(target), transition_name(source, target, label))
        for (source, target), label in zip(machine.transitions, machine.transition_labels, strict=True)
    ]
    gap = max([STATE_GAP, *(2 * label_half_width(arrow.text) + ARROW_ROOM for arrow in wanted)])
    halves = [half_width(symbol(name).math()) for name in names]
    places = state_line(halves, gap) if in_line else state_circle(machine, 2 * max(halves) + gap)
    nodes = node_marks(machine, names, places, accepting)
    lines = arrows([node.shape for node in nodes], wanted, both_sides=not in_line, loops_up=in_line)
    return Sketch(nodes, [*lines, *entries(machine, names, nodes, in_line=in_line)])


def sketch_hierarchy(hierarchy: Hierarchy, *, implicit: bool) -> Sketch:
    """The levels of a hierarchy below each other, implicit transitions in blue where they are asked for."""
    dotted: dict[str, Any] = {"head": False, "style": "dotted", "colour": "0.4"}
    nodes: list[NodeMark] = []
    lines: list[LineMark] = []
    boxes: list[BoxMark] = []
    above: dict[str, Oval] = {}
    floor = 0.0
    for groups, full in zip(groups_by_level(hierarchy), reversed(hierarchy.levels), strict=True):
        level = _sketch_level(groups, full, {name: shape.x for name, shape in above.items()}, implicit=implicit)
        sketch = moved(level, floor - extent(level)[3] - LEVEL_GAP)
        nodes, lines, boxes = [*nodes, *sketch.nodes], [*lines, *sketch.lines], [*boxes, *sketch.boxes]
        for group, box in zip(groups, sketch.boxes, strict=False):
            for state in (above[name] for name in group.refined):
                inside = max(min(state.x, box.right - BOX_MARGIN), box.left + BOX_MARGIN)
                end = Oval(inside, box.top, 0.0, 0.0)
                lines.append(LineMark(trimmed(straight(state.centre, end.centre), state, end), **dotted))
        above = {name: node.shape for name, node in zip(state_names(full), sketch.nodes, strict=True)}
        floor = extent(sketch)[1]
    return Sketch(nodes, lines, boxes)


def _sketch_level(groups: Sequence[Group], full: StateMachine, above: Mapping[str, float], *, implicit: bool) -> Sketch:
    """The machines of one level in lines side by side, each below the states that it refines (`above`, by their x)."""
    names = state_names(full)
    number = {name: place for place, name in enumerate(names)}

    # The states of each machine, then those that several or none have: a common end state, the off state.
    own = [state_names(group.machine) for group in groups]
    common = [name for name in names if sum(name in part for part in own) != 1]
    parts = [[name for name in part if name in number and name not in common] for part in own]
    centres = [float(np.mean([above[name] for name in group.refined])) if group.refined else 0.0 for group in groups]
    if common:
        parts.append(common)
        centres.append(np.inf)  # which refines nothing, and comes last

    # From left to right, each part is moved to the right where it would cover the one before.
    x: dict[str, float] = {}
    free = -np.inf
    for centre, part in sorted(zip(centres, parts, strict=True), key=lambda pair: pair[0]):
        halves = [half_width(symbol(name).math()) for name in part]
        line = state_line(halves, STATE_GAP)[:, 0]
        shift = centre - (line[0] + line[-1]) / 2 if np.isfinite(centre) else max(free, 0.0) + halves[0]
        shift += max(0.0, free - (shift + line[0] - halves[0]))
        x |= {name: float(place + shift) for name, place in zip(part, line, strict=True)}
        free = shift + line[-1] + halves[-1] + 2 * BOX_MARGIN + STATE_GAP

    nodes = node_marks(full, names, np.array([(x[name], 0.0) for name in names]), ())
    wanted = [
        Arrow(number[source], number[target], transition_name(source, target, label), IMPLIED if implied else INK)
        for source, target, label, implied in level_transitions(groups, full)
        if implicit or not implied
    ]
    curves = arrows([node.shape for node in nodes], wanted, both_sides=False, loops_up=True)
    boxes = []
    if groups[0].refined:
        for part in parts[: len(groups)]:
            inside = {number[name] for name in part}
            within = [m for m, arrow in zip(curves, wanted, strict=True) if {arrow.source, arrow.target} <= inside]
            boxes.append(BoxMark(*extent(Sketch([nodes[place] for place in sorted(inside)], within), BOX_MARGIN)))
    starts = [mark for group in groups for mark in entries(group.machine, names, nodes, in_line=True)]
    return Sketch(nodes, [*curves, *starts], boxes)


def reads_in_a_line(machine: StateMachine) -> bool:
    """True if the states go in a line: they are few, none is off, and there is a start state or no way back."""
    steps = nx.DiGraph([pair for pair in machine.transitions if pair[0] != pair[1]])
    directed = bool(machine.start) or nx.is_directed_acyclic_graph(steps)
    return directed and machine.off is None and len(machine.states) <= LONGEST_LINE


def state_line(half_widths: Sequence[float], gap: float) -> Points:
    """Places from left to right, neighbours `gap` apart from edge to edge."""
    widths = np.asarray(half_widths)
    steps = np.r_[0, widths[:-1] + widths[1:] + gap]
    return np.column_stack([np.cumsum(steps), np.zeros(len(widths))])


def state_circle(machine: StateMachine, step: float) -> Points:
    """Places clockwise from the upper left, neighbours `step` apart; an off state of four states or more is central."""
    names = state_names(machine)
    central = machine.off is not None and len(machine.states) > 3
    ring = _two_opt_order(names[:-1] if central else names, machine.transitions)
    angles = np.pi / 2 + np.pi / len(ring) - 2 * np.pi * np.arange(len(ring)) / len(ring)
    radius = step / (2 * np.sin(np.pi / len(ring))) if len(ring) > 1 else 0.0
    if central:
        radius = max(radius, 1.25 * step)  # arrows to the middle stay long enough for their names
    places = dict(zip(ring, radius * np.column_stack([np.cos(angles), np.sin(angles)]), strict=True))
    return np.array([places.get(name, np.zeros(2)) for name in names])


def _two_opt_order(names: list[str], transitions: Sequence[tuple[str, str]]) -> list[str]:
    """An order around a circle with short arrows: stretches of it are reversed while that makes their sum less."""
    known = set(names)
    pairs = [pair for pair in transitions if known.issuperset(pair)]

    def chords(order: list[str]) -> float:
        place = {name: number for number, name in enumerate(order)}
        steps = np.array([place[source] - place[target] for source, target in pairs], dtype=float)
        return float(np.abs(np.sin(np.pi * steps / len(order))).sum())

    order, length = names, chords(names)
    improved = len(names) <= LARGEST_SEARCH
    while improved:
        improved = False
        for first, last in combinations(range(1, len(order) + 1), 2):
            turned = order[:first] + order[first:last][::-1] + order[last:]
            if (shorter := chords(turned)) < length - 1e-9:  # rounding must not count as progress, for ever
                order, length, improved = turned, shorter, True
    return order


def node_marks(machine: StateMachine, names: Sequence[str], places: Points, accepting: Sequence[str]) -> list[NodeMark]:
    """States in their places: the off state dashed, the end and accepting states doubled."""
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
    """The name of a transition as a formula; empty for the default name, which its ends say already."""
    return "" if label.startswith(default_label(source, target)) else symbol(label).math()


def entries(machine: StateMachine, names: Sequence[str], nodes: Sequence[NodeMark], *, in_line: bool) -> list[LineMark]:
    """Arrows from nowhere into the start states: from the left of a line, or from outside of a circle."""
    centre = np.mean([node.shape.centre for node in nodes], axis=0)
    found = []
    for name in machine.start:
        shape = nodes[names.index(name)].shape
        x, y = shape.centre - centre
        beside_loop = float(np.arctan2(y, x)) + np.pi / 4
        angle = beside_loop if not in_line else np.pi if name == names[0] else -3 * np.pi / 4
        outside = shape.centre + (shape.half_width + ENTRY_LENGTH) * np.array([np.cos(angle), np.sin(angle)])
        found.append(LineMark(trimmed(straight(outside, shape.centre), Oval.at(outside, 0.0), shape)))
    return found


def arrows(shapes: Sequence[Oval], wanted: Sequence[Arrow], *, both_sides: bool, loops_up: bool) -> list[LineMark]:
    """Arrows between states, with names; `both_sides`: an arrow may pass a state on its right as well."""
    curves: dict[int, Points] = {}
    obstacles = list(shapes)
    centre = np.mean([shape.centre for shape in shapes], axis=0)
    loops = Counter[int]()
    for number, arrow in enumerate(wanted):
        if arrow.source == arrow.target:
            shape, size = shapes[arrow.source], LOOP_SIZE * (1 + loops[arrow.source])
            x, y = shape.centre - centre
            upwards = loops_up or np.hypot(x, y) <= 1  # a state in the middle has no outside
            curves[number] = loop(shape, np.pi / 2 if upwards else float(np.arctan2(y, x)), size)
            obstacles.append(Oval.at(curves[number].mean(axis=0), size / 2))
            loops[arrow.source] += 1
    taken = Counter((arrow.target, arrow.source) for arrow in wanted)
    for number, arrow in enumerate(wanted):
        if arrow.source != arrow.target:
            least = taken[arrow.source, arrow.target] * BOW
            curves[number] = _clear_curve(shapes[arrow.source], shapes[arrow.target], obstacles, least, both_sides)
            taken[arrow.source, arrow.target] += 2  # a parallel one goes further out
    return _labelled([curves[number] for number in range(len(wanted))], wanted, shapes)


def _clear_curve(start: Oval, end: Oval, obstacles: Sequence[Oval], least: float, both_sides: bool) -> Points:
    """The least bowed curve that keeps clear of all obstacles; the most bowed one if none does."""
    others = [shape for shape in obstacles if shape not in (start, end)]
    sides = (1, -1) if both_sides and not least else (1,)
    around = min(2 * BOW, DETOUR / float(np.linalg.norm(end.centre - start.centre)))
    for bow in [least, *np.arange(max(least, around), MOST_BOW, BOW_STEP)]:
        for side in sides:
            curve = trimmed(bowed(start.centre, end.centre, side * bow), start, end)
            points = samples(curve)
            if all(shape.clearance(points).min() >= CLEARANCE for shape in others):
                return curve
    return curve


def _labelled(curves: list[Points], wanted: Sequence[Arrow], shapes: Sequence[Oval]) -> list[LineMark]:
    """Arrows with their names, each where it covers no state and no other name, if there is such a place."""
    written: list[Oval] = []
    marks = []
    for curve, arrow in zip(curves, wanted, strict=True):
        if not arrow.text:
            marks.append(LineMark(curve, colour=arrow.colour))
            continue
        width, height = text_size(arrow.text, LINE_TEXT)
        if arrow.source == arrow.target:  # beyond the far end of the loop
            far, _ = place_along(curve, 0.5 * length_of(curve))
            away = far - shapes[arrow.source].centre
            away /= np.linalg.norm(away)
            places = [far + away * (abs(away[0]) * width / 2 + abs(away[1]) * height / 2 + 3)]
        else:
            places = [place_along(curve, share * length_of(curve))[0] for share in (0.5, 0.4, 0.6, 0.3, 0.7)]
        ovals = [Oval.at(place, max(width, height) / 2 + 2, height / 2 + 2) for place in places]
        covered = [*shapes, *written]
        best = next((oval for oval in ovals if not any(map(oval.overlaps, covered))), ovals[0])
        written.append(best)
        marks.append(LineMark(curve, arrow.text, (best.x, best.y), colour=arrow.colour))
    return marks
