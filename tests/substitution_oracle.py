"""Substitution with plain loops: values column by column, and updates from the response to one entry at a time."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

import pfn
from pfn.solve import substitute_run
from pfn.solve.interruption import Interruption
from pfn.solve.options import make_request
from pfn.solve.progress import Bar
from tests.oracle import array_columns, column_counts, find_holders

Array = np.ndarray[Any, np.dtype[np.float64]]
Entry = tuple[str, int, int, int]  # equation, number of the child, column, component
COMMON: dict[str, Any] = {
    "iterations": 1,
    "tolerance": None,
    "stall": None,
    "seed": 0,
    "initial": None,
    "weights": None,
    "engine": "numpy",
    "dtype": "float64",
    "callback": None,
    "checkpoint": None,
    "checkpoint_every": 100,
    "resume": None,
}


def engine_of(network: pfn.Network, data: Any, method: pfn.Substitute, *, learn: bool = True, **options: Any) -> Any:
    """The engine that `learn` or `infer` would sweep with, at its starting values."""
    request = make_request(network, data, COMMON | options, learning=learn, bar=Bar(), interruption=Interruption())
    return substitute_run.make_run(request, method.named(network))


class Oracle:
    """One sequence of a network: values by name, and what follows from them."""

    def __init__(
        self,
        network: pfn.Network,
        data: Mapping[str, Array],
        eliminated: Mapping[str, str],
        weights: Mapping[str, Array],
    ) -> None:
        self.network, self.data, self.eliminated, self.weights = network, data, eliminated, weights
        self.counts, self.columns = column_counts(network, data), array_columns(network, data)
        self.holders = find_holders(network, data)

    def hidden(self, name: str, column: int) -> Array:
        """Which components of a column are hidden."""
        size = self.network[name].size
        return np.isnan(self.data[name][:, column]) if name in self.data else np.ones(size, dtype=bool)

    def gone(self, equation: str, name: str, column: int, component: int) -> bool:
        """Whether a child entry of an equation is written as its reconstruction: in place of its variable, or as it
        is hidden and no other slice has it.
        """
        once = len(self.holders[name, column + self.columns[name].start]) == 1
        return bool((self.eliminated.get(name) == equation or once) and self.hidden(name, column)[component])

    def settle(self, values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[Entry, float]]:
        """The values with those of eliminated variables put in, and the reconstruction of every child entry."""
        values = {name: np.array(dense(value), dtype=float) for name, value in values.items()}
        R: dict[Entry, float] = {}
        for equation in sorted(self.network.factorizations, key=self.network.level_of, reverse=True):
            for t in range(self.counts[equation.name]):
                total = np.zeros(equation.rows)
                for term in equation.terms:
                    name = term.slice.variable.name
                    if t + term.slice.lag >= 0:
                        column = t + term.slice.lag - self.columns[name].start
                        total += values[term.parameter.name] @ values[name][:, column]
                for number, rows in enumerate(equation.parts):
                    self._take(equation, number, t, total[rows], values, R)
        return values, R

    def _take(
        self, equation: Any, number: int, t: int, found: Array, values: dict[str, Array], R: dict[Entry, float]
    ) -> None:
        child = equation.children[number]
        name, column = child.variable.name, t + child.lag - self.columns[child.variable.name].start
        for component, value in enumerate(found):
            R[equation.name, number, t, component] = value
            if self.gone(equation.name, name, column, component):
                values[name][component, column] = value

    def costs(self, values: Mapping[str, Array], R: Mapping[Entry, float]) -> dict[Entry, tuple[float, float, float]]:
        """For every child entry that is not eliminated: its value, its reconstruction, its weight."""
        found = {}
        for (name, number, t, component), reconstruction in R.items():
            child = self.network[name].children[number]
            variable, column = child.variable.name, t + child.lag - self.columns[child.variable.name].start
            if self.gone(name, variable, column, component):
                continue
            weight = float(self.weights[name][t]) if name in self.weights else 1.0
            found[name, number, t, component] = (values[variable][component, column], reconstruction, weight)
        return found

    def objective(self, values: Mapping[str, Array], divergence: str, epsilon: float = 1e-9) -> float:
        """The divergence of all children that are not eliminated, entry by entry."""
        total = 0.0
        for x, r, weight in self.costs(*self.settle(values)).values():
            if divergence == "kl":
                total += weight * ((x + epsilon) * np.log((x + epsilon) / (r + epsilon)) - x + r)
            else:
                total += weight * (x - r) ** 2
        return total

    def slopes(
        self, values: Mapping[str, Array], target: str, divergence: str, epsilon: float = 1e-9
    ) -> tuple[Array, Array]:
        """The numerator and denominator of every entry of a variable or parameter in which the cost is linear."""
        now = self.costs(*self.settle(values))
        shape = dense(values[target]).shape
        nothing = self.settle({**values, target: np.zeros(shape)})[1]
        numerator, denominator = np.zeros(shape), np.zeros(shape)
        for place in np.ndindex(shape):
            unit = np.zeros(shape)
            unit[place] = 1.0
            response = self.settle({**values, target: unit})[1]
            for entry, (x, r, weight) in now.items():
                slope = weight * (response[entry] - nothing[entry])
                a, b = ((x + epsilon) / (r + epsilon), 1.0) if divergence == "kl" else (x, r)
                numerator[place] += slope * a
                denominator[place] += slope * b
        return numerator, denominator


def dense(value: Any) -> Any:
    """A sparse matrix as an array."""
    return value.toarray() if scipy.sparse.issparse(value) else value
