"""Ratio momentum: extrapolate positive values along their last relative change.

    x̂ = max(x · (1 + clip(2β · (x / z − 1), −0.3, 1)), 0.95 · min(x, 0.003), floor)
    z = (x + x̂) / 2, both of before the last sweep

x − z is half the change since x of before, as in Nesterov's momentum, and half the change since x̂, which relaxes the
last sweep as well (as in the optimized gradient method of Kim and Fessler, 2016). Fixed points stay fixed points; zero
stays zero.
"""

from operator import not_
from types import SimpleNamespace
from typing import Any

import numpy as np

from pfn.updates.divergence import Array

# The largest relative steps.
LARGEST_FALL = 0.3
LARGEST_RISE = 1.0

# Values below SMALL fall by less: they are nearly nothing already, and if they are led too far down they take long to
# come back. With falls of 0.15 for all, one in fifty random tracking scenes was not solved in 1000 sweeps; with falls
# of 0.08 for all, machines of which half is seen take half as many sweeps again.
SMALL = 0.003
FALL_OF_SMALL = 0.05

# Values below this are lifted to it, so that they can grow again. It is far below the starting values, 1e-6, as all
# values are where nothing is observed and may be where W is not normalized: with 1e-12, learning ends visibly above the
# least divergence.
FLOOR = 1e-18

# The divergence has risen if it is larger by this share than it was at its lowest. Sweeps propagate, they need not
# descend: some raise it by less in each of hundreds of sweeps, from wherever they begin. Were it compared with that of
# the sweep before, such rises would add up: convolutive factorizations of recordings were led 8 % up.
RISE = 1e-3


def strength(steps: Any) -> Any:
    """β after so many sweeps without a rise of the divergence.

    Were it to grow sooner, runs would take fewer sweeps, but what nothing determines, such as the shares of states that
    are all possible, would be led to an extreme.
    """
    return steps / (steps + 6)


# What `steps_after` takes as `xp` for plain numbers, of which numpy would make arrays, ten times as slow.
NUMBERS = SimpleNamespace(logical_not=not_, minimum=min, where=lambda chosen, one, other: one if chosen else other)


def steps_after(steps: Any, lowest: Any, now: Any, changed: Any = False, *, xp: Any = NUMBERS) -> tuple[Any, Any]:
    """How many sweeps without a rise there are, and the lowest divergence in them, after one that left it at `now`.

    Where the sparseness `changed` with the sweep, the divergence rises for that alone, so a rise does not count.
    """
    risen = xp.logical_not(now <= lowest * (1 + RISE))  # also where it is no number
    return (steps + 1) * (changed | xp.logical_not(risen)), xp.where(changed | risen, now, xp.minimum(lowest, now))


def extrapolated(
    x: Array, middle: Array, beta: Any, floor: Array, *, out: Array = None, room: Array = None, xp: Any = np
) -> Array:
    """x̂, for z (`middle`) greater than zero; `room` may be z itself."""
    change = xp.multiply(xp.divide(x, middle, out=out), 2 * beta, out=out)
    factor = xp.minimum(xp.add(change, 1 - 2 * beta, out=out), 1 + LARGEST_RISE, out=out)
    further = xp.multiply(xp.maximum(factor, 1 - LARGEST_FALL, out=out), x, out=out)
    least = xp.multiply(xp.minimum(x, SMALL, out=room), 1 - FALL_OF_SMALL, out=room)
    return xp.maximum(xp.maximum(further, least, out=out), floor, out=out)


def midway(x: Array, moved: Array, *, out: Array = None, xp: Any = np) -> Array:
    """z, for the next time: halfway from x to x̂ (`moved`), lifted to the floor."""
    return xp.maximum(xp.multiply(xp.add(x, moved, out=out), 0.5, out=out), x.dtype.type(FLOOR), out=out)


def extrapolate(x: Array, middle: Array, beta: float, floor: Array, scratch: Array) -> None:
    """Move x to x̂ and `middle` to the new z; `scratch` is of the same size.

    `floor` is a number or an array; it is zero where x must stay zero.
    """
    if beta:
        extrapolated(x, middle, beta, floor, out=scratch, room=middle)
    else:
        np.maximum(x, floor, out=scratch)
    midway(x, scratch, out=middle)
    np.copyto(x, scratch)
