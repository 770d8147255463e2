"""Windows at work: what parents are seen through, the rows of large ones shared among threads."""

from collections.abc import Iterator

import numpy as np

from pfn.engines.layout import Layout
from pfn.engines.threads import Threads, spans
from pfn.network import Term
from pfn.updates.windows import WindowSums

PASSES = 4  # about so many, over what each window sees


class Windows:
    """Windows of some lengths with the same rates, over matrices of one shape."""

    def __init__(self, terms: list[Term], columns: int, layout: Layout, threads: Threads) -> None:
        windows = [term.window for term in terms if term.window is not None]
        rows, position = terms[0].slice.variable.size, positions(layout, columns)
        rates, lengths = np.broadcast_to(windows[0].rates, rows), [window.length for window in windows]
        self._threads, self._count = threads, len(lengths)
        self._shares = [
            (part, WindowSums(rates[part], lengths, (part.stop - part.start, columns), position))
            for part in spans(rows, threads.for_pass(PASSES * len(lengths) * rows * columns))
        ]

    def apply(self, *xs: np.ndarray) -> np.ndarray:
        """What is seen of every x through its window, at each column, added up."""
        seen = np.empty(xs[0].shape, xs[0].dtype)

        def work(share: tuple[slice, WindowSums]) -> None:
            rows, sums = share
            seen[rows] = sums.apply(*(x[rows] for x in xs))

        self._threads.each(work, self._shares)
        return seen

    def adjoint(self, x: np.ndarray) -> Iterator[np.ndarray]:
        """For each window, what all columns that see an entry have, gathered where the entry is."""
        if len(self._shares) == 1:
            yield from self._shares[0][1].adjoint(x)
            return
        gathered = np.empty((self._count, *x.shape), x.dtype)

        def work(share: tuple[slice, WindowSums]) -> None:
            rows, sums = share
            for room, found in zip(gathered, sums.adjoint(x[rows]), strict=True):
                room[rows] = found

        self._threads.each(work, self._shares)
        yield from gathered


def positions(layout: Layout, count: int) -> np.ndarray | None:
    """The place in its own sequence of each of the first slots, where there are several sequences."""
    if layout.single:
        return None
    slots, starts = np.arange(count), layout.starts[:-1]
    return np.asarray(slots - starts[np.searchsorted(starts, slots, side="right") - 1])
