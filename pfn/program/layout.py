"""Where columns lie: the only place that knows lags, sequences, padding and the columns that do not exist.

One sequence is laid out as it is: a variable has the columns that it has, an equation those at which it holds. Several
sequences share one time axis, each with as many slots as its bottom variables have columns, so that a slice at any lag
is one view of one array. Then some slots of an equation are dead, because it does not hold there, and some of a lagged
parent are cut off, because they lie before the start of its own sequence.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.network import Columns, Factorization, Network, Slice


class Layout:
    """The slots of all variables and equations for sequences of the given lengths.

    `observed` has by variable the arrays that the user gave, one for each sequence: all of their columns count.
    """

    def __init__(self, network: Network, lengths: Sequence[int], observed: Mapping[str, Sequence[Any]]) -> None:
        self.network = network
        self.lengths = tuple(lengths)
        self.single = len(self.lengths) == 1
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(int)
        self._given = {name: [array.shape[1] for array in arrays] for name, arrays in observed.items()}
        self._columns = cache(network.columns)
        self._live = cache(self._find_live)

    @property
    def signature(self) -> tuple[object, ...]:
        """What the places of columns depend on beside the network."""
        return self.lengths, tuple(sorted((name, tuple(widths)) for name, widths in self._given.items()))

    # --- variables

    def columns_of(self, variable: str, sequence: int) -> range:
        """The columns that the variable has in a sequence: those touched by equations, and those observed."""
        touched = self._columns_at(sequence).variables[variable]
        given = self._given.get(variable)
        return touched if given is None else range(max(given[sequence], touched.stop))

    def _columns_at(self, sequence: int) -> Columns:
        return self._columns(self.lengths[sequence])

    def width(self, variable: str) -> int:
        """Number of slots of the variable's array."""
        return len(self.columns_of(variable, 0)) if self.single else int(self.starts[-1])

    def slots(self, variable: str, sequence: int) -> slice:
        """The columns of a sequence in the variable's array."""
        columns = self.columns_of(variable, sequence)
        start = -columns.start if self.single else int(self.starts[sequence])
        return slice(start + columns.start, start + columns.stop)

    def _first(self, variable: str) -> int:
        """The time of the first slot."""
        return self.columns_of(variable, 0).start if self.single else 0

    def side_by_side(self, variable: str, arrays: Iterable[np.ndarray], fill: float, dtype: Any) -> np.ndarray:
        """The arrays of all sequences in one array of the variable's width; `fill` where no sequence has a column."""
        pieces = list(arrays)
        if self.single and pieces[0].shape[1] == self.width(variable):
            return np.ascontiguousarray(pieces[0], dtype)
        found = np.full((pieces[0].shape[0], self.width(variable)), fill, dtype)
        for sequence, piece in enumerate(pieces):
            found[:, self.slots(variable, sequence)][:, : piece.shape[1]] = piece
        return found

    def sparse_side_by_side(self, variable: str, arrays: Iterable[Any], dtype: Any) -> Any:
        """Sparse matrices of all sequences in one CSR matrix of the variable's width, each in its slots."""
        pieces: list[Any] = []
        end = 0
        for sequence, array in enumerate(arrays):
            slots = self.slots(variable, sequence)
            pieces += [sp.csr_array((array.shape[0], slots.start - end)), sp.csr_array(array)]
            end = slots.stop
        pieces.append(sp.csr_array((pieces[-1].shape[0], self.width(variable) - end)))
        return sp.csr_array(sp.hstack(pieces, format="csr"), dtype=dtype)

    # --- equations

    def count(self, equation: Factorization) -> int:
        """Number of slots of the equation, dead ones included."""
        if self.single:
            return self._columns_at(0).equations[equation.name]
        return max(0, int(self.starts[-1]) - max(child.lag for child in equation.children))

    def slice_columns(self, piece: Slice, count: int) -> slice:
        """The columns of the variable's array that a slice of an equation with so many slots is.

        They belong to the last slots of the equation: a lagged parent lacks the first ones, see `skipped`.
        """
        if not count:
            return slice(0, 0)
        start = max(piece.lag, 0) - self._first(piece.variable.name)
        return slice(start, start + max(0, count + min(piece.lag, 0)))

    def skipped(self, piece: Slice, count: int) -> int:
        """Number of the equation's first slots for which the slice lies before time 0."""
        return min(max(-piece.lag, 0), count)

    def live(self, equation: Factorization) -> np.ndarray | None:
        """The slots at which the equation holds, as booleans; None where that is all of them."""
        return self._mask(equation, 0)

    def exists(self, equation: Factorization, piece: Slice) -> np.ndarray | None:
        """The slots at which the equation holds and a parent slice lies in its own sequence; None where all."""
        return self._mask(equation, min(piece.lag, 0))

    def _mask(self, equation: Factorization, lag: int) -> np.ndarray | None:
        if self.single:
            return None
        alive = self._live(equation.name, self.count(equation), lag)
        return None if alive.all() else alive

    def _find_live(self, equation: str, count: int, lag: int) -> np.ndarray:
        """All sequences at once: one more holds from where it begins, one less from where it ends."""
        if self.single:
            return np.arange(count) >= -lag
        holds = {length: self._columns(length).equations[equation] for length in set(self.lengths)}
        ends = np.minimum(self.starts[:-1] + [holds[length] for length in self.lengths], count)
        begins = np.minimum(self.starts[:-1] - lag, ends)
        change = np.bincount(begins, minlength=count + 1) - np.bincount(ends, minlength=count + 1)
        alive: np.ndarray = np.cumsum(change)[:count] > 0
        return alive

    def positions(self, count: int) -> np.ndarray:
        """The place in its own sequence of each of the first slots of a variable."""
        if self.single:
            return np.arange(count)
        slots, starts = np.arange(count), self.starts[:-1]
        found: np.ndarray = slots - starts[np.searchsorted(starts, slots, side="right") - 1]
        return found

    def touches(self, equation: Factorization, piece: Slice) -> np.ndarray:
        """The slots of the slice's variable that the equation touches through it, as booleans."""
        touched = np.zeros(self.width(piece.variable.name), dtype=bool)
        alive = np.flatnonzero(self._live(equation.name, self.count(equation), min(piece.lag, 0)))
        touched[alive + piece.lag - self._first(piece.variable.name)] = True
        return touched

    def touched(self, variable: str) -> np.ndarray:
        """The slots of the variable that some equation touches, as booleans."""
        touched = np.zeros(self.width(variable), dtype=bool)
        for equation in self.network.factorizations:
            for piece in (*equation.children, *equation.parents):
                if piece.variable.name == variable:
                    touched |= self.touches(equation, piece)
        return touched
