"""Where the copies lie that equations have of the entries they tie together, for all sequences at once.

All entries of all variables are one flat array y, one variable and sequence after the other. An equation has a column
of copies for every time at which it holds: of its children, and below them of its parents. A parent before the first
column is a copy of one more entry, the last one of y, which is zero.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pfn.network import Factorization, Network, Slice


class Block(NamedTuple):
    """An array (size, columns) in y: one variable of one sequence."""

    start: int
    size: int
    columns: range  # their times

    def places(self, times: np.ndarray, zero: int) -> np.ndarray:
        """Where the components at these times lie, in rows; `zero` for times before the first column."""
        rows = self.start + np.arange(self.size)[:, None] * len(self.columns)
        return np.where(times < self.columns.start, zero, rows + (times - self.columns.start))


class Span(NamedTuple):
    """A variable in y: its blocks, one sequence after the other."""

    size: int
    columns: int  # in all sequences
    slices: int  # that equations have of it: no entry has more copies


class Copies:
    """The entries of all variables, and the copies that the equations have of them."""

    def __init__(self, network: Network, lengths: Sequence[int], given: Mapping[str, Sequence[int]]) -> None:
        """`given` has the number of columns of every array that was observed, by variable and sequence."""
        self.network = network
        self._counts = [network.columns(length).equations for length in lengths]
        self.blocks: dict[str, list[Block]] = {}
        end = 0
        for variable in network.variables:
            self.blocks[variable.name] = []
            for number, length in enumerate(lengths):
                touched = network.columns(length).variables[variable.name]
                columns = range(max(given[variable.name][number], touched.stop)) if variable.name in given else touched
                self.blocks[variable.name].append(Block(end, variable.size, columns))
                end += variable.size * len(columns)
        self.entries = end + 1  # the last one is zero

    def array(self, y: np.ndarray, name: str, sequence: int) -> np.ndarray:
        """The part of y that belongs to a variable in a sequence, as an array (size, columns)."""
        start, size, columns = self.blocks[name][sequence]
        return y[start : start + size * len(columns)].reshape(size, len(columns))

    @cached_property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """By equation, the rows of its children and parents, and its columns in all sequences."""
        return {
            e.name: (e.rows + sum(p.variable.size for p in e.parents), sum(counts[e.name] for counts in self._counts))
            for e in self.network.factorizations
        }

    @property
    def spans(self) -> list[Span]:
        """What lies in y, but for the zero at its end."""
        slices = Counter(p.variable.name for e in self.network.factorizations for p in (*e.children, *e.parents))
        return [
            Span(v.size, sum(len(block.columns) for block in self.blocks[v.name]), slices[v.name])
            for v in self.network.variables
        ]

    def _sources(self, equation: Factorization) -> np.ndarray:
        pieces = (*equation.children, *equation.parents)
        return np.vstack([np.hstack(self._of_slice(equation, piece)) for piece in pieces])

    def _of_slice(self, equation: Factorization, piece: Slice) -> list[np.ndarray]:
        return [
            block.places(np.arange(counts[equation.name]) + piece.lag, self.entries - 1)
            for block, counts in zip(self.blocks[piece.variable.name], self._counts, strict=True)
        ]

    @cached_property
    def source(self) -> np.ndarray:
        """Where in y the entry of every copy lies, one equation after the other, each (rows, columns)."""
        return np.concatenate([self._sources(equation).ravel() for equation in self.network.factorizations])
