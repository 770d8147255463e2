"""Numbers that change along the sweeps."""

from dataclasses import dataclass

from pfn.errors import OptionError
from pfn.solve.checks import check_count, check_number


@dataclass(frozen=True)
class Ramp:
    """`first` up to sweep `start`, `last` from sweep `stop` on, linear between."""

    first: float
    last: float
    start: int
    stop: int

    def __post_init__(self) -> None:
        for name in ("first", "last"):
            check_number(getattr(self, name), f"ramp: {name}", 0.0, None)
        for name in ("start", "stop"):
            check_count(getattr(self, name), f"ramp: {name}", 0)
        if self.stop < self.start:
            raise OptionError(f"ramp: stop must not come before start={self.start}, found {self.stop}.")

    def at(self, sweep: int) -> float:
        """The value at a sweep, counted from 0."""
        if sweep >= self.stop:
            return self.last
        if sweep <= self.start:
            return self.first
        return self.first + (self.last - self.first) * (sweep - self.start) / (self.stop - self.start)


def ramp(first: float, last: float, *, start: int, stop: int) -> Ramp:
    """A number that is `first` up to sweep `start`, `last` from `stop` on, linear between.

    >>> ramp(0.0, 0.05, start=5000, stop=10000).at(7500)
    0.025
    """
    return Ramp(first, last, start, stop)
