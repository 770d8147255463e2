"""The values of a substituted run: where they lie, which entries are eliminated, and which are updated."""

from dataclasses import replace
from typing import Any

import numpy as np

from pfn.compiler.substitution import Substitution
from pfn.engines.counted import counted_entries, filled_in
from pfn.engines.fixed import fixed_variables, held_variables
from pfn.engines.layout import Layout
from pfn.engines.numpy_engine import NumpyRun
from pfn.engines.parameters import make_units
from pfn.engines.problem import Problem, dense
from pfn.engines.slots import fill, values_by_sequence
from pfn.engines.state import State, aligned
from pfn.engines.substituted_parameters import SumUnit
from pfn.engines.threads import Threads, product_sizes
from pfn.network import Slice

# What hidden entries of data are multiplied by while levels are fitted to them: as small as propagation draws them.
NOTHING = 1e-6


class SubstitutedValues:
    """Arrays by variable, and units of parameters; free variables and units share one buffer, `state`."""

    def __init__(self, problem: Problem, plan: Substitution) -> None:
        self._problem, self._plan = problem, plan
        self.layout = Layout(plan.network, problem.lengths, problem.observed)
        self.threads = Threads(product_sizes(plan.network, self.layout))
        self._fixed = fixed_variables(problem, self.layout)
        self._allocate()
        for name, array in self.hidden.items():
            fill(array, name, problem.start[name], self.layout)
        for unit in self.units:
            unit.start(problem.start)
        self.arrays: dict[str, Any] = self._fixed | self.hidden
        self._held = held_variables(problem, self.layout, self.hidden)
        self._mark()

    def _allocate(self) -> None:
        dtype, network = self._problem.dtype, self._plan.network
        self.units = [SumUnit.like(unit) for unit in make_units(self._problem)]
        hidden = [variable for variable in network.variables if variable.name not in self._fixed]
        shapes: dict[str, tuple[int, ...]] = {v.name: (v.size, self.layout.width(v.name)) for v in hidden}
        free = {name: shapes[name] for name in self._plan.free}
        self.state = State(free | {f"unit {unit.name}": unit.shape for unit in self.units}, dtype, self.threads)
        self.hidden = {
            name: self.state.arrays[name] if name in free else aligned(int(np.prod(shape)), dtype).reshape(shape)
            for name, shape in shapes.items()
        }
        for unit in self.units:
            unit.take(self.state.arrays[f"unit {unit.name}"], self.threads.dot)

    def _mark(self) -> None:
        """Which entries are `eliminated`, by child slice, and which are `free`, by variable: the other hidden ones.

        What occurs once is eliminated in any case: nothing but its equation says what it is.
        """
        layout, owners = self.layout, dict(self._plan.definitions)
        filled = filled_in(layout, self._problem.observed, self.hidden)
        self.entries = counted_entries(layout, filled, self._problem.weights)
        self.eliminated: dict[tuple[str, Slice], np.ndarray] = {}
        self.free: dict[str, np.ndarray] = {}
        for name, array in self.hidden.items():
            hidden = self._hidden_entries(name, array.shape)
            self.free[name] = hidden & layout.touched(name)
            for equation in self._plan.network.factorizations:
                for child in (child for child in equation.children if child.variable.name == name):
                    given_up = hidden if owners.get(name) == equation.name else filled.get(name)
                    if given_up is not None:
                        self.eliminated[equation.name, child] = given_up & layout.touches(equation, child)
                        self.free[name] &= ~self.eliminated[equation.name, child]

    def _hidden_entries(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        mask = np.zeros(shape, dtype=bool)
        observed = self._problem.observed.get(name)
        for sequence in range(len(self.layout.lengths)):
            here = mask[:, self.layout.slots(name, sequence)]
            here[...] = True if observed is None else np.isnan(dense(observed[sequence]))
        return mask

    def restore_observed(self) -> None:
        """Put the observed entries back into variables that are observed in part."""
        for held in self._held.values():
            held.restore()

    def fit_levels(self, rounds: int) -> None:
        """Take the values with which propagation starts when it first fits every learned level to the one below it."""
        levels = NumpyRun(replace(self._problem, start={**self._problem.start, **self._nearly_nothing()}))
        levels.fit_levels(rounds, {equation.name: 0.0 for equation in self._plan.network.factorizations})
        for name in self._plan.free:
            fill(self.hidden[name], name, [np.nan_to_num(values) for values in levels.variable(name)], self.layout)
        for unit in self.units:
            unit.start({p.name: levels.parameter(p.name) for p in unit.parameters})

    def _nearly_nothing(self) -> dict[str, list[np.ndarray]]:
        """By variable that is observed in part, its starting values so small that levels are not fitted to them."""
        start, observed = self._problem.start, self._problem.observed
        return {name: [NOTHING * values for values in start[name]] for name in observed if name in start}

    def variable(self, name: str) -> list[Any]:
        """The values of a variable, one array per sequence; columns that nothing touches are NaN if hidden."""
        observed = self._problem.observed.get(name)
        if name in self._fixed and observed is not None:
            return [array.copy() for array in observed]
        return list(values_by_sequence(self.arrays[name], name, observed, self.layout))

    def parameter(self, name: str) -> Any:
        """The current matrix of a parameter."""
        for unit in self.units:
            for parameter in unit.parameters:
                if parameter.name == name:
                    return unit.matrix(parameter).copy()
        return self._problem.start[name]
