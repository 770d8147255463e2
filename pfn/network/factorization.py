"""One factorization equation: stacked children = sum of parameters times parents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Literal

from pfn.errors import DeclarationError, PfnError
from pfn.network.labelled import check_same_labels
from pfn.network.matrices import all_columns_alike
from pfn.network.parameter import Parameter
from pfn.network.structured import Shift, as_terms
from pfn.network.sums import Sum, Summand
from pfn.network.terms import Term
from pfn.network.variable import Slice, Variable, as_slice, check_name
from pfn.network.windows import windowed

NORMALIZATIONS = (None, "columns", "subcolumns", "balanced", "sequences")


@dataclass(frozen=True, init=False, repr=False)
class Factorization:
    """An equation of a network, checked when it is made; without a name the network calls it eq1, eq2, ...

    >>> from pfn import Variable, Parameter, t
    >>> x, h = Variable("x", 4), Variable("h", 6)
    >>> print(Factorization([x[t], x[t + 1]], Parameter("W", shape=(8, 6)) @ h[t]))
    [x[t]; x[t+1]] = W h[t]
    """

    children: tuple[Slice, ...]
    terms: tuple[Term, ...]
    name: str
    normalize: str | None

    def __init__(
        self,
        child: Slice | Variable | Sequence[Slice | Variable],
        terms: Summand | Sum | Literal[0],  # sum(terms) has this type; a sum of no terms is refused
        *,
        name: str | None = None,
        normalize: str | None = None,
    ) -> None:
        stacked = child if isinstance(child, list | tuple) else [child]
        if name is not None:
            check_name(name, "a factorization")
        fields = {
            "children": tuple(as_slice(item, "a child") for item in stacked),
            "terms": as_terms(terms),
            "name": name or "",
            "normalize": normalize,
        }
        for field, content in fields.items():
            object.__setattr__(self, field, content)
        for check in (_check_children, _check_parents, _check_lags, _check_rows, _check_labels, _check_normalize):
            check(self)

    @property
    def rows(self) -> int:
        """The summed sizes of the stacked children."""
        return sum(child.variable.size for child in self.children)

    @property
    def parents(self) -> tuple[Slice, ...]:
        """The parent slices, in the order of the terms."""
        return tuple(term.slice for term in self.terms)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order of the terms; a tied one may occur twice."""
        return tuple(term.parameter for term in self.terms)

    @property
    def parts(self) -> tuple[slice, ...]:
        """The rows of each stacked child."""
        ends = list(accumulate(child.variable.size for child in self.children))
        return tuple(slice(start, end) for start, end in pairwise([0, *ends]))

    def named(self, name: str) -> "Factorization":
        """The same equation under another name."""
        return Factorization(self.children, Sum(self.terms), name=name, normalize=self.normalize)

    def same_equation(self, other: "Factorization") -> bool:
        """Whether both say the same, whatever they are called."""
        return (self.children, self.terms, self.normalize) == (other.children, other.terms, other.normalize)

    def __str__(self) -> str:
        left = "; ".join(str(child) for child in self.children)
        return f"{left if len(self.children) == 1 else f'[{left}]'} = {Sum(self.terms)}"

    def __repr__(self) -> str:
        return f"Factorization({f'{self.name}: ' if self.name else ''}{self})"


def _check_children(equation: Factorization) -> None:
    if not equation.children:
        raise DeclarationError("an equation needs a child: give a slice such as x[t], or a list of them.")
    for child in equation.children:
        if equation.children.count(child) > 1:
            raise DeclarationError(f"{equation}: {child} is stacked twice. Stack it once.")


def _check_parents(equation: Factorization) -> None:
    operands = [(term.slice, term.window) for term in equation.terms]
    for term in equation.terms:
        if operands.count((term.slice, term.window)) > 1:
            raise DeclarationError(
                f"{equation}: {windowed(term.slice, term.window)} is a parent twice. "
                "Add the two parameters up into one term."
            )


def _check_lags(equation: Factorization) -> None:
    earliest = min(equation.children, key=lambda child: child.lag)
    latest = max(equation.parents, key=lambda parent: parent.lag)
    if earliest.lag >= 0 >= latest.lag:
        return
    if earliest.lag >= latest.lag:
        remedy = f"The same equation is {_shifted(equation, -earliest.lag if earliest.lag < 0 else -latest.lag)}."
    else:
        remedy = _recounted(equation, earliest.lag)
    what = (
        f"children take lags >= 0, but {earliest} has {earliest.lag}"
        if earliest.lag < 0
        else f"parents take lags <= 0, but {latest} has +{latest.lag}"
    )
    raise DeclarationError(f"{equation}: {what}. {remedy}")


