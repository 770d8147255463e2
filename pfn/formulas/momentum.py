"""Ratio momentum: extrapolate positive values along their last relative change.

    x̂ = max(x · (1 + clip(2β · (x / z − 1), −0.3, 1)), 0.95 · min(x, 0.003), floor)
    z = (x + x̂) / 2, both of before the last sweep

x − z is half the change since x of before, as in Nesterov's momentum, and half the change since x̂, which relaxes the
last sweep as well (as in the optimized gradient method of Kim and Fessler, 2016). Fixed points stay fixed points; zero
stays zero.
"""

from typing import Any

import numpy as np

Operand = Any  # an array, or a tracer that stands for one

# The largest relative step down.
LARGEST_FALL = 0.3

# The largest relative step up.
LARGEST_RISE = 1.0

# Values below SMALL are nearly nothing already, and take long to come back if they are led too far down. With falls of
# 0.15 for all values, one in fifty random tracking scenes was not solved in 1000 sweeps; with falls of 0.08 for all,
# machines of which half is seen take half as many sweeps again.
SMALL = 0.003

# The largest relative step down of values below SMALL.
FALL_OF_SMALL = 0.05

# Values below the floor are lifted to it, so that they can grow again. It is far below the starting values, 1e-6, as
# all values are where nothing is observed and may be where W is not normalized: with 1e-12, learning ends visibly above
# the least divergence.
FLOOR = 1e-18

# The divergence has risen if it is larger than its lowest value by this share of it. Sweeps propagate, they need not
# descend: some raise it by less in each of hundreds of sweeps, from wherever they begin. Were it compared with that of
# the sweep before, such rises would add up: convolutive factorizations of recordings were led 8 % up.
RISE = 1e-3


def coefficients(beta: float) -> tuple[float, float]:
    """The gain 4β and the rest 1 − 2β of a strength β: 1 + 2β (x / z − 1) = gain · x / (2 z) + rest."""
    return 4 * beta, 1 - 2 * beta


def extrapolate(x: Operand, doubled: Operand, gain: Operand, rest: Operand, floor: Operand) -> tuple[Operand, Operand]:
    """x̂, and the new 2 z = x + x̂, from x and `doubled`, the old 2 z, which is above zero.

    2 z is kept in place of z, because halving would be one more pass over all values. `floor` is the least that values
    may become: a number, or an array that is zero where x must stay zero.
    """
    change = np.clip(x / doubled * gain + rest, 1 - LARGEST_FALL, 1 + LARGEST_RISE)
    keep = 1 - FALL_OF_SMALL
    least = np.clip(x * keep, 0.0, keep * SMALL)
    moved = np.maximum(np.maximum(change * x, least), floor)
    return moved, np.maximum(x + moved, 2 * FLOOR)
