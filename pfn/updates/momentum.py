"""Ratio momentum: extrapolate positive values along their last relative change.

    x̂ = max(x · (1 + β · clip(x / x_prev − 1, −0.2, 0.2)), floor)

Fixed points stay fixed points; the clip keeps a step within a fifth of the value; zero stays zero.
"""

import numpy as np

from pfn.updates.divergence import Array

# The largest relative step. Larger ones were tried and made runs oscillate.
CLIP = 0.2

# Values below this are lifted to it, so that they can grow again and never become slow denormal numbers.
FLOORS = {np.dtype(np.float64): 1e-100, np.dtype(np.float32): 1e-30}


def strength(steps: int) -> float:
    """β after so many sweeps without a rise of the divergence."""
    return steps / (steps + 2)


def extrapolate(x: Array, previous: Array, beta: float, floor: Array, scratch: Array) -> None:
    """Move x to x̂ and keep the old x, lifted to the floor, in `previous`; `scratch` is of the same size.

    `floor` is a number or an array; it is zero where x must stay zero.
    """
    if beta:
        np.divide(x, previous, out=scratch)
        np.multiply(scratch, beta, out=scratch)
        np.add(scratch, 1 - beta, out=scratch)
        np.minimum(scratch, 1 + CLIP * beta, out=scratch)
        np.maximum(scratch, 1 - CLIP * beta, out=scratch)
        np.multiply(scratch, x, out=scratch)
        np.maximum(scratch, floor, out=scratch)
    else:
        np.maximum(x, floor, out=scratch)
    np.maximum(x, FLOORS[x.dtype], out=previous)
    np.copyto(x, scratch)
