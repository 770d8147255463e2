"""Terms without a parameter: slices that are added as they are, those through windows with the same rates at once."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from pfn.engines.blocks import Block
from pfn.engines.layout import Layout
from pfn.engines.pieces import ParentPiece
from pfn.engines.threads import Threads
from pfn.engines.windows import Windows
from pfn.network import Shift, Term


class Direct(NamedTuple):
    """One parent, or several with the same lag and rates."""

    pieces: list[ParentPiece]
    windows: Windows | None

    def add_to(self, reconstruction: np.ndarray) -> None:
        """Add what is seen of the parents."""
        first = self.pieces[0]
        seen = self.windows.apply(*(piece.values for piece in self.pieces)) if self.windows else first.values
        place = reconstruction[:, first.skip :]
        if first.cut is None or not first.cut.size:
            place += seen
            return
        mask = np.ones(reconstruction.shape[1], bool)
        mask[first.cut] = False
        np.add(place, seen, out=place, where=mask[first.skip :])

    def gather(self, field: np.ndarray) -> Iterator[tuple[ParentPiece, np.ndarray]]:
        """What a field of the children has for the values of each parent."""
        first = self.pieces[0]
        if first.cut is not None and first.cut.size:
            field = np.array(field)
            field[:, first.cut] = 0
        part = field[:, first.skip :]
        yield from zip(self.pieces, self.windows.adjoint(part) if self.windows else [part], strict=True)


def direct_terms(
    terms: Iterable[Term], pieces: Iterable[ParentPiece], blocks: Iterable[Block], layout: Layout, threads: Threads
) -> list[Direct]:
    """The terms of an equation that have no parameter, grouped; but for those that are part of a larger matrix."""
    alone = [block.rows for block in blocks]
    found: list[Direct] = []
    windowed: dict[object, list[tuple[Term, ParentPiece]]] = {}
    for term, piece in zip(terms, pieces, strict=True):
        if not isinstance(term.parameter, Shift) or not term.parameter.plain or piece.rows not in alone:
            continue
        if term.window is None:
            found.append(Direct([piece], None))
        else:
            windowed.setdefault((term.window.rates, term.slice.lag), []).append((term, piece))
    for group in windowed.values():
        columns = group[0][1].values.shape[1]
        windows = Windows([term for term, _ in group], columns, layout, threads)
        found.append(Direct([piece for _, piece in group], windows))
    return found
