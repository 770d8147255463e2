"""Weights of the columns of equations, checked."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pfn.engines import Layout, has_hidden
from pfn.errors import DataError, OptionError
from pfn.network import Factorization, Network, Slice, Window
from pfn.network.labelled import read_table
from pfn.solve.data import Observations, find, numbers
from pfn.solve.labels import Times, check_times

Weights = Mapping[str, Sequence[np.ndarray]]  # by equation, one array per sequence with one number per column


def checked_weights(network: Network, weights: Any, observations: Observations) -> dict[str, list[np.ndarray]]:
    """By equation, one array per sequence with one number per column."""
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        raise OptionError(f"weights must be a mapping such as {{'eq1': numbers}}, found {type(weights).__name__}.")
    checked = {}
    for key, given in weights.items():
        equation = find(network, key, "weights")
        if not isinstance(equation, Factorization):
            raise OptionError(f"weights belong to factorizations, but {equation.name} is not one.")
        pieces = observations.per_sequence(given, f"weights of {equation.name}")
        checked[equation.name] = [
            _weights_of_one(
                equation, piece, network.columns(length).equations[equation.name], observations.times.get(number)
            )
            for number, (piece, length) in enumerate(zip(pieces, observations.lengths, strict=True))
        ]
    return checked


def _weights_of_one(equation: Factorization, given: Any, columns: int, times: Times | None) -> np.ndarray:
    what = f"weights of {equation.name}"
    table = read_table(given, what, DataError)
    if table is not None and table.rows is not None:
        check_times(Times(what, table.rows), times, even=False)
    array = numbers(given, what).astype(float)
    if array.shape != (columns,):
        raise DataError(
            f"weights of {equation.name}: expected {columns} numbers, one per column of the equation, "
            f"found the shape {array.shape}."
        )
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"weights of {equation.name}: expected finite numbers >= 0, found {array[place]} at column {place}."
        )
    return array


def refuse_unequal_weights(
    network: Network, observations: Observations, weights: Weights, *, released: Collection[str] = ()
) -> None:
    """Refuse weights that differ between the columns, of one equation or of several, that share a hidden parent.

    Right updates do not know weights. That does not matter where all columns that touch a parent have one weight: it
    cancels in their quotient. Elsewhere the parent would be found as if all of them counted alike.
    `released` are the variables whose observations will be let go.
    """
    if all((given == 1).all() for arrays in weights.values() for given in arrays):
        return
    layout = Layout(network, observations.lengths, observations.arrays)
    parents = dict.fromkeys(parent.variable.name for e in network.by_level for parent in e.parents)
    for name in parents:
        if name in released or observations.hides(name):
            uses = [
                (equation, piece, window)
                for equation in network.factorizations
                for piece, window in _pieces(equation)
                if piece.variable.name == name
            ]
            least, most = np.full(layout.width(name), np.inf), np.zeros(layout.width(name))
            for use in uses:
                slots, low, high = _weights_of(*use, layout, weights.get(use[0].name, ()))
                least[slots], most[slots] = np.minimum(least[slots], low), np.maximum(most[slots], high)
            if (_hidden_slots(name, observations, layout, released) & (least < most)).any():
                raise OptionError(_differing(name, [use[0].name for use in uses], weights))


def _pieces(equation: Factorization) -> Iterator[tuple[Slice, Window | None]]:
    """The child and parent slices of an equation, with the windows that parents are seen through."""
    yield from ((child, None) for child in equation.children)
    yield from ((term.slice, term.window) for term in equation.terms)


def _weights_of(
    equation: Factorization, piece: Slice, window: Window | None, layout: Layout, given: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The slots of a variable that an equation touches through a slice, and the least and largest weight there.

    Through a window, several columns see a slot; those of its sequence stand for them.
    """
    columns = np.flatnonzero(layout.live(equation, min(piece.lag, 0)))
    counts = layout.counts(equation, given)
    least, most = counts.copy(), counts.copy()
    if window is not None and window.length != 1:
        for array, start in zip(given, layout.starts[:-1].tolist(), strict=True):
            if array.size:
                least[start : start + array.size], most[start : start + array.size] = array.min(), array.max()
    return columns + piece.lag - layout.offset(piece.variable.name), least[columns], most[columns]


def _hidden_slots(name: str, observations: Observations, layout: Layout, released: Collection[str]) -> np.ndarray:
    """The slots of a variable in which something is hidden."""
    hidden = np.ones(layout.width(name), dtype=bool)
    if name in observations.arrays and name not in released:
        for number, values in enumerate(observations.arrays[name]):
            slots = hidden[layout.slots(name, number)]
            slots[: values.shape[1]] = np.isnan(values).any(axis=0) if has_hidden(values) else False
    return hidden


def _differing(name: str, equations: Sequence[str], weights: Weights) -> str:
    """The message about a hidden variable that columns with different weights share."""
    weighted = ", ".join(equation for equation in weights if equation in equations)
    several = [*dict.fromkeys(equations)]
    where = f"the equations {', '.join(several)}" if len(several) > 1 else f"several columns of {several[0]}"
    return (
        f"weights of {weighted}: the hidden variable {name} is shared by {where}, where the weights differ, and "
        f"Propagate finds {name} as if all of them counted alike. Use method='substitute', where weights reach all "
        f"values; or give columns that share {name} one weight, in all of these equations; or leave weights out."
    )
