"""The NumPy engine: runs the sweeps of a schedule on buffers that are allocated once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pfn.compiler import Step
from pfn.engines.batches import Batch, plan_batches
from pfn.engines.counted import counted_entries, filled_in
from pfn.engines.equations import Equation
from pfn.engines.errors import ErrorMeter
from pfn.engines.fixed import Held, fixed_variables, held_variables
from pfn.engines.kinds import Kit
from pfn.engines.layout import Layout
from pfn.engines.means import ChildMean, ParentMean, make_means
from pfn.engines.parameters import Unit, make_units, normalize_units
from pfn.engines.problem import Errors, Problem, Statistics
from pfn.engines.slots import fill, load_values, save_values, values_by_sequence
from pfn.engines.state import Scratch, State
from pfn.engines.stretch import Stretch
from pfn.engines.threads import Threads, product_sizes
from pfn.updates.momentum import strength

Work = Callable[[int, Mapping[str, float]], None]  # of a step, given the number of the sweep and the sparseness


class NumpyRun:
    """A run of Algorithm 1: the values, and the work of a sweep on them."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._network = problem.schedule.network
        self._layout = Layout(self._network, problem.lengths, problem.observed)
        self._threads = Threads(product_sizes(self._network, self._layout))
        self._units = make_units(problem)
        self._fixed = fixed_variables(problem, self._layout)
        self._released: set[str] = set()  # until now
        self._batches = plan_batches(problem, self._layout, self._fixed)
        self._allocate()
        self._fill()
        self._make_equations()
        self._parent_means, self._child_means = make_means(self._arrays, self._equations, self._layout, problem)
        self._bind_scratch()
        self._held: dict[str, Held] = held_variables(problem, self._layout, self._state.arrays)
        self._bind_steps()
        for equation in self._equations.values():
            equation.values_changed()
        known = {p.name: problem.start[p.name] for p in self._network.parameters if p.name not in problem.learned}
        self._problem = replace(problem, start=known)  # the other starting values are in the state now

    def _allocate(self) -> None:
        together = [e.parents[0].variable for batch in self._batches for e in batch]
        variables = dict.fromkeys([*together, *self._network.variables])
        shapes: dict[str, tuple[int, ...]] = {
            v.name: (v.size, self._layout.width(v.name)) for v in variables if v.name not in self._fixed
        }
        shapes |= {f"unit {unit.name}": unit.shape for unit in self._units}
        self._state = State(shapes, self._problem.dtype, self._threads)
        self._arrays = {
            v.name: self._fixed[v.name] if v.name in self._fixed else self._state.arrays[v.name]
            for v in self._network.variables
        }
        for unit in self._units:
            unit.bind(self._state.arrays[f"unit {unit.name}"], self._problem.divergence, self._threads.dot)

    def _fill(self) -> None:
        """Copy the starting values in."""
        for name in self._arrays.keys() - self._fixed.keys():
            fill(self._arrays[name], name, self._problem.start[name], self._layout)
        for unit in self._units:
            unit.start(self._problem.start)

    def _make_equations(self) -> None:
        together = [e for batch in self._batches for e in batch]
        ordered = dict.fromkeys([*together, *self._network.factorizations])
        kit = Kit(self._problem, self._layout, self._arrays, self._units, self._threads)
        self._equations, self._flat = kit.make_equations(ordered)
        entries = self._counted_entries()
        self._meter = ErrorMeter(self._equations, self._flat, self._problem, entries=entries, threads=self._threads)

    def _counted_entries(self) -> dict[str, float]:
        hidden = [variable.name for variable in self._network.variables if variable.name not in self._fixed]
        filled = filled_in(self._layout, self._problem.observed, hidden, self._released)
        return counted_entries(self._layout, filled, self._problem.weights)

    @property
    def entries(self) -> Mapping[str, float]:
        """By equation, the number of entries that its error is the mean over."""
        return self._meter.entries

    def _bind_scratch(self) -> None:
        scratch = Scratch(self._problem.dtype)
        workers: list[Any] = [*self._equations.values(), *self._parent_means.values(), self._meter]
        for worker in workers:
            worker.reserve(scratch)
        for worker in workers:
            worker.bind(scratch)

    def release(self, name: str) -> None:
        """From now on the variable is hidden."""
        self._held.pop(name, None)
        self._released.add(name)
        self._meter.entries = self._counted_entries()

    def extrapolate(self, beta: float, number: int) -> None:
        """Momentum before a sweep, on all hidden values and the learned parameters that are due in it."""
        resting = [f"unit {unit.name}" for unit in self._units if number % unit.every]
        self._state.extrapolate(beta, resting)
        for held in self._held.values():
            held.restore()
        for equation in self._equations.values():
            equation.values_changed()

    @property
    def pace(self) -> int:
        """How many sweeps to ask for at a time."""
        return 1

    def advance(self, stretch: Stretch) -> Sequence[Errors | None]:
        """One sweep, with momentum before it if that was asked for; the errors after it, which momentum needs."""
        with self._threads:
            return self._advance(stretch)

    def _advance(self, stretch: Stretch) -> Sequence[Errors | None]:
        number, accelerated = stretch.first, self._problem.accelerated
        if accelerated:
            self.extrapolate(strength(stretch.steps), number)
        sparseness = stretch.sparseness(number)
        for work in self._up:
            work(number, sparseness)
        self.propagate()
        return [self._meter.measure() if accelerated or stretch.measured(number) else None]

    def propagate(self) -> None:
        """The downward pass."""
        for work in self._down:
            work()

    def fit_levels(self, rounds: int, sparseness: Mapping[str, float]) -> None:
        """The start by levels: fit each level to the one below it, from the bottom up, then propagate."""
        if self._problem.accelerated:
            self._state.prepare_momentum()  # only zeros of before stay zero: a resumed run knows no others
        steps = self._problem.schedule.up
        for level in sorted({step.level for step in steps}):
            for number in range(rounds):
                for step, work in zip(steps, self._up, strict=True):
                    if step.level == level:
                        work(number, sparseness)
                self._settle()
        self.propagate()

    def _settle(self) -> None:
        """Average what waits for equations of higher levels over the copies that were updated."""
        for name, mean in self._parent_means.items():
            mean.finish()
            if name in self._held:
                self._held[name].restore()

    def _bind_steps(self) -> None:
        """The work of every step, looked up once; averaging what never changes is left out."""
        self._batch_of = self._make_batches()
        self._up = [self._work_up(step) for step in self._problem.schedule.up]
        self._down = [self._work_down(step) for step in self._problem.schedule.down]

    def _make_batches(self) -> dict[str, tuple[Batch, bool]]:
        """By equation its batch, and whether it is the first of it."""
        batches: dict[str, tuple[Batch, bool]] = {}
        start = 0
        for declared in self._batches:
            equations = [self._equations[e.name] for e in declared]
            end = start + sum(equation.reconstruction.size for equation in equations)
            batch = Batch(equations, self._flat[start:end], self._state, self._problem.epsilon)
            batches |= {equation.name: (batch, equation is equations[0]) for equation in equations}
            start = end
        return batches

    def _work_up(self, step: Step) -> Work:
        if step.action == "left update":
            return self._learning(step)
        if step.action == "right update":
            return self._inference(self._equations[step.equations[0]])
        average = self._averaging(step.targets[0], self._parent_means)
        return lambda _number, _sparseness: average()

    def _work_down(self, step: Step) -> Callable[[], None]:
        if step.action == "propagate":
            return self._equations[step.equations[0]].propagate
        return self._averaging(step.targets[0], self._child_means)

    def _learning(self, step: Step) -> Work:
        units = self._units_of(step)
        equations = [self._equations[name] for name in step.equations]
        joint = {e.name for e in equations if self._is_joint(e, step)}

        def work(number: int, sparseness: Mapping[str, float]) -> None:
            due = [unit for unit in units if number % unit.every == 0]
            if not due:
                return
            for equation in equations:
                add = equation.add_joint_statistics if equation.name in joint else equation.add_statistics
                add(due, sparseness[equation.name])
            for unit in due:
                unit.update(self._problem.epsilon)
            updated = {parameter.name for unit in due for parameter in unit.parameters}
            normalize_units(units, updated, (equation.declared for equation in equations))
            for equation in equations:
                equation.values_changed()

        return work

    def _is_joint(self, equation: Equation, step: Step) -> bool:
        """Whether a left update and the right update of an equation in it are made from the same ratios."""
        same_level = self._network.level_of(equation.declared) == step.level
        return self._problem.joint and same_level and bool(self._means_above(equation))

    def _units_of(self, step: Step) -> list[Unit]:
        """What a left update changes."""
        return [unit for unit in self._units if unit.parameters[0].name in step.targets]

    def _means_above(self, equation: Equation) -> list[ParentMean]:
        """Of the parents that change; none where the equation has no columns."""
        parents = dict.fromkeys(piece.variable for piece in equation.parents) if equation.columns else {}
        return [self._parent_means[name] for name in parents if name in self._parent_means]

    def _inference(self, equation: Equation) -> Work:
        means = self._means_above(equation)

        def work(_number: int, sparseness: Mapping[str, float]) -> None:
            terms = equation.right_terms(sparseness[equation.name])
            for mean in means:
                mean.collect(equation.name, terms)

        if not means:
            return lambda _number, _sparseness: None
        return self._batched(equation, work) if equation.name in self._batch_of else work

    def _batched(self, equation: Equation, alone: Work) -> Work:
        """The first equation of a batch updates all of it; with sparseness each does its own work."""
        batch, first = self._batch_of[equation.name]

        def work(number: int, sparseness: Mapping[str, float]) -> None:
            if first:
                batch.done = batch.update(sparseness)
            if not batch.done:
                alone(number, sparseness)

        return work

    def _averaging(self, name: str, means: Mapping[str, ParentMean | ChildMean]) -> Callable[[], None]:
        if name not in means:
            return lambda: None
        finish = means[name].finish

        def work() -> None:
            finish()
            held = self._held.get(name)
            if held is not None:
                held.restore()

        return work

    def statistics(self, sparseness: Mapping[str, float]) -> dict[str, Statistics]:
        """By learned parameter, what its left update would be made from now; no sweep can follow."""
        found: dict[str, Statistics] = {}
        for step in (step for step in self._problem.schedule.up if step.action == "left update"):
            units = self._units_of(step)
            for name in step.equations if units else ():
                self._equations[name].add_statistics(units, sparseness[name])
            for unit in units:
                found |= unit.statistics()
        return found

    def variable(self, name: str) -> list[Any]:
        """The values of a variable, one array per sequence; columns that nothing touches are NaN if hidden."""
        observed = self._problem.observed.get(name)
        if name in self._fixed and observed is not None:
            return [array.copy() for array in observed]
        return list(values_by_sequence(self._arrays[name], name, observed, self._layout))

    def parameter(self, name: str) -> Any:
        """The current matrix of a parameter."""
        for unit in self._units:
            for parameter in unit.parameters:
                if parameter.name == name:
                    return unit.matrix(parameter).copy()
        return self._problem.start[name]

    def close(self) -> None:
        """Give all memory back but that of the values themselves; no sweep can follow."""
        self._up, self._down = [], []
        self._equations, self._parent_means, self._child_means = {}, {}, {}
        self._batch_of, self._flat = {}, np.empty(0)
        self._meter.close()
        self._state.close()

    def save_state(self) -> dict[str, np.ndarray]:
        """Everything that the next sweep depends on: values now and, with momentum, z from before the last sweep."""
        return save_values(self._state, self._layout)

    def load_state(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue where `save_state` left off, of this engine or another."""
        load_values(self._state, saved, self._layout)
        for equation in self._equations.values():
            equation.values_changed()
