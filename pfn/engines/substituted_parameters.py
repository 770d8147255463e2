"""Left updates of a substituted network: parameters that are updated together, and the sums that they keep."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import kl_div

from pfn.engines.parameters import Unit, normalize_units
from pfn.engines.problem import Problem
from pfn.errors import OptionError
from pfn.network import Factorization, Parameter
from pfn.updates import EUCLIDEAN
from pfn.updates.constrained import Sums
from pfn.updates.majorizers import Majorizer, kind_of_majorizer
from pfn.updates.maps import Product


class SumUnit(Unit):
    """Learned parameters in one matrix, with a denominator for every entry."""

    @classmethod
    def like(cls, unit: Unit) -> "SumUnit":
        """The same parameters, updated in every sweep."""
        return cls(unit.parameters, 1, unit.pattern, {parameter.name: pull for parameter, pull in unit.pulls.items()})

    def take(self, values: np.ndarray, dot: Product) -> None:
        """Use this memory."""
        self.bind(values, EUCLIDEAN, dot)  # the Kullback-Leibler denominators are not the same in all rows any more

    def collected(self) -> tuple[np.ndarray, np.ndarray]:
        """The numerators and denominators added since the last call, flat."""
        self._started.clear()
        self._tie()
        return self._numerator.ravel(), self._denominator.ravel()

    def pull(self) -> tuple[np.ndarray, np.ndarray]:
        """For every entry, flat, the weight of its prior and the prior itself."""
        weights, priors = np.zeros(self.shape), np.zeros(self.shape)
        for parameter, pull in self.pulls.items():
            self._entries_of(weights, parameter)[...] = pull.weight
            self._entries_of(priors, parameter)[...] = pull.prior
        return weights.ravel(), priors.ravel()

    def places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every entry, flat, the number of its parameter, its row and its column there."""
        if self.pattern is not None:
            row = np.repeat(np.arange(self.pattern.shape[0]), np.diff(self.pattern.indptr))
            return np.zeros(self.pattern.nnz, dtype=int), row, self.pattern.indices
        widths = [parameter.shape[1] for parameter in self.parameters]
        number = np.repeat(np.arange(len(widths)), widths)
        column = np.concatenate([np.arange(width) for width in widths])
        row = np.arange(self.shape[0])
        shaped = (np.broadcast_to(place, self.shape).ravel() for place in (number, row[:, None], column))
        return tuple(shaped)  # type: ignore[return-value]  # they are three


class Constraint(NamedTuple):
    """The sums that a normalization prescribes."""

    kind: str
    sums: Sums
    totals: np.ndarray  # of every sum; for "balanced", those of the moment are kept
    uses: np.ndarray  # how often each entry counts in its sum
    columns: Sums


