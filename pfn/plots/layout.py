"""Where everything of a layered drawing goes: least squares for the places in the rows, then the rows' heights."""

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear

from pfn.plots.layers import Layers

GAP = 16.0
"""Points between neighbours in a row, edge to edge."""

NARROW_GAP = 7.0
"""Points between neighbours in the rows of labels."""

ABOVE_NODES, BELOW_NODES = 41.0, 29.0
"""The least height from a row of nodes to the labels above it, where arrows end, and to those below it."""

REGULARITY, COHESION = 4.0, 2.0
"""How much the slices of an unrolled network want to look alike, and variables with the same slices to be above each
other, against a line that wants to be straight."""

ANCHOR = 1e-3
"""Nothing else says where the whole is."""


class Layout(NamedTuple):
    """The place of every item of the layers."""

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]


def place(layers: Layers, *, wide_gap: float, slope: float, deep_rows: Mapping[int, float]) -> Layout:
    """Places in the given order, as near to straight lines as the widths allow.

    Nodes are at least `wide_gap` apart, and rows so far that lines go down at least `slope` for 1 to the side.
    `deep_rows` says which rows of nodes need how much room below them.
    """
    x = _across(layers, wide_gap)
    steps = np.resize([ABOVE_NODES, BELOW_NODES], len(layers.order))
    for row, room in deep_rows.items():
        steps[row - 1] += room
    for first, second, _ in layers.links:
        lower = min(layers.row[first], layers.row[second])
        steps[lower] = max(steps[lower], slope * abs(x[first] - x[second]))
    heights = np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    return Layout(x, heights[np.array(layers.row)])


def _across(layers: Layers, wide_gap: float) -> npt.NDArray[np.float64]:
    """Least squares over the gaps, which have a least width, so that the order is kept.

    The unknowns are the left end of every row and the gaps in it, and the step from slice to slice.
    """
    count = len(layers.row)
    cumulated, least = np.zeros((count, count + 1)), np.full(count + 1, -np.inf)
    for row in layers.order:
        for place_in_row, item in enumerate(row):
            cumulated[item, row[: place_in_row + 1]] = 1
        for left, right in pairwise(row):
            least[right] = layers.half_width[left] + layers.half_width[right] + _gap(layers, left, right, wide_gap)
    differences = _wishes(layers) @ np.vstack([cumulated, np.eye(1, count + 1, count)])
    found = lsq_linear(differences, np.zeros(len(differences)), bounds=(least, np.inf), method="bvls")
    x = cumulated @ found.x
    return np.asarray(x - x.min())


def _gap(layers: Layers, left: int, right: int, wide_gap: float) -> float:
    if layers.row[left] % 2:
        return NARROW_GAP
    between_nodes = max(left, right) < len(layers.nodes)
    return wide_gap if between_nodes else GAP


def _wishes(layers: Layers) -> npt.NDArray[np.float64]:
    """Rows of what should be zero, in the places of the items and the step from slice to slice."""
    step = len(layers.row)
    wishes = [{first: weight, second: -weight} for first, second, weight in layers.links]
    slices: dict[str, dict[int, int]] = defaultdict(dict)
    for number, node in enumerate(layers.nodes):
        slices[node.variable][node.time] = number
    for numbers in slices.values():
        for (now, left), (then, right) in pairwise(numbers.items()):
            wishes.append({right: REGULARITY, left: -REGULARITY, step: -REGULARITY * (then - now)})
    for first, second in combinations(slices.values(), 2):
        if first.keys() == second.keys() and len(first) > 1:
            wishes += [{first[time]: COHESION, second[time]: -COHESION} for time in first]
    wishes += [{item: ANCHOR} for item in range(step)]
    matrix = np.zeros((len(wishes), step + 1))
    for row, wish in enumerate(wishes):
        matrix[row, list(wish)] = list(wish.values())
    return matrix
