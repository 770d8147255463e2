"""The right updates of small equations of one level, done together.

The equations of a level do not see each other's updates. Where they are small, a call costs more than its
arithmetic, so their children, ratios, factors and parents lie side by side and each formula is one call.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from pfn.engines.equations import Equation
from pfn.engines.layout import Layout
from pfn.engines.problem import Problem
from pfn.engines.state import BLOCK_ENTRIES, State, aligned
from pfn.network import Factorization
from pfn.updates import factor


def plan_batches(problem: Problem, layout: Layout, fixed: Iterable[str]) -> list[list[Factorization]]:
    """The equations of each level that can be updated together, where there are several."""
    network = problem.schedule.network
    simple = [e for e in network.by_level if _is_simple(e, problem, layout, set(fixed))]
    levels: dict[int, list[Factorization]] = {}
    for equation in simple:
        levels.setdefault(network.level_of(equation), []).append(equation)
    small = [batch for batch in levels.values() if sum(e.rows * layout.count(e) for e in batch) <= BLOCK_ENTRIES]
    return [batch for batch in small if len(batch) > 1]


def _is_simple(equation: Factorization, problem: Problem, layout: Layout, fixed: set[str]) -> bool:
    """One known parameter, one hidden parent that has no other copy and all of its columns here."""
    parent = equation.parents[0]
    name = parent.variable.name
    uses = [p for e in problem.schedule.network.factorizations for p in e.parents if p.variable.name == name]
    return (
        problem.divergence.unit_denominator
        and problem.averaging != "all"
        and layout.single
        and len(uses) == 1
        and len(equation.terms) == 1
        and parent.lag == 0
        and equation.terms[0].window is None
        and not {name, *(child.variable.name for child in equation.children)} & fixed & _sparse(problem)
        and name not in fixed
        and equation.parameters[0].name not in problem.learned
        and 0 < layout.count(equation) == layout.width(name)
    )


def _sparse(problem: Problem) -> set[str]:
    return {name for name, arrays in problem.observed.items() if hasattr(arrays[0], "toarray")}


class Batch:
    """Equations whose right updates are done together; their reconstructions lie one after the other."""

    def __init__(self, equations: list[Equation], reconstructions: np.ndarray, state: State, epsilon: float) -> None:
        self.done = False  # whether the last `update` was made
        self._equations = equations
        self._epsilon = epsilon
        self._divergence = equations[0].divergence
        self._R = reconstructions
        self._X = aligned(reconstructions.size, reconstructions.dtype)
        parents = [equation.parents[0].variable for equation in equations]
        self._parents = state.span(parents[0], parents[-1])
        self._factors = aligned(self._parents.size, self._parents.dtype)
        self._denominators = np.ones_like(self._factors)
        self._gather = self._child_rooms()
        self._work = [self._views(equation, state) for equation in equations]

    def _child_rooms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Where the children of every equation go, in the order of the reconstructions."""
        rooms, start = [], 0
        for equation in self._equations:
            size = equation.reconstruction.size
            room = self._X[start : start + size].reshape(equation.reconstruction.shape)
            rooms += [(room[piece.rows], piece.values) for piece in equation.children]
            start += size
        return rooms

    def _views(self, equation: Equation, state: State) -> tuple[Equation, np.ndarray]:
        """The equation with its part of the factors, which lie like its parent's values."""
        name = equation.parents[0].variable
        values = state.arrays[name]
        start = state.places[name] - state.places[self._equations[0].parents[0].variable]
        part = slice(start, start + values.size)
        self._denominators[part].reshape(values.shape)[:] = equation.column_sums(0.0) + self._epsilon
        return equation, self._factors[part].reshape(values.shape)

    def update(self, sparseness: Mapping[str, float]) -> bool:
        """Update all parents; False, and nothing done, where sparseness asks for the equations one by one."""
        if any(sparseness[equation.name] for equation in self._equations):
            return False
        for equation in self._equations:
            equation.make_fresh()
        for room, values in self._gather:
            np.copyto(room, values)
        self._divergence.numerator_field(self._X, self._R, self._epsilon, scratch=self._X, out=self._R)
        for equation, factors in self._work:
            equation.use_up(factors)
        factor(self._factors, self._denominators, self._epsilon, out=self._factors)
        np.multiply(self._parents, self._factors, out=self._parents)
        return True