class LeftUpdate:
    """The update of all entries of some units from what has risen to their equations."""

    def __init__(
        self,
        units: Sequence[SumUnit],
        equations: Sequence[Factorization],
        *,
        degree: int,
        problem: Problem,
    ) -> None:
        self.units, self._equations, self._problem = units, equations, problem
        self.rhythm = problem.rhythm(units[0].parameters[0].name)  # that of all of them
        weights, priors = (np.concatenate(parts) for parts in zip(*(unit.pull() for unit in units), strict=True))
        self._weights, self._priors = weights.astype(problem.dtype), priors.astype(problem.dtype)
        self._kind, self._power = kind_of_majorizer(problem.divergence, degree, pulled=bool(weights.any()))
        self._constraint = self._make_constraint()

    def _make_constraint(self) -> Constraint | None:
        """The sums to keep; None where there are none, or where the update must be normalized afterwards."""
        equation = next((e for e in self._equations if e.normalize), None)
        parameters = [p for unit in self.units for p in unit.parameters]
        if (
            equation is None
            or self._kind is Majorizer
            or (equation.normalize == "balanced" and len(equation.parts) == 1)
        ):
            return None
        learned = {p for p in equation.parameters if p.name in self._problem.learned}
        if equation.normalize == "sequences" and learned != {*parameters}:
            return None
        return _constraint(equation, self.units, parameters)

    def penalty(self) -> float:
        """The cost of straying from the priors, in the units of the divergence."""
        pulled = self._weights > 0
        if not pulled.any():
            return 0.0
        scale = 1 if self._problem.divergence.unit_denominator else 2
        return float(scale * (self._weights[pulled] @ kl_div(self._priors[pulled], self._read()[pulled])))

    def apply(self) -> None:
        """Update the units from the numerators and denominators that were added to them."""
        epsilon, weights, W = self._problem.epsilon, self._weights, self._read()
        n, d = (np.concatenate(parts) for parts in zip(*(unit.collected() for unit in self.units), strict=True))
        cost = self._kind(W, W * (n + epsilon) + weights * self._priors, d + epsilon + weights, self._power)
        if self._constraint is None:
            self._write(cost.minimum())
            self.normalize()
        else:
            self._write(self._constrained(cost, self._constraint))
            for unit in self.units:
                unit.keep_ties()
        self._adjust()

    def _adjust(self) -> None:
        """Let the user's functions have the last word."""
        for unit in self.units:
            for parameter in unit.parameters:
                function = self._problem.adjust.get(parameter.name)
                if function is not None:
                    place = unit.values if unit.pattern is not None else unit.matrix(parameter)
                    place[...] = _adjusted(parameter.name, function(place.copy()), place.shape)

    def _constrained(self, cost: Any, constraint: Constraint) -> np.ndarray:
        """The best matrix with the sums asked for; balanced ones are those of before, or of the update if better."""
        if constraint.kind != "balanced":
            found = cost.scaled(constraint.uses).with_sums(constraint.totals, constraint.sums)
            return np.asarray(found / constraint.uses)
        sums, columns = constraint.sums, constraint.columns
        same = cost.with_sums(sums.total(sums.ordered(cost.W)), sums)
        self._write(cost.minimum())
        self.normalize()
        other = self._read()
        better = columns.total(columns.ordered(cost.value(other) - cost.value(same))) <= 0
        return np.where(columns.restored(columns.spread(better)), other, same)

    def normalize(self) -> None:
        """Give the units the sums asked for, as they are."""
        normalize_units(self.units, {p.name for unit in self.units for p in unit.parameters}, self._equations)

    def _read(self) -> np.ndarray:
        return np.concatenate([unit.values.ravel() for unit in self.units])

    def _write(self, flat: np.ndarray) -> None:
        start = 0
        for unit in self.units:
            unit.values[...] = flat[start : start + unit.values.size].reshape(unit.values.shape)
            start += unit.values.size


def _adjusted(name: str, found: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(found)
    if array.dtype.kind not in "buif" or array.shape != shape or not (np.isfinite(array) & (array >= 0)).all():
        raise OptionError(
            f"Substitute: adjust of {name} must give finite numbers >= 0 of the shape {shape}, "
            f"found {array.dtype} of the shape {array.shape}. Give back an array like the one it takes."
        )
    return array


def _constraint(equation: Factorization, units: Sequence[SumUnit], parameters: Sequence[Parameter]) -> Constraint:
    """The sums of an equation's normalization, over all entries of the units."""
    places, first = [], 0
    for unit in units:
        number, row, column = unit.places()
        places.append((number + first, row, column))
        first += len(unit.parameters)
    number, row, column = (np.concatenate(parts) for parts in zip(*places, strict=True))
    widest = max(parameter.shape[1] for parameter in parameters)
    columns = number * widest + column
    counts = np.array([equation.parameters.count(parameter) for parameter in parameters])
    kind, uses, share = str(equation.normalize), np.ones(1), 1.0
    labels = columns
    if kind == "sequences":
        labels, uses = column, counts[number].astype(float)
    elif kind in ("subcolumns", "balanced"):
        ends = [part.stop for part in equation.parts]
        labels = columns * len(ends) + np.searchsorted(ends, row, side="right")
        share = 1 / len(ends)
    dtype = units[0].values.dtype
    sums = Sums(labels)
    totals = np.full(sums.count, share, dtype)
    return Constraint(kind, sums, totals, uses.astype(dtype), Sums(columns))
