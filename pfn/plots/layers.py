"""Layered drawings: what lies in which row, and in which order, so that few lines cross.

Every second row holds nodes; the rows between hold the places where lines pass, with room for their labels. A line
that passes a row of nodes has a place there too, so that it keeps clear of them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

STARTS, SWEEPS = 20, 6
"""Orders to start from, and passes down and up from each. With 40 starts and 16 passes, one of 120 drawings of random
networks and none of the paper's got better; most need one of each, four slices of the tracker 19 and 5."""


class Node(NamedTuple):
    """Something to place: its level, half its width, and, in unrolled networks, its variable and time slice."""

    level: int
    half_width: float
    variable: str
    time: int


class Line(NamedTuple):
    """Something to draw from node to node (by number), half the width of its label, how much it wants to be short."""

    start: int
    end: int
    half_width: float
    weight: float


@dataclass
class Layers:
    """Items by number, the nodes first, then the places of lines: their rows, sizes and order."""

    nodes: Sequence[Node]
    row: list[int]
    """The row of every item, from the bottom up."""
    half_width: list[float]
    links: list[tuple[int, int, float]] = field(default_factory=list)
    """Items of neighbouring rows that a line connects, and its weight."""
    routes: list[list[int]] = field(default_factory=list)
    """For every line the items that it passes, with its ends; lines within a row have no more than those."""
    order: list[list[int]] = field(default_factory=list)
    """The items of every row from left to right."""

    @classmethod
    def of(cls, nodes: Sequence[Node], lines: Sequence[Line]) -> "Layers":
        """Nodes and lines with the places that lines need, in an order with few crossings."""
        layers = cls(nodes, [2 * node.level for node in nodes], [node.half_width for node in nodes])
        for line in lines:
            layers._add(line)
        layers.order = layers._best_order()
        return layers

    def _add(self, line: Line) -> None:
        rows = (self.row[line.start], self.row[line.end])
        step = 1 if rows[1] > rows[0] else -1
        between = list(range(rows[0] + step, rows[1], step)) if rows[0] != rows[1] else []
        route = [line.start]
        for row in between:
            route.append(len(self.row))
            self.row.append(row)
            self.half_width.append(line.half_width if row == between[len(between) // 2] else 0.0)
        route.append(line.end)
        if between:
            self.links += [(first, second, line.weight) for first, second in pairwise(route)]
        self.routes.append(route)

    def label_place(self, line: int) -> int | None:
        """The item that has room for the label of a line; None for lines within a row."""
        route = self.routes[line]
        return route[1 + (len(route) - 2) // 2] if len(route) > 2 else None

    def _best_order(self) -> list[list[int]]:
        """The items of every row, with the fewest crossings found."""
        found = (order for start in self._starts() for order in _Sweeps(self, start).orders())
        best = min(found, key=self._crossings)
        place = {item: number for row in best for number, item in enumerate(row)}
        rows = self._rows(lambda item: place.get(item, 0))
        ends = {item: (place[below], place[above]) for below, item, above in self.steps()}
        for row in rows[1::2]:  # by what is below: all lines cross above their labels, none near an arrowhead
            row.sort(key=lambda item: ends[item])
        return rows

    def steps(self) -> Iterator[tuple[int, int, int]]:
        """The way of every line from a row of nodes to the next one above, and its item in the row between."""
        for route in self.routes:
            upwards = route if self.row[route[0]] < self.row[route[-1]] else route[::-1]
            for first in range(0, len(route) - 2, 2):
                yield upwards[first], upwards[first + 1], upwards[first + 2]

    def _rows(self, key: Callable[[int], float]) -> list[list[int]]:
        rows: list[list[int]] = [[] for _ in range(max(self.row) + 1)]
        for item in sorted(range(len(self.row)), key=key):
            rows[self.row[item]].append(item)
        return rows

    def _starts(self) -> Iterator[list[list[int]]]:
        """Rows of nodes to start from: as declared, then mixed, within a time slice if there are several."""
        variables = list(dict.fromkeys(node.variable for node in self.nodes))
        yield self._by_place({variable: number / len(variables) for number, variable in enumerate(variables)})
        random = np.random.default_rng(0)
        for _ in range(STARTS - 1):
            yield self._by_place({variable: random.uniform() for variable in variables})

    def _by_place(self, within_slice: Mapping[str, float]) -> list[list[int]]:
        """Nodes by time, then by that; the places of lines between their ends."""
        places = [node.time + within_slice[node.variable] for node in self.nodes]
        places += [0.0] * (len(self.row) - len(places))
        for route in self.routes:
            for step, item in enumerate(route[1:-1], start=1):
                share = step / (len(route) - 1)
                places[item] = (1 - share) * places[route[0]] + share * places[route[-1]]
        return self._rows(lambda item: places[item])[::2]

    def _crossings(self, order: list[list[int]]) -> int:
        place = {item: number for row in order for number, item in enumerate(row)}
        between: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for below, item, above in self.steps():
            between[self.row[item]].append((place[below], place[above]))
        total = 0
        for pairs in between.values():
            lower, upper = np.array(pairs).T
            total += int(((lower[:, None] < lower) & (upper[:, None] > upper)).sum())
        return total


class _Sweeps:
    """Rows of nodes and passing lines, brought into better and better orders."""

    def __init__(self, layers: Layers, order: list[list[int]]) -> None:
        self.layers, self.order = layers, order
        self.sliced = len({node.time for node in layers.nodes}) > 1
        self.neighbours: dict[int, list[int]] = defaultdict(list)
        for below, _, above in layers.steps():
            self.neighbours[below].append(above)
            self.neighbours[above].append(below)

    def orders(self) -> Iterator[list[list[int]]]:
        """The first order, and what sweeps make of it."""
        yield [list(row) for row in self.order]
        for _ in range(SWEEPS):
            self._sweep()
            yield [list(row) for row in self.order]

    def _sweep(self) -> None:
        """Bring every row into the order of its neighbours' means, from the top down, then from the bottom up."""
        count = len(self.order)
        for rows, towards in ((range(count - 2, -1, -1), 1), (range(1, count), -1)):
            for row in rows:
                self._sort(row, row + towards)
            for row in range(count):
                self._exchange(row)

    def _sort(self, row: int, other: int) -> None:
        items = self.order[row]
        place = {item: number for number, item in enumerate(self.order[other])}
        mean: dict[int, float] = {}
        for own, item in enumerate(items):
            near = [place[neighbour] for neighbour in self.neighbours[item] if neighbour in place]
            mean[item] = float(np.mean(near)) if near else own * len(place) / len(items)
        self.order[row] = self._in_time(sorted(items, key=lambda item: mean[item]), mean)

    def _in_time(self, row: list[int], mean: Mapping[int, float]) -> list[int]:
        """The same places taken by the same kind of items, but nodes by time, and alike in every slice."""
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
        """How many lines of two items cross, with the one left of the other."""
        row = self.layers.row
        return sum(
            place[a] > place[b] for a in self.neighbours[left] for b in self.neighbours[right] if row[a] == row[b]
        )
