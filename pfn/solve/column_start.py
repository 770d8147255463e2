"""Starting values of learned matrices from the data: what their columns look like is somewhere in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfn.engines import dense
from pfn.network import Factorization, Network
from pfn.solve.data import Observations
from pfn.updates.columns import distinct_columns

# How much of a random draw is added, in parts of the mean entry: what is zero could not grow. Matrices of several lags
# start from the same slices, so more is needed to tell them apart.
FLOOR = 0.1
FLOOR_OF_LAGS = 1.0

# Of more entries than this a part is looked at, evenly spaced in time, so that a start costs no more than a few sweeps;
# but of at least so many slices for every column that is wanted.
MOST_ENTRIES = 1 << 22
SLICES_EACH = 4


@dataclass(frozen=True)
class Slices:
    """The slices of the data that learned matrices may start from."""

    network: Network
    observations: Observations
    weights: Mapping[str, Sequence[np.ndarray]]  # by equation, how often its columns count
    drawn: Mapping[str, np.ndarray]  # the random start of learned matrices that may have any value
    whole: frozenset[str]  # variables that are observed throughout
    given: frozenset[str]  # variables of which the user gave values

    def starts(self) -> dict[str, np.ndarray]:
        """By parameter, what to start from: for every parent component, slices of the children unlike all others."""
        found: dict[str, np.ndarray] = {}
        done = set()
        for equation in self.network.factorizations:
            parent = equation.parents[0].variable
            if parent not in done and self._fits(equation) and not any(p.name in found for p in equation.parameters):
                found |= self._start(equation)
                done.add(parent)
        return found

    def _fits(self, equation: Factorization) -> bool:
        """Whether all children are observed, of one parent whose components nothing tells apart but what is drawn.

        Where something does, such as a known matrix above it, slices would have to be given to the right components.
        """
        parents, parameters = {parent.variable for parent in equation.parents}, equation.parameters
        if len(parents) > 1 or len({*parameters}) < len(equation.parents):
            return False
        around = [e for e in self.network.factorizations if parents & {s.variable for s in (*e.children, *e.parents)}]
        return (
            all(child.variable.name in self.whole for child in equation.children)
            and not any(parent.name in self.given for parent in parents)
            and all(len(e.parameters) == len(e.parents) for e in around)
            and all(p.name in self.drawn and not p.prior_weight for e in around for p in e.parameters)
        )

    def _start(self, equation: Factorization) -> dict[str, np.ndarray]:
        """Nothing where there are too few slices."""
        slices = np.hstack([*self._slices(equation)])
        count = equation.parents[0].variable.size
        chosen = distinct_columns(slices, count)
        if len(chosen) < count:
            return {}
        shapes = slices[:, chosen] / slices[:, chosen].sum(axis=0)
        floor = shapes.mean() * (FLOOR_OF_LAGS if len(equation.parents) > 1 else FLOOR)
        return {p.name: shapes + floor * self.drawn[p.name] for p in equation.parameters}

    def _slices(self, equation: Factorization) -> Iterator[np.ndarray]:
        """By sequence, the stacked children."""
        lengths = [self.network.columns(length).equations[equation.name] for length in self.observations.lengths]
        most = max(MOST_ENTRIES // equation.rows, SLICES_EACH * equation.parents[0].variable.size)
        step, first = max(1, -(-sum(lengths) // most)), 0
        for number, length in enumerate(lengths):
            times = np.arange(first, length, step)
            first = (first - length) % step
            if equation.name in self.weights:
                times = times[self.weights[equation.name][number][times] > 0]
            yield _children(equation, self.observations, number, times)


def _children(equation: Factorization, observations: Observations, sequence: int, times: np.ndarray) -> np.ndarray:
    arrays: list[Any] = [observations.arrays[child.variable.name][sequence] for child in equation.children]
    slices = [dense(array[:, times + child.lag]) for array, child in zip(arrays, equation.children, strict=True)]
    return np.vstack(slices).astype(float)  # whose sums do not overflow
