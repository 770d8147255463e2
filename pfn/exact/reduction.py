"""What is left to solve: known entries go to the right-hand side, and what can only be zero goes altogether.

Every row says child = Σ weight · parent with positive weights and nothing negative. So where a child is zero its
parents are, and where all parents are zero the child is. Carried on to the end, this leaves a small part of most
structured problems.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class Reduced:
    """`matrix @ y[unknown] = values`, the rows being `rows` of the whole system; all other entries are as in y."""

    matrix: sp.csr_array
    values: np.ndarray
    y: np.ndarray
    unknown: np.ndarray
    rows: np.ndarray

    def whole(self, solution: np.ndarray) -> np.ndarray:
        """All of y with this solution in its place."""
        y = self.y.copy()
        y[self.unknown] = solution
        return y


def reduce(matrix: sp.csr_array, known: np.ndarray, *, zeros: bool = True) -> Reduced:
    """The system with NaN entries of `known` as unknowns; with `zeros`, without those that can only be zero."""
    dead = only_zero(matrix, known == 0) if zeros else np.zeros(known.shape, bool)
    y = np.where(np.isnan(known) & dead, 0.0, known)
    unknown = np.flatnonzero(np.isnan(y))
    values = -(matrix @ np.nan_to_num(y))
    left = matrix[:, unknown]
    rows = np.flatnonzero((np.diff(left.indptr) > 0) | (values != 0))
    return Reduced(left[rows], values[rows], y, unknown, rows)


def only_zero(matrix: sp.csr_array, zero: np.ndarray) -> np.ndarray:
    """All entries that must be zero if these are."""
    by_column = matrix.tocsc()
    parents = sp.csr_array(matrix < 0)
    children = matrix.indices[matrix.data > 0]  # every row has one
    left = np.diff(parents.indptr)  # parents of every row that may be positive
    zero = zero.copy()
    front, orphaned = np.flatnonzero(zero), np.flatnonzero(left == 0)
    while front.size or orphaned.size:
        part = by_column[:, front].tocoo()
        lost, counts = np.unique(part.row[part.data < 0], return_counts=True)
        left[lost] -= counts
        below = parents[part.row[part.data > 0]].indices
        without = children[np.union1d(orphaned, lost[left[lost] == 0])]
        found = np.union1d(below, without)
        front, orphaned = found[~zero[found]], orphaned[:0]
        zero[front] = True
    return zero
