"""Contents of drawings, without matplotlib: the scheme of a network, the machines of a hierarchy, and their options."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from math import inf
from typing import Any, NamedTuple, TypeAlias

import networkx as nx

from pfn.automata import Hierarchy, RegularExpression, StateMachine
from pfn.errors import OptionError
from pfn.network import Network, Variable
from pfn.plots.notation import Notation, symbol
from pfn.solve import Result

Drawable: TypeAlias = Network | StateMachine | Hierarchy | RegularExpression
Observed: TypeAlias = Iterable[Variable | str]

# A drawing of more time slices can neither be laid out in reasonable time nor be read.
MOST_SLICES = 30


def check_options(what: str, thing: object, *, observed: Observed, slices: int | None, implicit: bool) -> None:
    """Refuse things that cannot be drawn, and options that belong to another kind of drawing."""
    if isinstance(thing, Result):
        raise OptionError(f"{what} takes a network, found a Result. Write {what}(result.network, ...).")
    if not isinstance(thing, Drawable):
        raise OptionError(
            f"{what} takes a Network, a StateMachine, a Hierarchy or a RegularExpression, found "
            f"{type(thing).__name__}. For arrays and results there are the plots of values."
        )
    kind = type(thing).__name__
    if slices is not None and hasattr(slices, "__index__") and slices > MOST_SLICES:
        raise OptionError(
            f"{what}: slices must be at most {MOST_SLICES}, more can neither be laid out nor read, found {slices}."
        )
    if isinstance(observed, str | Variable) or not isinstance(observed, Iterable):
        raise OptionError(f"{what}: observed must be a list of variables, found {observed!r}. Write [{observed!r}].")
    if not isinstance(thing, Network) and (slices is not None or tuple(observed)):
        raise OptionError(f"{what}: observed and slices belong to networks, found a {kind}. Leave them out.")
    if implicit and not isinstance(thing, Hierarchy):
        raise OptionError(f"{what}: implicit belongs to hierarchies, found a {kind}. Leave it out.")


class SchemeNode(NamedTuple):
    """A variable, or one time slice of it."""

    key: Hashable
    symbol: Notation
    level: int
    observed: bool
    variable: str
    time: int


class SchemeArc(NamedTuple):
    """An arc from a parent to a child, by their keys, with its parameter."""

    parent: Hashable
    child: Hashable
    symbol: Notation
    later: str
    """In folded networks, the slices from parent to child: "" (none), "+1", or "0 … +3" through a window."""
    dashes: int
    """0 where the child has only one equation, so that nothing needs to be told apart."""


class Scheme(NamedTuple):
    """Nodes from the bottom level (0) up, arcs, the pairs that are forced to be active together, the plate's text."""

    nodes: list[SchemeNode]
    arcs: list[SchemeArc]
    coactivations: list[tuple[Hashable, Hashable]]
    plate: Notation | None


def scheme(network: Network, observed: Iterable[Variable | str], slices: int | None, plate: str | int | None) -> Scheme:
    """The network in the conventions of the paper's figures: folded, or unrolled over a number of time slices.

    Without links in time, a folded network is drawn for one sample i, on a plate.
    """
    if slices is not None:
        if isinstance(slices, bool) or not hasattr(slices, "__index__") or slices.__index__() < 1:
            raise OptionError(
                f"slices must be a whole number >= 1, found {slices!r}. "
                "Give the number of time slices to draw, or None."
            )
        least = 1 + min(max(child.lag for child in equation.children) for equation in network.factorizations)
        if slices.__index__() < least:
            raise OptionError(f"slices must be at least {least}, so that an equation fits in, found {slices!r}.")
    graph = network.graph(observed) if slices is None else network.unroll(slices, observed)
    linked = any(data["lag"] or data["slices"] > 1 for _, _, data in graph.edges(data=True))
    on_plate = plate is not None and slices is None and not linked
    index = "i" if on_plate else "t" if linked and slices is None else ""
    nodes = []
    for key, data in graph.nodes(data=True):
        # Unrolled, the index is the time slice, counted from 1 as in the paper.
        name, time, below = (data["variable"], data["time"], str(data["time"] + 1)) if slices else (key, 0, index)
        nodes.append(SchemeNode(key, symbol(name, below), data["level"] - 1, data["observed"], name, time))
    return Scheme(
        nodes,
        [_arc(network, graph, edge, folded=slices is None) for edge in graph.edges(data=True)],
        graph.graph["coactivations"],
        symbol(str(plate)) if on_plate else None,
    )


def _arc(network: Network, graph: nx.MultiDiGraph, edge: tuple[Any, Any, dict[str, Any]], *, folded: bool) -> SchemeArc:
    """An arc of the graph with its symbol, its lag in words, and its dash marks."""
    parent, child, data = edge
    several = max(dashes for _, _, dashes in graph.in_edges(child, data="dashes")) > 1
    equation = next(e for e in network.factorizations if e.name == data["equation"])
    # The parts of a stacked parameter are numbered from 1; a parameter that is not stacked has no number.
    part = "" if len(equation.children) == 1 else str(data["part"] + 1)
    later = ""
    if folded:
        lag, slices = data["lag"], data["slices"]
        later = f"{lag:+d}" if lag else ""
        if slices > 1:  # a window: its first and last slice, if it has a last
            later = (later or "0") + " …" + (f" {lag + slices - 1:+d}" if slices < inf else "")
    return SchemeArc(
        parent,
        child,
        symbol("") if data["back"] else symbol(data["label"], part),  # a window is named once
        later,
        data["dashes"] if several else 0,
    )


def state_names(machine: StateMachine) -> list[str]:
    """The states of a machine, the off state last."""
    return [*machine.states, *([] if machine.off is None else [machine.off])]


class Group(NamedTuple):
    """A machine, and the states of the level above that refine into it (none for the uppermost machine)."""

    member: StateMachine | Hierarchy
    refined: tuple[str, ...]

    @property
    def machine(self) -> StateMachine:
        """The machine of this level."""
        return self.member.upper if isinstance(self.member, Hierarchy) else self.member


def groups_by_level(hierarchy: Hierarchy) -> Iterator[list[Group]]:
    """The machines of each level from the top down; equal machines are one group."""
    groups = [Group(hierarchy, ())]
    while groups:
        yield groups
        states: dict[StateMachine | Hierarchy, list[str]] = {}
        for group in groups:
            if isinstance(group.member, Hierarchy):
                for state, member in group.member.refinements:
                    states.setdefault(member, []).append(state)
        groups = [Group(member, tuple(names)) for member, names in states.items()]


def level_transitions(groups: Sequence[Group], full: StateMachine) -> list[tuple[str, str, str, bool]]:
    """Source, target and label of each transition of a level, and whether the diagram leaves it implicit."""
    drawn = {pair for group in groups for pair in group.machine.transitions}
    labelled = zip(full.transitions, full.transition_labels, strict=True)
    return [(*pair, label, pair not in drawn) for pair, label in labelled]
