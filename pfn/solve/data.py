"""Observations as the user gives them → checked arrays, and the length of every sequence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines import has_hidden
from pfn.errors import DataError, DeclarationError, OptionError, warn_user
from pfn.network import Factorization, Network, Parameter, Variable
from pfn.network.factorization import check_matrix_labels
from pfn.network.labelled import read_table
from pfn.network.matrices import sound_sparse
from pfn.solve.labels import Times, check_times, in_order, looks_around


@dataclass(frozen=True)
class Observations:
    """Checked observations: by variable name an array per sequence, NaN = hidden."""

    arrays: dict[str, list[np.ndarray]]
    lengths: tuple[int, ...]
    listed: bool  # whether the user gave lists, and so gets lists
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of rows, by variable without labels
    times: Mapping[int, Times] = field(default_factory=dict)  # labels of columns, by sequence that came with some

    def per_sequence(self, given: Any, what: str) -> list[Any]:
        """Something given beside the data, one for every sequence, in the data's own form."""
        if self.listed != isinstance(given, list | tuple):
            wanted = "a list with one array per sequence" if self.listed else "an array"
            raise DataError(f"{what} must be {wanted}, like the data; found {type(given).__name__}.")
        pieces = list(given) if self.listed else [given]
        if len(pieces) != len(self.lengths):
            raise DataError(f"{what} must have {len(self.lengths)} sequences, like the data; found {len(pieces)}.")
        return pieces

    def hides(self, name: str) -> bool:
        """Whether some entries of a variable are hidden."""
        arrays = self.arrays.get(name)
        return arrays is None or any(map(has_hidden, arrays))

    def unwrap(self, per_sequence: list[np.ndarray]) -> Any:
        """As the user gave them: a list, or the one array."""
        return per_sequence if self.listed else per_sequence[0]


def check_observations(
    network: Network,
    data: object,
    dtype: np.dtype[Any],
    *,
    seen: dict[str, tuple[str, ...]] | None = None,
    place: str = "",
) -> Observations:
    """Check the observations against the network and find T for every sequence.

    `seen` has the labels of rows of what was read before, by variable without labels; `place` is where these come from.
    """
    if not isinstance(data, Mapping):
        raise DataError(
            f"the data must be a mapping such as {{x: array}}, found {type(data).__name__}. Folders and iterables, "
            "which are read one sequence after the other, are for pfn.learn."
        )
    if not data:
        names = ", ".join(v.name for v in network.bottom) or network.variables[0].name
        raise DataError(
            f"the data are empty, so the length is unknown. Give an array for {names}; all NaN means all hidden."
        )
    listed = _all_lists_or_none(data)
    labels = {} if seen is None else seen
    times: dict[int, Times] = {}
    arrays: dict[str, list[Any]] = {}
    for key, values in data.items():
        variable = find_variable(network, key)
        if variable.name in arrays:
            raise DataError(f"the data have {variable.name} twice, by object and by name. Give it once.")
        pieces = values if listed else [values]
        arrays[variable.name] = []
        for number, piece in enumerate(pieces):
            what = f"{variable.name}, sequence {number}" if listed else variable.name
            found = in_order(piece, variable, what, labels)
            if found.times is not None:
                check_times(found.times, times.get(number), even=looks_around(network))
                times.setdefault(number, found.times)
            arrays[variable.name].append(checked_array(found.values, variable, dtype, what, in_list=listed))
    for equation in network.factorizations if labels else ():
        for term in equation.terms:
            check_matrix_labels(equation, term, term.parameter.labels, DataError, labels)
    _check_same_number(arrays)
    lengths = tuple(_length(network, arrays, sequence) for sequence in range(len(next(iter(arrays.values())))))
    _warn_of_short(network, arrays, lengths, place)
    return Observations(_trimmed(network, arrays, lengths), lengths, listed, labels, times)


