"""Parameters with structure: diagonals, convolutions along the components, shifts; and what stands without one."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.errors import DeclarationError
from pfn.network.labelled import read_table
from pfn.network.parameter import Parameter
from pfn.network.sums import Sum, Summand
from pfn.network.symbols import shown
from pfn.network.terms import Term
from pfn.network.time import whole_number
from pfn.network.variable import Slice, Variable
from pfn.network.windows import Decay, operand_of


class Diagonal(Parameter):
    """One value per component: known if values are given, else learned.

    >>> Diagonal("gain", 273)
    Diagonal('gain', 273 × 273, learned, diagonal)
    >>> Diagonal("gain", [1.0, 0.5]).value.toarray()
    array([[1. , 0. ],
           [0. , 0.5]])
    """

    def __init__(self, name: str, values: Any, *, learn: bool | None = None) -> None:
        numbers = _numbers(values, f"parameter {name}: a diagonal", "components")
        size = numbers if isinstance(numbers, int) else len(numbers)
        every = np.arange(size + 1)
        value = None if isinstance(numbers, int) else sp.csr_array((numbers, every[:-1], every), (size, size))
        super().__init__(name, value, learn=learn, pattern=sp.eye_array(size, dtype=bool))


class Convolution(Parameter):
    """A kernel laid at every component: row i has Σ_j kernel[i − j − first] x_j. Its entries are known or learned.

    `kernel` has numbers, or is a width: then it is learned. `size` is the number of components that it is laid at,
    `rows` the number of those it reaches, all by default; what would lie outside of them is cut off.

    >>> blur = Convolution("blur", [1, 2, 1], 4, rows=4, first=-1)
    >>> print(blur.value.toarray())
    [[2. 1. 0. 0.]
     [1. 2. 1. 0.]
     [0. 1. 2. 1.]
     [0. 0. 1. 2.]]
    """

    def __init__(
        self, name: str, kernel: Any, size: int, *, rows: int | None = None, first: int = 0, learn: bool | None = None
    ) -> None:
        numbers = _numbers(kernel, f"parameter {name}: a kernel", "entries")
        width = numbers if isinstance(numbers, int) else len(numbers)
        size = whole_number(size, f"parameter {name}: the size")
        first = whole_number(first, f"parameter {name}: first")
        rows = size + width - 1 + first if rows is None else whole_number(rows, f"parameter {name}: rows")
        if size < 1 or rows < 1:
            raise DeclarationError(f"parameter {name}: size and rows must be at least 1, found {size} and {rows}.")
        offsets = [-(first + k) for k in range(width) if -rows < -(first + k) < size]
        if not offsets:
            raise DeclarationError(f"parameter {name}: nothing of the kernel lies within {rows} rows. Change first.")
        tied = _band(np.arange(1, width + 1), offsets, first, (rows, size), int)
        value = None if isinstance(numbers, int) else _band(numbers, offsets, first, (rows, size), float)
        super().__init__(name, value, learn=learn, tied=tied)


def _band(numbers: np.ndarray, offsets: list[int], first: int, shape: tuple[int, int], dtype: type) -> Any:
    """A matrix with the k-th number along the diagonal first + k below the main one."""
    bands = [np.full(min(shape) + max(shape), numbers[-offset - first]) for offset in offsets]
    return sp.csr_array(sp.dia_array((np.array(bands), offsets), shape=shape), dtype=dtype)


def _numbers(given: Any, what: str, of: str) -> Any:
    """A count, or a row of numbers; the numbers themselves are checked with the matrix that they make."""
    table = read_table(given, what, DeclarationError)
    if table is not None and table.rows is not None:
        raise DeclarationError(f"{what} is taken by position, found numbers with labels. Give .to_numpy() of them.")
    try:
        array = np.asarray(given if table is None else table.values)
    except ValueError:  # rows of different lengths
        array = np.array([[]])
    if array.ndim == 0:
        count = whole_number(given, f"{what}, given by its number of {of},")
        if count < 1:
            raise DeclarationError(f"{what} must have at least 1 of its {of}, found {count}.")
        return count
    if array.ndim != 1 or not array.size or array.dtype.kind not in "buif":
        raise DeclarationError(f"{what} must be a row of numbers, or how many {of} it has, found {shown(given)}.")
    return array


class Shift(Parameter):
    """The components moved along: component i goes to i + by, and what leaves at either end is gone."""

    by: int

    def __init__(self, size: int, by: int, rows: int | None = None) -> None:
        rows = size if rows is None else rows
        name = f"shift {by:+d} of {size}" + (f" in {rows}" if rows != size else "")
        super().__init__(name if by or rows != size else f"identity of {size}", sp.eye_array(rows, size, k=-by))
        object.__setattr__(self, "by", by)

    @property
    def plain(self) -> bool:
        """Whether nothing moves: the term is the slice itself."""
        return self.by == 0 and self.shape[0] == self.shape[1]

    @property
    def label(self) -> str:
        """What arcs of the graph call it."""
        return "I" if self.plain else f"shift {self.by:+d}"

    def times(self, operand: str) -> str:
        """How a term of this parameter is written."""
        rows, size = self.shape
        return operand if self.plain else f"shift({operand}, {self.by}{f', {rows}' if rows != size else ''})"


def shift(x: Slice | Variable | Decay, by: int, size: int | None = None) -> Term:
    """The components of x moved along: component i goes to i + by, and what leaves at either end is gone.

    The result has `size` components, as many as x by default.

    >>> from pfn import Factorization, Variable, t
    >>> y, x = Variable("y", 3), Variable("x", 3)
    >>> print(Factorization(y[t], x[t] + shift(x[t - 1], 2)))
    y[t] = x[t] + shift(x[t-1], 2)
    """
    piece, window = operand_of(x, "what is shifted")
    by = whole_number(by, f"shift({piece}, …): the number of components")
    components = piece.variable.size
    rows = components if size is None else whole_number(size, f"shift({piece}, …): the size of the result")
    if rows < 1 or not -components < by < rows:
        raise DeclarationError(
            f"shift({piece}, {by}): nothing of {components} components is left in {rows}. Shift by fewer."
        )
    return Term(Shift(components, by, rows), piece, window)


def as_terms(item: object) -> tuple[Term, ...]:
    """The terms of a right-hand side; a slice without a parameter stands for itself."""
    if isinstance(item, Sum):
        return tuple(_as_term(part) for part in item.terms)
    if isinstance(item, Summand):
        return (_as_term(item),)
    raise DeclarationError(
        f"the right-hand side of an equation must be terms such as W @ h[t] + V @ g[t - 1], found {shown(item)}."
    )


def _as_term(part: Summand) -> Term:
    if isinstance(part, Term):
        return part
    piece, window = operand_of(part, "a term")
    return Term(Shift(piece.variable.size, 0), piece, window)
