"""Divergences between children X and their reconstruction R = W S: the fields of their updates, and their values.

The multiplicative updates of all of them have one form (paper, appendix A): H ← H · (Wᵀ A + ε) / (Wᵀ B + ε), and the
left update is that of the transposed problem. A divergence says what the fields A and B are. The small number ε, added
to numerators, denominators, X and R, keeps every quotient finite; it must be small against the data.

A new divergence is one function for its fields, one for its value, and one line in `DIVERGENCES`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Operand = Any  # an array, or a tracer that stands for one


class Fields(NamedTuple):
    """Numerator field A and denominator field B of an update, in the shape of X.

    B is None where it is a matrix of ones, so that Wᵀ B is the column sums of W.
    """

    A: Operand
    B: Operand | None


@dataclass(frozen=True)
class Divergence:
    """The formulas of one divergence.

    `fields(X, R, epsilon)` gives A and B; `value(X, R, epsilon, counts)` the divergence summed over all entries, those
    of a column as often as `counts` says (one row of numbers; None: once each).
    """

    name: str
    fields: Callable[[Operand, Operand, float], Fields]
    value: Callable[[Operand, Operand, float, Operand | None], Operand]


def _counted(field: Operand, counts: Operand | None) -> Operand:
    """The field with every column multiplied by its count."""
    return field if counts is None else field * counts


def _kullback_leibler_fields(X: Operand, R: Operand, epsilon: float) -> Fields:
    """A = (X + ε) / (R + ε), B = 1 (equation A.5 of the paper)."""
    return Fields((X + epsilon) / (R + epsilon), None)


def _kullback_leibler_value(X: Operand, R: Operand, epsilon: float, counts: Operand | None) -> Operand:
    """Σ (X + ε) log((X + ε) / (R + ε)) − X + R.

    The logarithm is that of 1 + (X − R) / (R + ε), by `log1p`, which keeps its digits as R → X.
    """
    error, above, below = X - R, X + epsilon, R + epsilon
    # Where ε is lost beside R, the quotient for X = 0 rounds to −1, of which the logarithm is not finite.
    logarithm = np.log1p(np.maximum(error / below, float(np.finfo(np.dtype(X.dtype)).eps) - 1))
    return (above * _counted(logarithm, counts)).sum() - _counted(error, counts).sum()


def _euclidean_fields(X: Operand, R: Operand, _epsilon: float) -> Fields:
    """A = X, B = R."""
    return Fields(X, R)


def _euclidean_value(X: Operand, R: Operand, _epsilon: float, counts: Operand | None) -> Operand:
    """Σ (X − R)²."""
    error = X - R
    return (error * _counted(error, counts)).sum()


KULLBACK_LEIBLER = Divergence("kl", _kullback_leibler_fields, _kullback_leibler_value)
EUCLIDEAN = Divergence("euclidean", _euclidean_fields, _euclidean_value)
DIVERGENCES = {divergence.name: divergence for divergence in (KULLBACK_LEIBLER, EUCLIDEAN)}
