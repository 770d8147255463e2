"""What a run of `Exact` works on, and what it finds, for one sequence."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pfn.exact import System


class Sequence(NamedTuple):
    """One sequence: its equations, what is known of its entries (NaN: hidden), and the largest known value."""

    system: System
    known: np.ndarray
    scale: float

    def error(self, y: np.ndarray) -> float:
        """By how much the equation that holds least is missed."""
        return float(np.abs(self.system.matrix @ y).max(initial=0.0))


class Part(NamedTuple):
    """The answer for one sequence: all its entries, which of them are certain, and what to say of it."""

    y: np.ndarray
    unique: np.ndarray | None
    stop: str
    noisy: frozenset[str] = frozenset()
    """Variables whose values are not those observed."""


LATE = 10.0
"""A point that misses an equation by so many times what counts as exact is one that the time limit cut short."""


def late(sequence: Sequence, y: np.ndarray, noisy: Iterable[str] = ()) -> Part:
    """The best point so far, with what it lacks."""
    residual = sequence.error(y) * sequence.scale
    said = f"stopped early, by the time limit or the user: the largest error is {residual:.2g}"
    return Part(y * sequence.scale, None, said, frozenset(noisy))
