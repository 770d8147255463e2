"""Geometric windows along time, Σ_{j<length} rate^j x[t − j], and their adjoint, Σ_{j<length} rate^j x[t + j].

Without a length it is the recursion y[t] = x[t] + rate y[t − 1], a bidiagonal system that BLAS solves in one call for
all rows; with one, that minus its copy `length` columns later. So the cost does not depend on the length.
"""

import numpy as np
from scipy.linalg.blas import dtbsv

from pfn.updates.divergence import Array


class WindowSums:
    """Windows over the columns of matrices of one shape, in double precision: differences of long sums lose digits.

    `rates` has one number, or one per row; `position` the place of every column in its own sequence, where there are
    several: no window reaches into another one.
    """

    def __init__(self, rates: Array, length: int | None, shape: tuple[int, int], position: Array | None = None) -> None:
        self._shape = shape
        self._length = None if length is None or length >= shape[1] else length
        rate = np.asarray(rates, float)[:, None]
        place = np.arange(shape[1]) if position is None else position[: shape[1]]
        carried = np.where(place > 0, -rate, 0.0)  # nothing into the first column of a sequence
        self._band = np.ones((2, shape[0] * shape[1]), order="F")
        self._band[1, :-1] = np.broadcast_to(carried, shape).ravel()[1:]
        if self._length is not None:
            self._last = np.where(place[self._length :] >= self._length, rate**self._length, 0.0)

    def apply(self, x: Array) -> Array:
        """What is seen of x at every column."""
        return self._solved(x, backward=False)

    def adjoint(self, x: Array) -> Array:
        """What all columns that see an entry have, gathered where the entry is."""
        return self._solved(x, backward=True)

    def _solved(self, x: Array, *, backward: bool) -> Array:
        if not x.size:
            return x
        flat = np.array(x, float).ravel()
        y = dtbsv(1, self._band, flat, lower=1, trans=int(backward), diag=1, overwrite_x=1).reshape(self._shape)
        length = self._length
        if length is not None:
            near, far = slice(length, None), slice(None, -length)
            if backward:
                near, far = far, near
            beyond = y[:, far] * self._last
            y[:, near] -= beyond
            np.maximum(y, 0, out=y)  # rounding leaves tiny negative numbers where nothing is left
        return np.asarray(y, x.dtype)
