"""Columns of sequences into the slots of a variable's array, and out of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pfn.engines.layout import Layout
from pfn.engines.problem import dense
from pfn.engines.state import State


def fill(array: np.ndarray, name: str, pieces: Sequence[Any], layout: Layout) -> None:
    """Copy the columns of every sequence into their slots."""
    for sequence, values in enumerate(pieces):
        array[:, layout.slots(name, sequence)] = values


def save(moments: Mapping[str, Mapping[str, Any]], layout: Layout) -> dict[str, np.ndarray]:
    """The arrays of some moments in a form that does not depend on where columns lie."""
    variables = {variable.name for variable in layout.network.variables}
    return {
        f"{moment} {name}": pack(np.asarray(array), name, layout) if name in variables else np.array(array)
        for moment, arrays in moments.items()
        for name, array in arrays.items()
    }


def pack(array: np.ndarray, name: str, layout: Layout) -> np.ndarray:
    """The columns of all sequences without what lies between them: the same wherever they lie."""
    return np.hstack([array[:, layout.slots(name, sequence)] for sequence in range(len(layout.lengths))])


def unpack(array: np.ndarray, name: str, packed: np.ndarray, layout: Layout) -> None:
    """Put back what `pack` gave."""
    widths = [len(layout.columns_of(name, sequence)) for sequence in range(len(layout.lengths))]
    if packed.shape != (len(array), sum(widths)):
        raise ValueError(f"{name} has the shape {packed.shape} in place of {(len(array), sum(widths))}")
    fill(array, name, np.split(packed, np.cumsum(widths)[:-1], axis=1), layout)


def load(moment: str, arrays: Mapping[str, np.ndarray], saved: Mapping[str, np.ndarray], layout: Layout) -> None:
    """Put back what `save` gave for a moment."""
    variables = {variable.name for variable in layout.network.variables}
    for name, array in arrays.items():
        if name in variables:
            unpack(array, name, saved[f"{moment} {name}"], layout)
        else:
            array[:] = saved[f"{moment} {name}"]


def save_values(state: State, layout: Layout) -> dict[str, np.ndarray]:
    """The values now and, with momentum, before the last sweep."""
    before = {} if state.previous is None else {"before": state.views(state.previous)}
    return save({"now": state.arrays} | before, layout)


def load_values(state: State, saved: Mapping[str, np.ndarray], layout: Layout) -> None:
    """Put back what `save_values` gave, of this engine or another."""
    if any(key.startswith("before ") for key in saved):
        load("before", state.views(state.prepare_momentum()), saved, layout)
    load("now", state.arrays, saved, layout)


def values_by_sequence(
    array: np.ndarray, name: str, observed: Sequence[Any] | None, layout: Layout
) -> list[np.ndarray]:
    """An array per sequence; columns that nothing touches are NaN if hidden."""
    touched = layout.touched(name)
    result = []
    for sequence in range(len(layout.lengths)):
        slots = layout.slots(name, sequence)
        values = np.array(array[:, slots])
        values[:, ~touched[slots]] = np.nan
        if observed is not None:
            known = dense(observed[sequence])
            gaps = np.isnan(values[:, : known.shape[1]])
            values[:, : known.shape[1]][gaps] = known[gaps]
        result.append(values)
    return result
