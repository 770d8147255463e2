"""Equations as planes: the children X and parents H for which X = W H, and the nearest of them to others."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

# Solving with sparse factors takes about so many times as long, per entry and column, as a product with a dense inverse
# (measured on matrices of 100 to 1,500 rows and 300 columns).
FACTOR_COST = 20

Solve = Callable[[Any], Any]


class Plane:
    """All (X, H) with X − W H = 0, the columns being any number of times.

    The nearest one to (X, H) is (X − λ, H + Wᵀ λ) with (I + W Wᵀ) λ = X − W H.
    """

    def __init__(self, matrix: Any) -> None:
        """W, dense or CSR."""
        self.shape: tuple[int, int] = matrix.shape
        self.matrix = matrix
        self._transposed = sp.csr_array(matrix.T) if sp.issparse(matrix) else matrix.T

    def residual(self, copies: Any) -> Any:
        """X − W H, of X stacked on H."""
        rows = self.shape[0]
        return copies[:rows] - self.matrix @ copies[rows:]

    def multipliers(self, residual: Any, _near: Any = None, /) -> Any:
        """λ; where it is near to is of no use here."""
        if self._outer:
            return self._solve(residual)
        return residual - self.matrix @ self._solve(self._transposed @ residual)

    def lifted(self, multipliers: Any) -> Any:
        """What is to be taken off X stacked on H: λ and −Wᵀ λ."""
        return np.concatenate([multipliers, -(self._transposed @ multipliers)])

    @cached_property
    def _outer(self) -> bool:
        """Whether (I + W Wᵀ)⁻¹ is less work than I − W (I + Wᵀ W)⁻¹ Wᵀ, which is the same."""
        if not sp.issparse(self.matrix):
            return outer_is_less(self.shape)
        outer, inner = self.matrix @ self._transposed, self._transposed @ self.matrix
        return bool(outer.nnz <= inner.nnz + 2 * self.matrix.nnz)

    @cached_property
    def _gram(self) -> Any:
        """I + W Wᵀ or I + Wᵀ W: no eigenvalue is below 1, so that it is solved well in any order."""
        left, right = (self.matrix, self._transposed) if self._outer else (self._transposed, self.matrix)
        gram = left @ right
        return gram + sp.eye_array(gram.shape[0]) if sp.issparse(gram) else gram + np.eye(gram.shape[0])

    @cached_property
    def _solve(self) -> Solve:
        """With sparse factors where they are small against the inverse."""
        gram, size, dtype = self._gram, self._gram.shape[0], self.matrix.dtype
        if sp.issparse(gram) and FACTOR_COST * gram.nnz < size**2:
            options = {"SymmetricMode": True}
            factors = splu(gram.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
            if FACTOR_COST * factors.nnz < size**2:
                return lambda right: factors.solve(right.astype(float)).astype(dtype)
        inverse = np.linalg.inv(_full(gram)).astype(dtype)
        return lambda right: inverse @ right


def outer_is_less(shape: tuple[int, int]) -> bool:
    """Whether a dense inverse with the rows of W is less work than one with its columns and two products."""
    rows, parents = shape
    return rows**2 <= parents**2 + 2 * rows * parents


def _full(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)
