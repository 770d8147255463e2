"""Paths out of arrays: the single walks of a superposition of walks through a machine."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import networkx as nx
import numpy as np
import numpy.typing as npt

from pfn.automata.arrays import FloatArray, checked_values
from pfn.automata.machine import StateMachine
from pfn.errors import OptionError

# A time slice, and the number of the state that the flow passes there.
Node: TypeAlias = tuple[int, int]


class Edge(NamedTuple):
    """A flow from one time slice to the next; None is the off state, where paths begin and end."""

    source: Node | None
    target: Node | None
    value: float

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The ends without the off state: two, or one for the first and last edge of a path."""
        return tuple(node for node in (self.source, self.target) if node is not None)

    @property
    def time(self) -> int:
        """The time slice of the source."""
        return self.nodes[0][0] - (self.source is None)


class Course(NamedTuple):
    """One path of a flow: the nodes that it passes, one per slice, and its constant magnitude."""

    nodes: tuple[Node, ...]
    magnitude: float


@dataclass(frozen=True)
class StatePath:
    """A walk through a machine: its first slice, its states, and its constant magnitude."""

    start: int
    states: tuple[str, ...]
    magnitude: float

    @property
    def end(self) -> int:
        """The last slice of the walk."""
        return self.start + len(self.states) - 1


def paths_from(machine: StateMachine, transitions: npt.ArrayLike, *, threshold: float = 0.01) -> list[StatePath]:
    """The single walks, each of constant magnitude, whose sum has the given transition activations.

    A walk begins in the first slice or out of the off state, and ends in the last slice or in the off state. Where
    walks meet and part again, their magnitudes tell them apart; walks of one magnitude there, or that do the same all
    along, cannot be told apart.

    Parameters
    ----------
    machine
        The machine.
    transitions
        Activations (transitions, slices − 1), as h in a network `[x[t]; x[t+1]] = W h[t]`.
    threshold
        Largest value and magnitude that counts as nothing.

    Examples
    --------
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

    # The active transitions, and the flow into the first slice and out of the last.
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
    edges = [Edge(source, target, float(value)) for (source, target), value in flow.items()]

    found = courses(edges, threshold)
    walks = [StatePath(c.nodes[0][0], tuple(machine.states[row] for _, row in c.nodes), c.magnitude) for c in found]
    return sorted(walks, key=lambda path: (path.start, path.states))


def courses(edges: Iterable[Edge], threshold: float) -> list[Course]:
    """The paths from off to off, each of constant magnitude above the threshold, that the edges add up to.

    The widest path is taken out first, again and again: of two that cross, it is the one whose ends match.
    """
    active = [edge for edge in edges if edge.value > threshold]
    graph = nx.Graph()
    for edge in active:
        nx.add_path(graph, edge.nodes)
    components = list(nx.connected_components(graph))
    numbers = {node: number for number, nodes in enumerate(components) for node in nodes}
    groups: list[list[Edge]] = [[] for _ in components]
    for edge in sorted(active, key=lambda edge: edge.time):
        groups[numbers[edge.nodes[0]]].append(edge)
    return [course for group in groups for course in _refitted(group, _peeled(group, threshold), threshold)]


def _peeled(edges: list[Edge], threshold: float) -> list[tuple[list[int], float]]:
    """Paths, as numbers of edges, with magnitudes: the widest is taken out while there is one above the threshold."""
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
    """Of the paths of about that width, the one whose edges carry the least beside it."""
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
    """The paths with magnitudes that fit most of their edges: corrected by the median of what all paths leave there."""
    left = np.array([edge.value for edge in edges])
    for path, magnitude in found:
        left[path] -= magnitude
    for path, magnitude in found:
        change = float(np.median(left[path]))
        left[path] -= change
        if magnitude + change > threshold:
            nodes = (edges[number].target for number in path)
            yield Course(tuple(node for node in nodes if node is not None), magnitude + change)
