"""Matrices to show: values with name and labels, out of results, data or bare arrays."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.engines import refuse_dense
from pfn.errors import DataError, OptionError
from pfn.network import Factorization, Parameter, Variable
from pfn.network.matrices import sound_sparse
from pfn.plots.notation import Notation, symbol
from pfn.solve import Result
from pfn.solve.checks import check_count
from pfn.solve.data import check_real, numbers, refuse_bad_entries
from pfn.solve.labels import in_order


class NamedMatrix(NamedTuple):
    """Values (components, columns) with a name and the labels of the components; NaN is hidden."""

    name: str
    values: np.ndarray
    labels: tuple[str, ...] | None = None
    timed: bool = False
    """True if the columns are time slices."""
    below: str = ""
    """Index below the name: t for a variable, which has one column for every t."""

    @property
    def symbol(self) -> Notation:
        """The name as drawings write it."""
        return symbol(self.name, self.below)

    @property
    def largest(self) -> float:
        """The largest value that is not hidden; 0 if all are."""
        return float(np.nanmax(self.values, initial=0.0))


def matrix_of(source: Any, item: Any = None, *, sequence: int = 0) -> NamedMatrix:
    """The values of an item in a result or in data, or an array; of several sequences, the one with this number."""
    check_count(sequence, "sequence", 0)
    if item is None and isinstance(source, Result | Mapping):
        keys = source.values if isinstance(source, Result) else source
        names = ", ".join(str(getattr(key, "name", key)) for key in keys)
        raise OptionError(f"which variable is meant? Name one, as in plots.image(result, x). There are {names}.")
    if isinstance(source, Result):
        found = source.network[item]
        if isinstance(found, Factorization):
            raise OptionError(f"{found.name} is an equation. plots.equation(result, {found.name!r}) shows it.")
        return named_matrix(source[found], found, sequence)
    if not isinstance(source, Mapping):
        return named_matrix(source, item, sequence)
    name = getattr(item, "name", item)
    for key in source:  # a variable or its name
        if getattr(key, "name", key) == name:
            return named_matrix(source[key], item if isinstance(key, str) else key, sequence)
    there = ", ".join(str(getattr(key, "name", key)) for key in source) or "nothing"
    raise DataError(f"the data have no {name!r}, they have {there}. Name one of these.")


def named_matrix(values: Any, item: Any, sequence: int = 0) -> NamedMatrix:
    """Values with the name and labels of a variable or parameter, or with a name alone."""
    if item is not None and not isinstance(item, str | Variable | Parameter):
        raise OptionError(
            f"expected a variable, a parameter or a name, found {item!r}. Give it as in plots.image(X, x)."
        )
    name = str(getattr(item, "name", item or ""))
    of_time = not isinstance(item, Parameter)  # a parameter is one for all sequences
    given = _one_sequence(values, sequence, name or "the values") if of_time else values
    if isinstance(item, Variable):
        given = in_order(given, item, name, {}).values
    matrix = checked_matrix(given, name or "the values")
    if not isinstance(item, Variable):
        return NamedMatrix(name, matrix, timed=isinstance(item, str))
    if matrix.shape[0] != item.size:
        remedy = "It looks transposed: use array.T." if matrix.shape[1] == item.size else "Give the array of it."
        raise DataError(
            f"{name}: expected {item.size} rows, one per component, found the shape {matrix.shape}. {remedy}"
        )
    labels = None if item.labels is None else tuple(item.labels)
    return NamedMatrix(name, matrix, labels, timed=True, below="t")


def with_labels(matrix: NamedMatrix, labels: Sequence[str] | None) -> NamedMatrix:
    """The matrix with other labels; unchanged for None."""
    if labels is None:
        return matrix
    if isinstance(labels, str) or len(labels) != len(matrix.values):
        raise OptionError(f"labels must be a list of {len(matrix.values)} names, one per component, found {labels!r}.")
    return matrix._replace(labels=tuple(str(label) for label in labels))


def checked_matrix(values: Any, what: str) -> np.ndarray:
    """A dense matrix of finite, non-negative numbers and NaN."""
    if sp.issparse(values):
        check_real(values.dtype, what)
        refuse_dense(what, [values], "a picture shows every entry; give a part of it, such as matrix[:, :1000]")
        values = sound_sparse(values, what, DataError).toarray()
    array = numbers(values, what)
    if array.ndim != 2 or 0 in array.shape:
        column = " For a single column use array[:, None]." if array.ndim == 1 and array.size else ""
        raise DataError(
            f"{what}: expected a matrix (components, slices) with at least one entry, found the shape "
            f"{array.shape}.{column}"
        )
    converted = array.astype(float)
    refuse_bad_entries(converted, array, what)
    return converted


def as_result(result: object, asked: str) -> Result:
    """The result that a plot needs; anything else is refused."""
    if not isinstance(result, Result):
        raise OptionError(
            f"{asked} needs a result, found {type(result).__name__}. Give what pfn.infer or pfn.learn returned."
        )
    return result


def _one_sequence(values: Any, sequence: int, what: str) -> Any:
    """One of a list of sequences; a matrix is the only one."""
    # Rows of numbers, or of nothing, are a matrix in lists, and no list of sequences.
    if not isinstance(values, list | tuple) or (values and np.ndim(values[0]) < 2 and not sp.issparse(values[0])):
        if sequence:
            raise OptionError(f"{what}: there is one sequence only, found sequence={sequence}. Leave sequence out.")
        return values
    if sequence >= len(values):
        raise OptionError(
            f"{what}: sequence must be one of the {len(values)} sequences, counted from 0, found {sequence}."
        )
    return values[sequence]
