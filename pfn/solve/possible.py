"""Which hidden entries can be positive at all, if the data are fitted exactly.

Every row says child = Σ weight · parent, and nothing is negative. So where a child is zero its parents are, and where
all parents are zero the child is (as in pfn/exact/reduction.py, here by columns, without the matrix of all equations).
"""

from collections.abc import Callable, Sequence

import numpy as np

from pfn.engines import Layout
from pfn.solve.known_equations import Arrays, Due, Known, Piece, stacked


def possible(
    equations: Sequence[Known], values: Arrays, given: Arrays, layout: Layout, ended: Callable[[], bool]
) -> Arrays:
    """By variable, a boolean for every entry, from the values that are given.

    All are True in sequences with data that cannot be fitted. A round goes one slice further; `ended` may end it.
    """
    search = _Search(equations, {name: ~mask | (values[name] != 0) for name, mask in given.items()})
    search.run(ended)
    wrong = [(mask & ~search.may[name] & (values[name] > 0)).any(axis=0) for name, mask in given.items()]
    for number in layout.sequences_at(np.unique(np.concatenate([np.flatnonzero(columns) for columns in wrong]))):
        for name, entries in search.may.items():
            entries[:, layout.slots(name, number)] = True
    return search.may


class _Search:
    def __init__(self, equations: Sequence[Known], may: Arrays) -> None:
        self.may = may
        self._equations = list(equations)
        self._due = Due({equation: (*equation.children, *equation.parents) for equation in equations})
        for name, values in may.items():
            self._due.announce(name, np.arange(values.shape[1]))

    def run(self, ended: Callable[[], bool]) -> None:
        """Up, down, up, …, until nothing more is found."""
        while self._due and not ended():
            for equation in self._equations:
                self._look(equation)
            self._equations.reverse()

    def _look(self, equation: Known) -> None:
        columns = self._due.take(equation)
        if columns.size:
            children = stacked(equation.children, self.may, columns, True)
            parents = stacked(equation.parents, self.may, columns, False)
            left = parents & (equation.transposed_support @ (~children).astype(np.float32) == 0)
            explained = equation.support @ left.astype(np.float32) > 0
            self._narrow(equation.parents, columns, parents & ~left)
            self._narrow(equation.children, columns, children & ~explained)

    def _narrow(self, pieces: Sequence[Piece], columns: np.ndarray, gone: np.ndarray) -> None:
        """These entries of the stack cannot be positive."""
        new = gone.any(axis=0)
        if new.any():
            columns, gone = columns[new], gone[:, new]
            for piece in pieces:
                part = gone[piece.rows]
                here = part.any(axis=0) & piece.exists[columns]
                at = columns[here] + piece.shift
                self.may[piece.variable][:, at] &= ~part[:, here]
                self._due.announce(piece.variable, at, piece)
