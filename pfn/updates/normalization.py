"""The normalizations of learned parameters, in place; a part or a column that is zero stays zero."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from pfn.updates.divergence import Array


class Entries(Protocol):
    """A matrix that is not a numpy array: the sums of its columns over some rows, and how to scale them."""

    def column_sums(self, part: slice) -> Array:
        """The sum of every column over some rows."""

    def scale_columns(self, part: slice, by: Array) -> None:
        """Multiply every column, over some rows, by its number."""


def normalize(
    parameters: Sequence[Array | Entries],
    kind: str | None,
    parts: Sequence[slice],
    uses: Sequence[int] | None = None,
    *,
    xp: Any = np,
) -> None:
    """Normalize the learned parameters of one equation.

    `parts` are the rows of each stacked child; `uses` says how many terms each parameter has (one if left out).

    >>> W = np.array([[1.0, 0.0], [3.0, 0.0]])
    >>> normalize([W], "columns", [slice(0, 2)])
    >>> print(W)
    [[0.25 0.  ]
     [0.75 0.  ]]
    """
    if kind == "sequences":
        everything = slice(None)
        counts = uses or [1] * len(parameters)
        sums = sum(count * _sums(W, everything) for W, count in zip(parameters, counts, strict=True))
        for W in parameters:
            _scale(W, everything, _reciprocal(sums, xp))
    elif kind is not None:
        for W in parameters:
            _normalize_one(W, kind, parts, xp)


def _normalize_one(W: Array | Entries, kind: str, parts: Sequence[slice], xp: Any) -> None:
    if kind == "columns":
        parts = [slice(None)]
    sums = [_sums(W, part) for part in parts]
    goal = 1 / len(parts) if kind != "balanced" else sum(sums) / len(parts)
    for part, found in zip(parts, sums, strict=True):
        _scale(W, part, goal * _reciprocal(found, xp))


def _sums(W: Array | Entries, part: slice) -> Array:
    return W[part].sum(axis=0) if isinstance(W, np.ndarray) else W.column_sums(part)


def _scale(W: Array | Entries, part: slice, by: Array) -> None:
    if isinstance(W, np.ndarray):
        W[part] *= by
    else:
        W.scale_columns(part, by)


def _reciprocal(sums: Array, xp: Any) -> Array:
    # The reciprocal of a subnormal number overflows: such a column is gone.
    gone = sums < np.finfo(sums.dtype).tiny
    return xp.where(gone, 0, 1 / xp.where(gone, 1, sums))
