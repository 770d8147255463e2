"""Means of the copies of a variable, column by column.

All copies of a parent start from its value, so it is multiplied by a factor: with "pooled" by that of all copies
together, the sum of their numerators by the sum of their denominators. With "updated" by the mean of the factors of
this pass; "all" counts the other copies with the current value. A child becomes the mean of its copies.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pfn.engines.equations import Equation
from pfn.engines.layout import Layout
from pfn.engines.pieces import ParentPiece, Terms
from pfn.engines.problem import Problem
from pfn.engines.state import Scratch
from pfn.updates import factor


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
        self._epsilon = next(iter(equations.values())).epsilon
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

    def collect(self, equation: str, terms: Terms) -> None:
        """Take the factors of the copies in one equation; if it is the only one, nothing remains to be done."""
        if self._total is None:
            piece = self._pieces[equation][0]
            np.multiply(piece.values, self._factors(terms, piece)[:, piece.skip :], out=piece.values)
            return
        if not self._seen:
            self._total[...] = 0
        self._seen.append(equation)
        for piece in self._pieces[equation]:
            self._add(self._total, equation, piece, self._factors(terms, piece))
        if self._one_equation:
            self.finish()

    def _add(self, total: np.ndarray, equation: str, piece: ParentPiece, part: np.ndarray) -> None:
        """Add what a copy has, where there is one."""
        for columns in (self._dead[equation], piece.cut):
            if columns is not None:
                part[:, columns] = 0
        total[:, : piece.values.shape[1]] += part[:, piece.skip :]

    def _factors(self, terms: Terms, piece: ParentPiece) -> np.ndarray:
        part, denominator = terms.numerator[piece.rows], terms.denominator[piece.rows] + self._epsilon
        factors: np.ndarray = factor(part, denominator, self._epsilon, out=part)
        return factors

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


class ParentPool(ParentMean):
    """The copies of a variable as a parent, updated together."""

    def reserve(self, scratch: Scratch) -> None:
        """Say how large the shared buffers must be."""
        super().reserve(scratch)
        if self._one_equation and not self._one_copy:
            scratch.want("denominators", self._values.shape)

    def bind(self, scratch: Scratch) -> None:
        """Take the shared buffers."""
        super().bind(scratch)
        if self._total is not None:
            shape = self._values.shape
            self._denominators = (
                scratch.take("denominators", shape) if self._one_equation else np.empty_like(self._values)
            )
            self._touched = {name: self._touched_by(name) for name in self._pieces}

    def _touched_by(self, equation: str) -> np.ndarray:
        """For every copy in an equation, 1 where there is one and 0 elsewhere."""
        touched = np.zeros((len(self._pieces[equation]), self._values.shape[1]), self._values.dtype)
        for row, piece in zip(touched, self._pieces[equation], strict=True):
            there = np.ones(piece.skip + piece.values.shape[1])
            for columns in (self._dead[equation], piece.cut):
                if columns is not None:
                    there[columns] = 0
            row[: piece.values.shape[1]] = there[piece.skip :]
        return touched

    def collect(self, equation: str, terms: Terms) -> None:
        """Take the terms of the copies in one equation; if it is the only one, nothing remains to be done."""
        if self._total is None:
            super().collect(equation, terms)
            return
        if not self._seen:
            self._total[...] = 0
            self._denominators[...] = 0
        self._seen.append(equation)
        pieces, touched = self._pieces[equation], self._touched[equation]
        for piece in pieces:
            self._add(self._total, equation, piece, terms.numerator[piece.rows])
        if terms.denominator.shape[1] == 1:
            self._denominators += np.hstack([terms.denominator[piece.rows] for piece in pieces]) @ touched
        else:
            for piece, there in zip(pieces, touched, strict=True):
                columns = piece.values.shape[1]
                self._denominators[:, :columns] += terms.denominator[piece.rows, piece.skip :] * there[:columns]
        if self._one_equation:
            self.finish()

    def finish(self) -> None:
        """Multiply by the factor of what is in, which is one where nothing is."""
        if self._total is not None and self._seen:
            self._denominators += self._epsilon
            self._values *= factor(self._total, self._denominators, self._epsilon, out=self._total)
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
    parent = ParentPool if problem.averaging == "pooled" else ParentMean
    return (
        {n: parent(arrays[n], equations, n, copies(n, "parents")) for n in changing if n in parents},
        {n: ChildMean(arrays[n], equations, n, copies(n, "children")) for n in changing if n in children},
    )
