"""Entries that count in errors: all but those that the fit itself fills in.

A hidden entry that occurs once, in one child slice of one equation and nowhere as a parent, is W times the parents by
construction. It cannot be wrong, so it does not count in the RMSE of its equation, and it adds nothing to any sum of
errors. Hidden entries that occur several times couple slices or equations: they count, as these need not agree.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from pfn.engines.layout import Layout
from pfn.engines.problem import dense
from pfn.network import Factorization

Masks = Mapping[str, np.ndarray]  # by variable


def filled_in(
    layout: Layout,
    observed: Mapping[str, Sequence[Any]],
    hidden: Collection[str],
    released: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """By variable, the hidden entries that occur once, (size, slots); of variables that occur more often, no mask.

    - observed: by variable an array per sequence, NaN where hidden;
    - hidden: the variables that are not observed throughout;
    - released: those whose observations were let go.
    """
    found = {}
    for name in hidden:
        once = _occurs_once(name, layout)
        if not once.any():
            continue
        mask = np.tile(once, (layout.network.variable(name).size, 1))
        for sequence, values in enumerate(() if name in released else observed.get(name, ())):
            mask[:, layout.slots(name, sequence)][:, : values.shape[1]] &= np.isnan(dense(values))
        found[name] = mask
    return found


def _occurs_once(name: str, layout: Layout) -> np.ndarray:
    """The slots of a variable that are in one child slice of one equation and in no parent slice."""
    times = np.zeros(layout.width(name), dtype=int)
    in_parents = np.zeros_like(times, dtype=bool)
    for equation in layout.network.factorizations:
        for child in (piece for piece in equation.children if piece.variable.name == name):
            times += layout.touches(equation, child)
        for parent in (piece for piece in equation.parents if piece.variable.name == name):
            in_parents |= layout.touches(equation, parent)
    once: np.ndarray = (times == 1) & ~in_parents
    return once


def counted_in(equation: Factorization, layout: Layout, filled: Masks) -> np.ndarray | None:
    """The entries of the equation's child matrix that count, (rows, slots); None where all of them do."""
    if not any(child.variable.name in filled for child in equation.children):
        return None
    columns = layout.count(equation)
    counted = np.ones((equation.rows, columns), dtype=bool)
    for child, rows in zip(equation.children, equation.parts, strict=True):
        if child.variable.name in filled:
            np.logical_not(layout.view(filled[child.variable.name], child, columns), out=counted[rows])
    return counted


def counted_entries(layout: Layout, filled: Masks, weights: Mapping[str, Sequence[np.ndarray]]) -> dict[str, float]:
    """By equation, the number of entries that count, columns counted by their weights."""
    entries = {}
    for equation in layout.network.factorizations:
        counted = counted_in(equation, layout, filled)
        counts = layout.counts(equation, weights.get(equation.name, ()))
        rows = equation.rows if counted is None else counted.sum(axis=0)
        entries[equation.name] = float(np.sum(rows * counts))
    return entries
