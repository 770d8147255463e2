"""The formulas of appendix A of the paper, one entry at a time."""

from math import log, log1p

import numpy as np

from tests.updates.draws import Array


def distance(X: Array, R: Array, divergence: str, epsilon: float) -> float:
    """D(X ‖ R): Kullback-Leibler of X + ε from R + ε, or the squared error."""
    total = 0.0
    for x, r in zip(X.ravel().tolist(), R.ravel().tolist(), strict=True):
        if divergence == "euclidean":
            total += (x - r) ** 2
        elif abs(x - r) < 0.1 * (r + epsilon):  # the logarithm loses its digits near one
            total += (x + epsilon) * log1p((x - r) / (r + epsilon)) - x + r
        else:
            total += (x + epsilon) * log((x + epsilon) / (r + epsilon)) - x + r
    return total


def right(X: Array, W: Array, H: Array, divergence: str, epsilon: float) -> Array:
    """H after one multiplicative step."""
    R = W @ H
    new = np.empty_like(H)
    for k in range(H.shape[0]):
        for column in range(H.shape[1]):
            upper = lower = epsilon
            for row in range(X.shape[0]):
                x, r = X[row, column], R[row, column]
                upper += W[row, k] * ((x + epsilon) / (r + epsilon) if divergence == "kl" else x)
                lower += W[row, k] * (1.0 if divergence == "kl" else r)
            new[k, column] = H[k, column] * upper / lower
    return new


def left(X: Array, W: Array, H: Array, divergence: str, epsilon: float) -> Array:
    """W after one multiplicative step."""
    R = W @ H
    new = np.empty_like(W)
    for row in range(W.shape[0]):
        for k in range(W.shape[1]):
            upper = lower = epsilon
            for column in range(X.shape[1]):
                x, r = X[row, column], R[row, column]
                upper += ((x + epsilon) / (r + epsilon) if divergence == "kl" else x) * H[k, column]
                lower += (1.0 if divergence == "kl" else r) * H[k, column]
            new[row, k] = W[row, k] * upper / lower
    return new
