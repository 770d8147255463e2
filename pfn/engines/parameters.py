"""The learned parameters of a run: which are one matrix in memory, and their left updates.

The learned parameters of one equation lie side by side in one matrix where none of them is tied, so that
products with all of them are one product. Such a matrix, or a single parameter, is a `Unit`.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines.problem import Problem, Pull, Statistics, pulls
from pfn.network import Factorization, Network, Parameter
from pfn.updates import Divergence, factor, normalize, pulled
from pfn.updates.maps import (
    Product,
    SparseEntries,
    row_of_each_entry,
    sampled_statistics,
    statistics,
    tied,
)


class Unit:
    """Learned parameters that are updated as one matrix."""

    def __init__(
        self,
        parameters: tuple[Parameter, ...],
        every: int = 1,
        pattern: Any = None,
        pulled: Mapping[str, Pull] = MappingProxyType({}),
    ) -> None:
        self.parameters = parameters
        self.pulls = {p: pulled[p.name] for p in parameters if p.name in pulled}
        self.every = every
        self.pattern = pattern  # the CSR pattern of a sparse parameter
        self.name = " ".join(parameter.name for parameter in parameters)
        width = sum(p.shape[1] for p in parameters)
        self.shape = (parameters[0].shape[0], width) if pattern is None else (int(pattern.nnz),)
        self._rows = None if pattern is None else row_of_each_entry(pattern)
        self._groups = parameters[0].groups

    def bind(self, values: np.ndarray, divergence: Divergence, dot: Product) -> None:
        """Take the memory of the matrix (of the stored entries, for a sparse one) and fetch what updates need."""
        self.values = values
        self._dot = dot
        self._numerator = np.empty_like(values)
        one_row = divergence.unit_denominator and self.pattern is None
        self._denominator = np.empty(values.shape[1:], values.dtype) if one_row else np.empty_like(values)
        self._extra: np.ndarray | None = None
        self._started: set[str] = set()

    def start(self, matrices: Mapping[str, Any]) -> None:
        """Take the values of the parameters from these matrices."""
        for parameter in self.parameters:
            value = matrices[parameter.name]
            if self.pattern is not None:
                self.values[:] = value.data
            else:
                self.matrix(parameter)[...] = value.toarray() if sp.issparse(value) else value

    def columns(self, parameter: Parameter) -> slice:
        """Where a parameter lies in the matrix."""
        before = self.parameters[: self.parameters.index(parameter)]
        start = sum(p.shape[1] for p in before)
        return slice(start, start + parameter.shape[1])

    def matrix(self, parameter: Parameter) -> Any:
        """The current value of a parameter: a view of the matrix, or a CSR array."""
        if self.pattern is not None:
            return sp.csr_array((self.values, self.pattern.indices, self.pattern.indptr), self.pattern.shape)
        return self.values[:, self.columns(parameter)]

    def entries(self, parameter: Parameter) -> np.ndarray | SparseEntries:
        """What normalizations work on."""
        if self.pattern is not None:
            return SparseEntries(self.values, self.pattern)
        return self.values[:, self.columns(parameter)]

    def add_numerator(self, A: np.ndarray, parents: np.ndarray) -> None:
        """Add A Sᵀ to the numerator of the next update."""
        self._add("numerator", self._numerator, A, parents)

    def add_denominator(self, B: np.ndarray, parents: np.ndarray) -> None:
        """Add B Sᵀ to the denominator of the next update."""
        self._add("denominator", self._denominator, B, parents)

    def add_uniform_denominator(self, sums: np.ndarray) -> None:
        """1 Sᵀ is the same for every row of W: one number per column."""
        entries = sums if self.pattern is None else sums[self.pattern.indices]
        if "denominator" in self._started:
            self._denominator += entries
        else:
            self._denominator[...] = entries
            self._started.add("denominator")

    def _add(self, name: str, total: np.ndarray, field: np.ndarray, parents: np.ndarray) -> None:
        room = self._room(name, total)
        self._statistics(field, parents, room)
        self._take(name, total, room)

    def _room(self, name: str, total: np.ndarray) -> np.ndarray:
        """Where the next statistics go: into the total, if they are the first."""
        if name not in self._started:
            return total
        if self._extra is None:
            self._extra = np.empty_like(self.values)
        return self._extra

    def _take(self, name: str, total: np.ndarray, room: np.ndarray) -> None:
        self._started.add(name)
        if room is not total:
            total += room

    @contextmanager
    def numerator_to_add(self) -> Iterator[np.ndarray]:
        """Room for A Sᵀ, which is added to the numerator of the next update when it is filled."""
        room = self._room("numerator", self._numerator)
        yield room
        self._take("numerator", self._numerator, room)

    def _statistics(self, field: np.ndarray, parents: np.ndarray, out: np.ndarray) -> None:
        if self._rows is None:
            statistics(field, parents, out, self._dot)
        else:
            sampled_statistics(field, parents, self._rows, self.pattern.indices, out)

    def _tie(self) -> None:
        """Let entries that are equal have their numerators and denominators in common."""
        if self._groups is not None:
            self._numerator[:] = tied(self._numerator, self._groups)
            self._denominator[:] = tied(self._denominator, self._groups)

    def keep_ties(self) -> None:
        """Make entries equal again that rounding set apart."""
        if self._groups is not None:
            self.values[:] = self.values[np.unique(self._groups, return_index=True)[1]][self._groups]

    def update(self, epsilon: float) -> None:
        """The left update from the numerators and denominators added since the last one."""
        self._tie()
        pulls = [(self._entries_of(self.values, p), self._pulled(p, epsilon)) for p in self.pulls]
        self.values *= factor(self._numerator, self._denominator + epsilon, epsilon, out=self._numerator)
        for entries, values in pulls:
            entries[...] = values
        self._started.clear()

    def _pulled(self, parameter: Parameter, epsilon: float) -> np.ndarray:
        sums = (self.values, self._numerator, self._denominator)
        W, numerator, denominator = (self._entries_of(array, parameter) for array in sums)
        prior, weight = self.pulls[parameter]
        new: np.ndarray = pulled(W, numerator, denominator, epsilon, prior=prior, weight=weight)
        return new

    def _entries_of(self, array: np.ndarray, parameter: Parameter) -> np.ndarray:
        """The part of values or sums that belongs to a parameter."""
        return array if self.pattern is not None else array[..., self.columns(parameter)]

    def statistics(self) -> dict[str, Statistics]:
        """What was added since the last update, by parameter, in place of an update."""
        self._started.clear()
        self._tie()
        sums = self.values * self._numerator, self._denominator
        return {p.name: Statistics(*(self._entries_of(part, p).copy() for part in sums)) for p in self.parameters}


def make_units(problem: Problem) -> list[Unit]:
    """The learned parameters of the problem, in the order of their first equation."""
    network, units = problem.schedule.network, []
    placed: set[str] = set()
    pulled = pulls(problem)
    for equation in network.factorizations:
        learned = [p for p in dict.fromkeys(equation.parameters) if p.name in problem.learned]
        if _side_by_side(network, equation, problem):
            units.append(Unit(tuple(learned), problem.learn_every.get(learned[0].name, 1), pulled=pulled))
        else:
            units += [
                Unit((p,), problem.learn_every.get(p.name, 1), _pattern(p, problem.start), pulled)
                for p in learned
                if p.name not in placed
            ]
        placed.update(p.name for p in learned)
    return units


def _pattern(parameter: Parameter, start: Mapping[str, Any]) -> Any:
    return start[parameter.name] if sp.issparse(start[parameter.name]) else None


def _side_by_side(network: Network, equation: Factorization, problem: Problem) -> bool:
    """Whether all parameters of the equation are learned, dense, updated together, and used here only."""
    uses = [p for e in network.factorizations for p in e.parameters]
    return (
        len(equation.terms) > 1
        and all(p.name in problem.learned and uses.count(p) == 1 for p in equation.parameters)
        and not any(sp.issparse(problem.start[p.name]) for p in equation.parameters)
        and len({problem.rhythm(p.name) for p in equation.parameters}) == 1
    )


def normalize_units(units: Iterable[Unit], updated: set[str], equations: Iterable[Factorization]) -> None:
    """Normalize, as their equations say, the parameters that were just updated.

    The columns of a sequence are scaled together, also those of its learned parameters that were not.
    """
    owners = {p.name: unit for unit in units for p in unit.parameters}
    done: set[str] = set()
    for equation in equations:
        learned = [p for p in dict.fromkeys(equation.parameters) if p.name in owners and p.name not in done]
        due = [p for p in learned if p.name in updated]
        if due and equation.normalize:
            chosen = learned if equation.normalize == "sequences" else due
            unit = owners[chosen[0].name]
            if equation.normalize == "sequences" and len(unit.parameters) > 1:
                # side by side, the j-th columns of all parameters are the j-th column of a taller matrix
                normalize([unit.values.reshape(-1, chosen[0].shape[1])], "columns", equation.parts)
                continue
            uses = [equation.parameters.count(p) for p in chosen]
            normalize([owners[p.name].entries(p) for p in chosen], equation.normalize, equation.parts, uses)
            for parameter in chosen:
                owners[parameter.name].keep_ties()
        done.update(p.name for p in due)
