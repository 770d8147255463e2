"""Errors along a run."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pfn.errors import DeclarationError


class History:
    """The root mean square error of every equation along the sweeps.

    `history["eq1"]` is an array, `history.iterations` the sweeps it was taken after (counted from 0),
    `history.divergence` the summed divergence of all equations. Hidden entries that occur once are in neither.
    """

    def __init__(self, iterations: ArrayLike, rmse: Mapping[str, ArrayLike], divergence: ArrayLike) -> None:
        self.iterations = np.array(iterations, dtype=np.int64)
        self.divergence = np.array(divergence, dtype=np.float64)
        self._rmse = {name: np.array(values, dtype=np.float64) for name, values in rmse.items()}

    def __getitem__(self, equation: object) -> np.ndarray:
        name = equation if isinstance(equation, str) else getattr(equation, "name", None)
        if name not in self._rmse:
            raise DeclarationError(f"the history has no equation called {equation!r}. It has {', '.join(self._rmse)}.")
        return self._rmse[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rmse)

    def __len__(self) -> int:
        return len(self.iterations)

    def __repr__(self) -> str:
        return f"History of {', '.join(self._rmse)}, measured after {len(self)} sweeps"


class Recorder:
    """Collects a history sweep by sweep."""

    def __init__(self, equations: Sequence[str]) -> None:
        self.iterations: list[int] = []
        self.divergence: list[float] = []
        self.rmse: dict[str, list[float]] = {name: [] for name in equations}

    def add(self, iteration: int, rmse: Mapping[str, float], divergence: float) -> None:
        """Take the errors after a sweep."""
        self.iterations.append(iteration)
        self.divergence.append(divergence)
        for name, values in self.rmse.items():
            values.append(rmse[name])

    def finish(self) -> History:
        """The history so far."""
        return History(self.iterations, self.rmse, self.divergence)


class Pooled:
    """The errors of several batches as if they were one."""

    def __init__(self, equations: Sequence[str]) -> None:
        self.names = list(equations)
        self.squared, self.entries = np.zeros(len(self.names)), np.zeros(len(self.names))

    def add(self, rmse: Mapping[str, float], entries: Mapping[str, float]) -> None:
        """Take the errors of a batch, and the numbers of entries that they are the means over."""
        counts = np.array([entries[name] for name in self.names])
        errors = np.array([rmse[name] for name in self.names])
        self.squared += np.where(counts > 0, errors**2 * counts, 0)  # NaN where none counts
        self.entries += counts

    @property
    def rmse(self) -> dict[str, float]:
        """The root mean square errors over all batches; NaN where no entry has counted yet."""
        means = np.divide(self.squared, self.entries, out=np.full(len(self.names), np.nan), where=self.entries > 0)
        return dict(zip(self.names, np.sqrt(means).tolist(), strict=True))
