"""Numbers that change along the sweeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from operator import index

from pfn.errors import OptionError


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


def check_number(value: object, what: str, least: float, most: float | None) -> None:
    """Refuse anything but a finite number in the range."""
    limits = f"a number >= {least:g}" if most is None else f"a number from {least:g} to {most:g}"
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not least <= value < float("inf") or (most is not None and value > most):  # type: ignore[operator]
        raise OptionError(f"{what} must be {limits}, found {value!r}.")


def check_choice(value: object, what: str, allowed: Sequence[str | None]) -> None:
    """Refuse anything but one of these names."""
    if not (value is None or isinstance(value, str)) or value not in allowed:
        raise OptionError(f"{what} must be one of {', '.join(map(repr, allowed))}, found {value!r}.")


def check_positive(value: object, what: str) -> None:
    """Refuse anything but a finite number greater than zero."""
    check_number(value, what, 0.0, None)
    if not value:
        raise OptionError(f"{what} must be greater than 0, found 0. The default is small enough.")


def check_count(value: object, what: str, least: int) -> None:
    """Refuse anything but a whole number that is large enough."""
    try:
        fits = not isinstance(value, bool) and index(value) >= least  # type: ignore[arg-type]
    except TypeError:
        fits = False
    if not fits:
        raise OptionError(f"{what} must be a whole number >= {least}, found {value!r}.")
