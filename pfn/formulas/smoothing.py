"""The smoothing of non-smooth NMF (paper, appendix B): multiplication by S = (1 − θ) I + θ/R 1, R rows."""

from typing import Any

Operand = Any  # an array, or a tracer that stands for one


def smooth(x: Operand, sparseness: Operand) -> Operand:
    """S x for sparseness θ, without forming S: (1 − θ) x + θ · (the mean of each column of x).

    S is symmetric: this is also Sᵀ x. In updates S x takes the place of the stacked parents x, S (Wᵀ A) that of Wᵀ A.

    >>> import numpy as np
    >>> print(smooth(np.array([[1.0], [0.0]]), 0.5))
    [[0.75]
     [0.25]]
    """
    return x * (1 - sparseness) + x.mean(axis=0, keepdims=True) * sparseness
