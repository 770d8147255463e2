"""Which matrices are stored sparse: one rule, with the costs that each backend was measured to have."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Cost(NamedTuple):
    """Cost of a sparse product in dense multiplications: for each stored entry and column, and for each call."""

    entry: float
    call: float


COSTS = {
    # A compiled SciPy routine that is bound directly, against a dense product of BLAS on one core.
    "numpy": Cost(entry=4.5, call=5500.0),
    # Gathers, against a dense product of XLA on one core; tiny ones are not worth the longer compilation.
    "jax": Cost(entry=3.0, call=20000.0),
}


def is_sparse(matrix: Any, columns: int, backend: str) -> bool:
    """Whether the product of a known matrix with so many columns is faster if only its nonzero entries are stored."""
    cost = COSTS[backend]
    stored = matrix.nnz if sp.issparse(matrix) else int(np.count_nonzero(matrix))
    return bool(cost.entry * stored * columns + cost.call < matrix.shape[0] * matrix.shape[1] * columns)
