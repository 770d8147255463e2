"""Geometric windows along time, Σ_{j<length} rate^j x[t − j], and their adjoint, Σ_{j<length} rate^j x[t + j].

Without a length it is the recursion y[t] = x[t] + rate y[t − 1], a bidiagonal system that BLAS solves in one call for
all rows; with one, `rate^length x` is taken away so much later. So the cost does not depend on the length, and windows
with the same rates share their recursion.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg.blas import dtbsv

from pfn.updates.divergence import Array


class WindowSums:
    """Windows of some lengths over matrices of one shape, in double precision: differences of long sums lose digits.

    `rates` has one number, or one per row; `position` the place of every column in its own sequence, where there are
    several: no window reaches into another one.
    """

    def __init__(
        self, rates: Array, lengths: Sequence[int | None], shape: tuple[int, int], position: Array | None = None
    ) -> None:
        rate = np.asarray(rates, float)[:, None]
        place = np.arange(shape[1]) if position is None else position[: shape[1]]
        carried = np.where(place > 0, -rate, 0.0)  # nothing into the first column of a sequence
        self._band = np.ones((2, shape[0] * shape[1]), order="F")
        self._band[1, :-1] = np.broadcast_to(carried, shape).ravel()[1:]
        self._lengths = [None if length is None or length >= shape[1] else length for length in lengths]
        self._last: dict[int, Array] = {}
        for length in filter(None, self._lengths):
            inside = True if position is None else place[length:] >= length
            self._last[length] = rate**length * inside

    def apply(self, *xs: Array) -> Array:
        """What is seen of every x through its window, at each column, added up."""
        y = np.array(xs[0], float)
        for x in xs[1:]:
            y += x
        for x, length in zip(xs, self._lengths, strict=True):
            if length is not None:
                y[:, length:] -= x[:, :-length] * self._last[length]
        return self._positive(self._solved(y, backward=False)).astype(xs[0].dtype, copy=False)

    def adjoint(self, x: Array) -> Iterator[Array]:
        """For each window, what all columns that see an entry have, gathered where the entry is."""
        full = self._solved(np.array(x, float), backward=True)
        for length in self._lengths:
            y = full
            if length is not None:
                y = full.copy()
                y[:, :-length] -= full[:, length:] * self._last[length]
            yield self._positive(y).astype(x.dtype, copy=False)

    def _solved(self, y: Array, *, backward: bool) -> Array:
        if y.size:
            dtbsv(1, self._band, y.ravel(), lower=1, trans=int(backward), diag=1, overwrite_x=1)
        return y

    def _positive(self, y: Array) -> Array:
        """Rounding leaves tiny negative numbers where nothing is left."""
        return np.maximum(y, 0, out=y) if self._last else y
