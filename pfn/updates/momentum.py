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

# How many entries are worked on at a time: small enough that all operands stay in the processor's cache.
CHUNK = 1 << 14


def strength(steps: int) -> float:
    """β after so many sweeps without a rise of the divergence."""
    return steps / (steps + 2)


def extrapolate(x: Array, previous: Array, beta: float, floor: Array, scratch: Array) -> None:
    """Move x to x̂ and keep the old x, lifted to the floor, in `previous`; all are flat.

    `floor` is zero where x must stay zero.
    """
    lowest = FLOORS[x.dtype]
    for start in range(0, x.size, CHUNK):
        chunk = slice(start, start + CHUNK)
        now, before, least = x[chunk], previous[chunk], floor[chunk] if floor.ndim else floor
        new = scratch[: now.size]
        if beta:
            np.divide(now, before, out=new)
            np.multiply(new, beta, out=new)
            np.add(new, 1 - beta, out=new)
            np.minimum(new, 1 + CLIP * beta, out=new)
            np.maximum(new, 1 - CLIP * beta, out=new)
            np.multiply(new, now, out=new)
            np.maximum(new, least, out=new)
        else:
            np.maximum(now, least, out=new)
        np.maximum(now, lowest, out=before)
        np.copyto(now, new)
