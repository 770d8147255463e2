"""Factorization problems X = W H for hypothesis: small, with exact zeros, in both precisions."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

Array = np.ndarray[Any, np.dtype[Any]]

# Exact zeros and values over three orders of magnitude; hypothesis shrinks to zeros and ones.
ENTRIES = st.one_of(st.just(0.0), st.just(1.0), st.floats(2.0**-7, 10, width=32))
EPSILONS = st.sampled_from([1e-12, 1e-9, 1e-5, 0.1])
SPARSENESS = st.one_of(st.just(0.0), st.floats(0, 0.875, width=32))


class Problem(NamedTuple):
    """X = W H."""

    X: Array
    W: Array
    H: Array

    def as_type(self, dtype: Any) -> "Problem":
        return Problem(*(part.astype(dtype) for part in self))

    def with_sparse(self) -> "Problem":
        """The same with W as a CSR array."""
        return self._replace(W=scipy.sparse.csr_array(self.W))


def matrices(rows: int, columns: int) -> st.SearchStrategy[Array]:
    return arrays(np.float64, (rows, columns), elements=ENTRIES)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    rows, inner, columns = (draw(st.integers(1, 4)) for _ in range(3))
    return Problem(draw(matrices(rows, columns)), draw(matrices(rows, inner)), draw(matrices(inner, columns)))


def smoothing_matrix(size: int, sparseness: float) -> Array:
    """S = (1 − θ) I + θ/R 1 (paper, appendix B)."""
    return (1 - sparseness) * np.eye(size) + sparseness / size * np.ones((size, size))
