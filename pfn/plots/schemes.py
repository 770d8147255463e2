"""What a drawing of a network shows, in the conventions of the paper's figures, whoever draws it."""

from collections.abc import Hashable, Iterable
from math import inf
from typing import Any, NamedTuple

import networkx as nx

from pfn.errors import OptionError
from pfn.network import Network, Variable
from pfn.plots.symbols import Symbol, symbol


class SchemeNode(NamedTuple):
    """A variable, or one time slice of it."""

    key: Hashable
    symbol: Symbol
    level: int
    observed: bool
    variable: str
    time: int


class SchemeArc(NamedTuple):
    """A parent and a child by their keys, and what is between them."""

    parent: Hashable
    child: Hashable
    symbol: Symbol
    later: str
    """In folded networks, how many slices the child is later: "" (none), "+1", or "0 … +3" through a window."""
    dashes: int
    """0 where the child has only one equation, so that nothing needs to be told apart."""


class Scheme(NamedTuple):
    """Nodes from the bottom level (0) up, arcs, the pairs that are forced to be active together, the plate's text."""

    nodes: list[SchemeNode]
    arcs: list[SchemeArc]
    coactivations: list[tuple[Hashable, Hashable]]
    plate: Symbol | None


def scheme(network: Network, observed: Iterable[Variable | str], slices: int | None, plate: str | int | None) -> Scheme:
    """The network folded, or so many of its time slices.

    Folded, what has no links in time is drawn for one sample i, on a plate.
    """
    _check_slices(network, slices)
    graph = network.graph(observed) if slices is None else network.unroll(slices, observed)
    linked = any(data["lag"] or data["slices"] > 1 for _, _, data in graph.edges(data=True))
    on_plate = plate is not None and slices is None and not linked
    index = "i" if on_plate else "t" if linked and slices is None else ""
    return Scheme(
        [_node(key, data, index) for key, data in graph.nodes(data=True)],
        [_arc(network, graph, edge, folded=slices is None) for edge in graph.edges(data=True)],
        graph.graph["coactivations"],
        symbol(str(plate)) if on_plate else None,
    )


def _check_slices(network: Network, slices: object) -> None:
    if slices is None:
        return
    if isinstance(slices, bool) or not hasattr(slices, "__index__") or slices.__index__() < 1:
        raise OptionError(
            f"slices must be a whole number >= 1, found {slices!r}. Give the number of time slices to draw, or None."
        )
    least = 1 + min(max(child.lag for child in equation.children) for equation in network.factorizations)
    if slices.__index__() < least:
        raise OptionError(f"slices must be at least {least}, so that an equation fits in, found {slices!r}.")


def _node(key: Any, data: dict[str, Any], index: str) -> SchemeNode:
    name, time = (data["variable"], data["time"]) if "variable" in data else (key, 0)
    below = str(time + 1) if "variable" in data else index
    return SchemeNode(key, symbol(name, below), data["level"] - 1, data["observed"], name, time)


def _arc(network: Network, graph: nx.MultiDiGraph, edge: tuple[Any, Any, dict[str, Any]], *, folded: bool) -> SchemeArc:
    parent, child, data = edge
    several = max(dashes for _, _, dashes in graph.in_edges(child, data="dashes")) > 1
    return SchemeArc(
        parent,
        child,
        symbol("") if data["back"] else symbol(data["label"], _part(network, data)),  # a window is named once
        _later(data) if folded else "",
        data["dashes"] if several else 0,
    )


def _part(network: Network, arc: dict[str, Any]) -> str:
    """Which part of a stacked parameter the arc is, from 1; the whole parameter has no number."""
    equation = next(e for e in network.factorizations if e.name == arc["equation"])
    return "" if len(equation.children) == 1 else str(arc["part"] + 1)


def _later(arc: dict[str, Any]) -> str:
    lag, slices = arc["lag"], arc["slices"]
    if slices == 1:
        return f"{lag:+d}" if lag else ""
    return f"{lag:{'+' if lag else ''}d} …" + (f" {lag + slices - 1:+d}" if slices < inf else "")