def _warn_of_short(network: Network, arrays: Mapping[str, Sequence[Any]], lengths: Sequence[int], place: str) -> None:
    """Warn of sequences so short that no equation has to do with some of their data; a single slice may be alone."""
    reach = sum(max(child.lag for child in e.children) for e in network.factorizations)
    short = []
    for number, length in enumerate(lengths):
        if not 1 < length <= reach:
            continue
        columns = network.columns(length)
        idle = [name for name in arrays if not columns.variables[name] and arrays[name][number].shape[1]]
        if idle:
            short.append((number, length, idle))
    if not short:
        return
    number, length, idle = short[0]
    pieces = {e: [piece.variable.name for piece in (*e.children, *e.parents)] for e in network.factorizations}
    equation = next(e for e, names in pieces.items() if idle[0] in names)
    needed = next(n for n in range(length, length + reach + 2) if network.columns(n).equations[equation.name])
    where = place or (f"sequence {number}" if len(lengths) > 1 else "the data")
    others = f" (and those of {len(short) - 1} other sequences)" if len(short) > 1 else ""
    warn_user(
        UserWarning(
            f"{where}: {length} slices{others} are fewer than {equation.name} ({equation}) reaches over: no equation "
            f"has to do with {', '.join(idle)} there, whose values are not fitted, and NaN where hidden. Give at "
            f"least {needed} slices, or leave the sequence out."
        )
    )


# Data whose maximum is this many times ε are fitted half a per cent worse, those of ten times ε by a seventh.
ABOVE_EPSILON = 100


def check_scale(observations: Observations, epsilon: float) -> None:
    """Refuse data that are hardly larger than ε anywhere: what comes out would be made of ε."""
    largest = largest_value(observations)
    if 0 < largest < ABOVE_EPSILON * epsilon:
        raise DataError(
            f"{', '.join(observations.arrays)}: the largest value is {largest:.3g}, less than {ABOVE_EPSILON} times "
            f"epsilon = {epsilon:g}, which is added to numerators and denominators and would drown the data. Multiply "
            "them by a number that brings their maximum to about 1, or give the method a smaller epsilon."
        )


def largest_value(observations: Observations) -> float:
    """The largest observed entry of all, zero if there is none."""
    arrays = [array for pieces in observations.arrays.values() for array in pieces if array.size]
    return max((_largest(array) for array in arrays), default=0.0)


def _largest(array: Any) -> float:
    return float(np.fmax.reduce(array.data if sp.issparse(array) else array, axis=None, initial=0.0))  # NaN counts not


def check_is_network(network: object) -> None:
    """Refuse anything but a network."""
    if not isinstance(network, Network):
        raise OptionError(
            f"network must be a pfn.Network, found {type(network).__name__}. Wrap equations in pfn.Network(…)."
        )


def find(network: Network, key: Any, option: str) -> Variable | Parameter | Factorization:
    """What a key of an option stands for."""
    try:
        return network[key]
    except DeclarationError as error:
        raise OptionError(f"{option}: {error}") from error


def find_variable(network: Network, key: Any) -> Variable:
    """The variable meant by a key of the data."""
    try:
        return network.variable(key)
    except DeclarationError as error:
        raise DataError(f"data for {key!r}: {error}") from error


def plain_start(network: Network, item: Variable | Parameter, given: Any, observations: Observations) -> Any:
    """The starting values given for a variable or parameter as bare numbers, in the order of labels and of the data."""
    what = f"initial: {item.name}"
    if isinstance(item, Parameter):
        table = read_table(given, what, DataError)
        if table is None:
            return given
        rows, columns = (None if axis is None else axis.names for axis in (table.rows, table.columns))
        for equation in network.factorizations:
            for term in equation.terms:
                if term.parameter == item:
                    check_matrix_labels(equation, term, (rows, columns), DataError, observations.names)
        return table.values
    pieces, names = [], dict(observations.names)
    for number, piece in enumerate(given if isinstance(given, list | tuple) else [given]):
        found = in_order(piece, item, what, names)
        if found.times is not None:
            check_times(found.times, observations.times.get(number), even=looks_around(network))
        pieces.append(found.values)
    return pieces if isinstance(given, list | tuple) else pieces[0]


def _all_lists_or_none(data: Mapping[Any, object]) -> bool:
    lists = {str(getattr(key, "name", key)): isinstance(values, list | tuple) for key, values in data.items()}
    if any(lists.values()) and not all(lists.values()):
        single = next(name for name, is_list in lists.items() if not is_list)
        several = next(name for name, is_list in lists.items() if is_list)
        raise DataError(
            f"{several} is a list of sequences, but {single} is a single array. "
            f"Give every observed variable as a list with one array per sequence."
        )
    return any(lists.values())


