"""Observations at work: variables observed throughout, used where they lie, and those observed in part."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines.layout import Layout
from pfn.engines.problem import Problem, dense, has_hidden

# Sparse observations of up to so many entries are made dense: then the formulas hold to the last digit, while
# equations with sparse children leave ε out where X is zero.
DENSE_ENTRIES = 1 << 22


def fixed_variables(problem: Problem, layout: Layout) -> dict[str, Any]:
    """The arrays, or sparse matrices, of the variables that no sweep changes."""
    fixed: dict[str, Any] = {}
    for name, arrays in problem.observed.items():
        if name in problem.released or any(has_hidden(array) for array in arrays):
            continue
        large = arrays[0].shape[0] * layout.width(name) > DENSE_ENTRIES
        if large and all(map(sp.issparse, arrays)) and _may_stay_sparse(name, problem):
            fixed[name] = _side_by_side(name, arrays, problem, layout)
        elif layout.single and arrays[0].shape[1] == layout.width(name):
            fixed[name] = np.ascontiguousarray(dense(arrays[0]), problem.dtype)
        elif not layout.single:
            fixed[name] = np.zeros((arrays[0].shape[0], layout.width(name)), problem.dtype)
            for sequence, array in enumerate(arrays):
                fixed[name][:, layout.slots(name, sequence)] = dense(array)
    return fixed


def _side_by_side(name: str, arrays: Sequence[Any], problem: Problem, layout: Layout) -> Any:
    """The sequences in one sparse matrix, each in its slots."""
    pieces, end = [], 0
    for sequence, array in enumerate(arrays):
        slots = layout.slots(name, sequence)
        pieces += [sp.csc_array((array.shape[0], slots.start - end)), sp.csc_array(array)]
        end = slots.stop
    pieces.append(sp.csc_array((arrays[0].shape[0], layout.width(name) - end)))
    return sp.csc_array(sp.hstack(pieces), dtype=problem.dtype)


def _may_stay_sparse(name: str, problem: Problem) -> bool:
    """Whether the variable is alone in its equations and they have Kullback-Leibler updates."""
    for equation in problem.schedule.network.factorizations:
        names = {role: [p.variable.name for p in getattr(equation, role)] for role in ("children", "parents")}
        lags = [p.lag for p in (*equation.children, *equation.parents) if p.variable.name == name]
        alone = all(name not in pieces or len(pieces) == 1 for pieces in names.values())
        seen_through = any(term.window for term in equation.terms if term.slice.variable.name == name)
        sparse_map = lags and any(sp.issparse(problem.start[p.name]) for p in equation.parameters)
        if not alone or any(lags) or sparse_map or seen_through:
            return False
    return problem.divergence.unit_denominator


class Held:
    """The observations of a variable: put back after every change."""

    def __init__(self, values: np.ndarray, observed: np.ndarray, mask: np.ndarray) -> None:
        self._values, self._observed, self._mask = values, observed, mask

    def restore(self) -> None:
        """Put the observed entries back."""
        np.copyto(self._values, self._observed, where=self._mask)


def held_variables(problem: Problem, layout: Layout, arrays: Mapping[str, np.ndarray]) -> dict[str, Held]:
    """What is put back into the variables that are observed in part, or until they are released."""
    held = {}
    for name in problem.observed.keys() & arrays.keys():
        observed = observed_values(name, problem, layout, arrays[name])
        mask = ~np.isnan(observed)
        if mask.any():
            held[name] = Held(arrays[name], observed, mask)
            held[name].restore()
    return held


def observed_values(name: str, problem: Problem, layout: Layout, values: np.ndarray) -> np.ndarray:
    """The observations where their variable lies, NaN where hidden: the user's own array if it has that shape."""
    pieces = problem.observed[name]
    if layout.single and pieces[0].shape == values.shape:
        return dense(pieces[0])
    observed = np.full(values.shape, np.nan, values.dtype)
    for sequence, piece in enumerate(pieces):
        observed[:, layout.slots(name, sequence)][:, : piece.shape[1]] = dense(piece)
    return observed
