"""Networks drawn as in the paper: levels from top to bottom, time to the right, hidden variables shaded."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import networkx as nx
import numpy as np
from scipy.spatial import KDTree

from pfn.plots.drawings.contents import Scheme, SchemeArc, SchemeNode
from pfn.plots.drawings.curves import (
    Oval,
    Points,
    length_of,
    loop,
    place_along,
    samples,
    smooth,
    straight,
    trimmed,
    under,
)
from pfn.plots.drawings.layers import GAP, Layers, Line, Node, place
from pfn.plots.drawings.marks import (
    LINE_TEXT,
    MARK_PLACE,
    MARK_STEP,
    PAPER,
    RADIUS,
    SHADE,
    BoxMark,
    LineMark,
    NodeMark,
    Sketch,
    dash_marks,
    extent,
    half_width,
    label_half_width,
    text_size,
)

# Pull of arcs and of dashed lines at the nodes that they connect: dashed ones may be longer.
ARC_WEIGHT = 1.0
DASHED_WEIGHT = 0.3

# Points below a row of nodes where a line passes that skips some of them, and more for each node skipped.
LANE_DEPTH = 9.0
LANE_STEP = 4.0
# Share of such a line at which its label stands: the middle would be below a node, among that node's own lines.
LANE_LABEL = 0.36

# Least slopes of lines, down for 1 to the side: the next is tried, and the drawing gets higher, while a line touches
# a node that it does not connect.
SLOPES = (0.5, 0.7, 1.0, 1.5, 2.5)
# Points between a line and the nodes that it passes.
CLEARANCE = 2.0

# Points.
LOOP_SIZE = 22.0
PLATE_MARGIN = 14.0
PLATE_TEXT_ROOM = 6.0
# Points that an arrow within a row takes beside its label.
ARROW_ROOM = 24.0

# Points between dash marks and other lines or texts.
MARK_CLEARANCE = 2.0
# Share of a line, next to its end, in which its dash marks stay.
MARK_SHARE = 0.5


def sketch_network(scheme: Scheme) -> Sketch:
    """Every mark of a network's drawing, in its place."""
    drawing = _Drawing(scheme)
    for slope in SLOPES:
        sketch = drawing.sketch(slope)
        touched = (
            sum(node.shape.clearance(points).min() < CLEARANCE for node in sketch.nodes)
            for points in (samples(line.curve) for line in sketch.lines)
        )
        if all(count <= 2 for count in touched):  # the two nodes that the line connects
            break
    return replace(sketch, lines=with_clear_marks(sketch.lines))


