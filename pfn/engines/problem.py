"""The problem of a run, as engines see it: it lives in the program room."""

from pfn.program.problem import (
    Errors,
    Problem,
    Pull,
    Rhythm,
    Statistics,
    dense,
    has_hidden,
    largest_error,
    pulls,
    root_mean,
)

__all__ = [
    "Errors",
    "Problem",
    "Pull",
    "Rhythm",
    "Statistics",
    "dense",
    "has_hidden",
    "largest_error",
    "pulls",
    "root_mean",
]
