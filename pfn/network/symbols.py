"""What equations are written with, and the arithmetic that has no meaning in them."""

from collections.abc import Callable
from typing import Any, NoReturn

from pfn.errors import DeclarationError

Refusal = Callable[[Any, object], NoReturn]


def refused(sign: str, reason: str) -> tuple[Refusal, Refusal]:
    """The methods of an operator, with the symbol on its left and on its right, that say why it cannot be."""

    def before(symbol: object, other: object) -> NoReturn:
        raise DeclarationError(f"{written(symbol)} {sign} {written(other)}: {reason}")

    def after(symbol: object, other: object) -> NoReturn:
        raise DeclarationError(f"{written(other)} {sign} {written(symbol)}: {reason}")

    return before, after


_PRODUCTS = (
    "the only product is that of a parameter and a slice. "
    "Write pfn.Parameter('W', values) @ x[t], with every factor in its values."
)
_DIFFERENCES = "nothing is subtracted, terms add up. Write it as a term on the other side of its equation."
_BOUNDS = "no bounds can be declared; variables are non-negative. Give values that are known to pfn.infer or pfn.learn."


class Symbol:
    """A variable, a parameter or what they make: it adds up, a parameter multiplies it, and that is all."""

    __array_ufunc__ = None  # numpy must leave `array @ x[t]` to us, so that the error can say what to do

    __mul__, __rmul__ = refused("*", _PRODUCTS)
    __truediv__, __rtruediv__ = refused("/", _PRODUCTS)
    _multiplied, __rmatmul__ = refused("@", _PRODUCTS)
    __sub__, __rsub__ = refused("-", _DIFFERENCES)
    __lt__, __gt__ = refused("<", _BOUNDS)
    __le__, __ge__ = refused("<=", _BOUNDS)

    def __neg__(self) -> NoReturn:
        raise DeclarationError(f"-{written(self)}: {_DIFFERENCES}")


def written(item: object) -> str:
    """Anything that may stand in an expression, on one line."""
    return str(getattr(item, "name", item)) if isinstance(item, Symbol) else shown(item)


def shown(item: object) -> str:
    """Anything a user may have passed, on one line."""
    shape = getattr(item, "shape", None)
    array = isinstance(shape, tuple) and hasattr(item, "dtype")
    return repr(item) if not array else f"{type(item).__name__} of shape {shape}"
