"""Sums: the right-hand sides of equations, as they are written."""

from dataclasses import dataclass
from typing import TypeVar

from pfn.errors import DeclarationError
from pfn.network.symbols import Symbol, written


class Summand(Symbol):
    """What adds up on the right-hand side of an equation: slices, and linear maps of them."""

    __matmul__ = Symbol._multiplied

    def __add__(self, other: object) -> "Sum":
        return Sum((self,)) + other

    def __radd__(self, other: object) -> "Summand":
        return _after_zero(other, self)


@dataclass(frozen=True, repr=False)
class Sum(Symbol):
    """Terms that add up."""

    terms: tuple[Summand, ...]

    __matmul__ = Symbol._multiplied

    def __add__(self, other: object) -> "Sum":
        if isinstance(other, Sum):
            return Sum((*self.terms, *other.terms))
        if not isinstance(other, Summand):
            raise DeclarationError(
                f"{self} + {written(other)}: terms add up with terms only. Write parameter @ variable[t]."
            )
        return Sum((*self.terms, other))

    def __radd__(self, other: object) -> "Sum":
        return _after_zero(other, self)

    def __str__(self) -> str:
        return " + ".join(written(term) for term in self.terms)

    def __repr__(self) -> str:
        return str(self)


_Added = TypeVar("_Added", Summand, Sum)


def _after_zero(other: object, item: _Added) -> _Added:
    """The item itself after 0, where sum() starts; nothing else can be added to."""
    if isinstance(other, int) and other == 0:
        return item
    raise DeclarationError(
        f"{written(other)} + {written(item)}: terms add up with terms only; the equations have no constants."
    )
