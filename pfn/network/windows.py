"""Geometric windows: what a slice was in the past, weighted by the powers of a rate."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from pfn.errors import DeclarationError
from pfn.network.sums import Summand
from pfn.network.symbols import shown
from pfn.network.time import whole_number
from pfn.network.variable import Slice, Variable, as_slice


@dataclass(frozen=True)
class Window:
    """Σ rate^j over the last `length` slices, j = 0 for the slice itself; without a length, over all of the past."""

    rates: tuple[float, ...]
    """One for all components, or one for each."""
    length: int | None


@dataclass(frozen=True, repr=False)
class Decay(Summand):
    """A slice seen through a geometric window: stands wherever a slice can stand in a term."""

    slice: Slice
    window: Window

    def __str__(self) -> str:
        return windowed(self.slice, self.window)

    def __repr__(self) -> str:
        return str(self)


def operand_of(item: object, what: str) -> tuple[Slice, Window | None]:
    """The slice meant, and the window that it is seen through."""
    return (item.slice, item.window) if isinstance(item, Decay) else (as_slice(item, what), None)


def windowed(piece: Slice, window: Window | None) -> str:
    """A slice as it is written, with its window.

    >>> print(windowed(Slice(Variable("x", 3), -1), Window((0.5,), 8)))
    decay(x[t-1], 0.5, 8)
    """
    if window is None:
        return str(piece)
    rates = f"{window.rates[0]:g}" if len(window.rates) == 1 else f"{len(window.rates)} rates"
    return f"decay({piece}, {rates}{'' if window.length is None else f', {window.length}'})"


def decay(x: Slice | Variable, rate: float | Sequence[float], length: float = inf) -> Decay:
    """What is left of x and of its past: x[t] + rate x[t-1] + rate² x[t-2] + …, over `length` slices.

    `rate` is a number from 0 to 1, or one for every component; `length` counts slices and may be infinite.

    >>> from pfn import Factorization, Variable, t
    >>> x, note = Variable("x", 3), Variable("note", 3)
    >>> print(Factorization(x[t], note[t] + decay(note[t - 1], [0.5, 0.9, 1.0], 8)))
    x[t] = note[t] + decay(note[t-1], 3 rates, 8)
    """
    piece = as_slice(x, "what decays")
    return Decay(piece, Window(_rates(piece, rate), _length(piece, length)))


def _rates(piece: Slice, rate: Any) -> tuple[float, ...]:
    try:
        rates = np.asarray(rate, dtype=float)
    except (TypeError, ValueError):
        rates = np.array([np.nan])
    size = piece.variable.size
    if rates.shape not in ((), (size,)) or not ((rates >= 0) & (rates <= 1)).all():
        raise DeclarationError(
            f"decay({piece}, …): the rate must be a number from 0 to 1, or {size} of them, one for every component of "
            f"{piece.variable.name}, found {shown(rate)}."
        )
    return tuple(rates.ravel().tolist())


def _length(piece: Slice, length: Any) -> int | None:
    if isinstance(length, float) and length == inf:
        return None
    count = whole_number(length, f"decay({piece}, …): a length that is not infinite")
    if count < 1:
        raise DeclarationError(
            f"decay({piece}, …): the length must be at least 1, found {count}. Leave out what has no length."
        )
    return count
