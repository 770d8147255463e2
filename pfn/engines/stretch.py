"""Some sweeps in a row: what an engine is asked for at a time, and when it ends before the last of them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

# At most so many sweeps in a stretch, and about so many seconds: then Ctrl-C and the progress bar are looked at. But a
# compiled stretch allocates its memory anew and measures errors after its last sweep, so slow sweeps come so few at a
# time, unless these take more than so many seconds.
MOST_SWEEPS, SECONDS, FEW_SWEEPS, MOST_SECONDS = 512, 0.1, 8, 2.0


@dataclass(frozen=True)
class Stretch:
    """Sweeps to be done; an engine that does several at a time ends early where a criterion to stop is met."""

    first: int
    count: int
    sparseness: Callable[[int], Mapping[str, float]]  # by equation, for the number of a sweep
    steps: int  # sweeps since the momentum began or the divergence rose
    lowest: float  # the lowest divergence in them
    tolerance: float | None = None
    measure: int = 1  # errors are wanted after sweeps whose number, counted from 1, this divides
    ends: Collection[int] = ()  # and after so many sweeps

    def measured(self, number: int) -> bool:
        """Whether errors are wanted after a sweep."""
        return (number + 1) % self.measure == 0 or number + 1 in self.ends

    def changed(self, number: int) -> bool:
        """Whether the sparseness in a sweep is another than in the one before."""
        return number > 0 and self.sparseness(number) != self.sparseness(number - 1)


def pace_after(pace: int, done: int, seconds: float) -> int:
    """How many sweeps to do next, after so many in so long; not much fewer at once, since that may have compiled."""
    each = seconds / done
    fitting = max(SECONDS / each, min(FEW_SWEEPS, MOST_SECONDS / each))
    return max(1, pace // 2, min(int(fitting), MOST_SWEEPS))
