"""Runs of Algorithm 1 as programs of the JAX backend: stretches of sweeps that end on the device."""

from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pfn.backends.jax import BoundProgram, Device, Values
from pfn.engines.jax_devices import check_devices, has_accelerator, numbers
from pfn.engines.jax_engine import JaxRun
from pfn.engines.problem import Errors, Problem, Statistics
from pfn.engines.program_values import ProgramValues, refusal_of_data
from pfn.engines.stretch import MOST_SWEEPS, Stretch, pace_after
from pfn.formulas import coefficients
from pfn.program import SweepKind
from pfn.program.passes import prepare_to_compile
from pfn.updates.momentum import steps_after, strength

# Number of sweeps in the first call, whose duration is not known yet.
FIRST_SWEEPS = 16


def refusal(problem: Problem) -> str | None:
    """Why programs on JAX cannot serve a problem yet, or None."""
    return "several devices" if problem.mesh is not None else refusal_of_data(problem)


def make_program_run(problem: Problem) -> "JaxProgramRun | JaxRun":
    """A run by programs where they serve the problem, else the run of the older engine."""
    return JaxProgramRun(problem) if refusal(problem) is None else JaxRun(problem)


class Control(NamedTuple):
    """The numbers that a stretch of sweeps is given."""

    count: Any
    steps: Any
    lowest: Any
    inputs: Values
    """By name of an input its value in every sweep."""
    changed: Any
    """By sweep whether its sparseness is another than that of the sweep before."""
    errors_due: Any
    """By sweep whether the errors of all equations are measured after it."""
    divergence_due: Any
    """By sweep whether the divergence is."""
    entries: Any
    """By equation the number of its entries."""
    tolerance: Any


class Progress(NamedTuple):
    """What changes from sweep to sweep beside the state."""

    done: Any
    steps: Any
    lowest: Any
    met: Any
    """Whether a criterion to stop is met."""
    divergences: Any
    """By sweep, NaN where it was not measured."""
    squares: Any
    """By sweep and equation the sum of squared errors."""


class StretchPilot(NamedTuple):
    """Leads through a stretch: the strength of momentum, what is measured, and when the sweeps end."""

    equations: tuple[str, ...]
    accelerated: bool
    always_errors: bool
    """Whether the errors of all equations are measured after every sweep."""
    always_divergence: bool

    def begin(self, control: Control) -> Progress:
        """Before the first sweep."""
        divergences = jnp.full(MOST_SWEEPS, jnp.nan)
        squares = jnp.full((MOST_SWEEPS, len(self.equations)), jnp.nan)
        return Progress(jnp.int32(0), control.steps, control.lowest, jnp.bool_(0), divergences, squares)

    def goes_on(self, control: Control, progress: Progress) -> Any:
        """Until the stretch is over or a criterion to stop is met."""
        return (progress.done < control.count) & ~progress.met

    def inputs(self, control: Control, progress: Progress) -> Values:
        """Sparseness and, with momentum, its strength."""
        found = {name: values[progress.done] for name, values in control.inputs.items()}
        if self.accelerated:
            found["gain"], found["rest"] = coefficients(strength(progress.steps))
        return found

    def wants_divergence(self, control: Control, progress: Progress) -> Any:
        """Where errors are due, or momentum looks whether the divergence has risen."""
        return True if self.always_divergence else control.divergence_due[progress.done]

    def wants_errors(self, control: Control, progress: Progress) -> Any:
        """Where the user or a criterion to stop asks for them."""
        return True if self.always_errors else control.errors_due[progress.done]

    def after(self, control: Control, progress: Progress, results: Values) -> Progress:
        """The strength of momentum after a sweep, and whether it was the last."""
        done, steps, lowest = progress.done, progress.steps + 1, progress.lowest
        divergence = results["divergence"]
        if self.accelerated:
            weaker, new_lowest = steps_after(progress.steps, lowest, divergence, control.changed[done], xp=jnp)
            looked = self.wants_divergence(control, progress)
            steps, lowest = jnp.where(looked, weaker, steps), jnp.where(looked, new_lowest, lowest)
        squares = jnp.stack([results[f"squares {name}"] for name in self.equations])
        divergences = progress.divergences.at[done].set(divergence)
        met = self.wants_errors(control, progress) & self._met(control, squares)
        return Progress(done + 1, steps, lowest, met, divergences, progress.squares.at[done].set(squares))

    @staticmethod
    def _met(control: Control, squares: Any) -> Any:
        """Whether the run ends after this sweep: all errors are small, or one is infinite and will be refused."""
        none = control.entries == 0  # then the error of the equation is no number
        mean = jnp.where(none, 0.0, squares / jnp.where(none, 1.0, control.entries))
        return (jnp.max(jnp.sqrt(mean)) < control.tolerance) | ~jnp.all(jnp.isfinite(squares))


