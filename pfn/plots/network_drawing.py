"""Networks drawn as in the paper: levels from top to bottom, time to the right, hidden variables shaded."""

from collections.abc import Iterator
from dataclasses import replace

import networkx as nx
import numpy as np

from pfn.plots.curves import Oval, Points, length_of, loop, place_along, samples, smooth, straight, trimmed, under
from pfn.plots.layers import Layers, Line, Node
from pfn.plots.layout import GAP, place
from pfn.plots.marks import with_clear_marks
from pfn.plots.schemes import Scheme, SchemeArc, SchemeNode
from pfn.plots.shapes import (
    PAPER,
    RADIUS,
    SHADE,
    BoxMark,
    LineMark,
    NodeMark,
    Sketch,
    extent,
    half_width,
    label_half_width,
)

ARC_WEIGHT, DASHED_WEIGHT = 1.0, 0.3
"""How much arcs and dashed lines pull at what they connect."""

LANE_DEPTH, LANE_STEP = 9.0, 4.0
"""How far below a row of nodes lines pass that skip some of them, and how much further for each one skipped."""

LANE_LABEL = 0.36
"""How far along such a line its label is: the middle would be below a node, where that node's own lines are."""

SLOPES = (0.5, 0.7, 1.0, 1.5, 2.5)
"""How steep lines are at least. The next one is taken, and the drawing gets higher, while a line touches a node."""

CLEARANCE = 2.0
"""Points that a line keeps from the nodes that it passes."""

LOOP_SIZE = 22.0
PLATE_MARGIN, PLATE_TEXT_ROOM = 14.0, 6.0

ARROW_ROOM = 24.0
"""Points that an arrow within a row takes besides its label."""


def sketch_network(scheme: Scheme) -> Sketch:
    """Every mark of the network's drawing, in its place."""
    drawing = _Drawing(scheme)
    sketches = (drawing.sketch(slope) for slope in SLOPES)
    sketch = next(filter(_is_clear, sketches), drawing.sketch(SLOPES[-1]))
    return replace(sketch, lines=with_clear_marks(sketch.lines))


def _is_clear(sketch: Sketch) -> bool:
    """Whether lines touch no more nodes than the two that they connect."""
    return all(
        sum(node.shape.clearance(points).min() < CLEARANCE for node in sketch.nodes) <= 2
        for points in (samples(line.curve) for line in sketch.lines)
    )


