"""Where columns lie: one sequence as it is, several side by side in one array.

Several sequences share one time axis, each with as many slots as its bottom variables have columns, so that a
slice at any lag is one view of one array. Slots at which an equation does not hold are `dead` for it; slots
whose lagged parent would lie before the start of its own sequence are `cut` for that term.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from pfn.network import Columns, Factorization, Network, Slice


class Layout:
    """The slots of all variables and equations for sequences of the given lengths."""

    def __init__(
        self,
        network: Network,
        lengths: Sequence[int],
        observed: Mapping[str, Sequence[Any]],
        padded: int | None = None,
    ) -> None:
        """`observed` has by variable the arrays that the user gave, whose columns all count.

        With `padded`, arrays have so many slots, and one sequence is laid out as several are.
        """
        self.network = network
        self.lengths = tuple(lengths)
        self.single = len(self.lengths) == 1 and padded is None
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self._width = int(self.starts[-1]) if padded is None else padded
        self._given = {name: [array.shape[1] for array in arrays] for name, arrays in observed.items()}
        self._columns = cache(network.columns)
        self._live = cache(self._find_live)

    def columns_of(self, variable: str, sequence: int) -> range:
        """The columns that the variable has in a sequence: those touched, and those observed at the bottom."""
        touched = self.columns(sequence).variables[variable]
        given = self._given.get(variable)
        return touched if given is None else range(max(given[sequence], touched.stop))

    def columns(self, sequence: int) -> Columns:
        """The columns that equations and variables have in a sequence of its length."""
        return self._columns(self.lengths[sequence])

    def width(self, variable: str) -> int:
        """How many slots the variable's array has."""
        return len(self.columns_of(variable, 0)) if self.single else self._width

    def slots(self, variable: str, sequence: int) -> slice:
        """Where the columns of a sequence lie in the variable's array."""
        columns = self.columns_of(variable, sequence)
        if self.single:
            return slice(0, len(columns))
        start = int(self.starts[sequence])
        return slice(start + columns.start, start + columns.stop)

    def sequences_at(self, slots: np.ndarray) -> list[int]:
        """The sequences that have columns in some of these slots."""
        if self.single:
            return [0] if slots.size else []
        return [int(number) for number in np.unique(np.searchsorted(self.starts, slots, side="right") - 1)]

    def offset(self, variable: str) -> int:
        """The time of the first slot."""
        return self.columns_of(variable, 0).start if self.single else 0

    def count(self, equation: Factorization) -> int:
        """How many slots the equation has, dead ones included."""
        if self.single:
            return self.columns(0).equations[equation.name]
        return max(0, self._width - max(child.lag for child in equation.children))

    def view(self, array: Any, piece: Slice, count: int) -> Any:
        """The slots of a child or parent slice for the equation's slots from the first at which it exists."""
        start = max(piece.lag, 0) - self.offset(piece.variable.name)
        return array[:, start : start + max(0, count + min(piece.lag, 0))] if count else array[:, :0]

    def live(self, equation: Factorization, lag: int = 0) -> np.ndarray:
        """Where the equation holds and a parent at this lag (<= 0) exists, as a boolean per slot; not to be changed."""
        return self._live(equation.name, self.count(equation), lag)

    def _find_live(self, equation: str, count: int, lag: int) -> np.ndarray:
        """All sequences at once: one more holds from where it begins, one less from where it ends."""
        holds = {length: self._columns(length).equations[equation] for length in set(self.lengths)}
        ends = np.minimum(self.starts[:-1] + [holds[length] for length in self.lengths], count)
        begins = np.minimum(self.starts[:-1] - lag, ends)
        change = np.bincount(begins, minlength=count + 1) - np.bincount(ends, minlength=count + 1)
        alive: np.ndarray = np.cumsum(change)[:count] > 0
        return alive

    def counts(self, equation: Factorization, weights: Sequence[np.ndarray] = ()) -> np.ndarray:
        """How often every slot of the equation counts: where it holds as its weights say, by sequence; elsewhere 0."""
        counts = np.ones(self.count(equation)) if self.single else self.live(equation).astype(float)
        for sequence, given in enumerate(weights):
            start = int(self.starts[sequence])
            counts[start : start + given.size] *= given
        return counts

    def touches(self, equation: Factorization, piece: Slice) -> np.ndarray:
        """Which slots of the slice's variable the equation touches through it, as a boolean per slot."""
        touched = np.zeros(self.width(piece.variable.name), dtype=bool)
        alive = np.flatnonzero(self.live(equation, min(piece.lag, 0)))
        touched[alive + piece.lag - self.offset(piece.variable.name)] = True
        return touched

    def touched(self, variable: str) -> np.ndarray:
        """Which slots of the variable some equation touches, as a boolean per slot."""
        touched = np.zeros(self.width(variable), dtype=bool)
        for equation in self.network.factorizations:
            for piece in (*equation.children, *equation.parents):
                if piece.variable.name == variable:
                    touched |= self.touches(equation, piece)
        return touched
