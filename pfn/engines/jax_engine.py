"""The JAX engine: sweeps compiled as one program, many of them in one call, on the device that JAX chooses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines.counted import counted_entries, filled_in
from pfn.engines.fixed import fixed_variables
from pfn.engines.jax_data import Data, level_counts, make_data, start_values
from pfn.engines.jax_devices import Devices, check_devices, has_accelerator, numbers
from pfn.engines.jax_loop import UNMEASURED, Control, State, advance, fit_levels, statistics
from pfn.engines.jax_plan import make_plan
from pfn.engines.layout import Layout
from pfn.engines.problem import Errors, Problem, Statistics
from pfn.engines.slots import load, save, values_by_sequence
from pfn.engines.stretch import MOST_SWEEPS, Stretch, pace_after
from pfn.errors import OptionError
from pfn.updates.momentum import FLOOR
from pfn.updates.padding import padded

# So many in the first call, whose duration is not known yet, and in every call of several processes, which must agree.
FIRST_SWEEPS = 16

# An accelerator that is asked after every sweep whether to go on waits for the question as long as for some products;
# and in a program of two sweeps, values now and before change places without being copied.
SWEEPS_UNASKED = 2

# The numbers of a run whose last axis is columns.
_BY_COLUMNS = ("fixed", "observed", "columns", "parent_counts", "child_counts")


class JaxRun:
    """A run of Algorithm 1 on a device."""

    def __init__(self, problem: Problem) -> None:
        check_devices(problem)
        self._problem, self._devices = problem, Devices(problem.mesh)
        network = problem.schedule.network
        latest = max(child.lag for equation in network.factorizations for child in equation.children)
        # what is shifted to the left must not come from elsewhere, hence some columns more
        width = padded(max(sum(problem.lengths), problem.room) + latest, self._devices.count)
        self._layout = Layout(network, problem.lengths, problem.observed, width)
        fixed = fixed_variables(problem, self._layout)
        _refuse_sparse(problem, fixed)
        changing = tuple(variable.name for variable in network.variables if variable.name not in fixed)
        self._plan = make_plan(problem, self._layout, width, changing)
        start = start_values(self._plan, problem, self._layout)
        self._holding: dict[str, Any] = {name: np.True_ for name in problem.released if name in changing}
        before = {name: np.ones_like(values) for name, values in start.items()} if problem.accelerated else {}
        with numbers(problem.precision):
            data = make_data(self._plan, problem, self._layout, fixed, start)
            placed = self._devices.put(data._asdict() | {"movable": {}}, _BY_COLUMNS)
            self._data: Data | None = Data(**placed | {"movable": self._devices.put(data.movable, changing)})
            self._state = State(self._devices.put(start, changing), self._devices.put(before, changing))
        self._released: set[str] = set()  # until now
        self._count_entries()
        self._pace, self._spares = FIRST_SWEEPS, False

    def _count_entries(self) -> None:
        """The number of entries that errors are the mean over: another one once a variable is released."""
        observed = self._problem.observed
        filled = filled_in(self._layout, observed, self._plan.changing, self._released)
        self.entries = counted_entries(self._layout, filled, self._problem.weights)
        each = np.array([self.entries[name] for name in self._plan.names])
        assert self._data is not None  # the run is not closed
        with numbers(self._problem.precision):
            self._data = self._data._replace(**self._devices.put({"entries": each}, ()))

    @property
    def pace(self) -> int:
        """How many sweeps to ask for at a time."""
        return self._pace

    def advance(self, stretch: Stretch) -> Sequence[Errors | None]:
        """The sweeps of a stretch, up to the first after which a criterion to stop is met; the errors after each."""
        begin = perf_counter()
        with numbers(self._problem.precision):
            arguments = (self._plan, self._data, self._holding, self._state, self._control(stretch))
            found = advance(*arguments, unasked=_unasked(stretch), always=self._always(stretch))
            self._state, errors, done = found[0], np.asarray(found[1]), int(found[2])
        self._adapt(done, perf_counter() - begin)
        return [self._errors(row) for row in errors[:done].tolist()]

    def _always(self, stretch: Stretch) -> bool:
        """Whether errors are measured after every sweep: momentum needs them. A run that spares them goes on so."""
        self._spares |= stretch.measure > 1
        return self._plan.accelerated or not self._spares

    def _adapt(self, done: int, seconds: float) -> None:
        """Ask for as many sweeps as fit in a stretch."""
        if not self._devices.several_processes:
            self._pace = pace_after(self._pace, done, seconds)

    def _errors(self, row: list[float]) -> Errors | None:
        if row[-1] == UNMEASURED:
            return None
        return Errors(dict(zip(self._plan.names, row[:-2], strict=True)), row[-2], row[-1])

    def _control(self, stretch: Stretch) -> Control:
        sparseness = np.zeros((MOST_SWEEPS, len(self._plan.smoothed)), self._problem.dtype)
        changed = np.zeros(MOST_SWEEPS, bool)
        if self._plan.smoothed:
            for sweep in range(stretch.count):
                at = stretch.sparseness(stretch.first + sweep)
                sparseness[sweep] = [at[name] for name in self._plan.smoothed]
                changed[sweep] = stretch.changed(stretch.first + sweep)
        return Control(
            first=np.int32(stretch.first),
            count=np.int32(stretch.count),
            steps=np.int64(stretch.steps),
            lowest=np.float64(stretch.lowest),
            sparseness=sparseness,
            changed=changed,
            tolerance=np.float64(-np.inf if stretch.tolerance is None else stretch.tolerance),
            measure=np.int32(stretch.measure),
        )

    def fit_levels(self, rounds: int, sparseness: Mapping[str, float]) -> None:
        """The start by levels: fit each level to the one below it, from the bottom up, then propagate."""
        thetas = np.array([sparseness[name] for name in self._plan.smoothed], self._problem.dtype)
        counts = level_counts(self._plan, self._problem, self._layout)
        with numbers(self._problem.precision):
            levels = {"counts": counts, "rounds": np.int32(rounds), "sparseness": thetas}
            values = fit_levels(self._plan, self._data, self._holding, self._state.values, **levels)
        self._state = self._state._replace(values=values)

    def release(self, name: str) -> None:
        """From now on the variable is hidden."""
        if name in self._holding:
            self._holding = self._holding | {name: np.False_}
            self._released.add(name)
            self._count_entries()

    def statistics(self, sparseness: Mapping[str, float]) -> dict[str, Statistics]:
        """By learned parameter, what its left update would be made from now."""
        with numbers(self._problem.precision):
            sums = statistics(self._plan, self._data, self._state.values, dict(sparseness))
            found: dict[str, Statistics] = {}
            for name, matrix in self._plan.owners.items():
                numerator, denominator = (self._devices.fetched(part)[matrix.part(name)] for part in sums[matrix.name])
                W = np.asarray(self._state.values[matrix.name])[matrix.part(name)]
                found[name] = Statistics(W * numerator, denominator)
        return found

    def variable(self, name: str) -> list[Any]:
        """The values of a variable, one array per sequence; columns that nothing touches are NaN if hidden."""
        observed = self._problem.observed.get(name)
        if name not in self._state.values:
            assert observed is not None  # what does not change is observed throughout
            return [array.copy() for array in observed]
        return values_by_sequence(self._devices.fetched(self._state.values[name]), name, observed, self._layout)

    def parameter(self, name: str) -> Any:
        """The current matrix of a parameter."""
        matrix = self._plan.owners.get(name)
        if matrix is None:
            return self._problem.start[name]
        values = np.array(self._devices.fetched(self._state.values[matrix.name]))
        if matrix.sparse:
            pattern = self._problem.start[name]
            return sp.csr_array((values, pattern.indices, pattern.indptr), pattern.shape)
        return np.ascontiguousarray(values[:, matrix.columns(name)])

    def save_state(self) -> dict[str, np.ndarray]:
        """Everything that the next sweep depends on: values now and, with momentum, z from before the last sweep."""
        # z is lifted to the floor here, as the NumPy engine keeps it
        now, previous = ({n: self._devices.fetched(a) for n, a in arrays.items()} for arrays in self._state)
        before = {name: np.maximum(array, array.dtype.type(FLOOR)) for name, array in previous.items()}
        return save({"now": now, "before": before}, self._layout)

    def load_state(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue where `save_state` left off, of this engine or another."""
        loaded = State(*({n: np.array(self._devices.fetched(a)) for n, a in arrays.items()} for arrays in self._state))
        load("now", loaded.values, saved, self._layout)
        load("before", loaded.previous, saved, self._layout)
        with numbers(self._problem.precision):
            self._state = State(*(self._devices.put(arrays, self._plan.changing) for arrays in loaded))

    def close(self) -> None:
        """Give all memory back but that of the values themselves; no sweep can follow."""
        self._data = None
        self._state = self._state._replace(previous={})
        self._devices.begin_to_fetch(self._state.values.values())
        known = {p.name: self._problem.start[p.name] for p in self._problem.schedule.network.parameters}
        self._problem = replace(self._problem, start=known)


def _unasked(stretch: Stretch) -> int:
    """After how many sweeps the criteria to stop are looked at."""
    return SWEEPS_UNASKED if stretch.tolerance is None and has_accelerator() else 1


def _refuse_sparse(problem: Problem, fixed: Mapping[str, Any]) -> None:
    for name, array in fixed.items():
        if sp.issparse(array):
            shape = " × ".join(map(str, problem.observed[name][0].shape))
            raise OptionError(
                f"{name}: engine='jax' makes observations dense, found a large sparse matrix of {shape}. "
                "Use engine='numpy', or give a dense array."
            )