class _Drawing:
    """The scheme in layers, and its places while the marks are made."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme
        self.number = {node.key: number for number, node in enumerate(scheme.nodes)}
        self.lines = self._lines()
        self.layers = Layers.of([self._measured(node) for node in scheme.nodes], self.lines)
        flat = [line for line in self.lines if self._within_row(line)]
        self.wide_gap = max([GAP, *(2 * line.half_width + ARROW_ROOM for line in flat)])
        self.deep_rows: dict[int, float] = {}
        for start, end, half, _ in flat:
            if half and self._skipped(start, end):
                row = self.layers.row[start]
                self.deep_rows[row] = max(self.deep_rows.get(row, 0.0), self._lane(start, end))

    def sketch(self, slope: float) -> Sketch:
        """All marks, with lines at least that steep."""
        self.x, self.y = place(self.layers, wide_gap=self.wide_gap, slope=slope, deep_rows=self.deep_rows)
        self.ovals = [
            Oval(float(x), float(y), half_width(node.symbol.math()), RADIUS)
            for x, y, node in zip(self.x, self.y, self.scheme.nodes, strict=False)
        ]
        nodes = [
            NodeMark(oval, node.symbol.math(), PAPER if node.observed else SHADE)
            for oval, node in zip(self.ovals, self.scheme.nodes, strict=True)
        ]
        dashed = [LineMark(curve, head=False, style="dashed") for curve in self._coactivations()]
        arcs = [self._arc(number, arc) for number, arc in enumerate(self.scheme.arcs)]
        return self._on_plate(Sketch(nodes, [*dashed, *arcs]))

    def _lines(self) -> list[Line]:
        """The arcs, then the coactivations: those between levels need a way of their own."""
        arcs = [
            Line(self.number[arc.parent], self.number[arc.child], label_half_width(_text(arc)), ARC_WEIGHT)
            for arc in self.scheme.arcs
        ]
        dashed = [Line(self.number[a], self.number[b], 0.0, DASHED_WEIGHT) for a, b in self.scheme.coactivations]
        return arcs + dashed

    def _measured(self, node: SchemeNode) -> Node:
        loops = [label_half_width(_text(arc)) for arc in self.scheme.arcs if arc.parent == node.key == arc.child]
        beside = max((LOOP_SIZE + 2 * half for half in loops), default=0.0)
        return Node(node.level, half_width(node.symbol.math()) + beside, node.variable, node.time)

    def _within_row(self, line: Line) -> bool:
        return line.start != line.end and self.layers.row[line.start] == self.layers.row[line.end]

    def _arc(self, number: int, arc: SchemeArc) -> LineMark:
        curve = self._curve(number)
        middle = self.layers.label_place(number)
        if middle is not None:
            at = (float(self.x[middle]), float(self.y[middle]))
        else:
            x, y = place_along(curve, (0.5 if len(curve) == 4 else LANE_LABEL) * length_of(curve))[0].tolist()
            outwards = np.sign(x - self.ovals[self.number[arc.child]].x) * (label_half_width(_text(arc)) + 3)
            at = (x + (outwards if arc.parent == arc.child else 0.0), y)
        return LineMark(curve, _text(arc), at, arc.dashes)

    def _curve(self, number: int) -> Points:
        """The line outside of the nodes that it connects."""
        start, *between, end = self.layers.routes[number]
        if start == end:
            return self._loop(number)
        if between:
            points = [(float(self.x[item]), float(self.y[item])) for item in (start, *between, end)]
            return trimmed(smooth(points), self.ovals[start], self.ovals[end])
        first, last = self.ovals[start].centre, self.ovals[end].centre
        skips = self._skipped(start, end) > 0
        curve = under(first, last, RADIUS + self._lane(start, end)) if skips else straight(first, last)
        return trimmed(curve, self.ovals[start], self.ovals[end])

    def _loop(self, number: int) -> Points:
        """From a node to itself: the first on the right, the second on the left, then larger ones."""
        node = self.layers.routes[number][0]
        before = sum(route[0] == node == route[-1] for route in self.layers.routes[:number])
        return loop(self.ovals[node], np.pi * (before % 2), LOOP_SIZE * (1 + before // 2))

    def _lane(self, start: int, end: int) -> float:
        return LANE_DEPTH + LANE_STEP * self._skipped(start, end)

    def _skipped(self, start: int, end: int) -> int:
        """How many nodes and passing lines lie between two nodes of a row."""
        row = self.layers.order[self.layers.row[start]]
        return abs(row.index(start) - row.index(end)) - 1

    def _coactivations(self) -> Iterator[Points]:
        """As few dashed lines as connect all that are active together: equal to equal sums are equal sums."""
        pairs = nx.Graph()
        for number in range(len(self.scheme.arcs), len(self.lines)):
            line = self.lines[number]
            distance = np.hypot(self.x[line.start] - self.x[line.end], self.y[line.start] - self.y[line.end])
            pairs.add_edge(line.start, line.end, number=number, weight=distance)
        for _, _, edge in nx.minimum_spanning_edges(pairs):
            yield self._curve(edge["number"])

    def _on_plate(self, sketch: Sketch) -> Sketch:
        if self.scheme.plate is None:
            return sketch
        left, bottom, right, top = extent(sketch, PLATE_MARGIN)
        plate = BoxMark(left, bottom - PLATE_TEXT_ROOM, right, top, self.scheme.plate.math())
        return replace(sketch, boxes=[plate])


def _text(arc: SchemeArc) -> str:
    """The parameter; in folded networks also how many slices later the child is."""
    later = r"\,".join(f"{{{word}}}" for word in arc.later.replace("…", r"\ldots").split())
    return arc.symbol.math() + (rf"$\,({later})$" if later else "")
