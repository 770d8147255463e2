"""The update of a hidden variable that is a parent and a child: between what it explains and what explains it.

x is a parent with numerator n and denominator d, and a child of reconstructions R_e that count w_e times each. The
cost is majorized by a function of every entry alone, and that has one minimum:

    Kullback-Leibler    d x − x₀ n log x + Σ w_e ((x + ε) log((x + ε)/(R_e + ε)) − x)
    Euclidean           d x²/x₀ − 2 n x + Σ w_e (x − R_e)²
"""

import numpy as np
from scipy.special import wrightomega

from pfn.updates.divergence import Array, Divergence

# No entry becomes smaller.
SMALLEST = {np.dtype(np.float64): 1e-100, np.dtype(np.float32): 1e-30}

# Newton steps from a bracket of width ε; most entries need two, those near ε some more.
NEWTON_STEPS = 5


def child_field(R: Array, divergence: Divergence, epsilon: float) -> Array:
    """What a reconstruction contributes, times its weight, to the `pull` of `between`: log(R + ε), or R."""
    return np.log(R + epsilon) if divergence.unit_denominator else R


def between(
    x: Array,
    numerator: Array,
    denominator: Array,
    *,
    count: Array,
    pull: Array,
    divergence: Divergence,
    epsilon: float,
) -> Array:
    """The new x; `count` is Σ w_e, `pull` the sum of w_e times `child_field`. Without weights: the right update.

    >>> from pfn.updates import EUCLIDEAN
    >>> x, one = np.array([4.0]), np.array([1.0])
    >>> print(between(x, 0 * one, 0 * one, count=2 * one, pull=1 * one + 3 * one, divergence=EUCLIDEAN, epsilon=0.0))
    [2.]
    """
    if not divergence.unit_denominator:
        return x * (numerator + pull + epsilon) / (denominator + count * x + epsilon)
    a, d = x * (numerator + epsilon), denominator + epsilon
    alone = a / d
    explained = np.broadcast_to(count, x.shape) > 0
    N = np.where(explained, count, 1)
    found = _root(a, d - np.where(explained, pull, 0), N, epsilon)
    return np.where(explained, found, alone)


def _root(a: Array, c: Array, N: Array, epsilon: float) -> Array:
    """Where N log(x + ε) + c = a / x: increasing and concave, so that Newton's steps from the left stay there.

    Without ε it is Wright's omega function; that point is right of the root, and the two below are left of it.
    """
    low = SMALLEST[a.dtype]
    right = np.maximum(np.exp(wrightomega(np.log(np.maximum(a, low) / N) + c / N) - c / N), low)
    left = np.minimum(a / np.maximum(N * np.log(right + epsilon) + c, low), right)
    x = np.maximum(left, np.exp(np.minimum(-c / N, np.log(right))) - epsilon)
    x = np.maximum(x, low)
    for _ in range(NEWTON_STEPS):
        step = (N * np.log(x + epsilon) + c - a / x) / (N * x / (x + epsilon) + a / x)
        x = np.clip(x * (1 - step), low, right)
    return x.astype(a.dtype)
