"""Columns of the data that a learned matrix may start from."""

import numpy as np

# A column is not outside the span of those chosen before if the square of its shape there is so small a share of the
# largest square.
SPANNED = 1e-3


def distinct_columns(X: np.ndarray, count: int) -> np.ndarray:
    """Which columns of X differ most from each other, at most so many, strongest first.

    Each is the one with the largest part outside the span of those before it (successive projection). The square of
    a column counts by its sum, as its divergence will: silence is noise, of which each column is unlike all others.
    Where so many span everything, as they do if there is no noise, columns count by their shape alone, and the parts
    themselves are found where each of them occurs alone; once all are in that span, the one farthest from all before it
    comes next, which may be one of those again.
    """
    sums = X.sum(axis=0)
    places = np.flatnonzero(sums > 0)
    if not places.size:
        return places
    strengths = (sums[places] / sums.max()).astype(np.float32)
    shapes = (X[:, places] / sums[places]).astype(np.float32)  # half the memory to go through for every column
    squares = np.einsum("ij,ij->j", shapes, shapes)
    count = min(count, places.size)
    chosen, spanned = _spanning(shapes, squares, strengths, count)
    if spanned:
        chosen, _ = _spanning(shapes, squares, np.ones_like(strengths), count)
    if len(chosen) < count:
        gaps = (squares[:, None] + squares[chosen] - 2 * shapes.T @ shapes[:, chosen]).min(axis=1)
    while len(chosen) < count:
        best = int(np.argmax(gaps))
        chosen.append(best)
        gaps = np.minimum(gaps, squares + squares[best] - 2 * shapes[:, best] @ shapes)
    return places[chosen]


def _spanning(shapes: np.ndarray, squares: np.ndarray, strengths: np.ndarray, count: int) -> tuple[list[int], bool]:
    """Column after column the one farthest from the span of those before it, until all are in it; whether they are."""
    columns = shapes * np.sqrt(strengths)
    directions = np.empty((count, len(columns)), columns.dtype)
    outside, enough, chosen = squares * strengths, SPANNED * squares.max() * strengths, list[int]()
    while len(chosen) < count and (outside > enough).any():
        best, before = int(np.argmax(np.where(outside > enough, outside, 0))), directions[: len(chosen)]
        left = columns[:, best] - (before @ columns[:, best]) @ before
        direction = directions[len(chosen)] = left / np.linalg.norm(left)
        outside -= (direction @ columns) ** 2
        chosen.append(best)
    return chosen, not (outside > enough).any()
