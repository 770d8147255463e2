"""The right update of the Kullback-Leibler divergence where only a part of X is known.

    H ← H · (Wᵀ (known · X / (W H))) / (Wᵀ known)

No small number ε is in the denominators: what is divided by nothing is zero.
"""

import numpy as np

from pfn.updates.divergence import Array


def masked_right_update(X: Array, known: Array, W: Array, H: Array, *, transposed: Array = None) -> tuple[Array, Array]:
    """One step on H, and its denominator Wᵀ known: how much of each entry the known part of X speaks of.

    Entries of H become zero where that is nothing. W may be dense or scipy.sparse, and may be given `transposed` too.

    >>> X, known = np.array([[2.0, 6.0], [4.0, 0.0]]), np.array([[True, True], [True, False]])
    >>> H, weight = masked_right_update(X, known, np.array([[1.0], [1.0]]), np.ones((1, 2)))
    >>> print(H, weight)
    [[3. 6.]] [[2. 1.]]
    """
    WT = W.T if transposed is None else transposed
    weight = WT @ known.astype(H.dtype)
    return H * quotient(WT @ quotient(X * known, W @ H), weight), weight


def quotient(numerator: Array, denominator: Array) -> Array:
    """Zero where there is nothing to divide by."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
