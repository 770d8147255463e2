"""Which entries are the same in every solution, and solutions that show it for the others.

For random g, the least and the greatest g · y over all solutions agree (with probability one) only if every entry
with a weight in g is the same in all solutions. So: find both ends, set aside the entries in which they differ, and
go on with the others until the ends agree.
"""

from typing import NamedTuple

import numpy as np

from pfn.exact.linear import Deadline, Program

ROOM = 2.0
"""Entries may grow to so many times the largest one of the first solution: unbounded ones then have an end, and a
solution inside the bounds exists, so that what is unique within them is unique."""


SHARE = 1e-3
"""How far entries that are zero in all solutions so far may rise at once: so little that hundreds of alternatives
find room beside each other in one solution. Whether they can rise at all does not depend on it."""


class Variations(NamedTuple):
    """Solutions that differ wherever solutions can, and the entries in which they never do."""

    solutions: list[np.ndarray]
    unique: np.ndarray


def vary(program: Program, solution: np.ndarray, rng: np.random.Generator, deadline: Deadline) -> Variations:
    """Find the unique entries of a program with this solution."""
    program = program._replace(values=program.matrix @ solution)
    largest = ROOM * max(1.0, float(solution.max(initial=0.0)))
    different = program.different
    solutions, unique = [solution], np.ones(solution.shape, bool)
    while unique.any():
        seen = np.max(solutions, axis=0) > different
        bounded = program._replace(upper=np.where(seen, largest, SHARE))
        direction = np.where(unique, rng.uniform(0.5, 1.5, unique.shape) * rng.choice([-1.0, 1.0], unique.shape), 0.0)
        ends = [bounded.minimum(sign * direction, deadline) for sign in (1.0, -1.0)]
        differ = np.ptp([solution, *ends], axis=0) > different
        if not (differ & unique).any():
            break
        solutions += ends
        unique &= ~differ
    return Variations(solutions, unique)
