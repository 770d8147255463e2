"""Common to runs by programs on all backends: kinds of sweeps, values by sequence, state to be saved."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines import fixed
from pfn.engines.counted import counted_entries, filled_in
from pfn.engines.layout import Layout as SlotLayout
from pfn.engines.problem import Problem, Statistics, dense
from pfn.program import Lowering, Program, SweepKind
from pfn.program.templates import program_for

# What makes passes over a program, but for some that are left out by name.
Passes = Callable[[Program, Collection[str]], Program]


def refusal_of_data(problem: Problem) -> str | None:
    """Why programs cannot serve the data of a problem yet, or None."""
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


class ProgramValues(ABC):
    """The state of a run by programs, as the user and checkpoints see it. Backends read and write its arrays."""

    def __init__(self, problem: Problem, backend: str) -> None:
        self._problem, self._network, self._backend = problem, problem.schedule.network, backend
        self._lowering = Lowering(problem, backend)
        self._signature = self._lowering.signature
        self._layout = self._lowering.layout
        self._slots = SlotLayout(self._network, problem.lengths, problem.observed)
        self._released: frozenset[str] = frozenset()
        self._entries = self._counted_entries()
        self._rhythms = {name: problem.rhythm(name) for name in problem.learned}
        self._all_due = all(rhythm == (1, None) for rhythm in self._rhythms.values())

    @abstractmethod
    def _read(self, name: str) -> np.ndarray:
        """An array of the state; it may be the memory of the run itself."""

    @abstractmethod
    def _write(self, name: str, array: np.ndarray) -> None:
        """Let an array of the state take these values."""

    def _kind(self, number: int, sparseness: Mapping[str, float]) -> SweepKind:
        """What kind of sweep has this number and sparseness."""
        return SweepKind(
            frozenset(name for name, rhythm in self._rhythms.items() if rhythm.due(number)),
            self._released,
            frozenset(name for name, theta in sparseness.items() if theta),
        )

    def _program(self, key: tuple[Any, ...], passes: Passes, leave_out: Collection[str]) -> Program:
        """The program of this name and kind after the passes, but for some that are left out."""
        name, *arguments = key

        def write() -> Program:
            return passes(getattr(self._lowering, name)(*arguments), leave_out)

        kept = (self._backend, key, self._signature, *sorted(leave_out))
        return program_for(self._network, kept, self._lowering.store.given, write)

    def _counted_entries(self) -> dict[str, float]:
        """By equation the number of entries that its error is the mean over: not those that the fit fills in."""
        hidden = [v.name for v in self._network.variables if v.name in self._lowering.store.start]
        filled = filled_in(self._slots, self._problem.observed, hidden, self._released)
        return counted_entries(self._slots, filled, self._problem.weights)

    @property
    def entries(self) -> Mapping[str, float]:
        """By equation, the number of entries that its error is the mean over."""
        return self._entries

    def _release(self, name: str) -> None:
        """Let the observations of a variable go: what counts in errors changes with them."""
        self._released |= {name}
        self._entries = self._counted_entries()

    def _statistics_of(self, results: Mapping[str, np.ndarray]) -> dict[str, Statistics]:
        """By learned parameter its part of the sums of all units, which are arrays by name."""
        found = {}
        for unit in self._lowering.store.units:
            sums = [results[f"{what} {unit.name}"] for what in ("products", "denominators")]
            if sums[1].ndim == 2 and sums[1].shape[0] == 1 < sums[0].shape[0]:
                sums[1] = sums[1][0]
            for parameter in unit.parameters:
                part = [s if unit.form is not None else s[..., unit.columns(parameter)] for s in sums]
                found[parameter.name] = Statistics(*(s.copy() for s in part))
        return found

    def _values(self, name: str) -> np.ndarray:
        """The array of a variable or of a unit."""
        fixed = self._lowering.store.fixed
        return fixed[name] if name in fixed else self._read(name)

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
            moments["before"] = {n: self._read(f"before {n}") / 2 for n in self._lowering.store.start}
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
            self._write(name, self._unpacked(name, self._values(name), saved[f"now {name}"]))
            if f"before {name}" in saved and self._problem.accelerated:
                doubled = 2 * np.asarray(saved[f"before {name}"])
                self._write(f"before {name}", self._unpacked(name, self._read(f"before {name}"), doubled))

    def _unpacked(self, name: str, array: np.ndarray, packed: np.ndarray) -> np.ndarray:
        """An array of the state with the columns of all sequences as they were packed."""
        found = np.array(array)
        if name.startswith("unit "):
            found[...] = packed
            return found
        slots_of = [self._layout.slots(name, sequence) for sequence in range(len(self._layout.lengths))]
        wanted = (len(array), sum(slots.stop - slots.start for slots in slots_of))
        if packed.shape != wanted:
            raise ValueError(f"{name} has the shape {packed.shape} in place of {wanted}")
        column = 0
        for slots in slots_of:
            width = slots.stop - slots.start
            found[:, slots] = packed[:, column : column + width]
            column += width
        return found
