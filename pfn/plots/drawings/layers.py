"""Layered drawings: rows and orders in which few lines cross, then places by least squares, then the rows' heights.

Every second row holds nodes; the rows between hold the places where lines pass, with room for their labels. A line
that passes a row of nodes has a place there too, so that it keeps clear of them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear

# Orders to start from, and passes down and up from each. With 40 starts and 16 passes, one of 120 drawings of random
# networks and none of the paper's got better; most need one of each, four slices of the tracker 19 and 5.
STARTS = 20
PASSES = 6

# Points between neighbours in a row, edge to edge, and between neighbours in the rows of labels.
GAP = 16.0
NARROW_GAP = 7.0
# Least height, in points, from a row of nodes to the labels above it, where arrows end, and to those below it.
ABOVE_NODES = 41.0
BELOW_NODES = 29.0
# Weights against a line's wish to be straight: the slices of an unrolled network look alike; variables with the same
# slices are above each other.
REGULARITY = 4.0
COHESION = 2.0
# Weight of the wish to be at x = 0: nothing else says where the whole drawing is.
ANCHOR = 1e-3


class Node(NamedTuple):
    """A node to place: its level, half its width, and, in unrolled networks, its variable and time slice."""

    level: int
    half_width: float
    variable: str
    time: int


class Line(NamedTuple):
    """A line from node to node (by number), half the width of its label, the weight of its wish to be straight."""

    start: int
    end: int
    half_width: float
    weight: float


@dataclass
class Layers:
    """Items by number, the nodes first, then the places that lines pass: their rows, sizes and order."""

    nodes: Sequence[Node]
    row: list[int]
    """The row of every item, from the bottom up."""
    half_width: list[float]
    links: list[tuple[int, int, float]] = field(default_factory=list)
    """Pairs of items in neighbouring rows that a line connects, with its weight."""
    routes: list[list[int]] = field(default_factory=list)
    """For every line the items that it passes, from end to end; lines within a row pass none."""
    order: list[list[int]] = field(default_factory=list)
    """The items of every row from left to right."""

    @classmethod
    def of(cls, nodes: Sequence[Node], lines: Sequence[Line]) -> "Layers":
        """Nodes and lines with the places that lines need, in an order with few crossings."""
        layers = cls(nodes, [2 * node.level for node in nodes], [node.half_width for node in nodes])
        for line in lines:
            rows = (layers.row[line.start], layers.row[line.end])
            step = 1 if rows[1] > rows[0] else -1
            between = list(range(rows[0] + step, rows[1], step)) if rows[0] != rows[1] else []
            route = [line.start]
            for row in between:
                route.append(len(layers.row))
                layers.row.append(row)
                layers.half_width.append(line.half_width if row == between[len(between) // 2] else 0.0)
            route.append(line.end)
            if between:
                layers.links += [(first, second, line.weight) for first, second in pairwise(route)]
            layers.routes.append(route)
        layers.order = layers._ordered()
        return layers

    def label_place(self, line: int) -> int | None:
        """The item that has room for the label of a line; None for lines within a row."""
        route = self.routes[line]
        return route[1 + (len(route) - 2) // 2] if len(route) > 2 else None

    def steps(self) -> Iterator[tuple[int, int, int]]:
        """The steps of every line between neighbouring rows of nodes: item below, item in the row between, above."""
        for route in self.routes:
            upwards = route if self.row[route[0]] < self.row[route[-1]] else route[::-1]
            for first in range(0, len(route) - 2, 2):
                yield upwards[first], upwards[first + 1], upwards[first + 2]

    def crossings(self, order: list[list[int]]) -> int:
        """Number of pairs of lines that cross."""
        place = {item: number for row in order for number, item in enumerate(row)}
        between: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for below, item, above in self.steps():
            between[self.row[item]].append((place[below], place[above]))
        total = 0
        for pairs in between.values():
            lower, upper = np.array(pairs).T
            total += int(((lower[:, None] < lower) & (upper[:, None] > upper)).sum())
        return total

    def _ordered(self) -> list[list[int]]:
        """The order with the fewest crossings found, from several starts."""
        variables = list(dict.fromkeys(node.variable for node in self.nodes))
        random = np.random.default_rng(0)
        # The order in which variables are declared, then random ones; the same in every time slice.
        starts = [{variable: number / len(variables) for number, variable in enumerate(variables)}]
        starts += [{variable: random.uniform() for variable in variables} for _ in range(STARTS - 1)]
        found = (order for start in starts for order in _Barycentre(self, self._by_place(start)).orders())
        best = min(found, key=self.crossings)
        place = {item: number for row in best for number, item in enumerate(row)}
        rows = self._rows(lambda item: place.get(item, 0))
        ends = {item: (place[below], place[above]) for below, item, above in self.steps()}
        for row in rows[1::2]:  # by their ends below: all lines cross above their labels, none near an arrowhead
            row.sort(key=lambda item: ends[item])
        return rows

    def _by_place(self, within_slice: Mapping[str, float]) -> list[list[int]]:
        """Rows of nodes by time, then by a place within the slice; lines that pass between the places of their ends."""
        places = [node.time + within_slice[node.variable] for node in self.nodes]
        places += [0.0] * (len(self.row) - len(places))
        for route in self.routes:
            for step, item in enumerate(route[1:-1], start=1):
                share = step / (len(route) - 1)
                places[item] = (1 - share) * places[route[0]] + share * places[route[-1]]
        return self._rows(lambda item: places[item])[::2]

    def _rows(self, key: Callable[[int], float]) -> list[list[int]]:
        """All items by row, sorted by a key."""
        rows: list[list[int]] = [[] for _ in range(max(self.row) + 1)]
        for item in sorted(range(len(self.row)), key=key):
            rows[self.row[item]].append(item)
        return rows


class _Barycentre:
    """Barycentre heuristic: each row in turn is sorted by the mean places of its neighbours in the next row."""

    def __init__(self, layers: Layers, order: list[list[int]]) -> None:
        self.layers, self.order = layers, order
        self.sliced = len({node.time for node in layers.nodes}) > 1
        self.neighbours: dict[int, list[int]] = defaultdict(list)
        for below, _, above in layers.steps():
            self.neighbours[below].append(above)
            self.neighbours[above].append(below)

    def orders(self) -> Iterator[list[list[int]]]:
        """The first order, and the order after each pass from the top down and from the bottom up."""
        yield [list(row) for row in self.order]
        count = len(self.order)
        for _ in range(PASSES):
            for rows, towards in ((range(count - 2, -1, -1), 1), (range(1, count), -1)):
                for row in rows:
                    self._sort(row, row + towards)
                for row in range(count):
                    self._exchange(row)
            yield [list(row) for row in self.order]

    def _sort(self, row: int, other: int) -> None:
        """Sort a row by the mean places of its neighbours in another row."""
        items = self.order[row]
        place = {item: number for number, item in enumerate(self.order[other])}
        mean: dict[int, float] = {}
        for own, item in enumerate(items):
            near = [place[neighbour] for neighbour in self.neighbours[item] if neighbour in place]
            mean[item] = float(np.mean(near)) if near else own * len(place) / len(items)
        self.order[row] = self._in_time(sorted(items, key=lambda item: mean[item]), mean)

    def _in_time(self, row: list[int], mean: Mapping[int, float]) -> list[int]:
        """The row with its nodes by time, in one order of variables for all slices; lines keep their places."""
        nodes = {item: self.layers.nodes[item] for item in row if item < len(self.layers.nodes)}
        slices: dict[int, list[float]] = defaultdict(list)
        for item, node in nodes.items():
            slices[node.time].append(mean[item])
        within: dict[str, list[float]] = defaultdict(list)
        for item, node in nodes.items():
            within[node.variable].append(mean[item] - float(np.mean(slices[node.time])))
        key = {item: (node.time, float(np.mean(within[node.variable]))) for item, node in nodes.items()}
        ordered = iter(sorted(nodes, key=lambda item: key[item]))
        return [next(ordered) if item in nodes else item for item in row]

    def _exchange(self, row: int) -> None:
        """Exchange neighbours in a row where that saves crossings; nodes of a slice keep their order."""
        near = [self.order[other] for other in (row - 1, row + 1) if 0 <= other < len(self.order)]
        place = {item: number for other in near for number, item in enumerate(other)}
        items = self.order[row]
        for left in range(len(items) - 1):
            first, second = items[left : left + 2]
            if self.sliced and max(first, second) < len(self.layers.nodes):
                continue
            if self._crossed(second, first, place) < self._crossed(first, second, place):
                items[left], items[left + 1] = second, first

    def _crossed(self, left: int, right: int, place: Mapping[int, int]) -> int:
        """Number of crossings between the lines of two items, with the one left of the other."""
        row = self.layers.row
        return sum(
            place[a] > place[b] for a in self.neighbours[left] for b in self.neighbours[right] if row[a] == row[b]
        )


class Places(NamedTuple):
    """The place of every item of the layers."""

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]


def place(layers: Layers, *, wide_gap: float, slope: float, deep_rows: Mapping[int, float]) -> Places:
    """Places in the given order, as near to straight lines as the widths allow.

    Nodes are at least `wide_gap` apart, and rows so far that lines go down at least `slope` for 1 to the side.
    `deep_rows`: room needed below rows of nodes, by row.
    """
    x = _across(layers, wide_gap)
    steps = np.resize([ABOVE_NODES, BELOW_NODES], len(layers.order))
    for row, room in deep_rows.items():
        steps[row - 1] += room
    for first, second, _ in layers.links:
        lower = min(layers.row[first], layers.row[second])
        steps[lower] = max(steps[lower], slope * abs(x[first] - x[second]))
    heights = np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    return Places(x, heights[np.array(layers.row)])


def _across(layers: Layers, wide_gap: float) -> npt.NDArray[np.float64]:
    """Places from left to right: least squares over the gaps, which have a least width, so that the order is kept.

    The unknowns are the left end of every row and the gaps in it, and the step from slice to slice.
    """
    count = len(layers.row)
    # Row `item` of `cumulated` sums the unknowns left of the item: its place.
    cumulated, least = np.zeros((count, count + 1)), np.full(count + 1, -np.inf)
    for row in layers.order:
        for place_in_row, item in enumerate(row):
            cumulated[item, row[: place_in_row + 1]] = 1
        for left, right in pairwise(row):
            between_nodes = max(left, right) < len(layers.nodes)
            gap = NARROW_GAP if layers.row[left] % 2 else wide_gap if between_nodes else GAP
            least[right] = layers.half_width[left] + layers.half_width[right] + gap
    differences = _wishes(layers) @ np.vstack([cumulated, np.eye(1, count + 1, count)])
    found = lsq_linear(differences, np.zeros(len(differences)), bounds=(least, np.inf), method="bvls")
    x = cumulated @ found.x
    return np.asarray(x - x.min())


def _wishes(layers: Layers) -> npt.NDArray[np.float64]:
    """Rows of coefficients of the places and of the step from slice to slice, whose products should be zero."""
    step = len(layers.row)
    wishes = [{first: weight, second: -weight} for first, second, weight in layers.links]
    slices: dict[str, dict[int, int]] = defaultdict(dict)
    for number, node in enumerate(layers.nodes):
        slices[node.variable][node.time] = number
    for numbers in slices.values():
        for (now, left), (then, right) in pairwise(numbers.items()):
            wishes.append({right: REGULARITY, left: -REGULARITY, step: -REGULARITY * (then - now)})
    for first, second in combinations(slices.values(), 2):
        if first.keys() == second.keys() and len(first) > 1:
            wishes += [{first[time]: COHESION, second[time]: -COHESION} for time in first]
    wishes += [{item: ANCHOR} for item in range(step)]
    matrix = np.zeros((len(wishes), step + 1))
    for row, wish in enumerate(wishes):
        matrix[row, list(wish)] = list(wish.values())
    return matrix
