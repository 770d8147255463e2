"""Observations at work: variables observed throughout, used where they lie, and those observed in part."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines.layout import Layout
from pfn.engines.problem import Problem, dense, has_hidden
from pfn.errors import OptionError
from pfn.program import store

# Sparse observations of more entries stay sparse where they can: one number for all engines.
DENSE_ENTRIES = store.DENSE_ENTRIES

# Where they cannot stay sparse they are made dense up to this number of entries, 134 MB, of which a run has a few
# copies. Beyond that the user decides whether there is memory for it.
MOST_DENSE = 1 << 24


def fixed_variables(problem: Problem, layout: Layout) -> dict[str, Any]:
    """The arrays, or sparse matrices, of the variables that no sweep changes."""
    fixed: dict[str, Any] = {}
    for name, arrays in problem.observed.items():
        if name in problem.released or any(has_hidden(array) for array in arrays):
            continue
        large = arrays[0].shape[0] * layout.width(name) > DENSE_ENTRIES
        if large and any(map(sp.issparse, arrays)):
            reason = why_dense(name, problem)
            if reason is None:
                fixed[name] = _side_by_side(name, arrays, problem, layout)
                continue
            refuse_dense(name, arrays, reason)
        if layout.single and arrays[0].shape[1] == layout.width(name):
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


def refuse_dense(name: str, arrays: Sequence[Any], reason: str) -> None:
    """Refuse large sparse observations that would be made dense for this reason."""
    shapes = [array.shape for array in arrays if sp.issparse(array)]
    entries = sum(rows * columns for rows, columns in shapes)
    if entries > MOST_DENSE:
        rows, columns = shapes[0]
        several = f", the first of {len(shapes)} sequences," if len(shapes) > 1 else ""
        raise OptionError(
            f"{name}: the sparse matrix of {rows:,} × {columns:,}{several} would be made dense ({reason}), "
            f"{8 * entries / 1e9:.3g} GB; that is done up to {8 * MOST_DENSE / 1e6:.0f} MB. Sparse observations stay "
            "sparse in Propagate and Substitute with divergence='kl', alone in equations without lags and with dense "
            "matrices. If there is memory for it, give a dense array: matrix.toarray()."
        )


def refuse_dense_start(observed: Mapping[str, Sequence[Any]], released: Collection[str]) -> None:
    """Refuse large sparse observations of variables that also need values of their own."""
    for name, arrays in observed.items():
        if name in released:
            refuse_dense(name, arrays, f"its observations are released, so {name} takes values of its own")
        elif any(map(has_hidden, arrays)):
            refuse_dense(name, arrays, f"{name} is hidden in part in other sequences")


def why_dense(name: str, problem: Problem) -> str | None:
    """The reason why observations cannot stay sparse, None where they can.

    Their variable must be alone in its equations, with Kullback-Leibler updates.
    """
    if any(not sp.issparse(array) for array in problem.observed[name]):
        return "it is dense in other sequences"
    for equation in problem.schedule.network.factorizations:
        names = {role: [p.variable.name for p in getattr(equation, role)] for role in ("children", "parents")}
        lags = [p.lag for p in (*equation.children, *equation.parents) if p.variable.name == name]
        if any(name in pieces and len(pieces) > 1 for pieces in names.values()):
            return f"{equation.name} has several children or parents beside it"
        if any(lags):
            return f"{equation.name} has it with a lag"
        if lags and any(sp.issparse(problem.start[p.name]) for p in equation.parameters):
            return f"the matrix of {equation.name} is sparse, too"
        if any(term.window for term in equation.terms if term.slice.variable.name == name):
            return f"{equation.name} sees it through a decay"
        if name in names["parents"] and equation.name in problem.smoothed:
            return f"sparseness smooths it in {equation.name}"
    return None if problem.divergence.unit_denominator else "the divergence is not that of Kullback and Leibler"


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
