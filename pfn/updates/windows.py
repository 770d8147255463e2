"""Geometric windows along time, Σ_{j<length} rate^j x[t − j], and their adjoint, Σ_{j<length} rate^j x[t + j].

Without a length it is the recursion y[t] = x[t] + rate y[t − 1], a bidiagonal system that BLAS solves in one call for
all rows. With one it is found by doubling: two windows side by side are a window twice as long, and a window of any
length is a row of those that the binary digits of its length name, the shortest first. Nothing is taken away again, so
that nothing is left where a window has ended. Windows with the same rates share the recursion and the doubling.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg.blas import dtbsv

from pfn.updates.divergence import Array


class WindowSums:
    """Windows of some lengths over matrices of one shape.

    `rates` has one number, or one per row; `position` the place of every column in its own sequence, where there are
    several: no window reaches into another one.
    """

    def __init__(
        self, rates: Array, lengths: Sequence[int | None], shape: tuple[int, int], position: Array | None = None
    ) -> None:
        self._rate = np.asarray(rates, float)[:, None]
        self._place = np.arange(shape[1]) if position is None else position[: shape[1]]
        longest = self._place.max(initial=0) + 1
        self._lengths = [None if length is None or length >= longest else length for length in lengths]
        self._digits = max((length.bit_length() for length in self._lengths if length is not None), default=0)
        self._other: dict[int, Array] = {}
        if None in self._lengths:
            carried = np.where(self._place > 0, -self._rate, 0.0)  # nothing into the first column of a sequence
            self._band = np.ones((2, shape[0] * shape[1]), order="F")
            self._band[1, :-1] = np.broadcast_to(carried, shape).ravel()[1:]

    def apply(self, *xs: Array) -> Array:
        """What is seen of every x through its window, at each column, added up."""
        windows = list(zip(xs, self._lengths, strict=True))
        endless = [x for x, length in windows if length is None]
        seen = np.zeros_like(xs[0])
        for digit in reversed(range(self._digits)):
            size = 1 << digit
            if digit < self._digits - 1:
                self._add(seen, seen, size)  # so far it is for windows half as long
            for x, length in windows:
                if length is not None and length & size:
                    self._add(seen, x, length & (size - 1))
        if endless:
            seen += self._recursion(sum(endless[1:], endless[0]))
        return seen

    def adjoint(self, x: Array) -> Iterator[Array]:
        """For each window, what all columns that see an entry have, gathered where the entry is."""
        endless = self._recursion(x, backward=True) if None in self._lengths else x
        gathered = {length: np.zeros_like(x) for length in self._lengths if length is not None}
        part = x.copy() if gathered else x
        for digit in range(self._digits):
            size = 1 << digit
            for columns, found in gathered.items():
                if columns & size:
                    self._add(found, part, columns & (size - 1), backward=True)
            if digit < self._digits - 1:
                self._add(part, part, size, backward=True)
        for length in self._lengths:
            yield endless if length is None else gathered[length]

    def _add(self, to: Array, x: Array, by: int, *, backward: bool = False) -> None:
        """To each column, what x has so many columns before it, or behind it if backward, in the same sequence."""
        if not by:
            to += x
            return
        if by not in self._other:
            self._other[by] = np.flatnonzero(self._place[by:] < by)
        far = (x[:, by:] if backward else x[:, :-by]) * (self._rate**by).astype(x.dtype)
        far[:, self._other[by]] = 0
        near = to[:, :-by] if backward else to[:, by:]
        near += far

    def _recursion(self, x: Array, *, backward: bool = False) -> Array:
        """Windows without an end, in double precision: they may add up very many numbers."""
        y = np.array(x, float, order="C")
        if y.size:
            dtbsv(1, self._band, y.ravel(), lower=1, trans=int(backward), diag=1, overwrite_x=1)
        return y.astype(x.dtype, copy=False)
