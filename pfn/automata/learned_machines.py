"""A learned transition matrix read back as a state machine."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from pfn.automata.arrays import FloatArray
from pfn.automata.diagram import listed
from pfn.automata.machine import StateMachine
from pfn.errors import DataError, DeclarationError, OptionError
from pfn.network.matrices import sound_sparse

# Share of the largest column's sum below which a column has faded out ("balanced" normalization).
FADED = 1e-3


class _Half(NamedTuple):
    """The state of half a column (None: off), and its share of the sum of the half."""

    row: int | None
    purity: float


def machine_from(
    W: npt.ArrayLike,
    states: Sequence[str] | None = None,
    threshold: float = 0.8,
    *,
    off: str = "off",
) -> StateMachine:
    """The machine whose transitions are the columns of W (2M x R), equal columns merged, faded ones left out.

    A half column stands for the state with most of its sum, or for the off state if its sum is next to
    nothing (at most `1 - threshold` times the other half's).

    Parameters
    ----------
    W
        The learned matrix (2M, R), dense or sparse.
    states
        Names of the M states; None: S1, S2, ….
    threshold
        Share of their halves that the two states of a column have at least; other columns are refused by number.
    off
        Name of the off state, if a transition comes from it or leads to it.

    Examples
    --------
    >>> machine_from([[0.5, 0.0], [0.0, 0.5], [0.0, 0.5], [0.5, 0.0]]).transition_labels
    ('S1→S2', 'S2→S1')
    """
    if not 0.5 < threshold <= 1:
        raise OptionError(f"machine_from: threshold must lie above 0.5 and up to 1, found {threshold}. Try 0.8.")
    basis = _checked_basis(W)
    names = _checked_states(states, basis.shape[0] // 2)
    sums = basis.sum(axis=0)
    kept = [column for column in range(basis.shape[1]) if sums[column] > FADED * sums.max()]
    if not kept:
        raise DataError(
            f"machine_from: W of shape {basis.shape} has no column above zero, so no transition. Pass a learned W."
        )
    readings = {column: _read(basis[:, column], threshold) for column in kept}
    impure = [column for column, halves in readings.items() if min(half.purity for half in halves) < threshold]
    if impure:
        found = "; ".join(
            f"column {column}: {' → '.join(_shares(half, names) for half in np.split(basis[:, column], 2))}"
            for column in impure
        )
        raise DataError(
            f"machine_from: each column must be a single transition, its states with at least {threshold} "
            f"of either half, found {found}. Leave such columns out with numpy.delete(W, {impure}, axis=1), "
            "learn longer, or lower the threshold."
        )
    pairs = dict.fromkeys((_name(upper, names, off), _name(lower, names, off)) for upper, lower in readings.values())
    reaches_off = any(half.row is None for halves in readings.values() for half in halves)
    if reaches_off and off in names:
        raise DeclarationError(
            "machine_from: W has transitions from or to the off state, which needs a name of its own, but "
            f"off={off!r} is also one of the states {listed(names)}. Give it another name with off=."
        )
    return StateMachine(names, pairs, off=off if reaches_off else None)


def _checked_basis(W: Any) -> FloatArray:
    """W as a dense array; refuse an odd number of rows, and entries that are negative or no numbers."""
    if scipy.sparse.issparse(W):
        W = sound_sparse(W, "machine_from: W", DataError).toarray()
    basis = np.asarray(W, dtype=float)
    if basis.ndim != 2 or basis.shape[0] == 0 or basis.shape[0] % 2:
        raise DataError(
            "machine_from: W must have twice as many rows as there are states and a column per transition, "
            f"found shape {basis.shape}. Pass the learned W of [x[t], x[t + 1]] = W h[t]."
        )
    if not (np.isfinite(basis).all() and (basis >= 0).all()):
        row, column = np.argwhere(~(np.isfinite(basis) & (basis >= 0)))[0]
        raise DataError(
            f"machine_from: W must be finite and not negative, found {basis[row, column]} in row {row}, "
            f"column {column}. Pass a learned W."
        )
    return basis


def _checked_states(states: Sequence[str] | None, size: int) -> tuple[str, ...]:
    """The names of the states, S1, S2, … without any."""
    if states is None:
        return tuple(f"S{number}" for number in range(1, size + 1))
    if len(states) != size:
        raise DeclarationError(
            f"machine_from: W has {2 * size} rows, so {size} states, but {len(states)} names were given "
            f"({listed(states)}). Name each row of a half, without the off state."
        )
    return tuple(states)


def _read(column: FloatArray, threshold: float) -> tuple[_Half, _Half]:
    """The two states of a column."""
    halves = np.split(column, 2)
    nothing = (1 - threshold) * max(half.sum() for half in halves)
    upper, lower = (
        _Half(None, 1.0) if half.sum() <= nothing else _Half(int(half.argmax()), float(half.max() / half.sum()))
        for half in halves
    )
    return upper, lower


def _shares(half: FloatArray, names: Sequence[str]) -> str:
    """The two largest states of a half with their shares, as in `S1 0.55, S2 0.45`."""
    largest = np.argsort(-half, kind="stable")[:2]
    total = half.sum() or 1.0
    return ", ".join(f"{names[row]} {half[row] / total:.2f}" for row in largest if half[row] > 0) or "nothing"


def _name(half: _Half, names: Sequence[str], off: str) -> str:
    return off if half.row is None else names[half.row]
