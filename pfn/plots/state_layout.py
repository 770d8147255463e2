"""Where the states of a machine go: in a line for what is read from left to right, else around a circle."""

from collections.abc import Sequence
from itertools import combinations

import networkx as nx
import numpy as np

from pfn.automata import StateMachine
from pfn.plots.curves import Points
from pfn.plots.groups import state_names

BESIDE = 40.0
"""Points between neighbours, edge to edge, unless a name on an arrow needs more."""

LONGEST_LINE = 14
"""More states than this go around a circle: a line of them would not fit on a page."""

LARGEST_SEARCH = 40
"""Up to this many states the order around the circle is searched for short arrows; it takes a second then."""


def state_places(machine: StateMachine, half_widths: Sequence[float], beside: float = BESIDE) -> Points:
    """A place for every state, the off state last, neighbours that far apart from edge to edge."""
    if reads_in_a_line(machine):
        return line(half_widths, beside)
    return _circle(machine, 2 * max(half_widths) + beside)


def reads_in_a_line(machine: StateMachine) -> bool:
    """Whether a machine has a beginning, or never comes back, and is short enough."""
    steps = nx.DiGraph([pair for pair in machine.transitions if pair[0] != pair[1]])
    directed = bool(machine.start) or nx.is_directed_acyclic_graph(steps)
    return directed and machine.off is None and len(machine.states) <= LONGEST_LINE


def line(half_widths: Sequence[float], beside: float = BESIDE) -> Points:
    """Places from left to right."""
    widths = np.asarray(half_widths)
    steps = np.r_[0, widths[:-1] + widths[1:] + beside]
    return np.column_stack([np.cumsum(steps), np.zeros(len(widths))])


def _circle(machine: StateMachine, step: float) -> Points:
    """Clockwise from the upper left, with an off state that several states know in the middle."""
    names = state_names(machine)
    central = machine.off is not None and len(machine.states) > 3
    ring = _short_order(names[:-1] if central else names, machine.transitions)
    angles = np.pi / 2 + np.pi / len(ring) - 2 * np.pi * np.arange(len(ring)) / len(ring)
    radius = _radius(len(ring), step, central)
    places = dict(zip(ring, radius * np.column_stack([np.cos(angles), np.sin(angles)]), strict=True))
    return np.array([places.get(name, np.zeros(2)) for name in names])


def _radius(count: int, step: float, central: bool) -> float:
    around = step / (2 * np.sin(np.pi / count)) if count > 1 else 0.0
    return float(max(around, 1.25 * step)) if central else float(around)


def _short_order(names: list[str], transitions: Sequence[tuple[str, str]]) -> list[str]:
    """The order around a circle with the shortest arrows that turning round parts of it leads to."""
    known = set(names)
    pairs = [pair for pair in transitions if known.issuperset(pair)]
    order, length = names, _chords(names, pairs)
    improved = len(names) <= LARGEST_SEARCH
    while improved:
        improved = False
        for first, last in combinations(range(1, len(order) + 1), 2):
            turned = order[:first] + order[first:last][::-1] + order[last:]
            if (shorter := _chords(turned, pairs)) < length - 1e-9:
                order, length, improved = turned, shorter, True
    return order


def _chords(order: list[str], pairs: Sequence[tuple[str, str]]) -> float:
    """The summed lengths of the arrows around a circle."""
    place = {name: number for number, name in enumerate(order)}
    steps = np.array([place[source] - place[target] for source, target in pairs], dtype=float)
    return float(np.abs(np.sin(np.pi * steps / len(order))).sum())
