"""All values that change during a run, in one flat buffer, so that what concerns all of them is one call."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pfn.engines.threads import Threads, spans
from pfn.updates import momentum

# Buffers start at multiples of this many bytes, so that runs give the same bits wherever they are allocated.
ALIGNMENT = 64

# How many entries of a child matrix are worked on at a time: what fits in the processor's second-level cache.
BLOCK_ENTRIES = 1 << 15
THREAD_ENTRIES = 1 << 17  # by a thread at most; each of its calls has to wait for the interpreter


def aligned(count: int, dtype: np.dtype[Any]) -> np.ndarray:
    """A flat array of zeros that starts at a multiple of ALIGNMENT bytes."""
    raw = np.zeros(count * dtype.itemsize + ALIGNMENT, dtype=np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT
    return raw[skip : skip + count * dtype.itemsize].view(dtype)


# How many values momentum moves at a time: small enough that all operands stay in the processor's cache.
CHUNK = 1 << 14


class State:
    """Named arrays that are views of one flat buffer."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], dtype: np.dtype[Any], threads: Threads) -> None:
        self._threads = threads
        step = ALIGNMENT // dtype.itemsize
        sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
        self.places: dict[str, int] = {}
        end = 0
        for name, size in sizes.items():
            self.places[name] = end
            end += -(-size // step) * step
        self.flat = aligned(end, dtype)
        self.arrays = {
            name: self.flat[place : place + sizes[name]].reshape(shapes[name]) for name, place in self.places.items()
        }
        self.previous: np.ndarray | None = None

    def views(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        """The same named arrays in another flat buffer."""
        places = self.places
        return {name: flat[places[name] :][: a.size].reshape(a.shape) for name, a in self.arrays.items()}

    def span(self, first: str, last: str) -> np.ndarray:
        """The flat values from one array to another, with what lies between."""
        return self.flat[self.places[first] : self.places[last] + self.arrays[last].size]

    def prepare_momentum(self) -> np.ndarray:
        """Room for the z of momentum, from before the last sweep, and the chunks that are worked on.

        Values that are zero now stay zero from now on.
        """
        previous = self.previous = aligned(self.flat.size, self.flat.dtype)
        floor = self.flat.dtype.type(momentum.FLOOR)
        np.maximum(self.flat, floor, out=previous)  # what rests at first has not changed yet
        shares = spans(self.flat.size, self._threads.for_pass(self.flat.size))
        self._shares = [self._chunks(share, previous) for share in shares]
        return previous

    def _chunks(self, share: slice, previous: np.ndarray) -> list[Sequence[np.ndarray]]:
        """What one thread works on: the values, those before, the lowest they may become, and room."""
        chunks = [slice(start, min(start + CHUNK, share.stop)) for start in range(share.start, share.stop, CHUNK)]
        room = aligned(min(CHUNK, self.flat.size), self.flat.dtype)
        return [(self.flat[c], previous[c], self._lowest(self.flat[c]), room[: c.stop - c.start]) for c in chunks]

    def extrapolate(self, beta: float, resting: Sequence[str] = ()) -> None:
        """Ratio momentum on everything but what rests; the first call only remembers the values."""
        previous = self.prepare_momentum() if self.previous is None else self.previous
        places = [slice(self.places[name], self.places[name] + self.arrays[name].size) for name in resting]
        kept = [(array[place], array[place].copy()) for place in places for array in (self.flat, previous)]
        self._threads.each(partial(_extrapolate, beta), self._shares)
        for place, values in kept:
            place[:] = values

    def close(self) -> None:
        """Keep the values only."""
        self.previous = None
        self._shares = []

    @staticmethod
    def _lowest(values: np.ndarray) -> np.ndarray:
        """What values are lifted to; zeros of the start stay zero (fixed zeros of W, unused slots)."""
        floor = np.asarray(momentum.FLOOR, dtype=values.dtype)
        return floor if values.all() else np.where(values == 0, values.dtype.type(0), floor)


def _extrapolate(beta: float, chunks: Sequence[Sequence[np.ndarray]]) -> None:
    for now, before, floor, room in chunks:
        momentum.extrapolate(now, before, beta, floor, room)


class Scratch:
    """Buffers that equations and variables share, one at a time; each uses the first part of them."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._wanted: dict[str, int] = {}
        self._buffers: dict[str, np.ndarray] = {}

    def want(self, name: str, shape: tuple[int, ...]) -> None:
        """Reserve room; `take` may be called once all have asked."""
        self._wanted[name] = max(self._wanted.get(name, 0), int(np.prod(shape)))

    def take(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """The first part of the buffer, in that shape."""
        if name not in self._buffers:
            self._buffers[name] = aligned(self._wanted[name], self._dtype)
        return self._buffers[name][: int(np.prod(shape))].reshape(shape)


def block_entries(size: int, threads: Threads) -> int:
    """The same for a child matrix of this size on several threads, whose buffers must not outgrow it."""
    return BLOCK_ENTRIES if threads.count == 1 else int(np.clip(size // 16, BLOCK_ENTRIES, THREAD_ENTRIES))


def row_blocks(rows: int, columns: int, most: int) -> Sequence[slice]:
    """Ranges of rows of at most about so many entries each."""
    step = max(1, most // max(columns, 1))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]
