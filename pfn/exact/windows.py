"""Long sequences: solved in overlapping windows of time, each held to what the windows before it left.

What is found is a solution of the whole. Where a window has several solutions, the one chosen may turn out not to go
on; then the next window has none, and both are solved as one.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.exact.linear import Deadline, InfeasibleError, OutOfTimeError, Program
from pfn.exact.uniqueness import vary


class Window(NamedTuple):
    """So many time slices at once; the last `overlap` of them are solved again with the next window."""

    length: int
    overlap: int


def first_times(matrix: sp.csr_array, times: np.ndarray) -> np.ndarray:
    """For every column, the time of the first row that has it."""
    first = np.full(matrix.shape[1], np.iinfo(np.int64).max)
    np.minimum.at(first, matrix.indices, np.repeat(times, np.diff(matrix.indptr)))
    return first


class Joined(NamedTuple):
    """A solution, and the entries that are known to be the same in all."""

    solution: np.ndarray
    certain: np.ndarray


class Walk:
    """The windows of one program, one after the other; `times` are those of its rows."""

    def __init__(self, program: Program, times: np.ndarray, costs: np.ndarray, rng: np.random.Generator) -> None:
        order = np.argsort(times, kind="stable")
        self._program = program._replace(matrix=program.matrix[order], values=program.values[order])
        self._times, self._costs, self._rng = times[order], costs, rng
        self._first = first_times(self._program.matrix, self._times)
        self._solution = np.zeros(costs.size)
        self._certain = np.zeros(costs.size, bool)

    def through(self, window: Window, deadline: Deadline, report: Callable[[int], None]) -> Joined:
        """Solve window after window; InfeasibleError: there is no solution up to the end of one of them.

        Where the time is up, the rest only comes close.
        """
        starts, stop = [0], window.length
        last = int(self._times.max(initial=0)) + 1
        while True:
            try:
                self._solve(starts[-1], stop, deadline)
            except InfeasibleError:
                starts.pop()
                if not starts:
                    raise
                continue
            except OutOfTimeError:
                return self._cut_short(starts[-1])
            report(min(stop, last))
            if stop >= last:
                return Joined(self._solution, self._certain)
            starts.append(stop - window.overlap)
            stop += window.length - window.overlap

    def _cut_short(self, start: int) -> Joined:
        """Leave what the windows before settled, and bring the rest close to a solution."""
        rest = np.flatnonzero((self._first >= start) & ~self._certain)
        self._solution[rest] = self._program.restricted(self._solution, rest).close()
        return Joined(self._solution, self._certain)

    def _solve(self, start: int, stop: int, deadline: Deadline) -> None:
        """Solve the rows from start to stop; entries that earlier rows have stay as they are."""
        rows = slice(*np.searchsorted(self._times, [start, stop]))
        part = self._program.matrix[rows]
        touched = np.unique(part.indices)
        program = Program(part[:, touched], self._program.values[rows], self._program.tolerance)
        settled = self._first[touched] < start
        held = np.flatnonzero(~(settled | self._certain[touched]))
        solution = self._solution[touched]
        solution[held] = program.restricted(solution, held).minimum(self._costs[touched][held], deadline)
        self._solution[touched] = solution
        open_ = np.flatnonzero(~self._certain[touched])
        unique = vary(program.restricted(solution, open_), solution[open_], self._rng, deadline).unique
        self._certain[touched[open_[unique]]] = True
