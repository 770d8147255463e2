"""What an engine is given: a schedule, checked data, starting values and the options of a sweep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    released: frozenset[str] = frozenset()  # variables whose observations will be let go
    learn_every: Mapping[str, int] = field(default_factory=dict)
    learn_at: Mapping[str, frozenset[int]] = field(default_factory=dict)  # by parameter: the only sweeps that change it
    adjust: Mapping[str, Callable[[np.ndarray], np.ndarray]] = field(default_factory=dict)  # after an update
    averaging: str = "updated"
    divergence: Divergence = KULLBACK_LEIBLER
    epsilon: float = 1e-9
    accelerated: bool = False  # ratio momentum before every sweep
    smoothed: frozenset[str] = frozenset()  # equations that have sparseness in some sweep
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    def rhythm(self, parameter: str) -> Rhythm:
        """In which sweeps a parameter is updated."""
        return Rhythm(self.learn_every.get(parameter, 1), self.learn_at.get(parameter))


def has_hidden(array: Any) -> bool:
    """Whether some entries are hidden; sparse matrices are observed throughout."""
    return not sp.issparse(array) and bool(np.isnan(array).any())


def dense(array: Any) -> np.ndarray:
    """The array itself, or a sparse matrix as an array."""
    return np.asarray(array.toarray() if sp.issparse(array) else array)


class Errors(NamedTuple):
    """After a sweep: the root mean square error of every equation by name, and the summed divergence."""

    rmse: dict[str, float]
    divergence: float
    squared: float