def checked_array(values: Any, variable: Variable, dtype: np.dtype[Any], what: str, *, in_list: bool) -> Any:
    """A finite, non-negative (size, columns) array; NaN entries are hidden."""
    array = values if sp.issparse(values) else numbers(values, what)
    if array.ndim != 2 or array.shape[0] != variable.size:
        raise DataError(
            f"{what}: expected an array of shape ({variable.size}, columns), components down and time to the "
            f"right, found the shape {array.shape}.{_shape_hint(array, variable, in_list)}"
        )
    if array.shape[1] == 0:
        raise DataError(f"{what}: the array has no columns. Give at least one; NaN marks hidden entries.")
    if sp.issparse(array):
        return _checked_sparse(array, what, dtype)
    with np.errstate(over="ignore"):  # what is too large becomes infinite and is refused below
        # Sequences are copied when they are laid side by side, so they may lie as they like.
        converted = array.astype(dtype, order="K" if in_list else "C", copy=False)
    refuse_bad_entries(converted, array, what)
    refuse_lost_entries(converted, array, what)
    return converted


def _checked_sparse(given: Any, what: str, dtype: np.dtype[Any]) -> Any:
    """A sparse matrix is observed throughout: its stored entries, and zeros elsewhere."""
    matrix = sp.csc_array(sound_sparse(given, what, DataError), copy=True)
    matrix.sum_duplicates()
    check_real(matrix.dtype, what)
    with np.errstate(over="ignore"):  # what is too large becomes infinite and is refused below
        checked = matrix.astype(dtype)
    wrong = ~(np.isfinite(checked.data) & (checked.data >= 0))
    if wrong.any():
        row, column = (int(c[wrong][0]) for c in checked.tocoo().coords)
        raise DataError(
            f"{what}: the stored entries of a sparse matrix must be finite and non-negative, found "
            f"{checked.data[wrong][0]} at component {row}, column {column}. Where entries are hidden, give a dense "
            "array with NaN."
        )
    places = np.column_stack(checked.tocoo().coords) if checked.dtype != matrix.dtype else None
    refuse_lost_entries(checked.data, matrix.data, what, places)
    return checked


def numbers(values: object, what: str) -> np.ndarray:
    """Anything array-like as real numbers; masked entries become NaN."""
    table = read_table(values, what, DataError)
    if table is not None:
        values = table.values
    try:
        if isinstance(values, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in values):
            values = np.ma.stack(values)  # NumPy would forget the masks
        array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:  # as objects say that are no arrays
        raise DataError(f"{what}: expected an array of numbers: {error}.") from error
    check_real(array.dtype, what)
    return np.ma.filled(array.astype(float), np.nan) if isinstance(array, np.ma.MaskedArray) else array


def check_real(dtype: np.dtype[Any], what: str) -> None:
    """Refuse entries that are no real numbers."""
    if dtype.kind not in "buif":
        raise DataError(f"{what}: expected real numbers, found {dtype} entries. Convert them to floats; NaN = hidden.")


def _shape_hint(array: np.ndarray, variable: Variable, in_list: bool) -> str:
    if in_list and array.ndim < 2:
        return " A list stands for several sequences: for one matrix use np.array(list)."
    if array.ndim == 1 and array.shape[0] == variable.size:
        return " For a single column use array[:, None]."
    if array.ndim == 2 and array.shape[1] == variable.size:
        return " It looks transposed: use array.T."
    if array.ndim == 3:
        return " For several sequences give a list of arrays."
    return ""


def refuse_bad_entries(array: np.ndarray, original: np.ndarray, what: str) -> None:
    """Negative and infinite entries are refused with their position."""
    with np.errstate(invalid="ignore"):
        wrong = (array < 0) | np.isinf(array)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        if np.isfinite(original[row, column]) and original[row, column] > 0:
            raise DataError(
                f"{what}: {original[row, column]} at component {row}, column {column} is too large for {array.dtype}. "
                "Scale the data down, or use dtype='float64'."
            )
        raise DataError(
            f"{what}: entries must be finite and non-negative, or NaN where hidden; found "
            f"{original[row, column]} at component {row}, column {column} "
            f"({int(wrong.sum())} such entries). Replace them, for example by NaN."
        )


