"""Columns of equations and variables when the bottom of the network has T of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pfn.network.network import Network


class Columns(NamedTuple):
    """For T slices: the number of columns of each equation, the range of columns of each variable, by name."""

    equations: Mapping[str, int]
    variables: Mapping[str, range]


def columns_for(network: "Network", slices: int) -> Columns:
    """An equation holds at every t >= 0 at which all its child slices exist; a variable has what is touched."""
    equations = {equation.name: 0 for equation in network.factorizations}
    stops = {variable.name: slices for variable in network.bottom}
    for equation in network.by_level:
        last = min(stops.get(child.variable.name, slices) - child.lag for child in equation.children)
        equations[equation.name] = max(last, 0)
        for parent in equation.parents:
            touched = max(last + parent.lag, 0)
            stops[parent.variable.name] = max(stops.get(parent.variable.name, 0), touched)
    return Columns(MappingProxyType(equations), MappingProxyType(_touched(network, equations)))


def _touched(network: "Network", equations: dict[str, int]) -> dict[str, range]:
    touched: dict[str, list[range]] = {variable.name: [] for variable in network.variables}
    for equation in network.factorizations:
        count = equations[equation.name]
        for piece in (*equation.children, *equation.parents):
            columns = range(max(piece.lag, 0), count + piece.lag)
            if columns:
                touched[piece.variable.name].append(columns)
    return {
        name: range(min(c.start for c in pieces), max(c.stop for c in pieces)) if pieces else range(0)
        for name, pieces in touched.items()
    }
