"""What there is to plot: a matrix with its name and labels, out of results, data or bare arrays."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.engines import refuse_dense
from pfn.errors import DataError, OptionError
from pfn.network import Factorization, Parameter, Variable
from pfn.network.matrices import sound_sparse
from pfn.plots.symbols import Symbol, symbol
from pfn.solve import Result
from pfn.solve.checks import check_count
from pfn.solve.data import check_real, numbers, refuse_bad_entries
from pfn.solve.labels import in_order


class Matrix(NamedTuple):
    """Components down, to the right time slices, if it is `timed`; NaN is hidden."""

    name: str
    values: np.ndarray
    labels: tuple[str, ...] | None = None
    timed: bool = False
    below: str = ""
    """What stands below the name: a variable has one column for every t."""

    @property
    def symbol(self) -> Symbol:
        """The name as drawings write it."""
        return symbol(self.name, self.below)

    @property
    def largest(self) -> float:
        """The largest value that is not hidden; 0 if all are."""
        return float(np.nanmax(self.values, initial=0.0))


def matrix_of(source: Any, item: Any = None, *, sequence: int = 0) -> Matrix:
    """The values of an item in a result or in data, or an array; of several sequences, the one with this number."""
    check_count(sequence, "sequence", 0)
    if item is None and isinstance(source, Result | Mapping):
        names = ", ".join(str(getattr(key, "name", key)) for key in _all_of(source))
        raise OptionError(f"which variable is meant? Name one, as in plots.image(result, x). There are {names}.")
    if isinstance(source, Result):
        return _from_result(source, item, sequence)
    if isinstance(source, Mapping):
        key = _key(source, item)
        return named_matrix(source[key], item if isinstance(key, str) else key, sequence)
    return named_matrix(source, item, sequence)


def named_matrix(values: Any, item: Any, sequence: int = 0) -> Matrix:
    """Values as a matrix with the name and the labels of a variable, of a parameter, or with a name alone."""
    if item is not None and not isinstance(item, str | Variable | Parameter):
        raise OptionError(
            f"expected a variable, a parameter or a name, found {item!r}. Give it as in plots.image(X, x)."
        )
    name = str(getattr(item, "name", item or ""))
    of_time = not isinstance(item, Parameter)  # a parameter is one for all sequences
    given = _one_of(values, sequence, name) if of_time else values
    if isinstance(item, Variable):
        given = in_order(given, item, name, {}).values
    matrix = checked_matrix(given, name or "the values")
    if not isinstance(item, Variable):
        return Matrix(name, matrix, timed=isinstance(item, str))
    if matrix.shape[0] != item.size:
        remedy = "It looks transposed: use array.T." if matrix.shape[1] == item.size else "Give the array of it."
        raise DataError(
            f"{name}: expected {item.size} rows, one per component, found the shape {matrix.shape}. {remedy}"
        )
    labels = None if item.labels is None else tuple(item.labels)
    return Matrix(name, matrix, labels, timed=True, below="t")


def with_labels(matrix: Matrix, labels: Sequence[str] | None) -> Matrix:
    """The matrix with other labels, or as it is."""
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


def _from_result(result: Result, item: Any, sequence: int) -> Matrix:
    found = result.network[item]
    if isinstance(found, Factorization):
        raise OptionError(f"{found.name} is an equation. plots.equation(result, {found.name!r}) shows it.")
    return named_matrix(result[found], found, sequence)


def _all_of(source: Result | Mapping[Any, Any]) -> list[Any]:
    return list(source.values if isinstance(source, Result) else source)


def _key(data: Mapping[Any, Any], item: Any) -> Any:
    """The key of the data that means the item, by object or by name."""
    name = getattr(item, "name", item)
    for key in data:
        if getattr(key, "name", key) == name:
            return key
    found = ", ".join(str(getattr(key, "name", key)) for key in data) or "nothing"
    raise DataError(f"the data have no {name!r}, they have {found}. Name one of these.")


def _one_of(values: Any, sequence: int, name: str) -> Any:
    """The values themselves, or that one of a list of sequences."""
    what = name or "the values"
    if not isinstance(values, list | tuple) or (values and np.ndim(values[0]) < 2 and not sp.issparse(values[0])):
        if sequence:
            raise OptionError(f"{what}: there is one sequence only, found sequence={sequence}. Leave sequence out.")
        return values
    if sequence >= len(values):
        raise OptionError(
            f"{what}: sequence must be one of the {len(values)} sequences, counted from 0, found {sequence}."
        )
    return values[sequence]
