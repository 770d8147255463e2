"""Diagrams of hierarchies (section 4.1): the upper machine, and below its states the machines that they refine into."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pfn.automata import Hierarchy, StateMachine
from pfn.plots.arrows import Arrow, arrows
from pfn.plots.curves import Oval, straight, trimmed
from pfn.plots.diagrams import entries, node_marks, transition_name
from pfn.plots.groups import Group, groups_by_level, level_transitions, state_names
from pfn.plots.shapes import IMPLIED, INK, BoxMark, LineMark, NodeMark, Sketch, extent, half_width, moved
from pfn.plots.state_layout import BESIDE, line
from pfn.plots.symbols import symbol

BOX_MARGIN = 10.0
BETWEEN_LEVELS = 30.0
"""Points between the lowest mark of a level and the boxes of the next."""

REFINES: dict[str, Any] = {"head": False, "style": "dotted", "colour": "0.4"}


def sketch_hierarchy(hierarchy: Hierarchy, *, implicit: bool) -> Sketch:
    """All levels below each other, with the implicit transitions in blue if they are asked for."""
    nodes: list[NodeMark] = []
    lines: list[LineMark] = []
    boxes: list[BoxMark] = []
    above: dict[str, NodeMark] = {}
    floor = 0.0
    for groups, full in zip(groups_by_level(hierarchy), reversed(hierarchy.levels), strict=True):
        level = _Level(groups, full, {name: mark.shape.x for name, mark in above.items()}, implicit=implicit)
        top = extent(level.sketch)[3]
        sketch = moved(level.sketch, floor - top - BETWEEN_LEVELS)
        nodes, lines, boxes = [*nodes, *sketch.nodes], [*lines, *sketch.lines], [*boxes, *sketch.boxes]
        lines += [
            _refinement(above[state].shape, box)
            for group, box in zip(groups, sketch.boxes, strict=False)
            for state in group.refined
        ]
        above, floor = dict(zip(level.names, sketch.nodes, strict=True)), extent(sketch)[1]
    return Sketch(nodes, lines, boxes)


def _refinement(state: Oval, box: BoxMark) -> LineMark:
    """A dotted line from a state to the box of its machine."""
    inside = max(min(state.x, box.right - BOX_MARGIN), box.left + BOX_MARGIN)
    end = Oval(inside, box.top, 0.0, 0.0)
    return LineMark(trimmed(straight(state.centre, end.centre), state, end), **REFINES)


class _Level:
    """One level while its marks are made: groups in lines next to each other, each near what it refines."""

    def __init__(self, groups: Sequence[Group], full: StateMachine, above: dict[str, float], *, implicit: bool) -> None:
        self.groups, self.full = groups, full
        self.names = state_names(full)
        self.parts = self._parts()
        number = {name: place for place, name in enumerate(self.names)}
        x = self._across(above)
        self.nodes = node_marks(full, self.names, np.array([(x[name], 0.0) for name in self.names]), ())
        wanted = [
            Arrow(number[a], number[b], transition_name(a, b, label), IMPLIED if implied else INK)
            for a, b, label, implied in level_transitions(groups, full)
            if implicit or not implied
        ]
        curves = arrows([node.shape for node in self.nodes], wanted, both_sides=False, loops_up=True)
        boxes = [self._box(part, curves, wanted) for part in self.parts[: len(groups)]] if groups[0].refined else []
        starts = [mark for group in groups for mark in entries(group.machine, self.names, self.nodes, in_line=True)]
        self.sketch = Sketch(self.nodes, [*curves, *starts], boxes)

    def _parts(self) -> list[list[str]]:
        """The states of each machine, then what none has to itself: a common end state, the off state."""
        own = [state_names(group.machine) for group in self.groups]
        common = [name for name in self.names if sum(name in part for part in own) != 1]
        parts = [[name for name in part if name in self.names and name not in common] for part in own]
        return [*parts, common] if common else parts

    def _across(self, above: dict[str, float]) -> dict[str, float]:
        """Each part centred below what it refines, moved to the right where it would cover the one before."""
        places: dict[str, float] = {}
        order = sorted(range(len(self.parts)), key=lambda number: self._wanted(number, above))
        free = -np.inf
        for number in order:
            part = self.parts[number]
            halves = [half_width(symbol(name).math()) for name in part]
            x = line(halves)[:, 0]
            shift = self._wanted(number, above) - (x[0] + x[-1]) / 2
            if not np.isfinite(shift):
                shift = max(free, 0.0) + halves[0]
            shift += max(0.0, free - (shift + x[0] - halves[0]))
            places |= {name: float(place + shift) for name, place in zip(part, x, strict=True)}
            free = shift + x[-1] + halves[-1] + 2 * BOX_MARGIN + BESIDE
        return places

    def _wanted(self, number: int, above: dict[str, float]) -> float:
        """The middle of what a part refines; what refines nothing comes last."""
        if number >= len(self.groups):
            return np.inf
        refined = self.groups[number].refined
        return float(np.mean([above[state] for state in refined])) if refined else 0.0

    def _box(self, part: Sequence[str], curves: Sequence[LineMark], wanted: Sequence[Arrow]) -> BoxMark:
        inside = {self.names.index(name) for name in part}
        own = [mark for mark, arrow in zip(curves, wanted, strict=True) if {arrow.source, arrow.target} <= inside]
        left, bottom, right, top = extent(Sketch([self.nodes[number] for number in sorted(inside)], own), BOX_MARGIN)
        return BoxMark(left, bottom, right, top)
