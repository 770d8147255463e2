"""The errors of all equations after a sweep, taken together where they are small and in blocks where not."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from pfn.engines.equations import Equation
from pfn.engines.problem import Errors, Problem
from pfn.engines.sparse_equations import SparseChildEquation
from pfn.engines.state import BLOCK_ENTRIES, Scratch, block_entries, row_blocks
from pfn.engines.threads import Threads

BUFFERS = ("block", "second block", "third block")


class _Part(NamedTuple):
    """Rows of one equation's child matrix."""

    equation: Equation
    rows: slice

    @property
    def size(self) -> int:
        return len(range(self.rows.start, self.rows.stop)) * self.equation.columns


class _Group:
    """Parts that lie one after the other in memory and are evaluated by the same calls."""

    def __init__(self, parts: list[_Part], R: np.ndarray, scratch: Scratch, share: int) -> None:
        self.R = R
        self.error, self.second, self.third = (scratch.take(f"{name} {share}", R.shape) for name in BUFFERS)
        self.equation = parts[0].equation
        self.starts = np.cumsum([0, *(part.size for part in parts[:-1])])
        self.names = [part.equation.name for part in parts]
        self.differences: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.dead: list[tuple[np.ndarray, np.ndarray]] = []
        for part, start in zip(parts, self.starts, strict=True):
            self._add(part, int(start))
        weights = self.equation.weights
        height = parts[0].rows.stop - parts[0].rows.start
        self.weights = None if weights is None else np.tile(weights, height)

    def _add(self, part: _Part, start: int) -> None:
        equation = part.equation
        error = self.error[start : start + part.size].reshape(-1, equation.columns)
        R = equation.reconstruction[part.rows]
        for piece in equation.children:
            first, last = max(piece.rows.start, part.rows.start), min(piece.rows.stop, part.rows.stop)
            if first < last:
                values = piece.values[first - piece.rows.start : last - piece.rows.start]
                place = slice(first - part.rows.start, last - part.rows.start)
                self.differences.append((values, R[place], error[place]))
        if equation.dead is not None:
            self.dead.append((error, equation.dead))

    def difference(self) -> np.ndarray:
        """Children − W parents, flat; zero where an equation does not hold."""
        for values, R, out in self.differences:
            np.subtract(values, R, out)
        for error, columns in self.dead:
            error[:, columns] = 0
        return self.error

    def squares(self) -> list[float]:
        """The summed squares of the error just taken, one number per part."""
        if len(self.names) == 1 and self.weights is None:
            return [float(np.vdot(self.error, self.error))]
        np.multiply(self.error, self.error, self.second)
        if self.weights is not None:
            self.second *= self.weights
        parts: list[float] = np.add.reduceat(self.second, self.starts).tolist()
        return parts


class ErrorMeter:
    """Measures all equations of a run; their reconstructions lie one after the other, in order, in `flat`."""

    def __init__(
        self,
        equations: dict[str, Equation],
        flat: np.ndarray,
        problem: Problem,
        *,
        entries: Mapping[str, float],
        threads: Threads,
    ) -> None:
        self.entries = entries  # by equation, how many of its child matrix count
        self._equations = equations
        self._flat = flat
        self._threads = threads
        self._divergence, self._epsilon = problem.divergence, problem.epsilon
        self._parts = self._grouped()
        self._shares = threads.for_pass(sum(part.size for group in self._parts for part in group))
        self._sparse = [e for e in equations.values() if isinstance(e, SparseChildEquation)]

    def _grouped(self) -> list[list[_Part]]:
        """Small unweighted equations together, others in blocks of rows."""
        groups: list[list[_Part]] = [[]]
        room = BLOCK_ENTRIES
        for equation in self._equations.values():
            whole = _Part(equation, slice(0, equation.declared.rows))
            if not whole.size or isinstance(equation, SparseChildEquation):
                continue
            if whole.size <= room and equation.weights is None:
                groups[-1].append(whole)
                room -= whole.size
                continue
            blocks = row_blocks(equation.declared.rows, equation.columns, block_entries(whole.size, self._threads))
            groups += [*([_Part(equation, rows)] for rows in blocks), []]
            room = BLOCK_ENTRIES
        return [group for group in groups if group]

    def reserve(self, scratch: Scratch) -> None:
        """Say how large the shared buffers must be."""
        for number, group in enumerate(self._parts):
            for name in BUFFERS:
                scratch.want(f"{name} {number % self._shares}", (sum(part.size for part in group),))

    def bind(self, scratch: Scratch) -> None:
        """Take the shared buffers."""
        self._groups = []
        start = 0
        for number, parts in enumerate(self._parts):
            end = start + sum(part.size for part in parts)
            self._groups.append(_Group(parts, self._flat[start:end], scratch, number % self._shares))
            start = end

    def close(self) -> None:
        """Let go of all buffers."""
        self._groups, self._equations, self._sparse = [], {}, []
        self._parts = []
        self._flat = np.empty(0)

    def measure(self) -> Errors:
        """The errors of the values as they are, right after a downward pass."""
        squared = dict.fromkeys(self._equations, 0.0)
        divergence = 0.0
        for group, squares, part in self._measured():
            for name, square in zip(group.names, squares, strict=True):
                squared[name] += square
            divergence += part
        for equation in self._sparse:
            squared[equation.name], part = equation.errors()
            divergence += part
        return Errors.of(squared, self.entries, divergence)

    def _measured(self) -> list[tuple[_Group, list[float], float]]:
        """The groups, each with its squares and its divergence, in their order however they are shared."""
        shares = [self._groups[share :: self._shares] for share in range(self._shares)]
        found = self._threads.each(lambda groups: [self._errors_of(group) for group in groups], shares)
        return [one for together in zip_longest(*found) for one in together if one is not None]

    def _errors_of(self, group: _Group) -> tuple[_Group, list[float], float]:
        error, scratch = group.difference(), (group.second, group.third)
        squares = group.squares()
        part = self._divergence.value(error, group.R, self._epsilon, weights=group.weights, scratch=scratch)
        return group, squares, float(part)
