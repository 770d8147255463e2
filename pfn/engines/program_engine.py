"""Runs of Algorithm 1 as programs of the NumPy backend."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pfn.backends.numpy import BoundProgram, RunMemory
from pfn.engines.numpy_engine import NumpyRun
from pfn.engines.problem import Errors, Problem, Statistics
from pfn.engines.program_values import ProgramValues, refusal_of_data
from pfn.engines.stretch import Stretch
from pfn.engines.threads import Threads, product_sizes
from pfn.formulas import coefficients
from pfn.program.passes import optimise
from pfn.updates.momentum import strength

# Entries of all child matrices up to which runs are programs. Larger ones would gain a few per cent of the time, but
# hold up to twice the memory while they are bound: starting values are there twice until then (benchmarks/memory.py).
MOST_ENTRIES = 1 << 17


def make_program_run(problem: Problem) -> "ProgramRun | NumpyRun":
    """A run by programs where they serve the problem and its memory is small, else the run of the older engine."""
    network, slots = problem.schedule.network, sum(problem.lengths)
    small = sum(equation.rows for equation in network.factorizations) * slots <= MOST_ENTRIES
    return ProgramRun(problem) if small and refusal_of_data(problem) is None else NumpyRun(problem)


class ProgramRun(ProgramValues):
    """The values of a run, and the programs of its sweeps, each lowered and bound when it is first needed."""

    def __init__(self, problem: Problem, *, leave_out: Sequence[str] = (), guard_every: int = 1) -> None:
        """`leave_out` names passes that are not made; momentum looks at the divergence every `guard_every` sweeps."""
        reason = refusal_of_data(problem)
        if reason is not None:
            raise NotImplementedError(f"programs do not serve {reason} yet: use NumpyRun.")
        super().__init__(problem, "numpy")
        self._leave_out, self._guard_every = [*leave_out], guard_every
        self._threads = Threads(product_sizes(self._network, self._slots))
        if self._threads.count > 1:  # which share whole passes; blocks follow each other
            self._leave_out = [*self._leave_out, "blocks"]
        self._memory = RunMemory(problem.dtype, self._threads if self._threads.count > 1 else None)
        self._bound: dict[object, BoundProgram] = {}
        self._last: BoundProgram | None = None  # whose sweep left what the next one takes over
        self._sparseness: Mapping[str, float] | None = None  # of the last sweep
        bound = self._bind(("sweep", self._kind(0, dict.fromkeys(problem.smoothed, 1.0))))
        self._state = {name: bound.view(view) for name, view in bound.program.names.items()}
        self._lowering.store.forget_starts()

    # --- programs

    def _bind(self, key: tuple[Any, ...]) -> BoundProgram:
        """The program of this name and kind."""
        if key not in self._bound:
            self._bound[key] = BoundProgram(self._program(key, optimise, self._leave_out), self._memory)
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

    # --- the protocol of runs

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
        self._release(name)
        self._last = None

    def statistics(self, sparseness: Mapping[str, float]) -> dict[str, Statistics]:
        """By learned parameter, what its left update would be made from now; no sweep can follow."""
        kind = self._kind(0, sparseness)._replace(due=frozenset(self._problem.learned))
        bound = self._bind(("statistics", kind))
        self._set_sparseness(sparseness)
        self._perform(bound)
        results = {name: bound.view(view) for name, view in bound.program.names.items() if name not in self._state}
        return self._statistics_of(results)

    # --- values

    def _read(self, name: str) -> np.ndarray:
        return self._state[name]

    def _write(self, name: str, array: np.ndarray) -> None:
        self._state[name][...] = array
        self._last = None

    def close(self) -> None:
        """Give all memory back but that of the values themselves; no sweep can follow."""
        self._bound, self._last = {}, None
        self._state = {name: self._state[name] for name in self._lowering.store.start}
        self._memory.drop()
