"""jax.numpy as the formulas of pfn/updates call numpy: with buffers, which compiled code does not need."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp

from pfn.engines.jax_devices import has_accelerator

Array = jax.Array


def _without_buffer(function: Callable[..., Any], operands: int) -> Callable[..., Any]:
    return lambda *arguments, out=None: function(*arguments[:operands])  # noqa: ARG005  # `out` is left unused


# What formulas take as `xp`. Sums are left to the engine, which takes them column by column: what is to be
# summed is not a library call here, but part of one loop.
ARRAYS = SimpleNamespace(
    add=_without_buffer(jnp.add, 2),
    divide=_without_buffer(jnp.divide, 2),
    multiply=_without_buffer(jnp.multiply, 2),
    minimum=_without_buffer(jnp.minimum, 2),
    maximum=_without_buffer(jnp.maximum, 2),
    log1p=_without_buffer(jnp.log1p, 1),
    mean=jnp.mean,
    where=jnp.where,
    sum=lambda terms: terms,
    vdot=jnp.multiply,
)


def once(arrays: Any) -> Any:
    """Arrays that are written to memory: the compiler would compute them again for each of their uses."""
    return jax.lax.optimization_barrier(arrays)  # type: ignore[no-untyped-call]


def turned(matrix: Array) -> Array:
    """The transposed matrix, for a product with another.

    Processors are given it as a matrix of its own: their products of one that lies the other way take up to twice as
    long.
    """
    return matrix.T if has_accelerator() else once(matrix.T)


def stack(pieces: list[Array]) -> Array:
    """Matrices on top of each other."""
    return jnp.concatenate(pieces) if len(pieces) > 1 else pieces[0]


def shift(values: Array, by: int) -> Array:
    """The columns so many places later, or earlier if negative; zero where there are none."""
    width = values.shape[1]
    if abs(by) >= width:
        return jnp.zeros_like(values)
    if by >= 0:
        return jnp.pad(values[:, by:], ((0, 0), (0, by))) if by else values
    return jnp.pad(values[:, :by], ((0, 0), (-by, 0)))


class Entries:
    """The entries of a parameter, for normalizations: a matrix, or the stored entries of a sparse one.

    A matrix may be of several `terms` side by side, whose columns are summed and scaled together.
    """

    def __init__(
        self, values: Array, rows: Array, columns: Array | None = None, width: int = 0, *, terms: int = 1
    ) -> None:
        self.values, self._terms = values, terms
        self._rows = rows if columns is not None else rows[:, None]
        self._columns, self._width = columns, width

    def _within(self, part: slice) -> Array:
        inside = self._rows >= (part.start or 0)
        return inside if part.stop is None else inside & (self._rows < part.stop)

    def column_sums(self, part: slice) -> Array:
        """The sum of every column over some rows."""
        chosen = jnp.where(self._within(part), self.values, 0)
        if self._columns is None:
            return jnp.sum(jnp.sum(chosen, axis=0).reshape(self._terms, -1), axis=0)
        return jnp.zeros(self._width, chosen.dtype).at[self._columns].add(chosen)

    def scale_columns(self, part: slice, by: Array) -> None:
        """Multiply every column, over some rows, by its number."""
        each = jnp.tile(by, self._terms) if self._columns is None else by[self._columns]
        self.values = jnp.where(self._within(part), self.values * each, self.values)
