"""Averages of copies (DESIGN, section 4): a variable becomes the mean of its copies, column by column.

All copies of a parent start from its value, so the mean of the updated copies is the value times the mean of
their factors. "updated" averages the copies of this pass; "all" counts the others with the current value.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pfn.engines.equations import Equation
from pfn.engines.layout import Layout
from pfn.engines.problem import Problem
from pfn.engines.state import Scratch


class Counts(NamedTuple):
    """Per column: how often the current value counts, and the reciprocal of the number of copies."""

    current: np.ndarray
    reciprocal: np.ndarray


class Copies(NamedTuple):
    """How many copies a variable has per column: in a role by equation, and in the other role."""

    by_equation: dict[str, np.ndarray]
    others: np.ndarray
    averaging: str
    dtype: np.dtype[Any]

    def counts(self, equations: Iterable[str]) -> Counts:
        """What the mean needs when the copies in these equations were updated; untouched columns keep their value."""
        nothing = np.zeros_like(self.others)
        updated = sum((self.by_equation[name] for name in equations), nothing)
        rest = sum(self.by_equation.values(), nothing) - updated + self.others
        current = rest if self.averaging == "all" else nothing
        current = np.where(updated == 0, 1.0, current)
        reciprocal = 1 / np.maximum(current + updated, 1.0)
        return Counts(current.astype(self.dtype), reciprocal.astype(self.dtype))


class ParentMean:
    """The mean over the copies of a variable as a parent."""

    def __init__(self, values: np.ndarray, equations: dict[str, Equation], name: str, copies: Copies) -> None:
        self._values = values
        self._copies = copies
        self._pieces = {
            equation: [piece for piece in equations[equation].parents if piece.variable == name]
            for equation in copies.by_equation
        }
        self._dead = {equation: equations[equation].dead for equation in self._pieces}
        self._counts = copies.counts(self._pieces)
        self._adds_current = bool(self._counts.current.any())
        self._one_copy = self._is_one_copy()
        self._one_equation = len(self._pieces) == 1
        self._total: np.ndarray | None = None
        self._seen: list[str] = []

    def _is_one_copy(self) -> bool:
        pieces = [piece for copies in self._pieces.values() for piece in copies]
        plain = len(pieces) == 1 and pieces[0].cut is None
        return plain and not self._counts.current[: pieces[0].values.shape[1]].any()

    def reserve(self, scratch: Scratch) -> None:
        """Say how large the shared buffers must be."""
        if self._one_equation and not self._one_copy:
            scratch.want("factors", self._values.shape)

    def bind(self, scratch: Scratch) -> None:
        """Take the shared buffers."""
        if not self._one_copy:
            shape = self._values.shape
            self._total = scratch.take("factors", shape) if self._one_equation else np.empty_like(self._values)

    def collect(self, equation: str, factors: np.ndarray) -> None:
        """Take the factors of the copies in one equation; if it is the only one, nothing remains to be done."""
        if self._total is None:
            piece = self._pieces[equation][0]
            np.multiply(piece.values, factors[piece.rows, piece.skip :], out=piece.values)
            return
        if not self._seen:
            self._total[...] = 0
        self._seen.append(equation)
        for piece in self._pieces[equation]:
            part = factors[piece.rows]
            for columns in (self._dead[equation], piece.cut):
                if columns is not None:
                    part[:, columns] = 0
            self._total[:, : piece.values.shape[1]] += part[:, piece.skip :]
        if self._one_equation:
            self.finish()

    def finish(self) -> None:
        """Multiply by the mean of the factors that are in; nothing if there are none."""
        if self._total is None or not self._seen:
            return
        every = len(self._seen) == len(self._pieces)
        counts = self._counts if every else self._copies.counts(self._seen)
        if self._adds_current or not every:
            self._total += counts.current
        self._total *= counts.reciprocal
        self._values *= self._total
        self._seen = []


class ChildMean:
    """The mean over the copies of a variable as a child."""

    def __init__(self, values: np.ndarray, equations: dict[str, Equation], name: str, copies: Copies) -> None:
        self._values = values
        counts = self._counts = copies.counts(copies.by_equation)
        places = [
            (piece.values, work.reconstruction[piece.rows])
            for work in equations.values()
            for piece in work.children
            if piece.variable == name
        ]
        self._copies = places
        first_covers_all = bool(places) and places[0][0].shape == values.shape
        self._overwrite = first_covers_all and not counts.current.any()
        self._single = len(places) == 1 and self._overwrite

    def finish(self) -> None:
        """All copies are propagated: the variable becomes their mean."""
        copies = self._copies
        if self._overwrite:
            np.copyto(*copies[0])
            if self._single:
                return
            copies = copies[1:]
        else:
            self._values *= self._counts.current
        for place, copy in copies:
            np.add(place, copy, out=place)
        self._values *= self._counts.reciprocal


def count_copies(layout: Layout, name: str, role: str, *, averaging: str, dtype: np.dtype[Any]) -> Copies:
    """How many copies of a variable there are, as one of the "parents" or as one of the "children"."""
    by_equation: dict[str, np.ndarray] = {}
    others = np.zeros(layout.width(name))
    for equation in layout.network.factorizations:
        for kind, pieces in (("parents", equation.parents), ("children", equation.children)):
            for piece in pieces:
                if piece.variable.name == name:
                    touched = layout.touches(equation, piece).astype(float)
                    if kind == role:
                        by_equation[equation.name] = by_equation.get(equation.name, 0.0) + touched
                    else:
                        others += touched
    return Copies(by_equation, others, averaging, dtype)


def make_means(
    arrays: Mapping[str, Any], equations: dict[str, Equation], layout: Layout, problem: Problem
) -> tuple[dict[str, ParentMean], dict[str, ChildMean]]:
    """The means of all variables that change, as parents and as children, by name."""
    changing = [name for name in arrays if name in problem.start]

    def copies(name: str, role: str) -> Copies:
        return count_copies(layout, name, role, averaging=problem.averaging, dtype=problem.dtype)

    parents = {piece.variable for equation in equations.values() for piece in equation.parents}
    children = {piece.variable for equation in equations.values() for piece in equation.children}
    return (
        {n: ParentMean(arrays[n], equations, n, copies(n, "parents")) for n in changing if n in parents},
        {n: ChildMean(arrays[n], equations, n, copies(n, "children")) for n in changing if n in children},
    )
