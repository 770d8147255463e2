"""Paths out of arrays: a superposition of walks through a machine, taken apart into the single walks."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import networkx as nx
import numpy as np
import numpy.typing as npt

from pfn.automata.machine import StateMachine
from pfn.automata.sequences import FloatArray, checked_values
from pfn.errors import OptionError

Node: TypeAlias = tuple[int, int]
"""A time slice, and what the flow passes there."""


class Edge(NamedTuple):
    """A flow from one time slice to the next; None is the off state, from which paths come and to which they go."""

    source: Node | None
    target: Node | None
    value: float

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Its ends without the off state: two, or one of a path's first and last edge."""
        return tuple(node for node in (self.source, self.target) if node is not None)

    @property
    def time(self) -> int:
        """The slice before it."""
        return self.nodes[0][0] - (self.source is None)


class Course(NamedTuple):
    """One path of a flow: the nodes that it passes, one per slice, and its constant magnitude."""

    nodes: tuple[Node, ...]
    magnitude: float


@dataclass(frozen=True)
class StatePath:
    """A walk through a machine: its first slice, its states, and the magnitude that it has all along."""

    start: int
    states: tuple[str, ...]
    magnitude: float

    @property
    def end(self) -> int:
        """The last slice of the walk."""
        return self.start + len(self.states) - 1


def paths_from(machine: StateMachine, transitions: npt.ArrayLike, *, threshold: float = 0.01) -> list[StatePath]:
    """The single walks, each of constant magnitude, whose sum has these transition activations.

    `transitions` is (transitions, slices − 1), as h in a network `[x[t]; x[t+1]] = W h[t]`. A walk begins in
    the first slice or out of the off state, and ends in the last slice or in the off state. Values and
    magnitudes up to `threshold` count as nothing. Where walks meet and part again, their magnitudes tell who
    went where; walks that are equally strong there, or that do the same all along, cannot be told apart.

    >>> machine = StateMachine(["a", "b"], [("a", "b"), ("b", "a"), ("off", "a"), ("b", "off")], off="off")
    >>> paths_from(machine, [[0.5, 0.2], [0, 0.5], [0.2, 0], [0, 0]])
    [StatePath(start=0, states=('a', 'b', 'a'), magnitude=0.5), StatePath(start=1, states=('a', 'b'), magnitude=0.2)]
    """
    if not threshold > 0:
        raise OptionError(
            f"paths_from: threshold must be greater than 0, found {threshold!r}. Give a small part of the "
            "weakest walk's magnitude."
        )
    values = checked_values("paths_from", transitions, len(machine.transitions))
    found = courses(_edges(machine, values), threshold)
    walks = [StatePath(c.nodes[0][0], tuple(machine.states[row] for _, row in c.nodes), c.magnitude) for c in found]
    return sorted(walks, key=lambda path: (path.start, path.states))


def _edges(machine: StateMachine, values: FloatArray) -> list[Edge]:
    """The active transitions, and what comes into the first slice and goes out of the last."""
    rows = {name: row for row, name in enumerate(machine.states)}
    last = values.shape[1] - 1
    flow: Counter[tuple[Node | None, Node | None]] = Counter()  # parallel transitions add up
    for number, time in np.argwhere(values > 0).tolist():
        before, after = (rows.get(name) for name in machine.transitions[number])
        source = None if before is None else (time, before)
        target = None if after is None else (time + 1, after)
        flow[source, target] += values[number, time]
        if source is not None and time == 0:
            flow[None, source] += values[number, time]
        if target is not None and time == last:
            flow[target, None] += values[number, time]
    return [Edge(source, target, float(value)) for (source, target), value in flow.items()]


def courses(edges: Iterable[Edge], threshold: float) -> list[Course]:
    """The paths from off to off, each of constant magnitude above the threshold, that the edges add up to.

    The widest path is taken out first, again and again: of two that cross, it is the one whose ends match.
    """
    found: list[Course] = []
    for component in _components([edge for edge in edges if edge.value > threshold]):
        found += _refitted(component, _peeled(component, threshold), threshold)
    return found


def _components(edges: list[Edge]) -> list[list[Edge]]:
    """Groups of edges that share no node with each other, each in the order of time."""
    graph = nx.Graph()
    for edge in edges:
        nx.add_path(graph, edge.nodes)
    groups: list[list[Edge]] = [[] for _ in nx.connected_components(graph)]
    numbers = {node: number for number, nodes in enumerate(nx.connected_components(graph)) for node in nodes}
    for edge in sorted(edges, key=lambda edge: edge.time):
        groups[numbers[edge.nodes[0]]].append(edge)
    return groups


def _peeled(edges: list[Edge], threshold: float) -> list[tuple[list[int], float]]:
    """Paths, as numbers of edges, with magnitudes: the widest is taken out, as long as there is one."""
    left = np.array([edge.value for edge in edges])
    found = []
    while (width := _widest(edges, left)) > threshold:
        path = _closest(edges, left, width, threshold)
        magnitude = float(left[path].min())
        left[path] -= magnitude
        left[left <= threshold] = 0.0
        found.append((path, magnitude))
    return found


def _widest(edges: list[Edge], left: FloatArray) -> float:
    """The largest amount that can go along one path."""
    arriving: dict[Node | None, float] = {None: np.inf}
    widest = 0.0
    for edge, value in zip(edges, left.tolist(), strict=True):
        width = min(arriving.get(edge.source, 0.0), value)
        if edge.target is None:
            widest = max(widest, width)
        elif width > arriving.get(edge.target, 0.0):
            arriving[edge.target] = width
    return widest


def _closest(edges: list[Edge], left: FloatArray, width: float, threshold: float) -> list[int]:
    """Of the paths that are about so wide, the one with the least on its edges that is not its own."""
    arriving: dict[Node | None, tuple[float, int]] = {None: (0.0, -1)}  # by node: excess so far, edge that came
    best = (np.inf, -1)
    for number in np.flatnonzero(left > width - threshold).tolist():
        edge = edges[number]
        if edge.source not in arriving:
            continue
        excess = arriving[edge.source][0] + abs(left[number] - width)
        if edge.target is None:
            best = min(best, (excess, number))
        elif edge.target not in arriving or excess < arriving[edge.target][0]:
            arriving[edge.target] = (excess, number)
    path = [best[1]]
    while (source := edges[path[-1]].source) is not None:
        path.append(arriving[source][1])
    return path[::-1]


def _refitted(edges: list[Edge], found: list[tuple[list[int], float]], threshold: float) -> Iterator[Course]:
    """The paths with magnitudes that hold on most of their edges: the median of what other paths leave there."""
    left = np.array([edge.value for edge in edges])
    for path, magnitude in found:
        left[path] -= magnitude
    for path, magnitude in found:
        change = float(np.median(left[path]))
        left[path] -= change
        if magnitude + change > threshold:
            nodes = (edges[number].target for number in path)
            yield Course(tuple(node for node in nodes if node is not None), magnitude + change)
