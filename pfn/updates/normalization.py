"""The normalizations of learned parameters, in place; a part or a column that is zero stays zero."""

from collections.abc import Sequence

import numpy as np

from pfn.updates.divergence import Array
from pfn.updates.maps import SparseEntries


def normalize(
    parameters: Sequence[Array | SparseEntries],
    kind: str | None,
    parts: Sequence[slice],
    uses: Sequence[int] | None = None,
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
            _scale(W, everything, _reciprocal(sums))
    elif kind is not None:
        for W in parameters:
            _normalize_one(W, kind, parts)


def _normalize_one(W: Array | SparseEntries, kind: str, parts: Sequence[slice]) -> None:
    if kind == "columns":
        parts = [slice(None)]
    sums = [_sums(W, part) for part in parts]
    goal = 1 / len(parts) if kind != "balanced" else sum(sums) / len(parts)
    for part, found in zip(parts, sums, strict=True):
        _scale(W, part, goal * _reciprocal(found))


def _sums(W: Array | SparseEntries, part: slice) -> Array:
    return W.column_sums(part) if isinstance(W, SparseEntries) else W[part].sum(axis=0)


def _scale(W: Array | SparseEntries, part: slice, by: Array) -> None:
    if isinstance(W, SparseEntries):
        W.scale_columns(part, by)
    else:
        W[part] *= by


def _reciprocal(sums: Array) -> Array:
    # The reciprocal of a subnormal number overflows: such a column is gone.
    return np.divide(1, sums, out=np.zeros_like(sums), where=sums >= np.finfo(sums.dtype).tiny)