def _recounted(equation: Factorization, earliest: int) -> str:
    """What to do with parents that come after the earliest child."""
    late: dict[str, int] = {}
    for parent in equation.parents:
        name = parent.variable.name
        late[name] = max(late.get(name, 0), parent.lag - earliest)
    counts = " and ".join(f"those of {name} from time {by} on" for name, by in late.items() if by)
    return (
        f"A child cannot come before its parent: count the columns of {counts.removeprefix('those of ')}, "
        f"as its column 0, and write {_shifted(equation, -earliest, late)}."
    )


def _shifted(equation: Factorization, by: int, later: Mapping[str, int] = MappingProxyType({})) -> str:
    """The equation at another time; the columns of parents in `later` are counted from so much later on."""
    children = [str(Slice(child.variable, child.lag + by)) for child in equation.children]
    left = children[0] if len(children) == 1 else f"[{'; '.join(children)}]"
    terms = []
    for term in equation.terms:
        parent = term.slice.variable
        terms.append(replace(term, slice=Slice(parent, term.slice.lag + by - later.get(parent.name, 0))))
    return f"{left} = {Sum(tuple(terms))}"


def _check_rows(equation: Factorization) -> None:
    names = ", ".join(str(child) for child in equation.children)
    stacked = "stacked children" if len(equation.children) > 1 else "child"
    for term in equation.terms:
        parameter = term.parameter
        rows, columns = parameter.shape
        if isinstance(parameter, Shift) and rows != equation.rows:
            raise DeclarationError(
                f"{equation}: {term} has {rows} components, but the {stacked} {names} "
                f"{'have' if len(equation.children) > 1 else 'has'} {equation.rows}. "
                f"Write W @ {term.slice} with a parameter W of the shape ({equation.rows}, {columns})."
            )
        if rows != equation.rows:
            raise DeclarationError(
                f"{equation}: {parameter.name} has {rows} rows, but the {stacked} {names} "
                f"{'have' if len(equation.children) > 1 else 'has'} {equation.rows} components. "
                f"Give {parameter.name} the shape ({equation.rows}, {columns})."
            )


def _check_labels(equation: Factorization) -> None:
    for term in equation.terms:
        check_matrix_labels(equation, term, term.parameter.labels, DeclarationError)


def check_matrix_labels(
    equation: Factorization,
    term: Term,
    labels: tuple[Sequence[str] | None, Sequence[str] | None],
    error: type[PfnError],
    names: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Refuse a matrix whose rows or columns are labelled otherwise than the children or the parent of a term.

    `names` has the labels that data came with, by variable without labels of its own.
    """
    below = [child.variable.labels or names.get(child.variable.name) for child in equation.children]
    stacked = None if None in below else [label for group in below for label in group or ()]
    parent = term.slice.variable
    rows, columns = (f"{equation}: the {axis} of {term.parameter.name}" for axis in ("rows", "columns"))
    check_same_labels(labels[0], stacked, rows, error)
    check_same_labels(labels[1], parent.labels or names.get(parent.name), columns, error)


def _check_normalize(equation: Factorization) -> None:
    if equation.normalize not in NORMALIZATIONS:
        raise DeclarationError(
            f"{equation}: normalize must be one of {', '.join(map(repr, NORMALIZATIONS))}, "
            f"found {equation.normalize!r}."
        )
    for parameter in equation.parameters:
        if equation.normalize is not None and parameter.learn and not _keeps_ties(parameter, equation.normalize):
            raise DeclarationError(
                f"{equation}: normalize={equation.normalize!r} would scale tied entries of {parameter.name} by "
                "different numbers. Only 'columns' keeps ties, where every column has the same. Leave normalize out."
            )
    widths = {parameter.shape[1] for parameter in equation.parameters if parameter.learn}
    if equation.normalize == "sequences" and len(widths) > 1:
        raise DeclarationError(
            f"{equation}: normalize='sequences' sums the j-th columns of all parameters, so they must have equal "
            f"numbers of columns, found {sorted(widths)}. Use 'columns', or parents of equal size."
        )


def _keeps_ties(parameter: Parameter, normalize: str) -> bool:
    """Whether tied entries stay equal when columns are scaled: each column must have one of every group."""
    if parameter.groups is None:
        return True
    return normalize == "columns" and all_columns_alike(parameter.pattern, parameter.groups)
