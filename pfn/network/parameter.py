"""Parameters: the matrices W of the equations, known or learned."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.errors import DeclarationError
from pfn.network.labelled import check_same_labels, read_table
from pfn.network.matrices import (
    Matrix,
    check_matrix_shape,
    checked_matrix,
    checked_pattern,
    checked_ties,
    is_diagonal,
    on_pattern,
    same_matrix,
)
from pfn.network.symbols import Symbol, refused
from pfn.network.terms import Term
from pfn.network.time import whole_number
from pfn.network.variable import Slice, Variable, check_name
from pfn.network.windows import Decay, operand_of


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Parameter(Symbol):
    """A non-negative matrix: known if it has a value, else learned.

    `pattern` is true where entries may differ from zero, also when they are learned; in place of it, `tied` has whole
    numbers, 0 where entries are zero and the same number where they are equal.

    >>> Parameter("W", [[1, 0], [0, 2]])
    Parameter('W', 2 × 2, known)
    >>> Parameter("B", shape=(512, 50))
    Parameter('B', 512 × 50, learned)
    """

    name: str
    value: Matrix | None
    shape: tuple[int, int]
    learn: bool
    prior: Matrix | None
    prior_weight: float
    pattern: Matrix | None
    """Ones where entries may differ from zero, where that was declared."""
    groups: np.ndarray | None
    """For every entry of the pattern the number of its group: entries of a group are equal."""
    labels: tuple[tuple[str, ...] | None, tuple[str, ...] | None]
    """Labels of rows and of columns that the matrices came with; equations compare them with those of variables."""

    __add__, __radd__ = refused("+", "parameters do not add up, their terms do: W @ x[t] + V @ y[t].")

    def __init__(
        self,
        name: str,
        value: object = None,
        *,
        shape: tuple[int, int] | None = None,
        learn: bool | None = None,
        prior: object = None,
        prior_weight: float = 0.0,
        pattern: object = None,
        tied: object = None,
    ) -> None:
        check_name(name, "a parameter")
        value, prior, pattern, tied, labels = _without_labels(
            name, {"value": value, "prior": prior, "pattern": pattern, "tied": tied}
        )
        zeros, groups = _pattern(name, pattern, tied)
        matrix = None if value is None else checked_matrix(value, f"parameter {name}: its value")
        size = _shape(name, zeros if matrix is None else matrix, shape)
        if zeros is not None and matrix is not None:
            _check_pattern_shape(name, zeros, size)
            matrix = on_pattern(matrix, zeros, groups, f"parameter {name}")
        fields = {
            "name": name,
            "value": matrix,
            "shape": size,
            "pattern": zeros,
            "groups": groups,
            "learn": _learned(name, matrix, learn),
            "prior": None if prior is None else checked_matrix(prior, f"parameter {name}: its prior"),
            "prior_weight": prior_weight,
            "labels": labels,
        }
        for field, content in fields.items():
            object.__setattr__(self, field, content)
        _check_prior(self)
        object.__setattr__(self, "prior_weight", float(prior_weight))

    @property
    def sparse(self) -> bool:
        """Whether only the entries of a pattern are stored; the others stay zero."""
        return self.pattern is not None or bool(sp.issparse(self.value))

    @property
    def label(self) -> str:
        """What arcs of the graph call it."""
        return self.name

    def times(self, operand: str) -> str:
        """How a term of this parameter is written."""
        return f"{self.name} {operand}"

    def __matmul__(self, operand: Slice | Variable | Decay) -> Term:
        parent, window = operand_of(operand, f"what parameter {self.name} multiplies")
        if self.shape[1] != parent.variable.size:
            raise DeclarationError(
                f"{self.name} @ {parent}: {self.name} has {self.shape[1]} columns, but {parent.variable.name} "
                f"has {parent.variable.size} components. Give {self.name} {parent.variable.size} columns."
            )
        return Term(self, parent, window)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return NotImplemented
        if self is other or self.name != other.name:  # the usual answers first: schedules ask for many
            return self is other
        return _identity(self) == _identity(other) and _same_arrays(self, other)

    def __hash__(self) -> int:
        return hash(_identity(self))

    def describe(self) -> str:
        """Size and what is known, as in `8 × 6 known` or `8 × 6 learned, sparse`."""
        words = "known" if not self.learn else "learned" if self.value is None else "learned from a start"
        diagonal = self.pattern is not None and is_diagonal(self.pattern)
        form = "diagonal" if diagonal else "tied" if self.groups is not None else "sparse" if self.sparse else ""
        return f"{self.shape[0]} × {self.shape[1]} {words}" + (f", {form}" if form else "")

    def __repr__(self) -> str:
        word = "learned" if self.learn else "known"
        return f"{type(self).__name__}({self.name!r}, {self.describe().replace(f' {word}', f', {word}', 1)})"


def _without_labels(name: str, given: dict[str, object]) -> tuple[Any, ...]:
    """The given matrices without labels, and the labels of rows and columns, which must be equal in all of them."""
    labels: list[tuple[str, ...] | None] = [None, None]
    for role, values in given.items():
        table = read_table(values, f"parameter {name}: its {role}", DeclarationError)
        if table is None:
            continue
        given[role] = table.values
        for axis, found in enumerate((table.rows, table.columns)):
            if found is not None:
                place = f"parameter {name}: the {('rows', 'columns')[axis]} of its {role}"
                check_same_labels(found.names, labels[axis], place, DeclarationError)
                labels[axis] = found.names
    return (*given.values(), tuple(labels))


def _pattern(name: str, pattern: object, tied: object) -> tuple[Matrix | None, np.ndarray | None]:
    if pattern is not None and tied is not None:
        raise DeclarationError(f"parameter {name}: tied has the pattern already. Leave pattern out.")
    if tied is not None:
        return checked_ties(tied, f"parameter {name}: tied")
    return None if pattern is None else checked_pattern(pattern, f"parameter {name}: its pattern"), None


def _check_pattern_shape(name: str, pattern: Matrix, shape: tuple[int, int]) -> None:
    if pattern.shape != shape:
        raise DeclarationError(
            f"parameter {name}: its pattern must have the parameter's shape {shape}, found {tuple(pattern.shape)}."
        )


def _same_arrays(one: Parameter, other: Parameter) -> bool:
    pairs = ((one.value, other.value), (one.prior, other.prior), (one.pattern, other.pattern))
    same_groups = one.groups is other.groups or bool(np.array_equal(one.groups, other.groups))  # type: ignore[arg-type]
    return same_groups and all(same_matrix(a, b) for a, b in pairs)


def _shape(name: str, value: Matrix | None, shape: object) -> tuple[int, int]:
    if shape is None:
        if value is None:
            raise DeclarationError(f"parameter {name} needs a value, or a shape=(rows, columns) to be learned in.")
        return (int(value.shape[0]), int(value.shape[1]))
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise DeclarationError(f"parameter {name}: shape must be (rows, columns), found {shape!r}.")
    rows, columns = (whole_number(n, f"parameter {name}: each number in its shape") for n in shape)
    check_matrix_shape((rows, columns), f"parameter {name}")
    if value is not None and value.shape != (rows, columns):
        raise DeclarationError(
            f"parameter {name}: the value has the shape {tuple(value.shape)}, but shape={(rows, columns)} was "
            "given. Leave shape out; the value has one."
        )
    return (rows, columns)


def _learned(name: str, value: Matrix | None, learn: object) -> bool:
    if learn is None:
        return value is None
    if not isinstance(learn, bool | np.bool_):
        raise DeclarationError(f"parameter {name}: learn must be True, False or None, found {learn!r}.")
    if value is None and not learn:
        raise DeclarationError(f"parameter {name}: learn=False needs a value. Give the value, or leave learn out.")
    return bool(learn)


def _check_prior(parameter: Parameter) -> None:
    name, weight = parameter.name, parameter.prior_weight
    if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= weight < np.inf:
        raise DeclarationError(f"parameter {name}: prior_weight must be a finite number >= 0, found {weight!r}.")
    if parameter.prior is None:
        if weight:
            raise DeclarationError(f"parameter {name}: prior_weight={weight} needs a prior. Give prior=matrix.")
        return
    if not parameter.learn:
        raise DeclarationError(
            f"parameter {name}: a prior pulls a learned parameter, but {name} is known. Add learn=True."
        )
    if parameter.sparse or sp.issparse(parameter.prior):
        raise DeclarationError(
            f"parameter {name}: a prior and its parameter must be dense, found a scipy.sparse one. Use .toarray()."
        )
    if parameter.prior.shape != parameter.shape:
        raise DeclarationError(
            f"parameter {name}: its prior must have the parameter's shape {parameter.shape}, "
            f"found {parameter.prior.shape}."
        )


def _identity(parameter: Parameter) -> tuple[object, ...]:
    tied = parameter.groups is not None
    return (parameter.name, parameter.shape, parameter.learn, parameter.sparse, tied, parameter.prior_weight)
