"""The network as one linear system A y = 0, assembled from Kronecker products of shifts in time and parameters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.network import Factorization, Network, Slice, Term, Window

NEGLIGIBLE = 1e-15
"""Powers of a rate below this change no sum: they are left out."""


@dataclass(frozen=True, eq=False)
class System:
    """All equations of one sequence: `matrix @ y = 0`, a row for every component of every child at every time.

    y has the variables one after the other, each column by column; the rows have the equations likewise.
    """

    network: Network
    matrix: sp.csr_array
    columns: Mapping[str, range]
    """By variable, the times of its columns."""
    counts: Mapping[str, int]
    """By equation, its number of columns: it holds at times 0, 1, …"""

    @cached_property
    def places(self) -> dict[str, slice]:
        """By variable, where it lies in y."""
        return _consecutive({v.name: v.size * len(self.columns[v.name]) for v in self.network.variables})

    @cached_property
    def rows(self) -> dict[str, slice]:
        """By equation, its rows of the matrix."""
        return _consecutive({e.name: e.rows * self.counts[e.name] for e in self.network.factorizations})

    @cached_property
    def times(self) -> np.ndarray:
        """The time of every row."""
        return np.concatenate([np.repeat(np.arange(self.counts[e.name]), e.rows) for e in self.network.factorizations])

    def flat(self, values: Mapping[str, Any]) -> np.ndarray:
        """A number for every entry of y, from arrays (size, columns) by variable; NaN for all others."""
        y = np.full(self.matrix.shape[1], np.nan)
        for name, array in values.items():
            dense = array.toarray() if sp.issparse(array) else np.asarray(array)
            self._columnwise(y, name)[: dense.shape[1]] = dense.T
        return y

    def mask(self, names: Iterable[str]) -> np.ndarray:
        """Which entries of y belong to these variables."""
        chosen = np.zeros(self.matrix.shape[1], bool)
        for name in names:
            chosen[self.places[name]] = True
        return chosen

    def array(self, y: np.ndarray, name: str) -> np.ndarray:
        """The entries of a variable as an array (size, columns)."""
        return self._columnwise(y, name).T.copy()

    def touched(self) -> np.ndarray:
        """Which entries of y some equation touches."""
        found = np.zeros(self.matrix.shape[1], bool)
        for equation in self.network.factorizations:
            for piece in (*equation.children, *equation.parents):
                name = piece.variable.name
                start, stop = max(piece.lag, 0), max(self.counts[equation.name] + piece.lag, 0)
                first = self.columns[name].start
                self._columnwise(found, name)[max(start - first, 0) : max(stop - first, 0)] = True
        return found

    def _columnwise(self, y: np.ndarray, name: str) -> np.ndarray:
        return y[self.places[name]].reshape(len(self.columns[name]), self.network.variable(name).size)


def assemble(network: Network, parameters: Mapping[str, Any], length: int, given: Mapping[str, int]) -> System:
    """The system for T slices; `given` has the number of columns of every array that was observed."""
    touched = network.columns(length)
    columns = {
        name: range(max(given[name], span.stop)) if name in given else span for name, span in touched.variables.items()
    }
    blocks = [_one_equation(e, parameters, touched.equations[e.name], columns) for e in network.factorizations]
    rows = [
        [
            found.get(v.name, sp.csr_array((e.rows * touched.equations[e.name], v.size * len(columns[v.name]))))
            for v in network.variables
        ]
        for e, found in zip(network.factorizations, blocks, strict=True)
    ]
    matrix = sp.csr_array(sp.block_array(rows, format="csr"))
    matrix.eliminate_zeros()
    return System(network, matrix, columns, touched.equations)


def _one_equation(
    equation: Factorization, parameters: Mapping[str, Any], count: int, columns: Mapping[str, range]
) -> dict[str, Any]:
    """By variable, the coefficients of its entries in children − Σ W parents at every time."""
    pieces: dict[str, Any] = {}
    for child, part in zip(equation.children, equation.parts, strict=True):
        unit = sp.eye_array(equation.rows, child.variable.size, k=-part.start, format="csr")
        _add(pieces, child, _at_every_time(unit, child, count, columns))
    for term in equation.terms:
        weights = -sp.csr_array(parameters[term.parameter.name], dtype=float)
        block = _at_every_time(weights, term.slice, count, columns)
        if term.window is not None:
            block = sp.csr_array(block @ _written_out(term.window, term.slice.variable.size, columns[_name(term)]))
        _add(pieces, term.slice, block)
    return pieces


def _name(term: Term) -> str:
    return term.slice.variable.name


def _written_out(window: Window, size: int, span: range) -> Any:
    """What is seen of a variable through a window, at each of its times: a band as wide as the window is long."""
    rates = np.broadcast_to(window.rates, size).astype(float)
    reach = len(span) if window.length is None else min(window.length, len(span))
    powers = rates ** np.arange(reach)[:, None]
    powers = powers[(powers > NEGLIGIBLE).any(axis=1)]
    bands = [np.tile(power, len(span) - j) for j, power in enumerate(powers)]
    return sp.csr_array(sp.diags_array(bands, offsets=[-j * size for j in range(len(bands))]))


def _add(pieces: dict[str, Any], piece: Slice, block: Any) -> None:
    name = piece.variable.name
    pieces[name] = pieces[name] + block if name in pieces else block


def _at_every_time(matrix: Any, piece: Slice, count: int, columns: Mapping[str, range]) -> Any:
    """The matrix at every time at which the slice exists: before the first column it is zero."""
    span = columns[piece.variable.name]
    by = piece.lag - span.start
    times = np.arange(max(-by, 0), max(min(count, len(span) - by), 0))
    shift = sp.csr_array((np.ones(times.size), (times, times + by)), (count, len(span)))
    return sp.kron(shift, matrix, format="csr")


def _consecutive(sizes: Mapping[str, int]) -> dict[str, slice]:
    ends = np.cumsum(list(sizes.values())).tolist()
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
