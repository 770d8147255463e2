"""Runs of Algorithm 1 as programs of the NumPy backend."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.backends.numpy import BoundProgram, RunMemory
from pfn.engines import fixed
from pfn.engines.counted import counted_entries, filled_in
from pfn.engines.layout import Layout as SlotLayout
from pfn.engines.numpy_engine import NumpyRun
from pfn.engines.problem import Errors, Problem, Statistics, dense
from pfn.engines.stretch import Stretch
from pfn.engines.threads import Threads, product_sizes
from pfn.formulas import coefficients
from pfn.program import Lowering, Program, SweepKind
from pfn.program.passes import optimise
from pfn.program.templates import program_for
from pfn.updates.momentum import strength


def refusal(problem: Problem) -> str | None:
    """Why the program cannot serve a problem yet, or None."""
    network = problem.schedule.network
    parents = {p.variable.name for e in network.factorizations for p in e.parents}
    for name, arrays in problem.observed.items():
        large = arrays[0].shape[0] * sum(array.shape[1] for array in arrays) > fixed.DENSE_ENTRIES
        if large and any(map(sp.issparse, arrays)) and name not in problem.released:
            reason = fixed.why_dense(name, problem)
            if reason is not None:
                fixed.refuse_dense(name, arrays, reason)
            elif name in parents:
                return "large sparse data of a parent"
    return None


def make_program_run(problem: Problem) -> "ProgramRun | NumpyRun":
    """A run by programs where they serve the problem, else the run of the older engine."""
    return ProgramRun(problem) if refusal(problem) is None else NumpyRun(problem)


class ProgramRun:
    """The values of a run, and the programs of its sweeps, each lowered and bound when it is first needed."""

    def __init__(self, problem: Problem, *, leave_out: Sequence[str] = (), guard_every: int = 1) -> None:
        """`leave_out` names passes that are not made; momentum looks at the divergence every `guard_every` sweeps."""
        reason = refusal(problem)
        if reason is not None:
            raise NotImplementedError(f"programs do not serve {reason} yet: use NumpyRun.")
        self._problem, self._leave_out, self._guard_every = problem, [*leave_out], guard_every
        self._network = problem.schedule.network
        self._lowering = Lowering(problem, "numpy")
        self._signature = self._lowering.signature
        self._layout = self._lowering.layout
        self._slots = SlotLayout(self._network, problem.lengths, problem.observed)
        self._threads = Threads(product_sizes(self._network, self._slots))
        if self._threads.count > 1:  # which share whole passes; blocks follow each other
            self._leave_out = [*self._leave_out, "blocks"]
        self._memory = RunMemory(problem.dtype, self._threads if self._threads.count > 1 else None)
        self._bound: dict[object, BoundProgram] = {}
        self._last: BoundProgram | None = None  # whose sweep left what the next one takes over
        self._released: frozenset[str] = frozenset()
        self._entries = self._counted_entries()
        self._rhythms = {name: problem.rhythm(name) for name in problem.learned}
        self._all_due = all(rhythm == (1, None) for rhythm in self._rhythms.values())
        self._sparseness: Mapping[str, float] | None = None  # of the last sweep
        bound = self._bind(("sweep", self._kind(0, dict.fromkeys(problem.smoothed, 1.0))))
        self._state = {name: bound.view(view) for name, view in bound.program.names.items()}
        self._lowering.store.forget_starts()

    # --- programs

    def _kind(self, number: int, sparseness: Mapping[str, float]) -> SweepKind:
        """What kind of sweep has this number and sparseness."""
        return SweepKind(
            frozenset(name for name, rhythm in self._rhythms.items() if rhythm.due(number)),
            self._released,
            frozenset(name for name, theta in sparseness.items() if theta),
        )

    def _bind(self, key: tuple[Any, ...]) -> BoundProgram:
        """The program of this name and kind."""
        if key not in self._bound:
            name, *arguments = key
            store = self._lowering.store

            def write() -> Program:
                return optimise(getattr(self._lowering, name)(*arguments), self._leave_out)

            found = program_for(self._network, (key, self._signature, *self._leave_out), store.given, write)
            self._bound[key] = BoundProgram(found, self._memory)
        return self._bound[key]

    def _perform(self, bound: BoundProgram) -> None:
        """One sweep; what its predecessor would have left is made first where that was another program."""
        if bound is not self._last:
            for call in bound.enter:
                call()
            self._last = bound
        for call in bound.body:
            call()

    def _set_sparseness(self, sparseness: Mapping[str, float]) -> None:
        """Set the inputs of equations with sparseness."""
        for name, theta in sparseness.items():
            if theta:
                self._memory.set_input(f"sparseness {name}", theta)

    def _counted_entries(self) -> dict[str, float]:
        """By equation the number of entries that its error is the mean over: not those that the fit fills in."""
        hidden = [v.name for v in self._network.variables if v.name in self._lowering.store.start]
        filled = filled_in(self._slots, self._problem.observed, hidden, self._released)
        return counted_entries(self._slots, filled, self._problem.weights)

    # --- the protocol of runs

    @property
    def entries(self) -> Mapping[str, float]:
        """By equation, the number of entries that its error is the mean over."""
        return self._entries

    @property
    def pace(self) -> int:
        """Number of sweeps to ask for at a time."""
        return 1

    def advance(self, stretch: Stretch) -> Sequence[Errors | None]:
        """One sweep, with momentum before it if the problem asks for it, and the errors after it."""
        with self._threads:
            return [self._sweep(stretch)]

    def _sweep(self, stretch: Stretch) -> Errors | None:
        number = stretch.first
        bound = self._next(number, stretch.sparseness(number))
        if self._problem.accelerated:
            gain, rest = coefficients(strength(stretch.steps))
            self._memory.set_input("gain", gain)
            self._memory.set_input("rest", rest)
        self._perform(bound)
        if stretch.measured(number):
            return self._errors(bound)
        if self._problem.accelerated and (number + 1) % self._guard_every == 0:
            return Errors({}, self._divergence(bound), float("nan"))
        return None

    def _next(self, number: int, sparseness: Mapping[str, float]) -> BoundProgram:
        """The program of a sweep: most often that of the sweep before, which is found without naming its kind."""
        if self._last is None or sparseness is not self._sparseness or not self._all_due:
            self._sparseness = sparseness
            bound = self._bind(("sweep", self._kind(number, sparseness)))
            self._set_sparseness(sparseness)
            return bound
        return self._last

    def _divergence(self, bound: BoundProgram) -> float:
        """The divergence after a sweep."""
        for call in bound.measure:
            call()
        return self._memory.result("divergence")

    def _errors(self, bound: BoundProgram) -> Errors:
        """Divergence and errors of all equations after a sweep."""
        divergence = self._divergence(bound)
        for call in bound.errors:
            call()
        squared = {name: self._memory.result(f"squares {name}") for name in self._entries}
        return Errors.of(squared, self._entries, divergence)

    def fit_levels(self, rounds: int, sparseness: Mapping[str, float]) -> None:
        """The start by levels: fit each level to the one below it, from the bottom up, then propagate."""
        for level in range(len(self._lowering.levels)):
            for number in range(rounds):
                bound = self._bind(("level", level, self._kind(number, sparseness)))
                self._set_sparseness(sparseness)
                self._perform(bound)
        self._perform(self._bind(("propagation", self._kind(0, sparseness))))
        self._last = None

    def release(self, name: str) -> None:
        """From now on the variable is hidden."""
        self._released |= {name}
        self._entries = self._counted_entries()
        self._last = None

    def statistics(self, sparseness: Mapping[str, float]) -> dict[str, Statistics]:
        """By learned parameter, what its left update would be made from now; no sweep can follow."""
        kind = self._kind(0, sparseness)._replace(due=frozenset(self._problem.learned))
        bound = self._bind(("statistics", kind))
        self._set_sparseness(sparseness)
        self._perform(bound)
        found = {}
        for unit in self._lowering.store.units:
            sums = [bound.view(bound.program.names[f"{what} {unit.name}"]) for what in ("products", "denominators")]
            if sums[1].ndim == 2 and sums[1].shape[0] == 1 < sums[0].shape[0]:
                sums[1] = sums[1][0]
            for parameter in unit.parameters:
                part = [s if unit.form is not None else s[..., unit.columns(parameter)] for s in sums]
                found[parameter.name] = Statistics(*(s.copy() for s in part))
        return found

    # --- values

    def _values(self, name: str) -> np.ndarray:
        """The array of a variable or of a unit."""
        fixed = self._lowering.store.fixed
        return fixed[name] if name in fixed else self._state[name]

    def variable(self, name: str) -> list[Any]:
        """The values of a variable, one array per sequence; columns that nothing touches are NaN if hidden."""
        observed = self._problem.observed.get(name)
        store = self._lowering.store
        if (name in store.fixed or name in store.sparse) and observed is not None:
            return [array.copy() for array in observed]
        touched, array, result = self._layout.touched(name), self._values(name), []
        for sequence in range(len(self._layout.lengths)):
            slots = self._layout.slots(name, sequence)
            values = np.array(array[:, slots])
            values[:, ~touched[slots]] = np.nan
            if observed is not None:
                known = dense(observed[sequence])
                gaps = np.isnan(values[:, : known.shape[1]])
                values[:, : known.shape[1]][gaps] = known[gaps]
            result.append(values)
        return result

    def parameter(self, name: str) -> Any:
        """The current matrix of a parameter."""
        unit = self._lowering.store.unit_of.get(name)
        if unit is None:
            return self._problem.start[name]
        values = self._values(unit.name)
        if unit.form is not None:
            pattern = unit.form.pattern
            return sp.csr_array((values.copy(), pattern.indices, pattern.indptr), pattern.shape)
        return values[:, unit.columns(self._parameters[name])].copy()

    @cached_property
    def _parameters(self) -> dict[str, Any]:
        return {parameter.name: parameter for parameter in self._network.parameters}

    def save_state(self) -> dict[str, np.ndarray]:
        """Everything that the next sweep depends on: values now and, with momentum, z of before the last sweep."""
        moments = {"now": {name: self._values(name) for name in self._lowering.store.start}}
        if self._problem.accelerated:
            moments["before"] = {n: self._state[f"before {n}"] / 2 for n in self._lowering.store.start}
        return {
            f"{moment} {name}": self._packed(name, array)
            for moment, arrays in moments.items()
            for name, array in arrays.items()
        }

    def _packed(self, name: str, array: np.ndarray) -> np.ndarray:
        """The columns of all sequences of a variable without what lies between them; units as they are."""
        if name.startswith("unit "):
            return array.copy()
        return np.hstack([array[:, self._layout.slots(name, s)] for s in range(len(self._layout.lengths))])

    def load_state(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue where `save_state` left off, of this engine or another."""
        for name in self._lowering.store.start:
            self._unpack(name, self._values(name), saved[f"now {name}"])
            if f"before {name}" in saved and self._problem.accelerated:
                self._unpack(name, self._state[f"before {name}"], 2 * np.asarray(saved[f"before {name}"]))
        self._last = None

    def _unpack(self, name: str, array: np.ndarray, packed: np.ndarray) -> None:
        if name.startswith("unit "):
            array[...] = packed
            return
        slots_of = [self._layout.slots(name, sequence) for sequence in range(len(self._layout.lengths))]
        wanted = (len(array), sum(slots.stop - slots.start for slots in slots_of))
        if packed.shape != wanted:
            raise ValueError(f"{name} has the shape {packed.shape} in place of {wanted}")
        column = 0
        for slots in slots_of:
            width = slots.stop - slots.start
            array[:, slots] = packed[:, column : column + width]
            column += width

    def close(self) -> None:
        """Give all memory back but that of the values themselves; no sweep can follow."""
        self._bound, self._last = {}, None
        self._state = {name: self._state[name] for name in self._lowering.store.start}
        self._memory.drop()
