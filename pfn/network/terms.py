"""Terms `W @ parent` and their sums: the right-hand sides of equations."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, Union

from pfn.errors import DeclarationError
from pfn.network.variable import Slice, shown

if TYPE_CHECKING:
    from pfn.network.parameter import Parameter


@dataclass(frozen=True, repr=False)
class Term:
    """A linear map of a slice: a parameter times a parent."""

    parameter: "Parameter"
    slice: Slice

    def __add__(self, other: Union["Term", "Sum"]) -> "Sum":
        return Sum((self,)) + other

    def __radd__(self, other: object) -> "Term":
        return _after_zero(other, self)

    def __str__(self) -> str:
        return f"{self.parameter.name} {self.slice}"

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class Sum:
    """Terms that add up."""

    terms: tuple[Term, ...]

    def __add__(self, other: Union[Term, "Sum"]) -> "Sum":
        if not isinstance(other, Term | Sum):
            raise DeclarationError(f"{self} + {other!r}: terms add up with terms only. Write parameter @ variable[t].")
        return Sum((*self.terms, *as_terms(other)))

    def __radd__(self, other: object) -> "Sum":
        return _after_zero(other, self)

    def __str__(self) -> str:
        return " + ".join(str(term) for term in self.terms)

    def __repr__(self) -> str:
        return str(self)


_Summand = TypeVar("_Summand", Term, Sum)


def _after_zero(other: object, item: _Summand) -> _Summand:
    """The item itself after 0, where sum() starts; nothing else can be added to."""
    if isinstance(other, int) and other == 0:
        return item
    raise DeclarationError(f"{other!r} + {item}: terms add up with terms only; the equations have no constants.")


def as_terms(item: object) -> tuple[Term, ...]:
    """The terms of a right-hand side."""
    if isinstance(item, Term):
        return (item,)
    if isinstance(item, Sum):
        return item.terms
    raise DeclarationError(
        f"the right-hand side of an equation must be terms such as W @ h[t] + V @ g[t - 1], found {shown(item)}."
    )
