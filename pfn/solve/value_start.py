"""Starting values of hidden variables from the data, where all matrices are known: what the observations reach.

Sweeps carry what is observed on by one slice each, and halve it on the way, as the mean with a copy that knows nothing
yet. Here what is not reached yet is missing instead: the right update counts the known children only
(pfn/updates/masked.py), and what is still missing becomes W H, from the observed slices outwards. Entries that can only
be zero are left out.
What is hidden in slices that are seen in part counts as zero on the way: filled in from the rest of its slice it would
more often have to be taken away again. It is not reached itself: it starts at the scale of its variable.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines import Layout
from pfn.network import Network
from pfn.solve.data import Observations
from pfn.solve.known_equations import Arrays, Due, Known, Piece, stacked
from pfn.solve.possible import possible
from pfn.updates.masked import masked_right_update, quotient

# How much of a draw between 0 and 1 is added to what the data say: what is zero could not grow.
TRACE = 1e-6

# A parent is reached if more than this share of its column of W is that of known children: it is scaled by those alone.
LEAST = 1e-3

Pieces = Mapping[str, Sequence[np.ndarray]]
"""By variable, an array for every sequence."""


def can_spread(network: Network, observations: Observations) -> bool:
    """Whether all terms are matrices, and no data are sparse, which may be too large for arrays."""
    windows = any(term.window for equation in network.factorizations for term in equation.terms)
    return not windows and not any(sp.issparse(array) for arrays in observations.arrays.values() for array in arrays)


def says_more(known: np.ndarray) -> bool:
    """Whether data (NaN: hidden) say what a sweep does not yet know: some are hidden, or zero."""
    hidden = np.isnan(known)
    return not hidden.all() and (bool(hidden.any()) or not known.all())


def reached_values(
    layout: Layout,
    parameters: Mapping[str, Any],
    drawn: Pieces,
    known: Pieces,
    *,
    ended: Callable[[], bool] = lambda: False,
) -> Pieces:
    """What the hidden variables start from, NaN where nothing is reached.

    `drawn` is random, between zero and one, for every hidden variable; `known` has some variables, with NaN for
    what is to be found. The user may have `ended` it: what was reached until then is right.
    """
    dtype = next(iter(drawn.values()))[0].dtype
    values = {v.name: np.zeros((v.size, layout.width(v.name)), dtype) for v in layout.network.variables}
    given = {name: np.zeros(array.shape, bool) for name, array in values.items()}
    for name, arrays in drawn.items():
        for number, array in enumerate(arrays):
            values[name][:, layout.slots(name, number)] = array
    for name, arrays in known.items():
        for number, array in enumerate(arrays):
            place = slice(None), layout.slots(name, number)
            there = given[name][place][:, : array.shape[1]]
            np.logical_not(np.isnan(array), out=there)
            np.copyto(values[name][place][:, : array.shape[1]], array, where=there)
    equations = [Known(equation, parameters, layout, dtype) for equation in layout.network.by_level]
    may = possible(equations, values, given, layout, ended)
    spread = Spread(equations, values, given, may)
    spread.run(ended)
    for name in drawn:
        gaps = given[name].any(axis=0) & ~given[name] & may[name]
        values[name][~spread.certain[name] | gaps] = np.nan
    return {
        name: [values[name][:, layout.slots(name, n)] + TRACE * array for n, array in enumerate(arrays)]
        for name, arrays in drawn.items()
    }


class Spread:
    """What is known so far, and the columns of every equation in which its children or its parents are newly known.

    `values` are drawn where nothing is given; they change in place, and are `certain` where they were reached.
    """

    def __init__(self, equations: Sequence[Known], values: Arrays, given: Arrays, may: Arrays) -> None:
        self._equations, self._values = equations, values
        self._known = {name: mask | mask.any(axis=0) for name, mask in given.items()}
        self.certain = {name: known | ~may[name] for name, known in self._known.items()}
        self._fixed = {name: certain.copy() for name, certain in self.certain.items()}
        for name, array in values.items():
            np.multiply(array, given[name] | ~self.certain[name], out=array)
        self._below = Due({equation: equation.children for equation in equations})
        self._above = Due({equation: equation.parents for equation in equations})
        for name, mask in given.items():
            self._announce(name, np.flatnonzero(mask.any(axis=0)))

    def run(self, ended: Callable[[], bool]) -> None:
        """Up and down, from the observed slices outwards, until nothing more is reached."""
        while self._below and not ended():
            for equation in self._equations:
                self._up(equation)
            for equation in reversed(self._equations):
                self._down(equation)

    def _announce(self, variable: str, at: np.ndarray) -> None:
        self._below.announce(variable, at)
        self._above.announce(variable, at)

    def _up(self, equation: Known) -> None:
        """A right update from the children that are known."""
        columns = self._below.take(equation)
        if columns.size:
            known = stacked(equation.children, self._known, columns, False)
            X = stacked(equation.children, self._values, columns, 0)
            H = stacked(equation.parents, self._values, columns, 0)
            H, weight = masked_right_update(X, known, equation.W, H, transposed=equation.transposed)
            self._put(equation.parents, columns, H, weight > LEAST * equation.sums)

    def _down(self, equation: Known) -> None:
        """W H where all of H is certain, for children that are not."""
        columns = self._above.take(equation)
        columns = columns[stacked(equation.parents, self.certain, columns, True).all(axis=0)]
        missing = ~stacked(equation.children, self.certain, columns, True)
        if missing.any():
            reconstruction = equation.W @ stacked(equation.parents, self._values, columns, 0)
            self._put(equation.children, columns, reconstruction, missing)

    def _put(self, pieces: Sequence[Piece], columns: np.ndarray, stack: np.ndarray, counts: np.ndarray) -> None:
        """Variables become the mean of their copies that count."""
        for name in dict.fromkeys(piece.variable for piece in pieces):
            copies = [(piece, piece.exists[columns]) for piece in pieces if piece.variable == name]
            places = [columns[there] + piece.shift for piece, there in copies]
            parts = [(stack[piece.rows, there], counts[piece.rows, there]) for piece, there in copies]
            if len(copies) == 1:
                self._take(name, places[0], *parts[0])
                continue
            at = np.unique(np.concatenate(places))
            total, number = np.zeros((2, self._values[name].shape[0], at.size), stack.dtype)
            for place, (values, counted) in zip(places, parts, strict=True):
                total[:, np.searchsorted(at, place)] += values * counted
                number[:, np.searchsorted(at, place)] += counted
            self._take(name, at, quotient(total, number), number > 0)

    def _take(self, name: str, at: np.ndarray, values: np.ndarray, found: np.ndarray) -> None:
        """Some columns of a variable, where they were found and are not observed."""
        found = found & ~self._fixed[name][:, at]
        new = (found & ~self._known[name][:, at]).any(axis=0)
        self._values[name][:, at] = np.where(found, values, self._values[name][:, at])
        self._known[name][:, at] |= found
        self.certain[name][:, at] |= found
        self._announce(name, at[new])
