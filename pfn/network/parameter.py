"""Parameters: the matrices W of the equations, known or learned."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.errors import DeclarationError
from pfn.network.terms import Term
from pfn.network.time import whole_number
from pfn.network.variable import Slice, Variable, as_slice, check_name

Matrix = Any  # a read-only 2-D numpy array or a scipy.sparse CSR array


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Parameter:
    """A non-negative matrix: known if it has a value, else learned.

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

    __array_ufunc__ = None

    def __init__(
        self,
        name: str,
        value: object = None,
        *,
        shape: tuple[int, int] | None = None,
        learn: bool | None = None,
        prior: object = None,
        prior_weight: float = 0.0,
    ) -> None:
        check_name(name, "a parameter")
        matrix = None if value is None else checked_matrix(value, f"parameter {name}: its value")
        fields = {
            "name": name,
            "value": matrix,
            "shape": _shape(name, matrix, shape),
            "learn": _learned(name, matrix, learn),
            "prior": None if prior is None else checked_matrix(prior, f"parameter {name}: its prior"),
            "prior_weight": prior_weight,
        }
        for field, content in fields.items():
            object.__setattr__(self, field, content)
        _check_prior(self)
        object.__setattr__(self, "prior_weight", float(prior_weight))

    @property
    def sparse(self) -> bool:
        """Whether the value is a scipy.sparse matrix (its zeros then stay zero)."""
        return bool(sp.issparse(self.value))

    def __matmul__(self, parent: Slice | Variable) -> Term:
        parent = as_slice(parent, f"what parameter {self.name} multiplies")
        if self.shape[1] != parent.variable.size:
            raise DeclarationError(
                f"{self.name} @ {parent}: {self.name} has {self.shape[1]} columns, but {parent.variable.name} "
                f"has {parent.variable.size} components. Give {self.name} {parent.variable.size} columns."
            )
        return Term(self, parent)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return NotImplemented
        return _identity(self) == _identity(other) and (
            self is other or (_same(self.value, other.value) and _same(self.prior, other.prior))
        )

    def __hash__(self) -> int:
        return hash(_identity(self))

    def describe(self) -> str:
        """Size and what is known, as in `8 × 6 known` or `8 × 6 learned, sparse`."""
        words = "known" if not self.learn else "learned" if self.value is None else "learned from a start"
        return f"{self.shape[0]} × {self.shape[1]} {words}" + (", sparse" if self.sparse else "")

    def __repr__(self) -> str:
        return f"Parameter({self.name!r}, {self.describe().replace(' ' + _words(self), ', ' + _words(self), 1)})"


def _words(parameter: Parameter) -> str:
    return "learned" if parameter.learn else "known"


def checked_matrix(values: object, what: str) -> Matrix:
    """A read-only copy of a finite, non-negative, non-empty matrix."""
    if sp.issparse(values):
        matrix: Any = sp.csr_array(values, copy=True)
        matrix.sum_duplicates()
        _check_matrix_shape(matrix.shape, what)
        matrix.data = _checked_numbers(matrix.data, what, np.column_stack(matrix.tocoo().coords))
        matrix.indices.flags.writeable = matrix.indptr.flags.writeable = False
        return matrix
    dense = _checked_numbers(values, what)
    _check_matrix_shape(dense.shape, what)
    return dense


def _checked_numbers(values: object, what: str, places: Any = None) -> np.ndarray:
    """Real, finite, non-negative numbers; `places` has the row and column of each where they are not a matrix."""
    try:
        array = np.array(values)
    except ValueError as error:
        raise DeclarationError(f"{what} must be a matrix of numbers: {error}.") from error
    if array.dtype.kind not in "buif":
        raise DeclarationError(f"{what} must hold real numbers, found {array.dtype}. Give an array of floats or ints.")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0])
        place = first if places is None else places[first[0]]
        raise DeclarationError(
            f"{what} must be finite and non-negative, found {array[first]} at {[int(i) for i in place]}."
            " Replace such entries before declaring it."
        )
    array.flags.writeable = False
    return array


def _check_matrix_shape(shape: tuple[int, ...], what: str) -> None:
    if len(shape) != 2 or min(shape) < 1:
        raise DeclarationError(f"{what} must be a non-empty matrix (rows, columns), found the shape {tuple(shape)}.")


def _shape(name: str, value: Matrix | None, shape: object) -> tuple[int, int]:
    if shape is None:
        if value is None:
            raise DeclarationError(f"parameter {name} needs a value, or a shape=(rows, columns) to be learned in.")
        return (int(value.shape[0]), int(value.shape[1]))
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise DeclarationError(f"parameter {name}: shape must be (rows, columns), found {shape!r}.")
    rows, columns = (whole_number(n, f"parameter {name}: each number in its shape") for n in shape)
    _check_matrix_shape((rows, columns), f"parameter {name}")
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
    return (parameter.name, parameter.shape, parameter.learn, parameter.sparse, parameter.prior_weight)


def _same(a: Matrix | None, b: Matrix | None) -> bool:
    if a is None or b is None:
        return a is b
    if sp.issparse(a):
        return all(np.array_equal(getattr(a, part), getattr(b, part)) for part in ("indptr", "indices", "data"))
    return bool(np.array_equal(a, b))
