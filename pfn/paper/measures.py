"""Measures of results that more than one experiment uses."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

import pfn
from pfn.automata import StateMachine

FloatArray = npt.NDArray[np.float64]


def observed(machine: StateMachine, states: str) -> FloatArray:
    """A sequence such as "S1 S2 ? S3" as an array, "?" a hidden slice."""
    return machine.encode(None if state == "?" else state for state in states.split())


def stacked(*parts: tuple[int, str]) -> FloatArray:
    """A matrix as the paper writes it, unit vectors on top of each other: their size, their numbers, 0 for none.

    >>> stacked((2, "1 2 2"), (1, "0 0 1"))
    array([[1., 0., 0.],
           [0., 1., 1.],
           [0., 0., 1.]])
    """
    return np.vstack([np.eye(size + 1)[1:, [int(number) for number in numbers.split()]] for size, numbers in parts])


def order_of_columns(matrix: FloatArray, printed: FloatArray) -> npt.NDArray[np.intp]:
    """The order of columns nearest to the printed ones: `matrix[:, order]` is to be compared with them."""
    order: npt.NDArray[np.intp] = np.abs(matrix[:, :, None] - printed[:, None, :]).sum(axis=0).argmin(axis=0)
    return order


def worst_error(result: pfn.Result) -> float:
    """The largest RMSE of any equation of which some entry counts."""
    return max(error for error in result.rmse.values() if not np.isnan(error))


def rmse_of_all(result: pfn.Result) -> float:
    """The RMSE of the only equation, [x[t]; x[t+1]] = W h[t], as the paper takes it: over all entries of X_C.

    `result.rmse` leaves out those at the ends of X that are hidden, which cannot be wrong.
    """
    (equation,) = result.network.factorizations
    return float(np.sqrt(result.squared_error / (equation.rows * result["h"].shape[1])))


def is_walk(machine: StateMachine, x: FloatArray, *, tolerance: float = 0.01) -> bool:
    """True if every slice is one state, all equally strong, and every step a transition of the machine."""
    path, strengths = x.argmax(axis=0), x.max(axis=0)
    single = bool((strengths >= (1 - tolerance) * x.sum(axis=0)).all())
    equal = bool(np.ptp(strengths) <= tolerance * strengths.max())
    names = [machine.states[state] for state in path]
    return single and equal and all(step in machine.transitions for step in pairwise(names))


def strongest_share(x: FloatArray) -> FloatArray:
    """The share of the strongest state in each slice."""
    share: FloatArray = x.max(axis=0) / x.sum(axis=0)
    return share


def used_columns(W: FloatArray) -> FloatArray:
    """The columns of a learned W that have not faded to zero, each scaled to the sum that a transition has."""
    used = W[:, W.sum(axis=0) > 1e-6 * W.sum()]
    scaled: FloatArray = 2 * used / used.sum(axis=0)
    return scaled


def transitions_found(machine: StateMachine, W: FloatArray, *, tolerance: float = 0.05) -> list[int | None]:
    """For every column of a learned W that has not faded, the number of the transition that it is, if it is one."""
    apart = np.abs(used_columns(W)[:, :, None] - machine.matrix()[:, None, :]).max(axis=0)
    return [int(row.argmin()) if row.min() < tolerance else None for row in apart]


def all_found(machine: StateMachine, W: FloatArray) -> bool:
    """True if every transition of the machine is a column of a learned W, up to its sum."""
    return set(range(len(machine.transitions))) <= set(transitions_found(machine, W))
