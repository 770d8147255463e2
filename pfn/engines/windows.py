"""Windows at work: what parents are seen through."""

import numpy as np

from pfn.engines.layout import Layout
from pfn.network import Term
from pfn.updates.windows import WindowSums


def window_of(term: Term, columns: int, layout: Layout) -> WindowSums | None:
    """The window of a term over so many columns of its parent."""
    if term.window is None:
        return None
    shape = (term.slice.variable.size, columns)
    return WindowSums(np.array(term.window.rates), term.window.length, shape, positions(layout, columns))


def positions(layout: Layout, count: int) -> np.ndarray | None:
    """The place in its own sequence of each of the first slots, where there are several sequences."""
    if layout.single:
        return None
    slots = np.arange(count)
    starts = layout.starts[:-1]
    return np.asarray(slots - starts[np.searchsorted(starts, slots, side="right") - 1])
