"""Starting values of hidden variables from the data, where all matrices are known: what the observations reach.

Sweeps carry what is observed on by one slice each, and halve it on the way, as the mean with a copy that knows nothing
yet. Here what is not reached yet is missing instead: the right update counts the known children only,

    H ← H · (Wᵀ (known · X / (W H))) / (Wᵀ known)

and what is still missing becomes W H, from the observed slices outwards. Entries that can only be zero are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines import Layout
from pfn.network import Network
from pfn.solve.data import Observations
from pfn.solve.known_equations import Arrays, Due, Known, Piece, stacked
from pfn.solve.possible import FARTHEST, possible

# How much of a draw between 0 and 1 is added to what the data say: what is zero could not grow.
TRACE = 1e-6

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


def reached_values(layout: Layout, parameters: Mapping[str, Any], shares: Pieces, known: Pieces) -> Pieces:
    """What the hidden variables start from, NaN where nothing is reached.

    `shares` are random, between zero and one, for every hidden variable; `known` has some variables, with NaN for what
    is to be found.
    """
    dtype = next(iter(shares.values()))[0].dtype
    values = {v.name: np.zeros((v.size, layout.width(v.name)), dtype) for v in layout.network.variables}
    given = {name: np.zeros(array.shape, bool) for name, array in values.items()}
    for name, arrays in [*shares.items(), *known.items()]:
        for number, array in enumerate(arrays):
            place = slice(None), layout.slots(name, number)
            there = ~np.isnan(array)
            np.copyto(values[name][place], array, where=there)
            if name in known:
                given[name][place] = there
    equations = [Known(equation, parameters, layout, dtype) for equation in layout.network.by_level]
    with np.errstate(all="ignore"):  # overflow is looked for in the errors after a sweep
        spread = Spread(equations, values, given, possible(equations, values, given, layout))
        spread.run()
    certain = {name: np.where(spread.certain[name], values[name], np.nan) for name in shares}
    return {
        name: [certain[name][:, layout.slots(name, n)] + TRACE * share for n, share in enumerate(arrays)]
        for name, arrays in shares.items()
    }


class Spread:
    """What is known so far, and the columns of every equation in which its children or its parents are newly known.

    `values` are drawn where nothing is given; they change in place, and are `certain` where they were reached.
    """

    def __init__(self, equations: Sequence[Known], values: Arrays, given: Arrays, may: Arrays) -> None:
        self._equations, self._values, self._given, self._may = equations, values, given, may
        self._known = {name: mask.copy() for name, mask in given.items()}
        self.certain = {name: mask | ~may[name] for name, mask in given.items()}
        for name, array in values.items():
            np.multiply(array, given[name] | may[name], out=array)
        self._below = Due({equation: equation.children for equation in equations})
        self._above = Due({equation: equation.parents for equation in equations})
        for name, mask in given.items():
            self._announce(name, np.flatnonzero(mask.any(axis=0)))

    def run(self) -> None:
        """Up and down, from the observed slices outwards, until nothing more is reached."""
        for _ in range(FARTHEST):
            if not self._below:
                return
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
            known = stacked(equation.children, self._known, columns, False).astype(equation.W.dtype)
            X = stacked(equation.children, self._values, columns, 0) * known
            H = stacked(equation.parents, self._values, columns, 0)
            weight = equation.transposed @ known
            H *= ratio(equation.transposed @ ratio(X, equation.W @ H), weight)
            self._put(equation.parents, columns, H, weight > 0)

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
            self._take(name, at, ratio(total, number), number > 0)

    def _take(self, name: str, at: np.ndarray, values: np.ndarray, found: np.ndarray) -> None:
        """Some columns of a variable, where they were found and are not observed."""
        found = found & self._may[name][:, at] & ~self._given[name][:, at]
        new = (found & ~self._known[name][:, at]).any(axis=0)
        self._values[name][:, at] = np.where(found, values, self._values[name][:, at])
        self._known[name][:, at] |= found
        self.certain[name][:, at] |= found
        self._announce(name, at[new])


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Zero where there is nothing to divide by."""
    found: np.ndarray = np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
    return found
