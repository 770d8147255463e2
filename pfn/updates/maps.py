"""Linear maps of stacked parents: what engines ask of the matrices of an equation.

`apply` gives W S, `adjoint` Wᵀ A, `statistics` A Sᵀ at the entries of W: all that inference and learning need.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.updates.divergence import Array

# A sparse product takes about 6.5 times as long per multiplication as a dense one, plus a call that costs as
# much as 70,000 dense multiplications (measured on two cores with matrices of 18 × 13 to 409 × 1000).
SPARSE_COST, SPARSE_CALL = 6.5, 70_000


def sparse_pays(shape: tuple[int, int], stored: int, columns: int) -> bool:
    """Whether a product with so many columns is faster with a CSR matrix than with a dense one."""
    return SPARSE_COST * stored * columns + SPARSE_CALL < shape[0] * shape[1] * columns


Product = Callable[[Array, Array, Array], object]  # a b, into the third array


def _product(a: Array, b: Array, out: Array, dot: Product = np.dot) -> None:
    if sp.issparse(a) or sp.issparse(b):
        out[...] = a @ b
    else:
        dot(a, b, out)


class DenseMap:
    """A dense matrix; the engine may change it in place, and say how to multiply."""

    def __init__(self, matrix: Array, dot: Product = np.dot) -> None:
        self.matrix = matrix
        self._dot = dot

    def apply(self, S: Array, out: Array) -> None:
        """W S."""
        self._dot(self.matrix, S, out)

    def adjoint(self, A: Array, out: Array) -> None:
        """Wᵀ A."""
        self._dot(self.matrix.T, A, out)

    def column_sums(self) -> Array:
        """Wᵀ 1."""
        return self.matrix.sum(axis=0)


class DenseMapOfSparse(DenseMap):
    """A dense matrix that is multiplied with sparse ones, on either side of the equation."""

    def apply(self, S: Array, out: Array) -> None:
        """W S."""
        _product(self.matrix, S, out)

    def adjoint(self, A: Array, out: Array) -> None:
        """Wᵀ A."""
        _product(self.matrix.T, A, out)


class SparseMap:
    """A CSR matrix and its transpose, both CSR; the stored entries may change, the pattern does not."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = sp.csr_array(matrix, copy=True)
        order = sp.csr_array(self.matrix, copy=True)
        order.data = np.arange(1, order.nnz + 1)
        turned = sp.csr_array(order.T)
        self._turn = turned.data - 1
        turned.data = self.matrix.data[self._turn]
        self.transposed = turned

    def refresh(self, data: Array) -> None:
        """Take new stored entries."""
        self.matrix.data[:] = data
        self.transposed.data[:] = data[self._turn]

    def apply(self, S: Array, out: Array) -> None:
        """W S."""
        out[...] = self.matrix @ S

    def adjoint(self, A: Array, out: Array) -> None:
        """Wᵀ A."""
        out[...] = self.transposed @ A

    def column_sums(self) -> Array:
        """Wᵀ 1."""
        return np.asarray(self.matrix.sum(axis=0)).ravel()


class DiagonalMap(SparseMap):
    """A diagonal matrix: one number per row."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = sp.csr_array(matrix, copy=True)

    def refresh(self, data: Array) -> None:
        """Take a new diagonal."""
        self.matrix.data[:] = data

    def apply(self, S: Array, out: Array) -> None:
        """W S."""
        np.multiply(self.matrix.data[:, None], S, out=out)

    def adjoint(self, A: Array, out: Array) -> None:
        """Wᵀ A."""
        self.apply(A, out)


def row_of_each_entry(matrix: Any) -> Array:
    """The row of every stored entry of a CSR matrix."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


class SparseEntries:
    """The stored entries of a sparse parameter, with the row and the column of each."""

    def __init__(self, data: Array, pattern: Any) -> None:
        self.data = data
        self.rows = row_of_each_entry(pattern)
        self.columns = pattern.indices
        self.width = pattern.shape[1]

    def _within(self, part: slice) -> Array:
        start, stop, _ = part.indices(int(self.rows[-1]) + 1 if self.rows.size else 0)
        return (self.rows >= start) & (self.rows < stop)

    def column_sums(self, part: slice) -> Array:
        """The sum of every column over some rows."""
        inside = self._within(part)
        sums = np.bincount(self.columns[inside], weights=self.data[inside], minlength=self.width)
        return sums.astype(self.data.dtype)

    def scale_columns(self, part: slice, by: Array) -> None:
        """Multiply every column, over some rows, by its number."""
        inside = self._within(part)
        self.data[inside] *= by[self.columns[inside]]


def tied(entries: Array, groups: Array) -> Array:
    """For every entry the sum over its group: what equal entries have in common in a left update."""
    return np.bincount(groups, weights=entries)[groups].astype(entries.dtype)


def statistics(A: Array, S: Array, out: Array, dot: Product = np.dot) -> None:
    """A Sᵀ, the numerator of a left update, for every entry of a dense W; A or S may be sparse."""
    _product(A, S.T, out, dot)


def sampled_statistics(A: Array, S: Array, rows: Array, columns: Array, out: Array) -> None:
    """Some entries of A Sᵀ only, such as the stored ones of a sparse W."""
    chunk = max(1, (1 << 20) // max(A.shape[1], 1))
    for start in range(0, rows.size, chunk):
        part = slice(start, start + chunk)
        np.einsum("et,et->e", A[rows[part]], S[columns[part]], out=out[part])
