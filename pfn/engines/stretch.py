"""Some sweeps in a row: what an engine is asked for at a time, and when it ends before the last of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Over so many sweeps a stalled run has changed by less than `stall`.
STALL_SWEEPS = 50


@dataclass(frozen=True)
class Stretch:
    """Sweeps to be done; an engine that does several at a time ends early where a criterion to stop is met."""

    first: int
    count: int
    sparseness: Callable[[int], Mapping[str, float]]  # by equation, for the number of a sweep
    steps: int  # sweeps since the momentum began or the divergence rose
    past: Sequence[float]  # the divergence after every sweep so far
    tolerance: float | None = None
    stall: float | None = None
    stall_from: int = 0  # a run cannot stall before so many sweeps are done

    def changed(self, number: int) -> bool:
        """Whether the sparseness in a sweep is another than in the one before."""
        return number > 0 and self.sparseness(number) != self.sparseness(number - 1)

    @property
    def before(self) -> float:
        """The divergence that the first of these sweeps finds."""
        return self.past[-1] if self.past else float("inf")


def stalled(stall: Any, before: Any, now: Any) -> Any:
    """Whether the divergence has changed relatively less than `stall`."""
    return abs(before - now) <= stall * abs(before)
