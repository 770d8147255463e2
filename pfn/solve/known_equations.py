"""Equations whose matrices are all known, some of their columns at a time, in arrays that have all sequences."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.engines import Layout, dense
from pfn.network import Factorization, Slice

Arrays = dict[str, np.ndarray]
"""By variable, one array with the columns of all sequences side by side."""

# Products with sparse matrices are faster where the matrix has more entries than this, and fewer of them than this
# share are not zero.
SMALL = 20_000
SPARSE = 0.2


class Piece(NamedTuple):
    """A child or parent of an equation: its rows of the stack, and which column of the variable a column takes."""

    variable: str
    rows: slice
    shift: int
    exists: np.ndarray  # for every column of the equation


class Known:
    """One equation: its matrix W with its transpose, where they are positive, and its pieces."""

    def __init__(self, declared: Factorization, parameters: Mapping[str, Any], layout: Layout, dtype: Any) -> None:
        W = _stacked_matrix([parameters[p.name] for p in declared.parameters]).astype(dtype)
        support = (W > 0).astype(np.float32)
        self.W, self.transposed, self.support, self.transposed_support = W, W.T, support, support.T
        self.sums = np.asarray(W.sum(axis=0)).reshape(-1, 1)  # of every column
        ends = np.cumsum([0, *(parent.variable.size for parent in declared.parents)]).tolist()
        rows = [slice(*pair) for pair in pairwise(ends)]

        def pieces(slices: Sequence[Slice], places: Sequence[slice]) -> list[Piece]:
            return [
                Piece(s.variable.name, at, s.lag - layout.offset(s.variable.name), layout.live(declared, min(s.lag, 0)))
                for s, at in zip(slices, places, strict=True)
            ]

        self.children = pieces(declared.children, declared.parts)
        self.parents = pieces(declared.parents, rows)


def _stacked_matrix(blocks: Sequence[Any]) -> Any:
    """The blocks side by side, an array or a sparse matrix, whichever is faster."""
    rows, columns = blocks[0].shape[0], sum(block.shape[1] for block in blocks)
    stored = sum(block.nnz if sp.issparse(block) else np.count_nonzero(block) for block in blocks)
    if rows * columns <= SMALL or stored > SPARSE * rows * columns:
        return np.hstack([dense(block) for block in blocks])
    return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks]))


class Due:
    """The columns of every equation in which some of these pieces of it have changed."""

    def __init__(self, pieces: Mapping[Known, Sequence[Piece]]) -> None:
        self._columns: dict[Known, list[np.ndarray]] = {equation: [] for equation in pieces}
        self._uses: dict[str, list[tuple[Piece, list[np.ndarray]]]] = {}
        for equation, own in pieces.items():
            for piece in own:
                self._uses.setdefault(piece.variable, []).append((piece, self._columns[equation]))

    def __bool__(self) -> bool:
        return any(self._columns.values())

    def announce(self, variable: str, at: np.ndarray, by: Piece | None = None) -> None:
        """The variable has changed in these columns of its own, by a piece that knows of it."""
        for piece, due in self._uses.get(variable, ()):
            if piece is not by:
                columns = at - piece.shift
                columns = columns[(columns >= 0) & (columns < piece.exists.size)]
                columns = columns[piece.exists[columns]]
                if columns.size:
                    due.append(columns)

    def take(self, equation: Known) -> np.ndarray:
        """The columns that are due, which they are no more."""
        due = self._columns[equation]
        columns = np.unique(np.concatenate(due)) if due else np.empty(0, int)
        due.clear()
        return columns


def stacked(pieces: Sequence[Piece], arrays: Arrays, columns: np.ndarray, absent: Any) -> np.ndarray:
    """The pieces above each other in some columns of the equation; `absent` where there is none."""
    stack = np.empty((pieces[-1].rows.stop, columns.size), arrays[pieces[0].variable].dtype)
    for piece in pieces:
        there, places = piece.exists[columns], columns + piece.shift
        if there.all():
            stack[piece.rows] = arrays[piece.variable][:, places]
        else:
            stack[piece.rows] = absent
            stack[piece.rows, there] = arrays[piece.variable][:, places[there]]
    return stack
