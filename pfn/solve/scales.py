"""Scales that nothing fixes, and their choice: learned columns that sum to 1.

W H = (W C⁻¹) (C H) for every diagonal C > 0: the sizes of W and of H are not determined. In a network, every component
j of a variable v may have a factor c[v, j] > 0 of its own,

    v_j ← c[v, j] · v_j        W ← D_children W D_parent⁻¹        with the factors of stacked children and parent

and every equation stays what it was but for the units of its rows, as long as each matrix may become what this makes
of it. So

- a component has the factor 1 if some entry of it was observed, if its variable started from values of the user, or if
  its variable is never a parent (no column is scaled with it);
- a known matrix stays: each of its entries that is not zero ties two components, c[child, i] = c[parent, j];
- a learned matrix may be rescaled, unless the user started it, a prior pulls it, a function adjusts it, entries of it
  are equal by declaration or several terms use it: then all components of its terms have the factor 1;
- normalized columns fix the factors of their parents and of their children. `normalize="balanced"`, which leaves the
  sums of columns as they are, fixes those of the children only;
- sparseness θ mixes the parents of an equation by S = (1 − θ) I + θ/R 1, which commutes with a common factor only: it
  ties all of their components.

Lags of a variable, windows over its past (one rate a component) and sequences share its factors. Tied components have
one factor, so factors belong to classes of components. Each class that nothing fixes gets one, from the bottom of the
network up: of its lowest variable that is a parent of learned matrices, the columns in the first equation where it is
one, summed over the terms with that variable, sum to 1 in the mean over the class. Most classes are a single component:
its column sums to 1.

Where hidden children are scaled, so are their errors, children − W parents.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pfn.engines import Layout, Statistics, dense
from pfn.network import Factorization, Network, Parameter, Variable
from pfn.solve.data import Observations
from pfn.solve.history import History
from pfn.solve.methods import Propagate
from pfn.solve.propagation import smoothed
from pfn.solve.request import Answer, Method, Request
from pfn.solve.statistics import Memory
from pfn.updates.maps import row_of_each_entry
from pfn.updates.windows import WindowSums

Factors = dict[str, np.ndarray]
"""By variable, a number for every component."""


class Scales:
    """The components of a network whose scale nothing fixes, and those that have one scale in common."""

    def __init__(
        self, network: Network, free: frozenset[str], fixed: Mapping[str, np.ndarray], mixed: frozenset[str]
    ) -> None:
        """`free` names parameters that may be rescaled, `mixed` equations with sparseness; `fixed` has components."""
        self.network, self._free = network, free
        sizes = [variable.size for variable in network.variables]
        ends = np.cumsum([0, *sizes]).tolist()
        self._places = {v.name: np.arange(*pair) for v, pair in zip(network.variables, pairwise(ends), strict=True)}
        pinned = np.zeros(ends[-1], dtype=bool)
        for variable in network.bottom:
            pinned[self._places[variable.name]] = True
        for name, components in fixed.items():
            pinned[self._places[name]] |= components
        ties: list[tuple[np.ndarray, np.ndarray]] = []
        for equation in network.factorizations:
            ties += self._ties(equation, mixed=equation.name in mixed)
            for places in self._pinned_by(equation):
                pinned[places] = True
        count, self._classes = len(pinned), np.arange(len(pinned))
        if ties:
            one, other = np.hstack(ties)
            links = sp.coo_array((np.ones(len(one)), (one, other)), (len(pinned), len(pinned)))
            count, self._classes = connected_components(links, directed=False)
        self._open = np.ones(count, dtype=bool)  # the classes that nothing fixes
        self._open[self._classes[pinned]] = False

    def is_free(self, variable: str) -> np.ndarray:
        """For every component of a variable, whether nothing fixes its scale."""
        return np.asarray(self._open[self._classes[self._places[variable]]])

    def _rows(self, equation: Factorization) -> np.ndarray:
        """The component that every row of the stacked children is."""
        return np.concatenate([self._places[child.variable.name] for child in equation.children])

    def _ties(self, equation: Factorization, *, mixed: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs of components with equal factors."""
        rows, parents = self._rows(equation), [self._places[parent.variable.name] for parent in equation.parents]
        for parameter, columns in zip(equation.parameters, parents, strict=True):
            if not parameter.learn:
                assert parameter.value is not None  # it is known
                i, j = parameter.value.nonzero()
                yield rows[i], columns[j]
        if mixed:
            everything = np.concatenate(parents)
            yield everything[:-1], everything[1:]

    def _pinned_by(self, equation: Factorization) -> Iterator[np.ndarray]:
        """The components that a learned matrix of the equation gives the factor 1."""
        for term in equation.terms:
            if term.parameter.learn:
                rescaled = term.parameter.name in self._free
                if not rescaled or equation.normalize not in (None, "balanced"):
                    yield self._places[term.slice.variable.name]
                if not rescaled or equation.normalize is not None:
                    yield self._rows(equation)

    def choose(self, parameters: Mapping[str, Any]) -> Factors:
        """By variable, the factors that make columns sum to 1; `parameters` has the matrices by name."""
        factors = np.ones(len(self._open))  # by class
        waiting = self._open.copy()
        order = [variable for level in self.network.levels for variable in level]
        for lowest in order:
            now = np.zeros_like(waiting)
            now[self._classes[self._places[lowest.name]]] = True
            now &= waiting
            waiting &= ~now
            for variable in order:
                classes = self._classes[self._places[variable.name]]
                sums = self._column_sums(variable, parameters, factors) if now[classes].any() else None
                if sums is not None:
                    counts = np.bincount(classes, minlength=len(now))
                    means = np.bincount(classes, sums, minlength=len(now)) / np.maximum(counts, 1)
                    # The reciprocal of a subnormal number overflows: such a column is gone, as one of zeros is.
                    usual = now & (means >= np.finfo(float).tiny) & np.isfinite(means)
                    factors[usual] = means[usual]
                    now &= counts == 0
        return {name: factors[self._classes[places]] for name, places in self._places.items()}

    def _column_sums(self, variable: Variable, parameters: Mapping[str, Any], factors: np.ndarray) -> np.ndarray | None:
        """The sums of columns in the first equation where the variable is a parent of learned matrices."""
        for equation in self.network.factorizations:
            terms = [term for term in equation.terms if term.slice.variable == variable]
            learned = [term.parameter.name for term in terms if term.parameter.name in self._free]
            if learned:
                by = factors[self._classes[self._rows(equation)]]
                sums: np.ndarray = np.sum([parameters[name].T.astype(float) @ by for name in learned], axis=0)
                return sums
        return None


