"""The multiplicative updates of non-negative matrix factorization (paper, appendix A), sparse ones included."""

from typing import Any

import numpy as np

from pfn.updates.divergence import KULLBACK_LEIBLER, Array, Divergence
from pfn.updates.smoothing import smooth


def factor(numerator: Array, denominator: Array, epsilon: float, *, out: Array = None, xp: Any = np) -> Array:
    """(numerator + ε) / denominator, the denominator with its own ε in it: what an update multiplies by."""
    return xp.divide(xp.add(numerator, epsilon, out), denominator, out)


def pulled(
    W: Array,
    numerator: Array,
    denominator: Array,
    epsilon: float,
    *,
    prior: Array,
    weight: Array,
) -> Array:
    """The left update with a prior of that weight, or weights: (W · numerator + κ prior) / (denominator + κ)."""
    return (W * (numerator + epsilon) + weight * prior) / (denominator + epsilon + weight)


def right_update(
    X: Array,
    W: Array,
    H: Array,
    divergence: Divergence = KULLBACK_LEIBLER,
    epsilon: float = 1e-9,
    *,
    sparseness: float = 0.0,
) -> Array:
    """One multiplicative step on H in X = W H (equation A.5; with sparseness θ, W S takes the place of W).

    W may be dense or scipy.sparse.

    >>> X = np.array([[2.0, 0.0], [0.0, 3.0]])
    >>> H = right_update(X, np.eye(2), np.ones((2, 2)))
    >>> print(H.round(6) + 0.0)
    [[2. 0.]
     [0. 3.]]
    """
    R = W @ smooth(H, sparseness)
    numerator = W.T @ divergence.numerator_field(X, R, epsilon)
    ones = np.ones((X.shape[0], 1), dtype=H.dtype)
    denominator = W.T @ (ones if divergence.unit_denominator else R)
    return H * factor(smooth(numerator, sparseness), smooth(denominator, sparseness) + epsilon, epsilon)


def left_update(
    X: Array,
    W: Array,
    H: Array,
    divergence: Divergence = KULLBACK_LEIBLER,
    epsilon: float = 1e-9,
    *,
    sparseness: float = 0.0,
) -> Array:
    """One multiplicative step on W in X = W H: the right update of the transposed problem.

    With sparseness θ, S H takes the place of H.
    """
    return right_update(X.T, smooth(H, sparseness).T, W.T, divergence, epsilon).T
