"""The graph of a network as data: Algorithm 1 of the paper, folded and unrolled in time."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import networkx as nx
import numpy as np

from pfn.errors import DeclarationError
from pfn.network.factorization import Factorization
from pfn.network.terms import Term
from pfn.network.time import whole_number
from pfn.network.variable import Slice

if TYPE_CHECKING:
    from pfn.network.network import Network

# Column sums of known matrices count as equal up to this relative difference: they were computed in floats.
SAME_SUM = 1e-9


def arcs_between_variables(equations: Iterable[Factorization], *, within_slice: bool = False) -> nx.DiGraph:
    """Which variable is a parent of which, by name; optionally only where both are in the same time slice."""
    arcs = nx.DiGraph()
    for equation in equations:
        for child in equation.children:
            for parent in equation.parents:
                arcs.add_node(child.variable.name)
                arcs.add_node(parent.variable.name)
                if not within_slice or child.lag == parent.lag:
                    arcs.add_edge(parent.variable.name, child.variable.name, equation=equation.name)
    return arcs


class _Arc(NamedTuple):
    equation: Factorization
    term: Term
    child: Slice
    number: int  # of the child in the stack
    back: int = 0  # slices before the parent's own, within its window

    @property
    def lag(self) -> int:
        return self.child.lag - self.term.slice.lag + self.back

    @property
    def slices(self) -> float:
        """So many slices of the parent are seen: those of its window, or one."""
        window = self.term.window
        return 1 if window is None else inf if window.length is None else window.length

    def through_window(self, time: int) -> Iterator["_Arc"]:
        """One arc for every slice seen at that time; before the first there is none."""
        seen = min(self.slices, time + self.term.slice.lag + 1)
        return (self._replace(back=back) for back in range(max(int(seen), 0)))


def _arcs(equation: Factorization) -> Iterator[_Arc]:
    for number, child in enumerate(equation.children):
        for term in equation.terms:
            yield _Arc(equation, term, child, number)


def folded(network: "Network", observed: set[str]) -> nx.MultiDiGraph:
    """A node for every variable, an arc for every parent–child pair of every equation."""
    graph = nx.MultiDiGraph(name=network.name or "")
    for variable in network.variables:
        _add_node(graph, variable.name, network, variable.name, observed)
    for equation in network.factorizations:
        _add_arcs(graph, [(a.term.slice.variable.name, a.child.variable.name, a) for a in _arcs(equation)])
    graph.graph["coactivations"] = _coactivations(graph, [v.name for v in network.variables])
    return graph


def unrolled(network: "Network", slices: int, observed: set[str]) -> nx.MultiDiGraph:
    """A node (name, time) for every variable and time slice, times from 0."""
    if whole_number(slices, "the number of slices to unroll") < 1:
        raise DeclarationError(f"unroll takes a number of slices >= 1, found {slices}.")
    columns = network.columns(slices)
    graph = nx.MultiDiGraph(name=network.name or "", slices=slices)
    for variable in network.variables:
        for time in columns.variables[variable.name]:
            _add_node(graph, (variable.name, time), network, variable.name, observed)
            graph.nodes[variable.name, time].update(variable=variable.name, time=time)
    for equation in network.factorizations:
        for time in range(columns.equations[equation.name]):
            ends = [
                (
                    (arc.term.slice.variable.name, time + arc.child.lag - arc.lag),
                    (arc.child.variable.name, time + arc.child.lag),
                    arc,
                )
                for first in _arcs(equation)
                for arc in first.through_window(time)
            ]
            _add_arcs(graph, ends)
    graph.graph["coactivations"] = _coactivations(graph, list(graph.nodes))
    return graph


def _add_node(graph: nx.MultiDiGraph, node: Hashable, network: "Network", name: str, observed: set[str]) -> None:
    variable = network.variable(name)
    graph.add_node(node, level=network.level_of(variable), size=variable.size, observed=name in observed)


def _add_arcs(graph: nx.MultiDiGraph, ends: Sequence[tuple[Hashable, Hashable, _Arc]]) -> None:
    """The arcs of one equation; those into one child slice get the next free number of dash marks."""
    dashes: dict[tuple[Hashable, int], int] = {}
    for parent, child, arc in ends:
        key = (child, arc.number)
        if key not in dashes:
            dashes[key] = 1 + max((d for _, _, d in graph.in_edges(child, data="dashes")), default=0)
        graph.add_edge(
            parent,
            child,
            parameter=arc.term.parameter.name,
            label=arc.term.label,
            equation=arc.equation.name,
            dashes=dashes[key],
            part=arc.number,
            lag=arc.lag,
            back=arc.back,
            slices=arc.slices,
            column_sum=_column_sum(arc),
        )


def _column_sum(arc: _Arc) -> float | tuple[str, str] | None:
    """What every column of the arc's matrix sums to, if all to the same; None if that is not promised.

    "balanced" promises equal sums within a column without saying which: the equation's name stands for it.
    """
    equation, parameter = arc.equation, arc.term.parameter
    if arc.term.window is not None:
        return None
    if not parameter.learn and parameter.value is not None:
        sums = np.asarray(parameter.value[equation.parts[arc.number]].sum(axis=0)).ravel()
        return float(sums[0]) if sums[0] > 0 and np.allclose(sums, sums[0], rtol=SAME_SUM, atol=0) else None
    stacked = len(equation.children)
    if equation.normalize == "subcolumns" or (equation.normalize == "columns" and stacked == 1):
        return 1 / stacked
    if equation.normalize == "sequences" and stacked == 1 and len(equation.terms) == 1:
        return 1.0
    if equation.normalize == "balanced" and stacked > 1:
        return ("balanced", f"{equation.name} {parameter.name}")
    return None


def _coactivations(graph: nx.MultiDiGraph, order: list[Hashable]) -> list[tuple[Hashable, Hashable]]:
    """The pairs of nodes that share a parent through matrices with equally normalized columns."""
    rank = {node: number for number, node in enumerate(order)}
    found: set[tuple[Hashable, Hashable]] = set()
    for parent in graph.nodes:
        arcs = [(child, data) for _, child, data in graph.out_edges(parent, data=True) if data["column_sum"]]
        for (a, first), (b, second) in combinations(arcs, 2):
            if a != b and _equal(first["column_sum"], second["column_sum"]):
                found.add((a, b) if rank[a] < rank[b] else (b, a))
    return sorted(found, key=lambda pair: (rank[pair[0]], rank[pair[1]]))


def _equal(a: float | tuple[str, str], b: float | tuple[str, str]) -> bool:
    if isinstance(a, tuple) or isinstance(b, tuple):
        return a == b
    return bool(np.isclose(a, b, rtol=SAME_SUM, atol=0))
