"""Copies and entries in arrays of a few sizes, so that sweeps over about as many columns share a compiled program.

What an equation is given more are columns of copies of the zero that y ends with. Every equation holds in them and
every copy agrees, so that they stay zero, and change neither the other copies nor the distance between the two sets.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any, NamedTuple

import numpy as np

from pfn.exact.consensus import State, split
from pfn.exact.copies import Span
from pfn.updates.padding import padded

# What of a state has the columns of the copies: flat, or as an array for every equation.
COPIES, RESIDUALS = ("agreed", "copies", "anchor"), ("errors", "residuals", "anchored")


class Room(NamedTuple):
    """Where a variable lies: its entries, and zeros up to where it stops."""

    start: int
    stop: int
    span: Span

    @property
    def end(self) -> int:
        """Where its last entry ends."""
        return self.start + self.span.size * self.span.columns


class Tables(NamedTuple):
    """Who is a copy of whom, in padded arrays. The mean of the copies of the zero is not wanted: it is in no group."""

    source: np.ndarray  # where the entry of every copy lies
    copies: list[np.ndarray]  # by number of slices: those of every entry; one beyond the last where it has fewer
    counts: list[np.ndarray]  # how many copies these are, but at least one


class Padding:
    """Entries and copies in padded arrays and back; variables with equally many slices lie beside each other there."""

    def __init__(self, spans: Sequence[Span], shapes: Sequence[tuple[int, int]]) -> None:
        """`spans` are of the variables among the entries, `shapes` of the copies of every equation."""
        self._narrow = shapes
        most = padded(max([span.columns for span in spans] + [columns for _, columns in shapes]))
        self.widths = [_width(columns, most) for _, columns in shapes]
        self._wide = [(rows, width) for (rows, _), width in zip(shapes, self.widths, strict=True)]
        order = sorted(range(len(spans)), key=lambda number: spans[number].slices)
        ends = [0, *accumulate(spans[number].size * _width(spans[number].columns, most) for number in order)]
        rooms = {number: Room(ends[n], ends[n + 1], spans[number]) for n, number in enumerate(order)}
        self._rooms = [rooms[number] for number in range(len(spans))]
        self._zero = ends[-1]

    def entries(self, narrow: np.ndarray) -> np.ndarray:
        """All entries, and zeros between them."""
        wide = np.zeros(self._zero + 1, narrow.dtype)
        wide[self._places()] = narrow
        return wide

    def cut_entries(self, wide: np.ndarray) -> np.ndarray:
        """All entries, without what is between them."""
        return wide.take(self._places())

    def _places(self) -> np.ndarray:
        """Where every entry lies."""
        return np.concatenate([*(np.arange(room.start, room.end) for room in self._rooms), [self._zero]])

    def columns(self, narrow: Sequence[np.ndarray], otherwise: float = 0) -> list[np.ndarray]:
        """An array for every equation with more columns."""
        return [
            np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, width - array.shape[-1])], constant_values=otherwise)
            for array, width in zip(narrow, self.widths, strict=True)
        ]

    def _copies(self, narrow: np.ndarray, otherwise: float = 0) -> np.ndarray:
        return _flat(self.columns(split(narrow, self._narrow), otherwise))

    def tables(self, source: np.ndarray) -> Tables:
        """Who is a copy of whom; `source` says where the entry of every copy lies without padding."""
        wide = self._copies(self._places()[source], self._zero)
        by_entry, counts = np.argsort(wide, kind="stable"), np.bincount(wide, minlength=self._zero + 1)
        first = np.cumsum(counts) - counts
        copies = []
        for slices, start, stop in self._groups():
            nth = first[start:stop, None] + np.arange(slices)
            has = np.arange(slices) < counts[start:stop, None]
            copies.append(np.where(has, by_entry[np.minimum(nth, wide.size - 1)], wide.size).astype(np.int32))
        return Tables(wide.astype(np.int32), copies, [(group < wide.size).sum(axis=1).clip(1) for group in copies])

    def _groups(self) -> Iterator[tuple[int, int, int]]:
        """Numbers of slices, and from where to where the variables lie that have so many."""
        for slices, group in groupby(sorted(self._rooms), key=lambda room: room.span.slices):
            rooms = [*group]
            yield slices, rooms[0].start, rooms[-1].stop

    def widened(self, state: State) -> State:
        """A state with padded arrays."""
        return state._replace(
            entries=self.entries(state.entries),
            **{name: self._copies(getattr(state, name)) for name in COPIES},
            **{name: self.columns(getattr(state, name)) for name in RESIDUALS},
        )

    def cut(self, state: State) -> State:
        """The state that `widened` was given, with arrays on the host."""
        return state._replace(
            entries=self.cut_entries(np.asarray(state.entries)),
            **{name: _flat(self._cut(split(np.asarray(getattr(state, name)), self._wide))) for name in COPIES},
            **{name: self._cut(getattr(state, name)) for name in RESIDUALS},
        )

    def _cut(self, wide: Sequence[Any]) -> list[np.ndarray]:
        return [np.asarray(array)[:, :columns] for array, (_, columns) in zip(wide, self._narrow, strict=True)]


def _flat(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([array.ravel() for array in arrays])


def _width(columns: int, most: int) -> int:
    """The widest, so that lengths with a few columns more or less have the same widths; but not twice too wide."""
    return most if 2 * columns > most else padded(columns)
