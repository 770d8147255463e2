"""What an engine is given: a schedule, checked data, starting values and the options of a sweep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, isnan, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.compiler import Schedule
from pfn.updates import KULLBACK_LEIBLER, Divergence


class Rhythm(NamedTuple):
    """The sweeps in which a parameter is updated: those divisible by a number, of some or of all."""

    every: int
    at: frozenset[int] | None

    def due(self, number: int) -> bool:
        """Whether it is updated in this sweep."""
        return number % self.every == 0 and (self.at is None or number in self.at)


@dataclass(frozen=True)
class Problem:
    """Everything about a run that does not change from sweep to sweep."""

    schedule: Schedule
    lengths: Sequence[int]  # T of every sequence
    observed: Mapping[str, Sequence[Any]]  # by variable: an array (NaN = hidden) or sparse matrix per sequence
    start: Mapping[str, Any]  # by variable: an array per sequence; by parameter: a matrix
    learned: frozenset[str] = frozenset()
    weights: Mapping[str, Sequence[np.ndarray]] = field(default_factory=dict)  # by equation: per sequence
    weigh_parents: bool = False  # whether the weights of columns count in right updates, too; programs only
    released: frozenset[str] = frozenset()  # variables whose observations will be let go
    learn_every: Mapping[str, int] = field(default_factory=dict)
    learn_at: Mapping[str, frozenset[int]] = field(default_factory=dict)  # by parameter: the only sweeps that change it
    adjust: Mapping[str, Callable[[np.ndarray], np.ndarray]] = field(default_factory=dict)  # after an update
    joint: bool = False  # whether the left and right updates of a level are made from the same ratios
    averaging: str = "pooled"
    divergence: Divergence = KULLBACK_LEIBLER
    epsilon: float = 1e-9
    accelerated: bool = False  # ratio momentum before every sweep
    smoothed: frozenset[str] = frozenset()  # equations that have sparseness in some sweep
    past: Mapping[str, "Statistics"] = field(default_factory=dict)  # by learned parameter: of data seen before
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    precision: str = "full"  # of products: "full", or "tf32"
    room: int = 0  # columns that arrays have at least, in engines that compile: runs of one width share a program
    mesh: Any = None  # the JAX devices over which columns are spread, if there are several

    def rhythm(self, parameter: str) -> Rhythm:
        """In which sweeps a parameter is updated."""
        return Rhythm(self.learn_every.get(parameter, 1), self.learn_at.get(parameter))


class Statistics(NamedTuple):
    """What the left update of a parameter is made from: W · numerator, and what it is divided by.

    Of a sparse parameter the stored entries, flat; denominators that are the same in all rows are one row.
    """

    products: np.ndarray
    denominators: np.ndarray


class Pull(NamedTuple):
    """What a learned parameter is pulled to, and how much: one number, or as many as it has columns or entries."""

    prior: np.ndarray
    weight: Any


def pulls(problem: Problem) -> dict[str, Pull]:
    """By learned parameter, its prior and the statistics of data seen before: those pull to W · numerator / weight."""
    found = {}
    for parameter in problem.schedule.network.parameters:
        weight, product = np.asarray(parameter.prior_weight), np.zeros(1)
        if parameter.prior_weight:
            product = weight * np.asarray(parameter.prior)
        if parameter.name in problem.past:
            past = problem.past[parameter.name]
            weight, product = weight + past.denominators, product + past.products
        if parameter.name in problem.learned and np.any(weight):
            prior = product / np.where(weight > 0, weight, 1)
            found[parameter.name] = Pull(prior.astype(problem.dtype), weight.astype(problem.dtype))
    return found


def has_hidden(array: Any) -> bool:
    """Whether some entries are hidden; sparse matrices are observed throughout."""
    return not sp.issparse(array) and bool(np.isnan(array).any())


def dense(array: Any) -> np.ndarray:
    """The array itself, or a sparse matrix as an array."""
    return np.asarray(array.toarray() if sp.issparse(array) else array)


class Errors(NamedTuple):
    """After a sweep: the root mean square error of every equation by name, and the summed divergence.

    An RMSE is NaN where no entry of an equation counts, and infinite where values overflowed.
    """

    rmse: dict[str, float]
    divergence: float
    squared: float

    @classmethod
    def of(cls, squared: Mapping[str, float], entries: Mapping[str, float], divergence: float) -> "Errors":
        """From the summed squares of every equation, and the number of entries that they are of."""
        rmse = {name: root_mean(total, entries[name]) for name, total in squared.items()}
        return cls(rmse, divergence, sum(squared.values()))

    @property
    def largest(self) -> float:
        """The largest RMSE."""
        return largest_error(self.rmse)


def root_mean(squared: float, entries: float) -> float:
    """The root mean square of a number of entries: NaN where none counts, infinite where the squares overflowed."""
    if not isfinite(squared):
        return inf
    return sqrt(squared / entries) if entries else nan


def largest_error(rmse: Mapping[str, float]) -> float:
    """The largest RMSE of an equation; 0 where none has any, so that nothing waits for it."""
    return max((error for error in rmse.values() if not isnan(error)), default=0.0)