class _Drawing:
    """The scheme in layers, and the places of its marks for one slope at a time."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme
        self.number = {node.key: number for number, node in enumerate(scheme.nodes)}
        # The arcs, then the coactivations.
        self.lines = [
            Line(self.number[arc.parent], self.number[arc.child], label_half_width(_text(arc)), ARC_WEIGHT)
            for arc in scheme.arcs
        ]
        self.lines += [Line(self.number[a], self.number[b], 0.0, DASHED_WEIGHT) for a, b in scheme.coactivations]
        self.layers = Layers.of([self._measured(node) for node in scheme.nodes], self.lines)
        row = self.layers.row
        flat = [line for line in self.lines if line.start != line.end and row[line.start] == row[line.end]]
        self.wide_gap = max([GAP, *(2 * line.half_width + ARROW_ROOM for line in flat)])
        self.deep_rows: dict[int, float] = {}
        for start, end, half, _ in flat:
            if half and self._skipped(start, end):
                self.deep_rows[row[start]] = max(self.deep_rows.get(row[start], 0.0), self._lane(start, end))

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
        sketch = Sketch(nodes, [*dashed, *arcs])
        if self.scheme.plate is None:
            return sketch
        left, bottom, right, top = extent(sketch, PLATE_MARGIN)
        plate = BoxMark(left, bottom - PLATE_TEXT_ROOM, right, top, self.scheme.plate.math())
        return replace(sketch, boxes=[plate])

    def _measured(self, node: SchemeNode) -> Node:
        """A node with the room that it and its loops take to the side."""
        loops = [label_half_width(_text(arc)) for arc in self.scheme.arcs if arc.parent == node.key == arc.child]
        beside = max((LOOP_SIZE + 2 * half for half in loops), default=0.0)
        return Node(node.level, half_width(node.symbol.math()) + beside, node.variable, node.time)

    def _arc(self, number: int, arc: SchemeArc) -> LineMark:
        """An arc with its label: in the place that the layers keep for it, or else along the curve."""
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
        """A line, outside of the nodes that it connects."""
        start, *between, end = self.layers.routes[number]
        if start == end:  # the first loop of a node on the right, the second on the left, then larger ones
            before = sum(route[0] == start == route[-1] for route in self.layers.routes[:number])
            return loop(self.ovals[start], np.pi * (before % 2), LOOP_SIZE * (1 + before // 2))
        if between:
            points = [(float(self.x[item]), float(self.y[item])) for item in (start, *between, end)]
            return trimmed(smooth(points), self.ovals[start], self.ovals[end])
        first, last = self.ovals[start].centre, self.ovals[end].centre
        skips = self._skipped(start, end) > 0
        curve = under(first, last, RADIUS + self._lane(start, end)) if skips else straight(first, last)
        return trimmed(curve, self.ovals[start], self.ovals[end])

    def _lane(self, start: int, end: int) -> float:
        """Depth of the line between two nodes of a row that passes below others."""
        return LANE_DEPTH + LANE_STEP * self._skipped(start, end)

    def _skipped(self, start: int, end: int) -> int:
        """Number of nodes and passing lines between two nodes of a row."""
        row = self.layers.order[self.layers.row[start]]
        return abs(row.index(start) - row.index(end)) - 1

    def _coactivations(self) -> Iterator[Points]:
        """The fewest dashed lines that connect all that are active together."""
        # If a = b and b = c are drawn, a = c needs no line: the edges of a spanning tree say it all.
        pairs = nx.Graph()
        for number in range(len(self.scheme.arcs), len(self.lines)):
            line = self.lines[number]
            distance = np.hypot(self.x[line.start] - self.x[line.end], self.y[line.start] - self.y[line.end])
            pairs.add_edge(line.start, line.end, number=number, weight=distance)
        for _, _, edge in nx.minimum_spanning_edges(pairs):
            yield self._curve(edge["number"])


def _text(arc: SchemeArc) -> str:
    """The label of an arc: its parameter and, in folded networks, the slices from parent to child."""
    later = r"\,".join(f"{{{word}}}" for word in arc.later.replace("…", r"\ldots").split())
    return arc.symbol.math() + (rf"$\,({later})$" if later else "")


def with_clear_marks(lines: Sequence[LineMark]) -> list[LineMark]:
    """Lines with their dash marks as near to the end as they touch no other line, text or mark."""
    if not any(line.dashes for line in lines):
        return list(lines)
    curves = [samples(line.curve) for line in lines]
    tree = KDTree(np.concatenate(curves))
    owner = np.repeat(np.arange(len(lines)), [len(curve) for curve in curves])
    texts = [(line.text, line.text_place) for line in lines if line.text and line.text_place]
    centres = np.array([place for _, place in texts]).reshape(-1, 2)
    halves = np.array([text_size(text, LINE_TEXT) for text, _ in texts]).reshape(-1, 2) / 2 + MARK_CLEARANCE
    marks: Points = np.empty((0, 2))

    def is_clear(points: Points, number: int) -> bool:
        """True if points touch no line but that with the number, no text and no mark."""
        near = np.concatenate(tree.query_ball_point(points, MARK_CLEARANCE)).astype(int)
        on_text = (np.abs(points[:, None] - centres) < halves).all(axis=-1).any()
        to_marks = np.linalg.norm(points[:, None] - marks, axis=-1).min(initial=np.inf)
        return bool((owner[near] == number).all() and not on_text and to_marks > MARK_CLEARANCE)

    placed = []
    for number, line in enumerate(lines):
        last = MARK_SHARE * length_of(line.curve) - line.dashes * MARK_STEP if line.dashes else 0.0
        tries = (replace(line, dashes_at=float(at)) for at in np.arange(MARK_PLACE, last, MARK_STEP / 2))
        clear = (moved for moved in tries if is_clear(_mark_points(moved), number))
        placed.append(next(clear, line))
        marks = np.concatenate([marks, _mark_points(placed[-1])])
    return placed


def _mark_points(line: LineMark) -> Points:
    """Five points of each dash mark of a line, (5 dashes, 2)."""
    return np.concatenate([np.empty((0, 2)), *(np.linspace(mark[0], mark[1], 5) for mark in dash_marks(line))])
