"""Exact inference: hidden values with which every equation holds, which of them are certain, or why there are none."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from pfn.errors import NoExactSolution, NumericalError
from pfn.exact.diagnosis import describe, elastic, shortest_stretch
from pfn.exact.linear import Deadline, InfeasibleError, OutOfTimeError, Program
from pfn.exact.reduction import Reduced, reduce
from pfn.exact.system import System
from pfn.exact.uniqueness import Variations, vary
from pfn.exact.windows import Joined, Walk, Window

TIES = 1e-3
"""Of the costs of 1, so much is random: it decides between solutions with the same sum."""

VERTICES = 24
"""So many random vertices are mixed into a superposition: enough that nothing possible has a tiny share."""

TRIES = 20
"""So many directions may give nothing new before it is said that there are no more solutions; and a quarter as many
more for each that was found, since the more there are, the rarer is each."""

LARGE = 100_000
"""From so many entries on, equations in the way are first looked for in the shortest stretch of time that has some."""


class Asked(NamedTuple):
    """What is known (NaN: hidden), in units of the largest observation, and what is wanted of the answer."""

    known: np.ndarray
    costs: np.ndarray | None
    """Price of every entry, where the user gave some; without them the sum of all entries is made small."""
    tight: float
    """How far solvers may miss a row."""
    exact: float
    """A row counts as holding up to this difference."""
    scale: float
    """The largest observation."""
    rng: np.random.Generator
    deadline: Deadline
    report: Callable[[int], None] = lambda _: None
    """Told how many time slices are solved."""


class Solved(NamedTuple):
    """A program, one sparse solution of it, and what is known of all others."""

    reduced: Reduced
    program: Program
    sparse: np.ndarray
    variations: Variations | None
    """None where that was left open: no time, or numbers that no solver is sure of."""

    @property
    def unique(self) -> np.ndarray | None:
        """For every entry of y, whether all solutions agree in it."""
        if self.variations is None:
            return None
        unique = np.ones(self.reduced.y.shape, bool)
        unique[self.reduced.unknown] = self.variations.unique
        return unique


def solve(system: System, asked: Asked, window: Window | None = None) -> Solved:
    """Find an exact solution and the entries that all solutions share, or raise NoExactSolution.

    Where the time is up before there is a solution, what comes close to one.
    """
    reduced = reduce(system.matrix, asked.known)
    program = Program(reduced.matrix, reduced.values, asked.tight)
    try:
        sparse, certain = _one(program, reduced, system, asked, window)
    except InfeasibleError:
        reduced, sparse = refuse(system, asked)
        program = Program(reduced.matrix, reduced.values, asked.tight)
        certain = np.zeros(sparse.shape, bool)
    program = program._replace(values=program.matrix @ sparse)  # which it solves to the last digit
    try:
        variations = _varied(program, sparse, certain, asked)
    except (OutOfTimeError, InfeasibleError, NumericalError):  # the second: disagreement in the last digits
        variations = None
    return Solved(reduced, program, sparse, variations)


def any_solution(system: System, asked: Asked) -> np.ndarray:
    """All entries of one exact solution; InfeasibleError: there is none."""
    reduced = reduce(system.matrix, asked.known)
    program = Program(reduced.matrix, reduced.values, asked.tight)
    return reduced.whole(program.minimum(_costs(reduced, asked), asked.deadline))


def nearly(system: System, asked: Asked) -> np.ndarray:
    """All entries of what comes close to a solution, where there is no time to look for one."""
    reduced = reduce(system.matrix, asked.known, zeros=False)
    return reduced.whole(Program(reduced.matrix, reduced.values, asked.tight).close())


def _one(program: Program, reduced: Reduced, system: System, asked: Asked, window: Window | None) -> Joined:
    """One solution, or what comes close where the time is up, with what is certain already."""
    costs = _costs(reduced, asked)
    if window is not None:
        walk = Walk(program, system.times[reduced.rows], costs, asked.rng)
        return walk.through(window, asked.deadline, asked.report)
    try:
        found = program.minimum(costs, asked.deadline)
    except OutOfTimeError:
        found = program.close()
    return Joined(found, np.zeros(costs.shape, bool))


def _varied(program: Program, solution: np.ndarray, certain: np.ndarray, asked: Asked) -> Variations:
    """How solutions differ where that is not certain yet."""
    free = np.flatnonzero(~certain)
    part = program if free.size == certain.size else program.restricted(solution, free)
    found = vary(part, solution[free], asked.rng, asked.deadline)
    unique = certain.copy()
    unique[free] = found.unique
    solutions = np.tile(solution, (len(found.solutions), 1))
    solutions[:, free] = found.solutions
    return Variations(list(solutions), unique)


def _costs(reduced: Reduced, asked: Asked) -> np.ndarray:
    costs: np.ndarray = 1.0 + TIES * asked.rng.random(reduced.unknown.size)
    return costs if asked.costs is None else np.asarray(asked.costs[reduced.unknown])


def refuse(system: System, asked: Asked) -> tuple[Reduced, np.ndarray]:
    """Say which equations are in the way, unless only by rounding: then the solution that has just that."""
    try:
        if system.matrix.shape[1] > LARGE:
            rows, entries = shortest_stretch(system, asked.known, asked.tight, asked.deadline)
            _refuse_part(system, asked, rows, entries)
        every = np.arange(system.matrix.shape[0])
        return _refuse_part(system, asked, every, np.arange(system.matrix.shape[1]))
    except OutOfTimeError:
        raise NoExactSolution("the time limit left no time to find the equations in the way.") from None


def _refuse_part(system: System, asked: Asked, rows: np.ndarray, entries: np.ndarray) -> tuple[Reduced, np.ndarray]:
    """The same for some rows, and the entries that they have."""
    reduced = reduce(system.matrix[rows][:, entries], asked.known[entries], zeros=False)
    solution, violation = elastic(reduced, asked.tight, asked.deadline)
    violation[np.abs(violation) <= asked.exact] = 0.0
    if violation.any():
        raise NoExactSolution(describe(system, rows[reduced.rows], violation * asked.scale))
    return reduced, solution


def superposition(solved: Solved, asked: Asked) -> np.ndarray:
    """A mixture of solutions in which everything is active that can be."""
    if solved.variations is None or solved.variations.unique.all():
        return solved.sparse
    mixed = [*solved.variations.solutions, *islice(vertices(solved, asked), VERTICES)]
    return np.asarray(np.mean(mixed, axis=0))


def distinct(solved: Solved, asked: Asked, count: int) -> list[np.ndarray]:
    """The sparse solution and others that differ from each other, up to so many."""
    found, misses = [solved.sparse], 0
    if solved.variations is None or solved.variations.unique.all():
        return found
    candidates = vertices(solved, asked)
    while len(found) < count and misses < TRIES * (1 + len(found) / 4):
        vertex = next(candidates, None)
        if vertex is None:
            break
        misses += 1
        if min(np.abs(vertex - other).max() for other in found) > solved.program.different:
            found.append(vertex)
            misses = 0
    return found


def vertices(solved: Solved, asked: Asked) -> Iterator[np.ndarray]:
    """Sparse solutions as long as there is time, in random directions away from those before.

    They differ only where solutions do, so the program is small.
    """
    assert solved.variations is not None  # the caller knows that there are several
    free = np.flatnonzero(~solved.variations.unique)
    program = solved.program.restricted(solved.sparse, free)
    used = (solved.sparse[free] > program.different).astype(float)
    while True:
        vertex = solved.sparse.copy()
        costs = asked.rng.exponential(size=free.size) * (1.0 + used)
        try:
            vertex[free] = program.minimum(costs, asked.deadline)
        except (OutOfTimeError, InfeasibleError, NumericalError):
            return
        used += vertex[free] > program.different
        yield vertex