def with_scales(request: Request, method: Method, answer: Answer) -> Answer:
    """The answer with learned columns that sum to 1 where nothing fixes their scale; values change in place."""
    network, memory = request.network, answer.memory
    fixed = {v.name: np.full(v.size, v.name in request.initial) for v in network.variables}
    fixed |= {name: fixed[name] | seen for name, seen in observed_components(network, request.observations).items()}
    if memory is not None:  # no values are kept, so the errors of hidden children could not be scaled with them
        children = {child.variable for equation in network.factorizations for child in equation.children}
        fixed = {v.name: memory.fixed.get(v.name, fixed[v.name]) | (v in children) for v in network.variables}
    scales = Scales(network, free_parameters(request, method), fixed, _mixed(request, method))
    factors = scales.choose(answer.values)
    squared_error, ratios = answer.squared_error, {}
    for equation in network.factorizations if memory is None else ():
        by = _of_rows(equation, factors)
        if (by != 1).any():
            squares = _squares(equation, request, answer)
            before, after = float(squares.sum()), float(squares @ by**2)
            ratios[equation.name] = (after / before) ** 0.5 if before > 0 else 1.0
            squared_error += after - before
    return replace(
        answer,
        values=_scaled_values(network, answer.values, factors),
        rmse={name: error * ratios.get(name, 1.0) for name, error in answer.rmse.items()},
        squared_error=squared_error,
        history=History(
            answer.history.iterations,
            {name: answer.history[name] * ratios.get(name, 1.0) for name in answer.history},
            answer.history.divergence,
        ),
        memory=None if memory is None else _scaled_memory(scales, memory, answer.values, factors),
    )


def free_parameters(request: Request, method: Method) -> frozenset[str]:
    """The learned parameters whose size nothing fixes."""
    network = request.network
    uses = [parameter.name for equation in network.factorizations for parameter in equation.parameters]
    adjusted = {getattr(key, "name", key) for key in getattr(method, "adjust", ())}

    def is_free(parameter: Parameter) -> bool:
        given = parameter.value is not None or parameter.name in request.initial or parameter.name in adjusted
        tied = parameter.groups is not None or uses.count(parameter.name) > 1
        return not given and not tied and not parameter.prior_weight

    return frozenset(p.name for p in network.parameters if p.name in request.learned and is_free(p))


