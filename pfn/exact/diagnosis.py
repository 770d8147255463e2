"""Which equations and time slices are in the way of an exact solution: the smallest violation, by an elastic solve."""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.exact.linear import Deadline, InfeasibleError, Program
from pfn.exact.reduction import Reduced, reduce
from pfn.exact.system import System
from pfn.network import Factorization, Slice

SHOWN = 8
"""So many time slices are named at most."""


class Elastic(NamedTuple):
    """The values with the least summed violation, and by how much each row is violated: child − Σ W parents."""

    solution: np.ndarray
    violation: np.ndarray


def elastic(reduced: Reduced, tolerance: float, deadline: Deadline) -> Elastic:
    """Let every equation be violated, at a price."""
    rows, unknowns = reduced.matrix.shape
    slack = sp.eye_array(rows)
    matrix = sp.csr_array(sp.hstack([reduced.matrix, -slack, slack], format="csr"))
    costs = np.concatenate([np.zeros(unknowns), np.ones(2 * rows)])
    found = Program(matrix, reduced.values, tolerance).minimum(costs, deadline)
    more, less = found[unknowns : unknowns + rows], found[unknowns + rows :]
    return Elastic(found[:unknowns], more - less)


def shortest_stretch(
    system: System, known: np.ndarray, tolerance: float, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray]:
    """The rows, and their entries, of a stretch of time without solution of which every shorter one has a solution."""
    times = range(int(system.times.max()) + 2)
    stop = bisect_left(times, True, key=lambda stop: _impossible(system, known, (0, stop), tolerance, deadline))
    tries = range(stop)
    start = bisect_right(
        tries, False, key=lambda start: not _impossible(system, known, (start, stop), tolerance, deadline)
    )
    return _stretch(system, (max(start - 1, 0), stop))


def _stretch(system: System, span: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    rows = np.flatnonzero((system.times >= span[0]) & (system.times < span[1]))
    return rows, np.unique(system.matrix[rows].indices)


def _impossible(system: System, known: np.ndarray, span: tuple[int, int], tolerance: float, deadline: Deadline) -> bool:
    """Whether the equations of a stretch of time have no solution."""
    rows, entries = _stretch(system, span)
    reduced = reduce(system.matrix[rows][:, entries], known[entries])
    try:
        Program(reduced.matrix, reduced.values, tolerance).minimum(np.zeros(reduced.unknown.size), deadline)
    except InfeasibleError:
        return True
    return False


def describe(system: System, rows: np.ndarray, violation: np.ndarray) -> str:
    """The violated equation that is worst, its time slices, and its worst component, in the user's names.

    `violation` belongs to the given rows of the system.
    """
    whole = np.zeros(system.matrix.shape[0])
    whole[rows] = violation
    total = {name: float(np.abs(whole[span]).sum()) for name, span in system.rows.items()}
    worst = max(total, key=total.__getitem__)
    others = [name for name, sum_ in total.items() if name != worst and sum_ > 0]
    equation = next(e for e in system.network.factorizations if e.name == worst)
    errors = whole[system.rows[worst]].reshape(-1, equation.rows)
    also = f", nor can {', '.join(others)}" if others else ""
    times = np.flatnonzero(np.abs(errors).max(axis=1) > 0)
    return f"{worst}: {equation} cannot hold at {_listed(times)}{also}. {_worst_component(equation, errors)}"


def _worst_component(equation: Factorization, errors: np.ndarray) -> str:
    time, row = np.unravel_index(np.abs(errors).argmax(), errors.shape)
    number = next(n for n, part in enumerate(equation.parts) if part.start <= row < part.stop)
    child, component = equation.children[number], int(row - equation.parts[number].start)
    error = float(errors[time, row])
    return (
        f"In the values that come closest, {_at(child, int(time))}, component {_component(child, component)}, is "
        f"{abs(error):.3g} {'more' if error > 0 else 'less'} than its parents make it."
    )


def _at(child: Slice, time: int) -> str:
    return f"{child.variable.name} in column {time + child.lag}"


def _component(child: Slice, component: int) -> str:
    labels = child.variable.labels
    named = labels is not None and labels[component] != str(component)
    return f"{component} ({labels[component]})" if labels and named else str(component)


def _listed(times: np.ndarray) -> str:
    shown = ", ".join(str(time) for time in times[:SHOWN])
    more = f" and {len(times) - SHOWN} more times" if len(times) > SHOWN else ""
    return f"t = {shown}{more} (counted from 0)"  # as arrays are, while pictures count from 1 as the paper does
