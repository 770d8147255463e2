"""Variables and their slices."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pfn.errors import DeclarationError
from pfn.network.sums import Summand
from pfn.network.symbols import shown
from pfn.network.time import Time, whole_number


@dataclass(frozen=True, repr=False)
class Variable(Summand):
    """A non-negative vector for every time index.

    >>> x = Variable("x", 4)
    >>> x
    Variable('x', 4)
    """

    name: str
    size: int
    labels: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "a variable")
        size = whole_number(self.size, f"variable {self.name}: its size")
        if size < 1:
            raise DeclarationError(
                f"variable {self.name}: its size must be at least 1, found {size}. Give the number of components."
            )
        object.__setattr__(self, "size", size)
        if self.labels is not None:
            object.__setattr__(self, "labels", self._checked_labels(self.labels))

    def _checked_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        found = tuple(str(label) for label in labels) if isinstance(labels, Iterable) else ()
        if isinstance(labels, str) or len(found) != self.size or len(set(found)) != self.size:
            raise DeclarationError(
                f"variable {self.name}: labels must be {self.size} different strings, one per component, "
                f"found {labels!r}. Give a list of {self.size} strings."
            )
        return found

    def __getitem__(self, time: Time) -> "Slice":
        if not isinstance(time, Time):
            raise DeclarationError(
                f"{self.name}[{time!r}]: a variable is indexed by the symbolic time. "
                f"Write {self.name}[t] or {self.name}[t - 1], with `from pfn import t`."
            )
        return Slice(self, time.lag)

    def __iter__(self) -> None:  # without this, Python would try x[0], x[1], ... and blame the index
        raise DeclarationError(f"variable {self.name} is not a sequence. Stack slices as [x[t], x[t + 1]].")

    def __repr__(self) -> str:
        return f"Variable({self.name!r}, {self.size})"


@dataclass(frozen=True, repr=False)
class Slice(Summand):
    """A variable at `t` plus a lag."""

    variable: Variable
    lag: int

    def __str__(self) -> str:
        return f"{self.variable.name}[{Time(self.lag)}]"

    def __repr__(self) -> str:
        return str(self)


def as_slice(item: object, what: str) -> Slice:
    """The slice meant: a bare variable `x` means `x[t]`."""
    if isinstance(item, Variable):
        return Slice(item, 0)
    if isinstance(item, Slice):
        return item
    raise DeclarationError(f"{what} must be a slice such as x[t], found {shown(item)}.")


def check_name(name: object, what: str) -> None:
    """Refuse names that are not one line of text."""
    if not isinstance(name, str) or not name.strip() or name != name.strip() or not name.isprintable():
        raise DeclarationError(
            f"the name of {what} must be a non-empty line of text without spaces around it, found {name!r}."
        )
