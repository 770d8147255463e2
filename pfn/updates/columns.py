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
    shapes = X[:, places] / sums[places]
    left, gaps = shapes.copy(), np.full(places.size, np.inf)
    chosen: list[int] = []
    while len(chosen) < min(count, places.size):
        squares = np.einsum("ij,ij->j", left, left)
        spanned = squares.max() <= SPANNED * np.einsum("ij,ij->j", shapes, shapes).max()
        best = int(np.argmax(gaps if spanned else squares))
        chosen.append(best)
        difference = shapes - shapes[:, [best]]
        gaps = np.minimum(gaps, np.einsum("ij,ij->j", difference, difference))
        if not spanned:
            direction = left[:, best] / np.sqrt(squares[best])
            left -= np.outer(direction, direction @ left)
    return places[chosen]
