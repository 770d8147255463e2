"""Paths out of arrays: a superposition of walks through a machine, taken apart into the single walks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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


class Course(NamedTuple):
    """One path of a flow: the nodes that it passes, one per slice, and its constant magnitude."""

    nodes: tuple[Node, ...]
    magnitude: float


@dataclass(frozen=True)
class Path:
    """A walk through a machine: its first slice, its states, and the magnitude that it has all along."""

    start: int
    states: tuple[str, ...]
    magnitude: float

    @property
    def end(self) -> int:
        """The last slice of the walk."""
        return self.start + len(self.states) - 1


def paths(machine: StateMachine, transitions: npt.ArrayLike, *, threshold: float = 0.01) -> list[Path]:
    """The single walks, each of constant magnitude, whose sum has these transition activations.

    `transitions` is (transitions, slices − 1), as in a network `[x[t]; x[t+1]] = W h[t]`. A walk begins in the
    first slice or out of the off state, and ends in the last slice or in the off state. Values up to
    `threshold`, the same for magnitudes, count as nothing. Where walks meet and part again, the magnitudes tell who
    went where; walks that are equally strong, or that share everything, cannot be told apart.

    >>> machine = StateMachine(["a", "b"], [("a", "b"), ("b", "a"), ("off", "a"), ("b", "off")], off="off")
    >>> paths(machine, [[0.5, 0.2], [0, 0.5], [0.2, 0], [0, 0]])
    [Path(start=0, states=('a', 'b', 'a'), magnitude=0.5), Path(start=1, states=('a', 'b'), magnitude=0.2)]
    """
    if not threshold > 0:
        raise OptionError(f"paths: threshold must be greater than 0, found {threshold!r}. What is nothing?")
    values = checked_values("paths", transitions, len(machine.transitions))
    found = courses(list(_edges(machine, values)), threshold)
    walks = [Path(c.nodes[0][0], tuple(machine.states[row] for _, row in c.nodes), c.magnitude) for c in found]
    return sorted(walks, key=lambda path: (path.start, path.states))


def _edges(machine: StateMachine, values: FloatArray) -> Iterator[Edge]:
    """The active transitions, and what comes into the first slice and goes out of the last."""
    rows = {name: row for row, name in enumerate(machine.states)}
    into: dict[Node, float] = {}
    out: dict[Node, float] = {}
    for number, time in np.argwhere(values > 0).tolist():
        before, after = (rows.get(name) for name in machine.transitions[number])
        source = None if before is None else (time, before)
        target = None if after is None else (time + 1, after)
        value = float(values[number, time])
        yield Edge(source, target, value)
        if source is not None and time == 0:
            into[source] = into.get(source, 0.0) + value
        if target is not None and time == values.shape[1] - 1:
            out[target] = out.get(target, 0.0) + value
    yield from (Edge(None, node, value) for node, value in into.items())
    yield from (Edge(node, None, value) for node, value in out.items())


def courses(edges: Iterable[Edge], threshold: float) -> list[Course]:
    """The paths from off to off, each of constant magnitude above the threshold, that the edges add up to.

    The widest path is taken out first, again and again: of two that cross, it is the one whose ends match.
    """
    found = []
    for component in _components([edge for edge in edges if edge.value > threshold]):
        found += _refitted(component, _peeled(component, threshold), threshold)
    return found


def _components(edges: list[Edge]) -> Iterator[list[Edge]]:
    """Groups of edges that share no node with each other, each in the order of time."""
    names = {node: number for number, node in enumerate({n for e in edges for n in e[:2] if n is not None})}
    inner = [(names[e.source], names[e.target]) for e in edges if e.source is not None and e.target is not None]
    arcs = np.array(inner, int).reshape(-1, 2).T
    graph = coo_array((np.ones(arcs.shape[1]), (arcs[0], arcs[1])), shape=(len(names), len(names)))
    count, labels = connected_components(graph, directed=False) if names else (0, [])
    groups: list[list[Edge]] = [[] for _ in range(count)]
    for edge in sorted(edges, key=_time):
        groups[labels[names[edge.source or edge.target]]].append(edge)  # type: ignore[index]
    yield from groups


def _time(edge: Edge) -> int:
    """The slice that an edge leads out of."""
    return edge.source[0] if edge.source is not None else edge.target[0] - 1  # type: ignore[index]


def _peeled(edges: list[Edge], threshold: float) -> list[list[int]]:
    """The paths, as numbers of edges, that are found by taking out the widest as long as there is one."""
    left = np.array([edge.value for edge in edges])
    found = []
    while (width := _widest(edges, left)) > threshold:
        path = _closest(edges, left, width, threshold)
        left[path] -= left[path].min()
        left[left <= threshold] = 0.0
        found.append(path)
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


def _refitted(edges: list[Edge], found: list[list[int]], threshold: float) -> Iterator[Course]:
    """The paths with the magnitudes whose sum comes closest to the values, in the sense of least squares."""
    if not found:
        return
    passes = np.zeros((len(edges), len(found)))
    for column, path in enumerate(found):
        passes[path, column] = 1.0
    magnitudes, _ = nnls(passes, np.array([edge.value for edge in edges]))
    for path, magnitude in zip(found, magnitudes.tolist(), strict=True):
        if magnitude > threshold:
            yield Course(tuple(node for n in path[:-1] if (node := edges[n].target) is not None), magnitude)
