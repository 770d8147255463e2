"""Starting values of learned matrices from the data: what their columns look like is somewhere in it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pfn.engines import dense
from pfn.network import Factorization, Network
from pfn.solve.data import Observations
from pfn.updates.columns import distinct_columns

# How much of a random draw is added, in parts of the mean entry: what is zero could not grow.
FLOOR = 0.1

# Of more entries than this a part is looked at, evenly spaced in time.
MOST_ENTRIES = 1 << 24


def from_columns(
    equation: Factorization, network: Network, observations: Observations, drawn: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray] | None:
    """By parameter a starting value: for every parent component, slices of the children that differ from all others.

    None where there are too few, and where the parents are several variables: whose part a slice is, nobody knows.
    """
    names = [parameter.name for parameter in equation.parameters]
    if len({parent.variable for parent in equation.parents}) > 1 or not drawn.keys() >= set(names):
        return None
    windows = np.hstack([*_windows(equation, network, observations)])
    count = equation.parents[0].variable.size
    chosen = distinct_columns(windows, count)
    if len(chosen) < count or len({*names}) < len(names):
        return None
    shapes = windows[:, chosen] / windows[:, chosen].sum(axis=0)
    parts = np.split(shapes, len(names))
    return {name: part + FLOOR * shapes.mean() * drawn[name] for name, part in zip(names, parts, strict=True)}


def _windows(equation: Factorization, network: Network, observations: Observations) -> Iterator[np.ndarray]:
    """By sequence, what one parent slice may explain: the stacked children at its own time and at those of its lags."""
    lags = [-parent.lag for parent in equation.parents]
    step = -(-sum(observations.lengths) * equation.rows * len(lags) // MOST_ENTRIES)
    for number, length in enumerate(observations.lengths):
        times = np.arange(0, network.columns(length).equations[equation.name] - max(lags), step)
        yield np.vstack([_children(equation, observations, number, times + lag) for lag in lags])


def _children(equation: Factorization, observations: Observations, sequence: int, times: np.ndarray) -> np.ndarray:
    arrays: list[Any] = [observations.arrays[child.variable.name][sequence] for child in equation.children]
    slices = [dense(array[:, times + child.lag]) for array, child in zip(arrays, equation.children, strict=True)]
    return np.vstack(slices)
