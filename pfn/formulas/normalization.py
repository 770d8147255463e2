"""Normalization of learned parameters: column sums, and the numbers that columns are multiplied by."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Operand = Any  # an array, or a tracer that stands for one


def reciprocal(sums: Operand) -> Operand:
    """1 / sums, and a finite number where a sum is zero: a column of zeros times it stays a column of zeros."""
    return 1.0 / np.maximum(sums, float(np.finfo(np.dtype(sums.dtype)).tiny))


def scales_of_parts(kind: str, sums: Sequence[Operand]) -> list[Operand]:
    """For each part of the rows, the numbers that its columns are multiplied by.

    `sums` has the column sums of every part. "columns" knows one part, all rows, and makes every column sum to 1;
    "subcolumns" gives all parts of a column the same sum, 1 over the number of parts; "balanced" gives them the mean of
    their sums, so that the sum of the column stays as it is.

    >>> scales_of_parts("balanced", [np.array([3.0]), np.array([1.0])])
    [array([0.66666667]), array([2.])]
    """
    if kind == "balanced":
        total = sums[0]
        for part in sums[1:]:
            total = total + part
        goal: Operand = total * (1 / len(sums))
    else:
        goal = 1 / len(sums)
    return [reciprocal(part) * goal for part in sums]
