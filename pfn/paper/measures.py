"""What is measured on results in more than one experiment."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

import pfn
from pfn.automata import StateMachine

FloatArray = npt.NDArray[np.float64]


def observed(machine: StateMachine, states: str) -> FloatArray:
    """A sequence such as "S1 S2 ? S3" as an array, "?" a hidden slice."""
    return machine.encode(None if state == "?" else state for state in states.split())


def worst_error(result: pfn.Result) -> float:
    """The largest RMSE of any equation."""
    return max(result.rmse.values())


def is_walk(machine: StateMachine, x: FloatArray, *, tolerance: float = 0.01) -> bool:
    """Whether every slice is one state, all equally strong, and every step a transition of the machine."""
    path, strengths = x.argmax(axis=0), x.max(axis=0)
    single = bool((strengths >= (1 - tolerance) * x.sum(axis=0)).all())
    equal = bool(np.ptp(strengths) <= tolerance * strengths.max())
    names = [machine.states[state] for state in path]
    return single and equal and all(step in machine.transitions for step in pairwise(names))


def strongest_share(x: FloatArray) -> FloatArray:
    """How much of each slice is in its strongest state."""
    share: FloatArray = x.max(axis=0) / x.sum(axis=0)
    return share


def transitions_found(machine: StateMachine, W: FloatArray, *, tolerance: float = 0.05) -> int:
    """How many of the machine's transitions are columns of a learned W, each up to its sum."""
    used = W[:, W.sum(axis=0) > 1e-6 * W.sum()]
    apart = np.abs((2 * used / used.sum(axis=0))[:, :, None] - machine.matrix()[:, None, :]).max(axis=0)
    return int((apart.min(axis=0) < tolerance).sum())


def columns_used(W: FloatArray) -> int:
    """How many columns of a learned W have not faded to zero."""
    return int((W.sum(axis=0) > 1e-6 * W.sum()).sum())
