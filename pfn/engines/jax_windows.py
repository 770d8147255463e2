"""Geometric windows in a compiled program, by doubling: two windows side by side are a window twice as long.

Everything is element-wise on whole arrays, so that the compiler merges the few steps; nothing is taken away again, so
that sums keep their digits in single precision too.
"""

import jax.numpy as jnp

from pfn.engines.jax_arrays import Array, shift
from pfn.network import Window


def window_sums(x: Array, window: Window, position: Array, *, backward: bool = False) -> Array:
    """Σ_{j<length} rate^j x[t − j], or x[t + j] if backward; `position` has the place of columns in their sequence."""
    rate = jnp.asarray(window.rates, x.dtype)[:, None]
    width = x.shape[1]
    length = 1 << (width - 1).bit_length() if window.length is None else min(window.length, width)

    def joined(near: Array, far: Array, by: int) -> Array:
        """The window `near`, and `far` beyond it, which is `by` columns away."""
        reached = shift(position[None], by if backward else 0) >= by
        return near + jnp.where(reached, rate**by * shift(far, by if backward else -by), 0)

    part, size = x, 1
    total, covered = x, length & 1
    while 2 * size <= length:
        part, size = joined(part, part, size), 2 * size
        if length & size:
            total, covered = (joined(total, part, covered) if covered else part), covered + size
    return total
