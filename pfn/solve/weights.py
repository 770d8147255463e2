"""How often columns of equations count, as the user says, checked."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pfn.errors import DataError, OptionError
from pfn.network import Factorization, Network
from pfn.network.labelled import read_table
from pfn.solve.data import Observations, find, numbers
from pfn.solve.labels import Times, check_times


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