class RoundsPilot(NamedTuple):
    """Performs a program a number of times with constant inputs."""

    def begin(self, _control: tuple[Any, Values]) -> Any:
        """Before the first time."""
        return jnp.int32(0)

    def goes_on(self, control: tuple[Any, Values], progress: Any) -> Any:
        """Until it was performed that often."""
        return progress < control[0]

    def inputs(self, control: tuple[Any, Values], _progress: Any) -> Values:
        """As given."""
        return control[1]

    def wants_divergence(self, _control: Any, _progress: Any) -> bool:
        """Never."""
        return False

    def wants_errors(self, _control: Any, _progress: Any) -> bool:
        """Never."""
        return False

    def after(self, _control: Any, progress: Any, _results: Values) -> Any:
        """Once more."""
        return progress + 1


class JaxProgramRun(ProgramValues):
    """The state of a run on a device, and the programs of its sweeps, each lowered when it is first needed."""

    def __init__(self, problem: Problem, *, leave_out: Sequence[str] = (), guard_every: int = 1) -> None:
        """`leave_out` names passes that are not made; momentum looks at the divergence every `guard_every` sweeps."""
        reason = refusal(problem)
        if reason is not None:
            raise NotImplementedError(f"programs on JAX do not serve {reason} yet: use JaxRun.")
        check_devices(problem)
        super().__init__(problem, "jax")
        self._leave_out, self._guard_every = leave_out, guard_every
        self._device = Device()
        self._bound: dict[object, BoundProgram] = {}
        self._pace, self._spares = FIRST_SWEEPS, False
        program = self._bind("sweep", self._kind(0, dict.fromkeys(problem.smoothed, 1.0))).program
        starts = {name: array.value for name, array in program.arrays.items() if array.kind == "state"}
        with numbers(problem.precision):
            self._state: Values = dict(jax.device_put(starts))
        self._lowering.store.forget_starts()

    def _bind(self, name: str, *arguments: Any) -> BoundProgram:
        """The program of this name and kind, for runs that measure errors after every sweep, or seldom."""
        key = self._spares, name, *arguments
        if key not in self._bound:
            leave_out = {*self._leave_out}
            if has_accelerator():
                leave_out.add("turn")  # only products of processors gain by left operands that lie in order
            if not self._spares:
                leave_out.add("at_once")  # every measurement reads what is handed on
            program = self._program((name, *arguments), prepare_to_compile, leave_out)
            with numbers(self._problem.precision):
                self._bound[key] = BoundProgram(program, self._device)
        return self._bound[key]

    # --- the protocol of runs

    @property
    def pace(self) -> int:
        """Number of sweeps to ask for at a time."""
        return self._pace

    def advance(self, stretch: Stretch) -> Sequence[Errors | None]:
        """The sweeps of a stretch, up to the first after which a criterion to stop is met; the errors after each.

        Sweeps of one kind that follow each other are one call.
        """
        begin, found = perf_counter(), list[Errors | None]()
        self._spares |= stretch.measure > 1
        steps, lowest, met = stretch.steps, stretch.lowest, False
        while len(found) < stretch.count and not met:
            first = stretch.first + len(found)
            count = self._alike(stretch, first)
            control = self._control(stretch, first, count)._replace(steps=steps, lowest=lowest)
            progress = self._sweep(self._kind(first, stretch.sparseness(first)), control)
            steps, lowest, met = progress.steps, progress.lowest, bool(progress.met)
            found += [self._errors(control, progress, i) for i in range(int(progress.done))]
        self._pace = pace_after(self._pace, len(found), perf_counter() - begin)
        return found

    def _alike(self, stretch: Stretch, first: int) -> int:
        """Number of sweeps from one on that are of its kind."""
        end = stretch.first + stretch.count
        if self._all_due and not self._problem.smoothed:
            return end - first
        kind = self._kind(first, stretch.sparseness(first))
        alike = takewhile(lambda n: self._kind(n, stretch.sparseness(n)) == kind, range(first, end))
        return sum(1 for _ in alike)

    def _control(self, stretch: Stretch, first: int, count: int) -> Control:
        """The numbers for some sweeps from one on; `steps` and `lowest` are those of the beginning of a run."""
        errors_due, divergence_due, changed = np.zeros((3, MOST_SWEEPS), bool)
        inputs = {
            f"sparseness {name}": np.zeros(MOST_SWEEPS)
            for name, theta in stretch.sparseness(first).items()
            if theta  # zero in one sweep of a kind is zero in all
        }
        for i in range(count):
            number = first + i
            errors_due[i] = stretch.measured(number)
            guarded = self._problem.accelerated and (number + 1) % self._guard_every == 0
            divergence_due[i] = errors_due[i] or guarded
            changed[i] = bool(self._problem.smoothed) and stretch.changed(number)
            for name, values in inputs.items():
                values[i] = stretch.sparseness(number)[name.removeprefix("sparseness ")]
        return Control(
            count=np.int32(count),
            steps=np.int64(0),
            lowest=np.float64(np.inf),
            inputs=dict(inputs),
            changed=changed,
            errors_due=errors_due,
            divergence_due=divergence_due,
            entries=np.array([*self._entries.values()]),
            tolerance=np.float64(-np.inf if stretch.tolerance is None else stretch.tolerance),
        )

    def _sweep(self, kind: SweepKind, control: Control) -> Progress:
        """Sweeps of one kind."""
        always = not self._spares
        pilot = StretchPilot(
            equations=tuple(self._entries),
            accelerated=self._problem.accelerated,
            always_errors=always,
            always_divergence=always or (self._problem.accelerated and self._guard_every == 1),
        )
        bound = self._bind("sweep", kind)
        with numbers(self._problem.precision):
            self._state, progress = bound.run(pilot, self._state, control)
            found: Progress = jax.device_get(progress)
        return found

    def _errors(self, control: Control, progress: Progress, i: int) -> Errors | None:
        """What was wanted to be measured after a sweep."""
        divergence = float(progress.divergences[i])
        if control.errors_due[i]:
            squares = dict(zip(self._entries, progress.squares[i].tolist(), strict=True))
            return Errors.of(squares, self._entries, divergence)
        return Errors({}, divergence, float("nan")) if control.divergence_due[i] else None

    def fit_levels(self, rounds: int, sparseness: Mapping[str, float]) -> None:
        """The start by levels: fit each level to the one below it, from the bottom up, then propagate."""
        for level in range(len(self._lowering.levels)):
            kinds = [self._kind(number, sparseness) for number in range(rounds)]
            for kind, times in ((kind, len([*same])) for kind, same in groupby(kinds)):
                self._perform(times, sparseness, "level", level, kind)
        self._perform(1, sparseness, "propagation", self._kind(0, sparseness))

    def _perform(self, times: int, sparseness: Mapping[str, float], *program: Any) -> Values:
        """Perform a program, by name and kind, some times; its results."""
        inputs = {f"sparseness {name}": np.float64(theta) for name, theta in sparseness.items() if theta}
        bound = self._bind(*program)
        with numbers(self._problem.precision):
            found, _ = bound.run(RoundsPilot(), self._state, (np.int32(times), inputs))
        self._state = {name: found.pop(name) for name in self._state}
        return found

    def release(self, name: str) -> None:
        """From now on the variable is hidden."""
        self._release(name)

    def statistics(self, sparseness: Mapping[str, float]) -> dict[str, Statistics]:
        """By learned parameter, what its left update would be made from now; no sweep can follow."""
        kind = self._kind(0, sparseness)._replace(due=frozenset(self._problem.learned))
        results = self._perform(1, sparseness, "statistics", kind)
        return self._statistics_of(dict(jax.device_get(results)))

    # --- values

    def _read(self, name: str) -> np.ndarray:
        with jax.transfer_guard("allow"):
            return np.asarray(self._state[name])

    def _write(self, name: str, array: np.ndarray) -> None:
        with numbers(self._problem.precision):
            self._state[name] = jax.device_put(np.array(array, self._problem.dtype))

    def close(self) -> None:
        """Give all memory back but that of the values themselves; no sweep can follow."""
        with jax.transfer_guard("allow"):
            self._state = dict(jax.device_get({name: self._state[name] for name in self._lowering.store.start}))
        self._bound, self._device = {}, Device()
