"""Sequences of state names to arrays and back, and random walks. Arrays are (states, time)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pfn.automata.diagram import HIDDEN, Diagram, listed
from pfn.errors import DataError, DeclarationError, OptionError

FloatArray: TypeAlias = npt.NDArray[np.float64]


def encode(diagram: Diagram, sequence: Iterable[str | None], magnitude: float) -> FloatArray:
    """One column per name: the state's unit vector times the magnitude, zeros for off, NaN for unknown."""
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
    following = _followers(diagram)
    beginnings = _beginnings(diagram, initial)
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


def _followers(diagram: Diagram) -> Mapping[str, list[str]]:
    following: dict[str, list[str]] = {name: [] for name in diagram.names}
    for source, target in diagram.transitions:
        following[source].append(target)
    if diagram.off is not None:
        following[diagram.off].append(diagram.off)
    return following


def _beginnings(diagram: Diagram, initial: str | None) -> Sequence[str]:
    if initial is None:
        return diagram.start or diagram.names
    if initial not in diagram.names:
        raise OptionError(
            f"sample: initial={initial!r} is not among the states {listed(diagram.names)}. Name one of them."
        )
    return (initial,)
