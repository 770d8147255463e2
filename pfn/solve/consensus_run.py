"""A run of `Consensus`: observations and parameters in, sweeps, values out."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines import (
    BLAS,
    Errors,
    Layout,
    Statistics,
    Stretch,
    counted_entries,
    counted_in,
    dense,
    filled_in,
    has_hidden,
    refuse_dense,
)
from pfn.errors import OptionError
from pfn.exact import Agreement, Copies, Iteration, Plane
from pfn.network import Factorization
from pfn.solve.request import Answer, Request
from pfn.solve.start import Start
from pfn.solve.sweeps import Sweeps
from pfn.updates.maps import sparse_pays

ITERATIONS = {"numpy": ("pfn.exact.consensus", "Iteration"), "jax": ("pfn.exact.consensus_jax", "JaxIteration")}
"""Who sweeps, by engine; loaded on first use."""


def run(request: Request, method: Any) -> Answer:
    """Sweep until every sweep is done or a criterion to stop is met."""
    _refuse_options(request)
    return Sweeps(request, method, ConsensusRun(request), distance=True).run()


def _refuse_options(request: Request) -> None:
    if request.learned:
        raise OptionError(
            f"Consensus: parameter {min(request.learned)} is to be learned, but consensus needs known parameters. "
            "Use pfn.infer with its value in initial, or learn with method='propagate'."
        )
    for name, arrays in request.observations.arrays.items():
        refuse_dense(name, arrays, "consensus has copies of every entry")


class ConsensusRun:
    """All entries with their copies, in an iteration that sweeps on them."""

    def __init__(self, request: Request) -> None:
        self._request = request
        observed, lengths = request.observations.arrays, request.observations.lengths
        given = {name: [array.shape[1] for array in arrays] for name, arrays in observed.items()}
        self._copies = Copies(request.network, lengths, given)
        start = Start.of(request, 0.0).values()  # zero, but for what is given
        self._parameters = {p.name: start[p.name] for p in request.network.parameters}
        self._count()
        module, name = ITERATIONS[request.engine]
        make = getattr(import_module(module), name)
        self._iteration: Iteration = make(self._agreement(), self._planes(), [*self._counts.values()])
        self._iteration.begin(self._entries(start))

    def _agreement(self) -> Agreement:
        copies = self._copies
        known = self._flat(self._request.observations.arrays, np.nan)
        known[-1] = 0.0
        touched = np.bincount(copies.source, minlength=copies.entries) > 0
        self._untouched = ~touched & np.isnan(known)
        return Agreement(copies.source, known, [*copies.shapes.values()], copies.spans)

    def _planes(self) -> list[Plane]:
        return [Plane(self._matrix(equation)) for equation in self._request.network.factorizations]

    def _matrix(self, equation: Factorization) -> Any:
        """The parameters of an equation side by side, sparse where products with them are faster so."""
        dtype = self._request.dtype
        parts = [sp.csr_array(self._parameters[p.name], dtype=dtype) for p in equation.parameters]
        matrix = sp.csr_array(sp.hstack(parts))
        columns = self._copies.shapes[equation.name][1]
        return matrix if sparse_pays(matrix.shape, matrix.nnz, columns) else matrix.toarray()

    def _count(self) -> None:
        """The weight of every column of an equation in its error, or of every entry where some do not count."""
        observations, network = self._request.observations, self._request.network
        layout = Layout(network, observations.lengths, observations.arrays)
        hidden = [variable.name for variable in network.variables if observations.hides(variable.name)]
        filled = filled_in(layout, observations.arrays, hidden)
        self.entries = counted_entries(layout, filled, self._request.weights)
        self._counts: dict[str, np.ndarray] = {}
        for equation in network.factorizations:
            given = self._request.weights.get(equation.name)
            counts = np.ones(self._copies.shapes[equation.name][1]) if given is None else np.concatenate(given)
            counted = counted_in(equation, layout, filled)
            self._counts[equation.name] = counts if counted is None else counted[:, layout.live(equation)] * counts

    def _entries(self, start: Mapping[str, Any]) -> np.ndarray:
        """Zero throughout, or what was given with the observations: so a solution that is given stays."""
        variables = {v.name: start[v.name] for v in self._request.network.variables if v.name in start}
        if not variables.keys() & self._request.initial.keys():
            return self._flat({}, 0.0)
        known = self._flat(self._request.observations.arrays, np.nan)
        return np.where(np.isnan(known), self._flat(variables, 0.0), known)

    def _flat(self, arrays: Mapping[str, Any], otherwise: float) -> np.ndarray:
        """A number for every entry, from an array per sequence by variable."""
        flat = np.full(self._copies.entries, otherwise, self._request.dtype)
        for name, pieces in arrays.items():
            for number, piece in enumerate(pieces):
                self._copies.array(flat, name, number)[:, : piece.shape[1]] = dense(piece)
        return flat

    @property
    def pace(self) -> int:
        """How many sweeps to ask for at a time."""
        return self._iteration.pace

    def advance(self, stretch: Stretch) -> list[Errors]:
        """Sweeps up to the first after which a criterion to stop is met; the errors after each."""
        met = np.full(len(self.entries), -1.0)  # no square is below it
        if stretch.tolerance is not None:
            met = np.array([count * stretch.tolerance**2 for count in self.entries.values()])
        with BLAS:  # its products are small: threads would only wait for each other
            found = self._iteration.advance(stretch.count, met)
        return [self._errors(row) for row in found]

    def _errors(self, figures: np.ndarray) -> Errors:
        """The squared distance between the two sets stands for the divergence: it tends to zero, or to the least."""
        squared = dict(zip(self._counts, figures[:-1].tolist(), strict=True))
        return Errors.of(squared, self.entries, float(figures[-1]))

    def variable(self, name: str) -> list[Any]:
        """The values of a variable, one array per sequence; columns that nothing touches are NaN if hidden."""
        observed = self._request.observations.arrays.get(name)
        if observed is not None and not any(map(has_hidden, observed)):
            return [array.copy() for array in observed]
        entries = self._iteration.entries()
        entries[self._untouched] = np.nan
        return [self._copies.array(entries, name, number).copy() for number in range(len(self._copies.blocks[name]))]

    def parameter(self, name: str) -> Any:
        """The matrix of a parameter."""
        return self._parameters[name]

    def statistics(self, _sparseness: Mapping[str, float]) -> dict[str, Statistics]:
        """None: nothing is learned."""
        return {}

    def save_state(self) -> dict[str, np.ndarray]:
        """Everything that the next sweep depends on."""
        return self._iteration.save()

    def load_state(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue where `save_state` left off."""
        self._iteration.load(saved)

    def close(self) -> None:
        """Give all memory back but that of the values themselves; no sweep can follow."""
        self._iteration.close()
