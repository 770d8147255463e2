"""Checks of single options: numbers, counts, names."""

from collections.abc import Sequence
from numbers import Real
from operator import index

from pfn.errors import OptionError


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


def check_positive(value: object, what: str, remedy: str = "") -> None:
    """Refuse anything but a finite number greater than 0."""
    check_number(value, what, 0.0, None)
    if not value:
        raise OptionError(f"{what} must be greater than 0, found 0.{remedy and ' '}{remedy}")


def check_count(value: object, what: str, least: int) -> None:
    """Refuse anything but a whole number that is large enough."""
    try:
        fits = not isinstance(value, bool) and index(value) >= least  # type: ignore[arg-type]
    except TypeError:
        fits = False
    if not fits:
        raise OptionError(f"{what} must be a whole number >= {least}, found {value!r}.")