def refuse_lost_entries(array: np.ndarray, original: np.ndarray, what: str, places: np.ndarray | None = None) -> None:
    """Refuse numbers above zero that are zero, or nearly so, in a smaller dtype; `places`: of stored entries."""
    if np.can_cast(original.dtype, array.dtype, "safe") or original.dtype.kind != "f":
        return
    with np.errstate(invalid="ignore"):
        lost = (original > 0) & (array < np.finfo(array.dtype).tiny)
    if lost.any():
        first = tuple(np.argwhere(lost)[0])
        row, column = (int(i) for i in (first if places is None else places[first[0]]))
        raise DataError(
            f"{what}: {original[first]} at component {row}, column {column} is too small for {array.dtype} "
            f"({int(lost.sum())} such entries). Scale the data up, set such entries to zero, or use dtype='float64'."
        )


def _check_same_number(arrays: Mapping[str, Sequence[np.ndarray]]) -> None:
    counts = {name: len(pieces) for name, pieces in arrays.items()}
    if 0 in counts.values():
        empty = next(name for name, count in counts.items() if count == 0)
        raise DataError(f"{empty}: the list of sequences is empty. Give at least one array.")
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise DataError(f"every variable needs the same number of sequences, found: {found}.")


def _length(network: Network, arrays: Mapping[str, Sequence[np.ndarray]], sequence: int) -> int:
    """T: the number of columns of the observed bottom variables, or what fits the others."""
    given = {name: pieces[sequence].shape[1] for name, pieces in arrays.items()}
    bottom = {v.name: given[v.name] for v in network.bottom if v.name in given}
    if not bottom:
        return _length_from_upper(network, given, sequence)
    length: int = max(bottom.values())
    touched = network.columns(length).variables
    for name, count in bottom.items():
        if count not in (length, touched[name].stop):
            longest = max(bottom, key=bottom.__getitem__)
            raise DataError(
                f"{name} has {count} columns, but {longest} has {length}{_in_sequence(arrays, sequence)}. "
                f"Variables at the bottom of the network share their time axis: give both {length} columns."
            )
    return length


def _in_sequence(arrays: Mapping[str, Sequence[np.ndarray]], sequence: int) -> str:
    several = len(next(iter(arrays.values()))) > 1
    return f" in sequence {sequence}" if several else ""


def _length_from_upper(network: Network, given: Mapping[str, int], sequence: int) -> int:
    """Without an observed bottom variable, the T that gives every observed variable its columns."""
    pieces = [p for e in network.factorizations for p in (*e.children, *e.parents)]
    most = max(given.values()) + sum(abs(piece.lag) for piece in pieces)
    for length in range(max(given.values()), most + 1):
        touched = network.columns(length).variables
        if all(touched[name].stop == count for name, count in given.items()):
            return length
    found = ", ".join(f"{name} has {count} columns" for name, count in given.items())
    raise DataError(
        f"no length of the sequence fits: {found} (sequence {sequence}). Give an array for a bottom variable "
        f"({', '.join(v.name for v in network.bottom)}), all NaN if it is hidden."
    )


def _trimmed(
    network: Network, arrays: dict[str, list[np.ndarray]], lengths: tuple[int, ...]
) -> dict[str, list[np.ndarray]]:
    """Arrays with the columns their variables have; observed columns that no equation touches are refused."""
    bottom = {variable.name for variable in network.bottom}
    trimmed = {}
    for name, pieces in arrays.items():
        trimmed[name] = list(pieces)
        for sequence, array in enumerate(pieces):
            if name not in bottom:
                columns = network.columns(lengths[sequence]).variables[name].stop
                trimmed[name][sequence] = _fitted(array, name, columns, lengths[sequence])
    return trimmed


def _fitted(array: np.ndarray, name: str, columns: int, length: int) -> np.ndarray:
    if array.shape[1] < columns:
        raise DataError(
            f"{name}: expected {columns} columns for a sequence of {length} slices, found {array.shape[1]}. "
            f"Give an array of shape ({array.shape[0]}, {columns}); NaN marks hidden entries."
        )
    beyond = array[:, columns:]
    seen = np.arange(beyond.shape[1]) if sp.issparse(array) else np.flatnonzero(~np.isnan(beyond).all(axis=0))
    if seen.size:
        raise DataError(
            f"{name}: column {columns + int(seen[0])} is observed, but no equation touches it: in a sequence of "
            f"{length} slices {name} has {columns} columns. Give an array of shape ({array.shape[0]}, {columns})."
        )
    return array[:, :columns]
