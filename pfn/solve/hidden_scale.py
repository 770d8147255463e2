"""The level of hidden values, by the data and the equations: the scale at which they start.

A multiplicative update keeps ratios, so what starts at a millionth of the data has to grow by six orders of magnitude,
and until then its equations ask for parameters a million times too large. Where parameters are learned, these never
come back: a view that is missing in half of the samples ends thousands of times too large. So hidden values of learning
start around their level, which is

- the mean of the known entries of its own variable, if it has some; else
- the level at which W · level has the sum of the known children, slice by slice and from the bottom up, averaged over
  the equations and lags of a parent with the weights that its right update would give them; the mean level where a
  slice has no known child;
- for a variable that is never a parent: the mean of W · level over its rows.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pfn.engines import Layout
from pfn.network import Factorization, Term, Variable

# Where the data say zero, values start at this share of the mean level: from zero they could not grow.
LEAST = 1e-6

# The scale where nothing at all is known.
NO_DATA = 1.0


class KnownEntries(NamedTuple):
    """The known entries of one array."""

    sums: np.ndarray  # by column
    gaps: np.ndarray  # columns in which some entries are hidden
    mask: np.ndarray  # of these columns, true where an entry is known
    known: int  # number of known entries


class HiddenScale:
    """Levels of all variables of a network.

    - `layout`: where the columns of all sequences lie;
    - `known`: by variable, an array or sparse matrix per sequence, NaN where hidden; variables without known entries
      need not be in it;
    - `row_sums`: of a term, the reconstruction from parents that are all one.
    """

    def __init__(
        self, layout: Layout, known: Mapping[str, Sequence[Any]], row_sums: Callable[[Term], np.ndarray]
    ) -> None:
        self._layout, self._row_sums = layout, row_sums
        self._entries = {name: [_known_entries(array) for array in arrays] for name, arrays in known.items()}
        self._levels: dict[str, np.ndarray | None] = {}
        counts = {name: sum(one.known for one in entries) for name, entries in self._entries.items()}
        self._own = {
            name: float(sum(one.sums.sum() for one in entries) / counts[name])
            for name, entries in self._entries.items()
            if counts[name]
        }
        everything = [mean for mean in self._own.values() if mean]
        self._fallback = float(np.mean(everything)) if everything else NO_DATA

    def of(self, variable: Variable) -> np.ndarray:
        """The level in every column of the variable's array, positive."""
        own = self._own.get(variable.name)
        if own:
            return np.full(self._layout.width(variable.name), own)
        found = self._level(variable)
        if found is None:
            found = self._from_parents(variable)
        filled = np.where(np.isnan(found), np.nanmean(found), found) if np.isfinite(found).any() else None
        if filled is None or not filled.any():
            return np.full(self._layout.width(variable.name), self._fallback)
        level: np.ndarray = np.maximum(filled, LEAST * filled.mean())
        return level

    def _level(self, variable: Variable) -> np.ndarray | None:
        """The level that known children give a parent, NaN in columns without any; None for what is no parent."""
        if variable.name not in self._levels:
            self._levels[variable.name] = self._from_children(variable)
        return self._levels[variable.name]

    def _from_children(self, variable: Variable) -> np.ndarray | None:
        layout = self._layout
        total, weight = np.zeros((2, layout.width(variable.name)))
        parent = False
        for equation in layout.network.factorizations:
            terms = [term for term in equation.terms if term.slice.variable == variable]
            ratios = self._ratios(equation) if terms else np.empty(0)
            for term in terms:
                parent = True
                sums = self._row_sums(term).sum()
                live = layout.live(equation, min(term.slice.lag, 0)) & ~np.isnan(ratios)
                at = np.flatnonzero(live) + term.slice.lag - layout.offset(variable.name)
                total[at] += sums * ratios[live]
                weight[at] += sums
        with np.errstate(invalid="ignore"):
            return total / weight if parent else None

    def _ratios(self, equation: Factorization) -> np.ndarray:
        """By slot of an equation, the sum of its known children over that of W · 1, NaN where none is known."""
        layout = self._layout
        sums = np.sum([self._row_sums(term) for term in equation.terms], axis=0)
        children, reconstructed = np.zeros((2, layout.count(equation)))
        live = np.flatnonzero(layout.live(equation))
        for child, part in zip(equation.children, equation.parts, strict=True):
            name = child.variable.name
            seen, covered = self._sums(child.variable, sums[part])
            at = live + child.lag - layout.offset(name)
            children[live] += seen[at]
            reconstructed[live] += covered[at]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(reconstructed > 0, children / reconstructed, np.nan)

    def _sums(self, variable: Variable, row_sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By column, the sum of a child's known entries, and the sum of W · 1 over their rows."""
        width = self._layout.width(variable.name)
        own = self._own.get(variable.name)
        if own is None:
            level = self._level(variable)
            if level is None:
                return np.zeros(width), np.zeros(width)
            known = ~np.isnan(level)
            return np.where(known, variable.size * level, 0.0), np.where(known, row_sums.sum(), 0.0)
        seen, covered = np.zeros((2, width))
        for number, one in enumerate(self._entries[variable.name]):
            place = slice(self._layout.slots(variable.name, number).start, None)
            seen[place][: one.sums.size] = one.sums
            covered[place][: one.sums.size] = row_sums.sum()
            if one.gaps.size:
                covered[place][one.gaps] = row_sums @ one.mask
        return seen, covered

    def _from_parents(self, variable: Variable) -> np.ndarray:
        """The mean over rows of W · level, of a variable that is only a child; NaN in columns that nothing touches."""
        layout = self._layout
        total, copies = np.zeros((2, layout.width(variable.name)))
        for equation in layout.network.factorizations:
            for child, part in zip(equation.children, equation.parts, strict=True):
                if child.variable != variable:
                    continue
                live = layout.live(equation)
                slots = np.flatnonzero(live) + child.lag - layout.offset(variable.name)
                copies[slots] += 1
                for term in equation.terms:
                    parent, lag = term.slice.variable, term.slice.lag
                    there = layout.live(equation, min(lag, 0)) & live
                    level = self.of(parent)[np.flatnonzero(there) + lag - layout.offset(parent.name)]
                    at = np.flatnonzero(there) + child.lag - layout.offset(variable.name)
                    total[at] += level * self._row_sums(term)[part].mean()
        with np.errstate(invalid="ignore"):
            return total / copies


def _known_entries(array: Any) -> KnownEntries:
    """Look at an array once; only the columns with hidden entries are looked at again."""
    sums = np.asarray(array.sum(axis=0, dtype=float))
    gaps = np.flatnonzero(np.isnan(sums))
    mask = ~np.isnan(array[:, gaps]) if gaps.size else np.empty((array.shape[0], 0), bool)
    if gaps.size:
        sums[gaps] = np.nansum(array[:, gaps], axis=0, dtype=float)
    return KnownEntries(sums, gaps, mask, array.shape[0] * array.shape[1] - int((~mask).sum()))
