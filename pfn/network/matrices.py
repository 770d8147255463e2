"""Matrices as parameters carry them: checked, read-only, dense or CSR; and patterns of fixed zeros and ties."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.errors import DeclarationError, PfnError

Matrix = Any  # a read-only 2-D numpy array or a scipy.sparse CSR array

# How far tied entries may be apart, relatively: normalizing them leaves rounding, in single precision too.
TIE_ROUNDING = 1e-5


def checked_matrix(values: object, what: str) -> Matrix:
    """A read-only copy of a finite, non-negative, non-empty matrix."""
    if sp.issparse(values):
        matrix: Any = sp.csr_array(sound_sparse(values, what, DeclarationError), copy=True)
        matrix.sum_duplicates()
        check_matrix_shape(matrix.shape, what)
        matrix.data = _checked_numbers(matrix.data, what, np.column_stack(matrix.tocoo().coords))
        matrix.indices.flags.writeable = matrix.indptr.flags.writeable = False
        return matrix
    dense = _checked_numbers(values, what)
    check_matrix_shape(dense.shape, what)
    return dense


def sound_sparse(values: Any, what: str, error: type[PfnError]) -> Any:
    """A sparse matrix with all indices checked: wrong ones make compiled code crash without a word.

    It shares the numbers of the given one, which stays as it is, and takes none of its flags (such as "sorted").
    """
    try:
        if values.format in ("csr", "csc"):
            kind = sp.csr_array if values.format == "csr" else sp.csc_array
            matrix = kind((values.data, values.indices, values.indptr), shape=values.shape)
            matrix.check_format(full_check=True)
        elif values.format == "bsr":
            matrix = sp.bsr_array((values.data, values.indices, values.indptr), shape=values.shape)
            matrix.check_format(full_check=True)
        elif values.format == "coo":
            matrix = sp.coo_array((values.data, values.coords), shape=values.shape)  # which looks at them
        else:
            return sound_sparse(values.tocoo(), what, error)
    except (ValueError, IndexError, TypeError) as wrong:
        raise error(
            f"{what}: the sparse matrix is damaged: {wrong}. Make it anew, for example from its dense form."
        ) from wrong
    return matrix


def _refuse_masked(values: object, what: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        place = [int(i) for i in np.argwhere(np.ma.getmaskarray(values))[0]]
        raise DeclarationError(f"{what} must be known throughout, found a masked entry at {place}. Fill it in.")


def _checked_numbers(values: object, what: str, places: Any = None) -> np.ndarray:
    """Real, finite, non-negative numbers; `places` has the row and column of each where they are not a matrix."""
    _refuse_masked(values, what)
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


def check_matrix_shape(shape: tuple[int, ...], what: str) -> None:
    """Refuse what is not a non-empty matrix."""
    if len(shape) != 2 or min(shape) < 1:
        raise DeclarationError(f"{what} must be a non-empty matrix (rows, columns), found the shape {tuple(shape)}.")


def _as_given(values: Any, what: str) -> Matrix:
    """An array or a sparse matrix of any kind of entries."""
    _refuse_masked(values, what)
    try:
        return sound_sparse(values, what, DeclarationError) if sp.issparse(values) else np.asarray(values)
    except ValueError as error:
        raise DeclarationError(f"{what} must be a matrix: {error}.") from error


def checked_pattern(pattern: Any, what: str) -> Matrix:
    """Where entries may differ from zero, as a read-only CSR array of ones."""
    given = _as_given(pattern, what)
    if given.dtype != bool:
        raise DeclarationError(
            f"{what} must be a matrix of booleans, true where entries may differ from zero, found {given.dtype}. "
            "Compare: pattern=matrix > 0."
        )
    if not sp.issparse(given):
        check_matrix_shape(given.shape, what)
    ones = sp.csr_array(given, dtype=float)
    ones.eliminate_zeros()
    return checked_matrix(ones, what)


def checked_ties(tied: Any, what: str) -> tuple[Matrix, np.ndarray]:
    """The pattern of a matrix of whole numbers, and for each of its entries the number of its group, from 0."""
    given = _as_given(tied, what)
    if given.dtype.kind not in "iu":
        raise DeclarationError(
            f"{what} must be a matrix of whole numbers, 0 where entries are zero and the same number where they are "
            f"equal, found {given.dtype}."
        )
    numbers = checked_matrix(given, what)
    pattern = sp.csr_array(numbers, copy=True)
    pattern.data = np.array(pattern.data)
    pattern.eliminate_zeros()
    pattern.sort_indices()
    groups = np.unique(pattern.data, return_inverse=True)[1]
    groups.flags.writeable = False
    pattern.data = np.ones(pattern.nnz)
    return checked_matrix(pattern, what), groups


def on_pattern(value: Matrix, pattern: Matrix, groups: np.ndarray | None, what: str) -> Matrix:
    """The value stored at the entries of the pattern, zeros among them; refused if it has others or unequal ties.

    Tied entries are equal to the bit in what it gives.
    """
    given = sp.csr_array(value)
    outside = sp.coo_array(given - given.multiply(pattern))
    outside.eliminate_zeros()
    if outside.nnz:
        place = [int(i[0]) for i in outside.coords]
        raise DeclarationError(f"{what}: the value is {outside.data[0]:g} at {place}, where the pattern has a zero.")
    rows, columns = pattern.tocoo().coords
    data = np.asarray(given[rows, columns], given.dtype).ravel()
    if groups is not None:
        first = np.unique(groups, return_index=True)[1][groups]
        wrong = np.flatnonzero(~np.isclose(data, data[first], rtol=TIE_ROUNDING, atol=0))
        if wrong.size:
            place, other = ([int(rows[i]), int(columns[i])] for i in (wrong[0], first[wrong[0]]))
            raise DeclarationError(
                f"{what}: the entries at {other} and {place} are tied, but the value has {data[first][wrong[0]]:g} "
                f"and {data[wrong[0]]:g} there. Give tied entries the same value."
            )
        data = data[first]
    return checked_matrix(sp.csr_array((data, pattern.indices, pattern.indptr), pattern.shape), what)


def all_columns_alike(pattern: Matrix, groups: np.ndarray) -> bool:
    """Whether every column has the same groups, each as often."""
    counts = np.zeros((int(groups.max(initial=-1)) + 1, pattern.shape[1]))
    np.add.at(counts, (groups, pattern.indices), 1)
    return bool((counts == counts[:, :1]).all())


def is_diagonal(matrix: Matrix) -> bool:
    """Whether a CSR matrix stores its diagonal, all of it, and nothing else."""
    every = np.arange(matrix.nnz + 1)
    square = matrix.shape[0] == matrix.shape[1] == matrix.nnz
    return square and bool((matrix.indices == every[:-1]).all() and (matrix.indptr == every).all())


def same_matrix(a: Matrix | None, b: Matrix | None) -> bool:
    """Whether both have the same entries, stored the same way."""
    if a is None or b is None:
        return a is b
    if sp.issparse(a):
        return all(np.array_equal(getattr(a, part), getattr(b, part)) for part in ("indptr", "indices", "data"))
    return bool(np.array_equal(a, b))
