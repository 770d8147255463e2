"""Columns of the data that a learned matrix may start from."""

import numpy as np

# A column is not outside the span of those chosen before if so small a share of its square is.
SPANNED = 1e-3


def distinct_columns(X: np.ndarray, count: int) -> np.ndarray:
    """Which columns of X differ most from each other, at most so many, strongest first.

    Columns count by their shape, not by their sum. Each is the one with the largest part outside the span of those
    before it (successive projection, which finds the parts themselves where each of them occurs alone); once all are in
    that span, the one farthest from all before it.
    """
    sums = X.sum(axis=0)
    places = np.flatnonzero(sums > 0)
    shapes = (X[:, places] / sums[places]).astype(np.float32)  # half the memory to go through for every column
    squares = np.einsum("ij,ij->j", shapes, shapes)
    count = min(count, places.size)
    chosen = _spanning(shapes, squares, count)
    if len(chosen) < count:
        gaps = (squares[:, None] + squares[chosen] - 2 * shapes.T @ shapes[:, chosen]).min(axis=1)
    while len(chosen) < count:
        best = int(np.argmax(gaps))
        chosen.append(best)
        gaps = np.minimum(gaps, squares + squares[best] - 2 * shapes[:, best] @ shapes)
    return places[chosen]


def _spanning(shapes: np.ndarray, squares: np.ndarray, count: int) -> list[int]:
    """Column after column the one farthest from the span of those before it, until all are in it."""
    directions = np.empty((count, shapes.shape[0]), shapes.dtype)
    outside, chosen = squares.copy(), list[int]()
    while len(chosen) < count and outside.max() > SPANNED * squares.max():
        best, before = int(np.argmax(outside)), directions[: len(chosen)]
        left = shapes[:, best] - (before @ shapes[:, best]) @ before
        direction = directions[len(chosen)] = left / np.linalg.norm(left)
        outside -= (direction @ shapes) ** 2
        chosen.append(best)
    return chosen