def observed_components(network: Network, observations: Observations) -> dict[str, np.ndarray]:
    """By observed variable that is a parent, the components of which some entry was observed."""
    found = {}
    for name in observations.arrays.keys() - {variable.name for variable in network.bottom}:
        pieces = observations.arrays[name]
        seen = [True if sp.issparse(piece) else ~np.isnan(piece).all(axis=1) for piece in pieces]
        found[name] = np.logical_or.reduce(np.broadcast_arrays(*seen, np.zeros(network.variable(name).size, bool)))
    return found


def _mixed(request: Request, method: Method) -> frozenset[str]:
    """The equations with sparseness."""
    return smoothed(request, method.named(request.network)) if isinstance(method, Propagate) else frozenset()


def _of_rows(equation: Factorization, factors: Factors) -> np.ndarray:
    """The factor of every row of the stacked children."""
    return np.concatenate([factors[child.variable.name] for child in equation.children])


def _scaled_values(network: Network, values: Mapping[str, Any], factors: Factors) -> dict[str, Any]:
    """All values in their new scales: those of variables in place, new matrices."""
    scaled = dict(values)
    for variable in network.variables:
        by = factors[variable.name][:, None]
        if variable.name in values and (by != 1).any():
            found = values[variable.name]
            scaled[variable.name] = [_times(a, by) for a in found] if isinstance(found, list) else _times(found, by)
    for equation in network.factorizations:
        for term in equation.terms:
            rows, columns = _of_rows(equation, factors), factors[term.slice.variable.name]
            if term.parameter.learn and ((rows != 1).any() or (columns != 1).any()):
                matrix = values[term.parameter.name]
                if sp.issparse(matrix):
                    by = rows[row_of_each_entry(matrix)] / columns[matrix.indices]
                    data = (matrix.data * by).astype(matrix.dtype)
                    new = sp.csr_array((data, matrix.indices, matrix.indptr), matrix.shape)
                else:
                    new = (matrix * (rows[:, None] / columns)).astype(matrix.dtype)
                scaled[term.parameter.name] = new
    return scaled


def _times(array: np.ndarray, by: np.ndarray) -> np.ndarray:
    """The product, in the array itself where it can be changed."""
    out = array if array.flags.writeable else np.empty_like(array)
    np.multiply(array, by, out=out, casting="same_kind")
    return out


def _scaled_memory(scales: Scales, memory: Memory, values: Mapping[str, Any], factors: Factors) -> Memory:
    """Averages that lead to the matrices in their new scales, and the components that are never to be scaled.

    A left update is W · (A Hᵀ) / (B Hᵀ): W · (A Hᵀ) stays, and B Hᵀ goes with H.
    """
    sums = dict(memory.sums)
    for equation in scales.network.factorizations:
        for term in equation.terms:
            name, by = term.parameter.name, factors[term.slice.variable.name]
            if name in sums and (by != 1).any():
                products, denominators = sums[name]
                columns = by[values[name].indices] if sp.issparse(values[name]) else by
                sums[name] = Statistics(products, (denominators * columns).astype(denominators.dtype))
    fixed = {variable.name: ~scales.is_free(variable.name) for variable in scales.network.variables}
    return replace(memory, sums=sums, fixed=fixed)


def _squares(equation: Factorization, request: Request, answer: Answer) -> np.ndarray:
    """For every row of the stacked children, the summed squares of children − W parents."""
    network, observations = request.network, request.observations
    total = np.zeros(equation.rows)
    for number, length in enumerate(observations.lengths):
        count = network.columns(length).equations[equation.name]
        layout = Layout(network, [length], {name: [arrays[number]] for name, arrays in observations.arrays.items()})
        values = {v.name: answer.values[v.name] for v in network.variables}
        if observations.listed:
            values = {name: arrays[number] for name, arrays in values.items()}
        R = np.zeros((equation.rows, count))
        for term in equation.terms:
            seen = dense(values[term.slice.variable.name])
            if term.window is not None:  # what no equation touches is NaN, and seen by none
                seen = WindowSums(np.array(term.window.rates), [term.window.length], seen.shape).apply(
                    np.nan_to_num(seen)
                )
            parents = layout.view(seen, term.slice, count)
            R[:, count - parents.shape[1] :] += answer.values[term.parameter.name] @ parents
        weights = request.weights[equation.name][number] if equation.name in request.weights else np.ones(count)
        for child, part in zip(equation.children, equation.parts, strict=True):
            error = dense(layout.view(values[child.variable.name], child, count)) - R[part]
            total[part] += error**2 @ weights
    return total
