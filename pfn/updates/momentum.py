"""Ratio momentum: extrapolate positive values along their last relative change.

    x̂ = max(x · (1 + β · clip(x / x_prev − 1, −0.2, 0.2)), floor)

Fixed points stay fixed points; the clip keeps a step within a fifth of the value; zero stays zero.
"""

from typing import Any

import numpy as np

from pfn.updates.divergence import Array

# The largest relative step. Larger ones were tried and made runs oscillate.
CLIP = 0.2

# Values below this are lifted to it, so that they can grow again and never become slow denormal numbers.
FLOORS = {np.dtype(np.float64): 1e-100, np.dtype(np.float32): 1e-30}


def strength(steps: Any) -> Any:
    """β after so many sweeps without a rise of the divergence."""
    return steps / (steps + 2)


def steps_after(steps: Any, before: Any, now: Any, changed: Any = False) -> Any:
    """How many sweeps without a rise there are, after one that took the divergence from `before` to `now`.

    Where the sparseness `changed` with the sweep, the divergence rises for that alone, so a rise does not count.
    """
    return (steps + 1) * ((now <= before) | changed)


def extrapolated(x: Array, previous: Array, beta: Any, floor: Array, *, out: Array = None, xp: Any = np) -> Array:
    """x̂, for values before that are greater than zero."""
    ratio = xp.minimum(xp.divide(x, previous, out=out), 1 + CLIP, out=out)
    change = xp.multiply(xp.maximum(ratio, 1 - CLIP, out=out), beta, out=out)
    return xp.maximum(xp.multiply(xp.add(change, 1 - beta, out=out), x, out=out), floor, out=out)


def extrapolate(x: Array, previous: Array, beta: float, floor: Array, scratch: Array) -> None:
    """Move x to x̂ and keep the old x, lifted to the floor, in `previous`; `scratch` is of the same size.

    `floor` is a number or an array; it is zero where x must stay zero.
    """
    if beta:
        extrapolated(x, previous, beta, floor, out=scratch)
    else:
        np.maximum(x, floor, out=scratch)
    np.maximum(x, FLOORS[x.dtype], out=previous)
    np.copyto(x, scratch)
