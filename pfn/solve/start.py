"""Starting values: what the user gave, and random draws for the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines import Layout
from pfn.errors import DataError, DeclarationError, OptionError
from pfn.network import Network, Parameter, Term, Variable
from pfn.network.matrices import on_pattern, sound_sparse
from pfn.solve.column_start import Slices
from pfn.solve.data import Observations, check_real, find, largest_value, numbers, plain_start, refuse_bad_entries
from pfn.solve.hidden_scale import NO_DATA, HiddenScale
from pfn.solve.request import Request
from pfn.solve.value_start import can_spread, reached_values, says_more
from pfn.updates import normalize
from pfn.updates.maps import SparseEntries

# In an inference with known parameters hidden values start at this share of the largest observation: what the data do
# not ask for, such as births in slices that nobody has seen, stays near zero. Learning cannot start so, as parameters
# would have to make up for it.
QUIET = 1e-6


def named_initial(network: Network, initial: object, observations: Observations) -> dict[str, Any]:
    """The starting values by name; tables are put in order; keys that are no variables or parameters are refused."""
    if initial is None:
        return {}
    if not isinstance(initial, Mapping):
        raise OptionError(
            f"initial must be a mapping such as {{h: array}}, found {type(initial).__name__}. To start from a result: "
            f"{{W: result[W]}} for what is wanted of it."
        )
    named = {}
    for key, values in initial.items():
        item = find(network, key, "initial")
        if not isinstance(item, Variable | Parameter):
            raise DataError(f"initial: {item.name} is an equation; give starting values for variables or parameters.")
        if item.name in named:
            raise DataError(f"initial has {item.name} twice, by object and by name. Give it once.")
        named[item.name] = plain_start(network, item, values, observations)
    return named


@dataclass(frozen=True)
class Start:
    """Draws and checks the starting values of a run, in the order of the declarations."""

    network: Network
    observations: Observations
    initial: Mapping[str, Any]
    learned: frozenset[str]
    released: frozenset[str]
    scale: float | None  # hidden values are drawn between 0 and this; None: at the scale of the data
    dtype: np.dtype[Any]
    generator: np.random.Generator
    weights: Mapping[str, Sequence[np.ndarray]] = field(default_factory=dict)
    quiet: bool = False  # inference starts near zero, so that values that the data do not ask for stay there
    from_data: bool = False  # values that are not given start from what the data say, where they do
    ended: Callable[[], bool] = lambda: False  # whether the user wants no more

    @classmethod
    def of(
        cls,
        request: Request,
        scale: float | None,
        *,
        released: frozenset[str] = frozenset(),
        from_data: bool = False,
        quiet: bool = False,
    ) -> "Start":
        """The start of a run that answers the request; restarts are drawn, or they would all find the same."""
        return cls(
            network=request.network,
            observations=request.observations,
            initial=request.initial,
            learned=request.learned,
            released=released,
            scale=scale,
            dtype=request.dtype,
            generator=request.generator(),
            weights=request.weights,
            quiet=quiet,
            from_data=from_data and not request.drawn,
            ended=lambda: request.interruption.requested,
        )

    def values(self) -> dict[str, Any]:
        """By variable an array per sequence, by parameter a matrix; not for what is observed throughout."""
        hidden = [variable for variable in self.network.variables if self._is_hidden(variable)]
        drawn = {v.name: self._drawn(v) for v in hidden}
        start: dict[str, Any] = self.parameters()
        if self.from_data and self.learned:
            start |= self._from_slices(start)
        self._normalize_drawn(start)
        known = {v.name: self._known(v) for v in self.network.variables}
        known = {name: arrays for name, arrays in known.items() if arrays}
        layout = Layout(self.network, self.observations.lengths, self.observations.arrays)
        values = self._scaled(drawn, start, self.observations.arrays or known, layout)
        if self.from_data and not self.learned and hidden:
            self._put(values, self._reached(start, drawn, known, layout), known)
        for name, arrays in known.items():
            if name in self.initial and name in values:
                self._put(values, {name: arrays}, {})
        return values | start

    def _scaled(
        self,
        drawn: Mapping[str, list[np.ndarray]],
        parameters: Mapping[str, Any],
        known: Mapping[str, Any],
        layout: Layout,
    ) -> dict[str, list[np.ndarray]]:
        """The draws of all hidden variables at the scale given, or with the scale of the data as their mean.

        In an inference that is to be `quiet` they stay far below that.
        """
        if self.scale is not None:
            return {name: [(self.scale * unit).astype(self.dtype) for unit in units] for name, units in drawn.items()}
        if self.quiet and not self.learned:
            quiet = QUIET * (largest_value(self.observations) or NO_DATA)
            return {name: [(quiet * unit).astype(self.dtype) for unit in units] for name, units in drawn.items()}
        scale = HiddenScale(layout, known, partial(_row_sums, parameters, max(map(layout.width, drawn), default=0)))
        found = {}
        with np.errstate(over="ignore"):  # overflow is looked for in the errors after a sweep
            for name, units in drawn.items():
                level = 2 * scale.of(self.network.variable(name))
                found[name] = [
                    (unit * level[layout.slots(name, number)]).astype(self.dtype) for number, unit in enumerate(units)
                ]
        return found

    def _put(self, values: dict[str, list[np.ndarray]], found: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        """Replace values by those found, where they are no NaN and nothing is known."""
        for name, arrays in found.items():
            for number, (array, value) in enumerate(zip(values[name], arrays, strict=True)):
                new = ~np.isnan(value)
                if name in known:
                    seen = known[name][number]
                    new[:, : seen.shape[1]] &= np.isnan(seen)
                np.copyto(array[:, : value.shape[1]], value, where=new)

    def _from_slices(self, start: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """By parameter, what replaces a draw."""
        slices = Slices(
            network=self.network,
            observations=self.observations,
            weights=self.weights,
            drawn={p.name: start[p.name] for p in self.network.parameters if self._is_drawn(p) and not p.sparse},
            whole=frozenset(v.name for v in self.network.variables if not self._is_hidden(v)),
            given=frozenset([*self.initial, *self.observations.arrays]),
        )
        return {name: value.astype(self.dtype) for name, value in slices.starts().items()}

    def _reached(
        self, parameters: Mapping[str, Any], drawn: Mapping[str, Any], known: Mapping[str, Any], layout: Layout
    ) -> Mapping[str, Sequence[np.ndarray]]:
        """By hidden variable, what is reached from the observations and what the user gave; NaN elsewhere."""
        if not can_spread(self.network, self.observations):
            return {}
        if not any(says_more(array) for arrays in known.values() for array in arrays):
            return {}
        units = {name: [unit.astype(self.dtype) for unit in arrays] for name, arrays in drawn.items()}
        with np.errstate(all="ignore"):  # overflow is looked for in the errors after a sweep
            return reached_values(layout, parameters, units, known, ended=self.ended)

    def _known(self, variable: Variable) -> Sequence[np.ndarray]:
        """By sequence, what is observed or else given, NaN where nothing is; nothing at all of other variables."""
        observed = self.observations.arrays.get(variable.name, ())
        if variable.name not in self.initial:
            return observed
        arrays = [np.full((variable.size, columns), np.nan, self.dtype) for columns in self._widths(variable)]
        for array, piece in zip(arrays, self._given(variable), strict=True):
            array[...] = _given(piece, array, f"initial: {variable.name}", self.dtype)
        if not self._is_hidden(variable):
            return observed
        for array, seen in zip(arrays, observed, strict=False):
            np.copyto(array[:, : seen.shape[1]], seen, where=~np.isnan(seen))
        return arrays

    def _is_drawn(self, parameter: Parameter) -> bool:
        return parameter.name in self.learned and parameter.value is None and parameter.name not in self.initial

    def parameters(self) -> dict[str, Any]:
        """The matrix of every parameter, before a random one is normalized."""
        return {p.name: self._parameter(p) for p in self.network.parameters}

    def _is_hidden(self, variable: Variable) -> bool:
        return variable.name in self.released or self.observations.hides(variable.name)

    def _drawn(self, variable: Variable) -> list[np.ndarray]:
        """By sequence, a draw between 0 and 1 for every entry."""
        return [1 - self.generator.random((variable.size, columns)) for columns in self._widths(variable)]

    def _given(self, variable: Variable) -> list[Any]:
        """By sequence, what the user gave to start from, or None."""
        if variable.name not in self.initial:
            return [None] * len(self.observations.lengths)
        return self.observations.per_sequence(self.initial[variable.name], f"initial: {variable.name}")

    def _widths(self, variable: Variable) -> list[int]:
        """The number of columns in every sequence."""
        touched = [self.network.columns(length).variables[variable.name] for length in self.observations.lengths]
        arrays = self.observations.arrays.get(variable.name)
        if arrays is None:
            return [len(columns) for columns in touched]
        return [max(a.shape[1], columns.stop) for a, columns in zip(arrays, touched, strict=True)]

    def _parameter(self, parameter: Parameter) -> Any:
        given = self.initial.get(parameter.name)
        if given is None and parameter.value is not None:
            return parameter.value.astype(self.dtype, copy=False)
        if given is None and parameter.name not in self.learned:
            raise DataError(
                f"parameter {parameter.name} is unknown, and inference leaves parameters as they are. "
                f"Use pfn.learn, or give its value: initial={{{parameter.name!r}: matrix}}."
            )
        if not parameter.learn:
            raise DataError(
                f"initial: parameter {parameter.name} is known, so it has no starting value. "
                "Declare it with learn=True to start from a value."
            )
        if given is not None and (parameter.sparse or sp.issparse(given)):
            return _sparse_start(parameter, given, self.dtype)
        if parameter.pattern is not None:
            return _drawn_on(parameter, self.generator).astype(self.dtype)
        drawn = 1 - self.generator.random(parameter.shape)
        values = drawn if given is None else _given(given, drawn, f"initial: {parameter.name}", self.dtype)
        return values.astype(self.dtype)

    def _normalize_drawn(self, start: dict[str, Any]) -> None:
        """A random start is normalized; given values are taken as given."""
        done: set[str] = set()
        for equation in self.network.factorizations:
            drawn = [p for p in dict.fromkeys(equation.parameters) if self._is_drawn(p) and p.name not in done]
            uses = [equation.parameters.count(p) for p in drawn]
            if drawn:
                normalize([_entries(start[p.name]) for p in drawn], equation.normalize, equation.parts, uses)
            done.update(p.name for p in drawn)


def _row_sums(parameters: Mapping[str, Any], slices: int, term: Term) -> np.ndarray:
    """The reconstruction of a term from parents that are all one, in the middle of a sequence of `slices`."""
    W = parameters[term.parameter.name]
    if term.window is None:
        return np.asarray(W.sum(axis=1), dtype=float).ravel()
    length = min(slices, term.window.length or slices)
    gains = [sum(rate**j for j in range(length)) for rate in term.window.rates]
    return np.asarray(W @ np.broadcast_to(gains, term.slice.variable.size), dtype=float)


def _given(piece: object, drawn: np.ndarray, what: str, dtype: np.dtype[Any]) -> np.ndarray:
    """The given values, with the drawn ones where they are NaN."""
    array = numbers(piece, what)
    if array.shape != drawn.shape:
        raise DataError(f"{what}: expected the shape {drawn.shape}, found {array.shape}.")
    converted = array.astype(dtype)
    refuse_bad_entries(converted, array, what)
    return np.where(np.isnan(converted), drawn, converted)


def _drawn_on(parameter: Parameter, generator: np.random.Generator) -> Any:
    """A random matrix on the pattern of a parameter; tied entries are equal."""
    pattern, groups = parameter.pattern, parameter.groups
    assert pattern is not None  # the caller has looked
    drawn = 1 - generator.random(pattern.nnz if groups is None else int(groups.max(initial=-1)) + 1)
    return sp.csr_array((drawn if groups is None else drawn[groups], pattern.indices, pattern.indptr), pattern.shape)


def _entries(matrix: Any) -> Any:
    """What normalizations work on, in place."""
    return SparseEntries(matrix.data, matrix) if sp.issparse(matrix) else matrix


def _sparse_start(parameter: Parameter, given: object, dtype: np.dtype[Any]) -> Any:
    what = f"initial: {parameter.name}"
    matrix = sp.csr_array(sound_sparse(given, what, DataError) if sp.issparse(given) else numbers(given, what))
    check_real(matrix.dtype, what)
    matrix = matrix.astype(dtype, copy=True)
    matrix.sum_duplicates()
    if matrix.shape != parameter.shape:
        raise DataError(f"initial: {parameter.name}: expected the shape {parameter.shape}, found {matrix.shape}.")
    if not (np.isfinite(matrix.data) & (matrix.data >= 0)).all():
        raise DataError(f"initial: {parameter.name}: stored entries must be finite and non-negative.")
    if parameter.pattern is None:
        return matrix
    try:
        return on_pattern(matrix, parameter.pattern, parameter.groups, f"initial: {parameter.name}")
    except DeclarationError as error:
        raise DataError(str(error)) from error
