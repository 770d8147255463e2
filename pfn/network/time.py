"""The symbolic time (or sample) index `t`."""

from dataclasses import dataclass
from operator import index

from pfn.errors import DeclarationError
from pfn.network.symbols import refused


@dataclass(frozen=True)
class Time:
    """The index `t` shifted by a whole number of slices: `t + 1`, `t - 4`."""

    lag: int = 0

    __mul__, __rmul__ = refused("*", "time moves by whole slices only. Write t + 1 or t - 4.")

    def __add__(self, steps: int) -> "Time":
        return Time(self.lag + whole_number(steps, f"the shift in {self} + ..."))

    __radd__ = __add__

    def __sub__(self, steps: int) -> "Time":
        return Time(self.lag - whole_number(steps, f"the shift in {self} - ..."))

    def __str__(self) -> str:
        return f"t{self.lag:+d}" if self.lag else "t"

    def __repr__(self) -> str:
        return str(self)


def whole_number(value: object, what: str) -> int:
    """The value as an int; anything that is not a whole number is refused."""
    if not isinstance(value, bool):
        try:
            return index(value)  # type: ignore[arg-type]  # the TypeError is the check
        except TypeError:
            pass
    raise DeclarationError(f"{what} must be a whole number, found {value!r}. Give an int.")


t = Time()
