"""Averages of copies (DESIGN, section 4): a variable becomes the mean of its copies, column by column.

All copies of a parent start from its value, so the mean of the updated copies is the value times the mean of
their factors. "updated" averages the copies of this pass; "all" counts the others with the current value.
"""

from typing import Any, NamedTuple

import numpy as np

from pfn.engines.equations import Equation
from pfn.engines.layout import Layout
from pfn.engines.state import Scratch


class Counts(NamedTuple):
    """Per column: how often the current value counts, and the reciprocal of the number of copies."""

    current: np.ndarray
    reciprocal: np.ndarray


class Held:
    """The observations of a variable: put back after every change."""

    def __init__(self, values: np.ndarray, observed: np.ndarray, mask: np.ndarray) -> None:
        self._values, self._observed, self._mask = values, observed, mask

    def restore(self) -> None:
        """Put the observed entries back."""
        np.copyto(self._values, self._observed, where=self._mask)


class ParentMean:
    """The mean over the copies of a variable as a parent."""

    def __init__(self, values: np.ndarray, equations: dict[str, Equation], name: str, counts: Counts) -> None:
        self._values = values
        self._counts = counts
        self._copies = {
            equation: [piece for piece in work.parents if piece.variable == name]
            for equation, work in equations.items()
            if any(piece.variable == name for piece in work.parents)
        }
        self._dead = {name: equations[name].dead for name in self._copies}
        self._one_copy = self._is_one_copy()
        self._one_equation = len(self._copies) == 1
        self._total: np.ndarray | None = None
        self._begun = False

    def _is_one_copy(self) -> bool:
        pieces = [piece for copies in self._copies.values() for piece in copies]
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
            piece = self._copies[equation][0]
            np.multiply(piece.values, factors[piece.rows, piece.skip :], out=piece.values)
            return
        if not self._begun:
            self._total[...] = self._counts.current
            self._begun = True
        for piece in self._copies[equation]:
            part = factors[piece.rows]
            for columns in (self._dead[equation], piece.cut):
                if columns is not None:
                    part[:, columns] = 0
            self._total[:, : piece.values.shape[1]] += part[:, piece.skip :]
        if self._one_equation:
            self._multiply(self._total)

    def finish(self) -> None:
        """All copies are in: multiply by their mean."""
        if self._total is not None and self._begun:
            self._multiply(self._total)

    def _multiply(self, total: np.ndarray) -> None:
        total *= self._counts.reciprocal
        self._values *= total
        self._begun = False


class ChildMean:
    """The mean over the copies of a variable as a child."""

    def __init__(self, values: np.ndarray, equations: dict[str, Equation], name: str, counts: Counts) -> None:
        self._values = values
        self._counts = counts
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


def count_copies(layout: Layout, name: str, role: str, *, averaging: str, dtype: np.dtype[Any]) -> Counts:
    """What the mean over the copies in a role ("parents" or "children") needs for a variable."""
    width = layout.width(name)
    touched = {"parents": np.zeros(width), "children": np.zeros(width)}
    for equation in layout.network.factorizations:
        for kind, pieces in (("parents", equation.parents), ("children", equation.children)):
            for piece in pieces:
                if piece.variable.name == name:
                    touched[kind] += layout.touches(equation, piece)
    updated = touched.pop(role)
    (others,) = touched.values()
    current = others if averaging == "all" else np.zeros(width)
    current = np.where(updated == 0, 1.0, current)
    reciprocal = 1 / np.maximum(current + updated, 1.0)
    return Counts(current.astype(dtype), reciprocal.astype(dtype))
