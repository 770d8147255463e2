"""Columns of the data that a learned matrix may start from."""

import numpy as np

# A column is not outside the span of those chosen before if its square there is so small a share of the largest square.
SPANNED = 1e-3

# Silence comes last: it is noise, of which each column is unlike all others. Silent are the weakest columns, with less
# than this share of everything together, and less than so much of the mean each. Of 312 runs on recordings and
# random data half as many as without it ended in worse minima than plain ones; with shares of 0.005 or 0.02 some more.
SILENT = 0.01
QUIET = 0.3


def distinct_columns(X: np.ndarray, count: int) -> np.ndarray:
    """Which columns of X differ most from each other, at most so many, strongest first.

    Columns count by their shape, not by their sum. Each is the one with the largest part outside the span of those
    before it (successive projection, which finds the parts themselves where each of them occurs alone); once all are in
    that span, the one farthest from all before it, which may be one of those again. Where so many span everything, as
    they do if there is no noise, weak columns say as much as others.
    """
    sums = X.sum(axis=0)
    places = np.flatnonzero(sums > 0)
    if not places.size:
        return places
    shapes = (X[:, places] / sums[places]).astype(np.float32)  # half the memory to go through for every column
    squares = np.einsum("ij,ij->j", shapes, shapes)
    count = min(count, places.size)
    audible = _audible(sums[places])
    chosen, outside = _spanning(shapes, squares, count, first=audible)
    if _spanned(outside, squares) and not audible.all():
        chosen, _ = _spanning(shapes, squares, count)
    if len(chosen) < count:
        gaps = (squares[:, None] + squares[chosen] - 2 * shapes.T @ shapes[:, chosen]).min(axis=1)
    while len(chosen) < count:
        best = int(np.argmax(gaps))
        chosen.append(best)
        gaps = np.minimum(gaps, squares + squares[best] - 2 * shapes[:, best] @ shapes)
    return places[chosen]


def _audible(sums: np.ndarray) -> np.ndarray:
    """All columns but the weakest."""
    strengths = sums / sums.max()  # which can be added up
    ordered = np.sort(strengths)
    parts = ordered.cumsum()
    weakest = ordered[np.searchsorted(parts, SILENT * parts[-1])]
    audible: np.ndarray = strengths >= min(weakest, QUIET * strengths.mean())
    return audible


def _spanned(outside: np.ndarray, squares: np.ndarray) -> bool:
    return bool(outside.max() <= SPANNED * squares.max())


def _spanning(
    shapes: np.ndarray, squares: np.ndarray, count: int, first: np.ndarray | None = None
) -> tuple[list[int], np.ndarray]:
    """Column after column the one farthest from the span of those before it, until all are in it.

    With the squares of what is outside in the end. Some may have to come `first`.
    """
    directions = np.empty((count, shapes.shape[0]), shapes.dtype)
    outside, chosen = squares.copy(), list[int]()
    while len(chosen) < count and not _spanned(outside, squares):
        candidates = outside if first is None or _spanned(outside[first], squares) else np.where(first, outside, 0)
        best, before = int(np.argmax(candidates)), directions[: len(chosen)]
        left = shapes[:, best] - (before @ shapes[:, best]) @ before
        direction = directions[len(chosen)] = left / np.linalg.norm(left)
        outside -= (direction @ shapes) ** 2
        chosen.append(best)
    return chosen, outside
