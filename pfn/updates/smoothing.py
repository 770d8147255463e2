"""The smoothing of non-smooth NMF (paper, appendix B): S = (1 − θ) I + θ/R 1."""

from typing import Any

import numpy as np

from pfn.updates.divergence import Array


def smooth(H: Array, sparseness: Any, *, out: Array = None, xp: Any = np) -> Array:
    """S H for sparseness θ, without forming S; S is symmetric, so this is also Sᵀ H.

    In the updates S H takes the place of H, and (W S)ᵀ A = S (Wᵀ A) that of Wᵀ A. θ = 0 gives H back; θ may
    also be a number that is not known yet, in code that is being compiled.

    >>> print(smooth(np.array([[1.0], [0.0]]), 0.5))
    [[0.75]
     [0.25]]
    """
    if isinstance(sparseness, int | float) and not sparseness:
        return H
    mean = xp.mean(H, axis=0, keepdims=True)
    return xp.add(xp.multiply(H, 1 - sparseness, out), sparseness * mean, out)
