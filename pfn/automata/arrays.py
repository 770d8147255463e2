"""Arrays of state machines: basis matrices, sequences of state names encoded and decoded, random walks."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse

from pfn.automata.diagram import HIDDEN, Diagram, listed
from pfn.errors import DataError, DeclarationError, OptionError


def stacked_units(*parts: tuple[int, Sequence[int | None]]) -> scipy.sparse.csr_array:
    """A matrix with a column per index: unit vectors of all parts on top of each other; zeros for the index None.

    >>> stacked_units((2, [0, 1]), (2, [1, None])).toarray()
    array([[1., 0.],
           [0., 1.],
           [0., 0.],
           [1., 0.]])
    """
    offsets = np.cumsum([0] + [size for size, _ in parts])
    ones = [
        (offset + index, column)
        for offset, (_, indices) in zip(offsets, parts, strict=False)
        for column, index in enumerate(indices)
        if index is not None
    ]
    rows, columns = zip(*ones, strict=True) if ones else ((), ())
    shape = (int(offsets[-1]), len(parts[0][1]))
    return scipy.sparse.csr_array((np.ones(len(ones)), (np.array(rows, int), np.array(columns, int))), shape=shape)


FloatArray: TypeAlias = npt.NDArray[np.float64]


def encode(diagram: Diagram, sequence: Iterable[str | None], magnitude: float) -> FloatArray:
    """A column per name: the state's unit vector times the magnitude, zeros for off, NaN for unknown."""
    if not (np.isfinite(magnitude) and magnitude > 0):
        raise OptionError(
            f"encode: magnitude must be a positive number, found {magnitude!r}. For silence, name the off "
            "state instead."
        )
    names = list(sequence)
    rows = {name: row for row, name in enumerate(diagram.states)}
    values = np.zeros((len(rows), len(names)))
    for column, name in enumerate(names):
        if name is None or name == HIDDEN:
            values[:, column] = np.nan
        elif name in rows:
            values[rows[name], column] = magnitude
        elif name != diagram.off:
            raise DataError(
                f"encode: item {column} of the sequence is {name!r}, but the states are "
                f"{listed(diagram.names)}. Use one of them, or {HIDDEN!r} for an unknown state."
            )
    return values


def decode(states: Sequence[str], values: npt.ArrayLike, threshold: float) -> list[list[tuple[str, float]]]:
    """The states of each column whose value exceeds the threshold, largest first."""
    table = checked_values("decode", values, len(states))
    decoded = []
    for column in table.T:
        active = np.flatnonzero(column > threshold)
        ranked = active[np.argsort(-column[active], kind="stable")]
        decoded.append([(states[row], float(column[row])) for row in ranked])
    return decoded


def checked_values(caller: str, values: npt.ArrayLike, rows: int) -> FloatArray:
    """The values as an array with that many rows, without NaN, infinite or negative entries."""
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.shape[0] != rows:
        raise DataError(
            f"{caller}: expected an array of {rows} rows (one per component) and one column per time, "
            f"found shape {table.shape}. Transpose it, or take the variable that belongs to it."
        )
    wrong = np.argwhere(~(np.isfinite(table) & (table >= 0)))
    if len(wrong):
        row, column = (int(index) for index in wrong[0])
        raise DataError(
            f"{caller}: values must be finite and not negative, found {table[row, column]} in row {row}, "
            f"column {column}. Infer hidden entries first, and decode only the columns that have values."
        )
    return table


def walk(diagram: Diagram, length: int, rng: np.random.Generator, initial: str | None) -> list[str]:
    """A random walk, all outgoing transitions equally likely; an off state may also stay off."""
    if length < 0:
        raise OptionError(f"sample: length must not be negative, found {length}. Ask for 0 states or more.")
    if initial not in (None, *diagram.names):
        raise OptionError(
            f"sample: initial={initial!r} is not among the states {listed(diagram.names)}. Name one of them."
        )
    beginnings = (diagram.start or diagram.names) if initial is None else (initial,)
    following: dict[str, list[str]] = {name: [] for name in diagram.names}
    for source, target in diagram.transitions:
        following[source].append(target)
    if diagram.off is not None:
        following[diagram.off].append(diagram.off)
    path: list[str] = []
    while len(path) < length:
        choices = following[path[-1]] if path else beginnings
        if not choices:
            raise DeclarationError(
                f"sample: state {path[-1]!r} has no outgoing transition, so after {len(path)} of {length} "
                f"states ({listed(path)}) the walk cannot go on. Add a transition from {path[-1]!r}, ask "
                "for fewer states, or begin elsewhere with initial=."
            )
        path.append(choices[int(rng.integers(len(choices)))])
    return path
