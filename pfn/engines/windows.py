"""Windows at work: what parents are seen through."""

import numpy as np

from pfn.engines.layout import Layout
from pfn.network import Term
from pfn.updates.windows import WindowSums


def window_of(term: Term, columns: int, layout: Layout) -> WindowSums | None:
    """The window of a term over so many columns of its parent."""
    return None if term.window is None else windows_of([term], columns, layout)


def windows_of(terms: list[Term], columns: int, layout: Layout) -> WindowSums:
    """The windows of terms with the same rates."""
    windows = [term.window for term in terms if term.window is not None]
    shape, rates = (terms[0].slice.variable.size, columns), np.array(windows[0].rates)
    return WindowSums(rates, [window.length for window in windows], shape, positions(layout, columns))


def positions(layout: Layout, count: int) -> np.ndarray | None:
    """The place in its own sequence of each of the first slots, where there are several sequences."""
    if layout.single:
        return None
    slots, starts = np.arange(count), layout.starts[:-1]
    return np.asarray(slots - starts[np.searchsorted(starts, slots, side="right") - 1])
