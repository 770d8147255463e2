"""An equation whose one child is an observed sparse matrix X that is never made dense, nor is W S.

A is computed at the stored entries of X only; where X is zero, A = ε / (W S + ε) is taken as zero. Errors need
sums over all entries: those of W S are row and column sums, those of its squares products of Gram matrices.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines.equations import Equation
from pfn.engines.state import Scratch
from pfn.updates.maps import sampled_statistics


class SparseChildEquation(Equation):
    """The work of an equation with Kullback-Leibler updates, a dense W and a sparse child."""

    def reserve(self, scratch: Scratch) -> None:
        """Say how large the shared buffers must be."""
        scratch.want("stack", (self.height, self.columns))

    def bind(self, scratch: Scratch) -> None:
        """Take the shared buffers."""
        self._stack = scratch.take("stack", (self.height, self.columns))
        X = sp.csc_array(self.children[0].values)
        self._X = X
        self._rows = X.indices
        self._columns_of_entries = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        self._A = sp.csc_array((np.empty_like(X.data), X.indices, X.indptr), X.shape)
        self._R: np.ndarray = np.empty_like(X.data)

    def _reconstruct_entries(self, parents: np.ndarray) -> np.ndarray:
        W = self.blocks[0].linear.matrix
        turned = np.ascontiguousarray(parents.T)
        sampled_statistics(W, turned, self._rows, self._columns_of_entries, self._R)
        return self._R

    def _fields(self, parents: Any, _sparseness: float) -> tuple[Any, None]:
        self._reconstruct_entries(parents)
        self._A.data[:] = self.divergence.numerator_field(self._X.data, self._R, self.epsilon)
        return self._A, None

    def _weigh(self, A: Any, _B: None) -> None:
        A.data *= self.counts[self._columns_of_entries]

    def propagate(self) -> None:
        """The child is observed: there is nothing to propagate."""

    def errors(self) -> tuple[float, float]:
        """The summed squared error and the divergence."""
        parents = self.stacked_parents()
        W, X, R = self.blocks[0].linear.matrix, self._X, self._reconstruct_entries(parents)
        counts = self.counts[self._columns_of_entries]
        gram = float(np.vdot(W.T @ W, (parents * self.counts) @ parents.T))
        squared = gram + float(np.sum(counts * (X.data * X.data - 2 * X.data * R)))
        total = float(W.sum(axis=0) @ (parents @ self.counts))
        inside = float(self.divergence.value(X.data - R, R, self.epsilon, weights=counts))
        return max(squared, 0.0), inside + total - float(counts @ R)
