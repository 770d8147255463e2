"""Sweeps of exact multiplicative updates on a substituted network, none of which raises the cost."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.compiler.substitution import Move, Substitution
from pfn.engines.blocks import make_blocks
from pfn.engines.problem import Errors, Problem, Statistics
from pfn.engines.slots import load_values, save_values
from pfn.engines.state import Scratch, aligned
from pfn.engines.stretch import Stretch
from pfn.engines.substituted_equations import Flow, Rest, Risen, SparseFlow, flow_kind
from pfn.engines.substituted_parameters import LeftUpdate
from pfn.engines.substituted_values import SubstitutedValues
from pfn.network import Factorization
from pfn.updates import factor
from pfn.updates.between import between, child_field
from pfn.updates.majorizers import fields_at
from pfn.updates.momentum import strength

# How often the levels above the bottom are updated in a sweep: the products with the bottom matrices, which are by far
# the largest, are made once for all of them (benchmarks/substitution.py).
UPPER_ROUNDS = 2
MUCH_MORE = 4  # they are updated once where they take so many times the work of the bottom
FASTER = 2  # momentum grows so many times faster than in propagation: a step too far is taken back here
NOTHING: Mapping[str, Rest] = MappingProxyType({})


class SubstitutedRun:
    """The values of a run, and the moves of a sweep on them."""

    def __init__(self, problem: Problem, plan: Substitution) -> None:
        self._problem, self.plan, self._network = problem, plan, plan.network
        self._values = SubstitutedValues(problem, plan)
        self._threads = self._values.threads
        self.risen = {
            name: Risen(*(aligned(array.size, array.dtype).reshape(array.shape) for _ in range(2)))
            for name, array in self._values.hidden.items()
        }
        self._flows = {declared.name: self._make_flow(declared) for declared in self._network.factorizations}
        self._connect()
        self._left = {move: self._left_update(move) for move in plan.moves if move.action == "left update"}
        self.moves = tuple(m for m in plan.moves if m in self._left or self._has_free(m))
        self._bottom = {e.name: e for e in self._network.factorizations if self._network.level_of(e) == 1}
        self._rounds = UPPER_ROUNDS if self._rounds_pay() else 1
        self._settled: set[str] = set()  # the variables whose denominators hold until parameters change
        self._steps = 0  # sweeps since the momentum began or was taken back
        self.cost_ahead = float("inf")  # where the last sweep with momentum began
        self._due: set[str] = set()  # the equations above which something changed since values flowed through them
        self._flow_down(self._network.by_level)

    def _rounds_pay(self) -> bool:
        """Whether there are equations above those of the bottom, which do not take much more work than these."""
        work = [(name in self._bottom, flow.work) for name, flow in self._flows.items()]
        upper = sum(each for below, each in work if not below)
        return len(self._bottom) < len(work) and upper < MUCH_MORE * sum(each for below, each in work if below)

    def _has_free(self, move: Move) -> bool:
        return any(self._values.free[name].any() for name in move.targets)

    def _make_flow(self, declared: Factorization) -> Flow | SparseFlow:
        values, dtype = self._values, self._problem.dtype
        kind, columns = flow_kind(declared, values.arrays), values.layout.count(declared)
        sparse = any(sp.issparse(values.arrays[p.variable.name]) for p in (*declared.children, *declared.parents))
        size = 0 if kind is SparseFlow else declared.rows * columns
        return kind(
            declared,
            values.arrays,
            values.layout,
            blocks=make_blocks(
                declared, columns, values.units, self._problem, sparse_data=sparse, dot=self._threads.dot
            ),
            reconstruction=aligned(size, dtype).reshape(declared.rows, -1 if size else 0),
            problem=self._problem,
            threads=self._threads,
        )

    def _connect(self) -> None:
        scratch = Scratch(self._problem.dtype)
        for flow in self._flows.values():
            flow.reserve(scratch)
        for flow in self._flows.values():
            flow.bind(scratch)
            flow.substitute(self._values.eliminated, self.risen, self._values.layout)

    def _left_update(self, move: Move) -> LeftUpdate:
        units = [unit for unit in self._values.units if unit.parameters[0].name in move.targets]
        parameters = {parameter for unit in units for parameter in unit.parameters}
        equations = [e for e in self._network.factorizations if parameters & {*e.parameters}]
        return LeftUpdate(units, equations, degree=move.degree, problem=self._problem)

    def rise(self, move: Move, resting: Mapping[str, Rest] = NOTHING) -> None:
        """Collect the numerators and denominators of a move, from the costs or from where they rest, up to it."""
        self._catch_up()
        wanted = {name for name, equation in self.plan.definitions if equation in move.equations}
        if move.action == "right update":
            wanted.update(move.targets)
        for name in wanted:
            self._begin(name, resting)
        units = self._left[move].units if move in self._left else ()
        for flow in (self._flows[e.name] for e in self._reached(move, resting)):
            A, B = flow.fields()
            flow.add_to(units, A, B)
            flow.rise(A, B, wanted, self._settled)
        if self._problem.divergence.unit_denominator:
            self._settled |= wanted

    def _begin(self, name: str, resting: Mapping[str, Rest]) -> None:
        """Begin to collect what rises to a variable, from nothing or from what rests there."""
        if name in resting:
            self.risen[name].set(*fields_at(self._values.hidden[name], *resting[name], self._problem.divergence))
            self._settled.discard(name)
        elif name in self._settled:
            self.risen[name].numerator[...] = 0
        else:
            self.risen[name].set()

    def _reached(self, move: Move, resting: Mapping[str, Rest]) -> list[Factorization]:
        """The equations of a move, from the bottom up; without the bottom where all that rises from it rests."""
        names = {*move.equations} - ({*self._bottom} if resting else set())
        return [e for e in self._network.by_level if e.name in names]

    def _rest(self) -> dict[str, Rest]:
        """What rises from the bottom equations to their hidden parents."""
        hidden = self._values.hidden
        parents = {p.variable.name for e in self._bottom.values() for p in e.parents if p.variable.name in hidden}
        self._settled -= parents
        for name in parents:
            self.risen[name].set()
        self._catch_up()
        for flow in (self._flows[name] for name in self._bottom):
            A, B = flow.fields()
            flow.rise(A, B, parents)
        return {name: Rest(hidden[name].copy(), *(part.copy() for part in self.risen[name])) for name in parents}

    def update(self, move: Move, resting: Mapping[str, Rest] = NOTHING) -> None:
        """One move: the cost is not larger after it. With what rests below it, its bound is not."""
        self.rise(move, resting)
        if move in self._left:
            self._left[move].apply()
            self._parameters_changed()
        else:
            for name in move.targets:
                np.copyto(self._values.hidden[name], self._updated(name), where=self._values.free[name])
        self._flow_down(self._reached(move, resting))

    def _updated(self, name: str) -> np.ndarray:
        """What the free entries of a variable become."""
        x, epsilon, (numerator, denominator) = self._values.hidden[name], self._problem.epsilon, self.risen[name]
        roles = [(e, c) for e in self._network.factorizations for c in e.children if c.variable.name == name]
        if name in dict(self.plan.definitions) or not roles:
            return np.asarray(x * factor(numerator, denominator + epsilon, epsilon))
        layout, divergence = self._values.layout, self._problem.divergence
        count, pull = np.zeros_like(x), np.zeros_like(x)
        for equation, child in roles:
            flow = self._flows[equation.name]
            rows = equation.parts[equation.children.index(child)]
            field = child_field(flow.reconstruction[rows], divergence, epsilon)
            layout.view(count, child, flow.columns)[...] += flow.counts
            layout.view(pull, child, flow.columns)[...] += flow.counts * field
        return np.asarray(
            between(x, numerator, denominator, count=count, pull=pull, divergence=divergence, epsilon=epsilon)
        )

    def _parameters_changed(self) -> None:
        self._settled.clear()
        for flow in self._flows.values():
            flow.values_changed()

    def _flow_down(self, equations: Sequence[Factorization]) -> None:
        """New values are to flow through these equations, when next they are asked for."""
        self._due.update(equation.name for equation in equations)

    def _catch_up(self) -> None:
        """What is due, from the top to the bottom."""
        for equation in reversed(self._network.by_level):
            if equation.name in self._due:
                self._flows[equation.name].flow()
        self._due.clear()

    @property
    def pace(self) -> int:
        """How many sweeps to ask for at a time."""
        return 1

    def advance(self, stretch: Stretch) -> list[Errors | None]:
        """One sweep, with momentum from a point ahead."""
        with self._threads:
            resting = [move for move, left in self._left.items() if not left.rhythm.due(stretch.first)]
            if self._problem.accelerated:
                self._look_ahead(strength(FASTER * self._steps), resting)
            self._sweep([move for move in self.moves if move not in resting])
            return [self.errors() if stretch.measured(stretch.first) else None]

    def _look_ahead(self, beta: float, resting: Sequence[Move]) -> None:
        """Extrapolate, unless the cost there is above that of the point ahead before, which no sweep from it raised.

        The cost is not measured between a sweep and the next point ahead: values would have to flow down for it.
        """
        state, lowest = self._values.state, self.cost_ahead
        before = state.flat.copy()
        still = [f"unit {unit.name}" for move in resting for unit in self._left[move].units]
        state.extrapolate(beta, still)
        learned = [update for move, update in self._left.items() if move not in resting]
        for update in learned:
            update.normalize()
        self._refresh(learned=bool(learned))
        self.cost_ahead = self.objective()
        self._steps += 1
        if beta and not self.cost_ahead <= lowest:
            state.flat[:] = before
            state.extrapolate(0.0, still)
            self._refresh(learned=bool(learned))
            self.cost_ahead = self.objective()
            self._steps = 1

    def _sweep(self, moves: Sequence[Move]) -> None:
        """The bottom first; then the levels above, several times, with what has risen to them from there."""
        upper = [move for move in moves if move.level > 1]
        for move in moves:
            if move not in upper:
                self.update(move)
        resting = self._rest() if len(upper) * self._rounds > 1 else NOTHING
        for move in upper * self._rounds:
            self.update(move, resting)
        if resting:
            self._flow_down([*self._bottom.values()])

    def _refresh(self, *, learned: bool = True) -> None:
        """Let everything follow from new values of the free variables and of the parameters, if any is learned."""
        self._values.restore_observed()
        if learned:
            self._parameters_changed()
        self._flow_down(self._network.by_level)

    def fit_levels(self, rounds: int) -> None:
        """Start where propagation does when it first fits every learned level to the one below it."""
        state = self._values.state
        if self._problem.accelerated:
            state.prepare_momentum()  # only zeros of before stay zero: a resumed run knows no others
        self._values.fit_levels(rounds)
        if self._problem.accelerated:
            state.extrapolate(0.0)  # which remembers where the levels began
        self._refresh()
        self.cost_ahead = self.objective()

    def objective(self) -> float:
        """What no move raises: the divergence, and the distance of pulled parameters from their priors."""
        return self.errors().divergence + self._penalty()

    def _penalty(self) -> float:
        return sum(update.penalty() for update in self._left.values())

    def errors(self) -> Errors:
        """The errors of all equations with the values as they are."""
        self._catch_up()
        found = {name: flow.errors() for name, flow in self._flows.items()}
        squared = {name: squares for name, (squares, _) in found.items()}
        return Errors.of(squared, self.entries, sum(part for _, part in found.values()))

    @property
    def entries(self) -> Mapping[str, float]:
        """By equation, the number of entries that its error is the mean over."""
        return self._values.entries

    def statistics(self, _sparseness: Mapping[str, float]) -> dict[str, Statistics]:
        """By learned parameter, what its left update would be made from now; no sweep can follow."""
        found: dict[str, Statistics] = {}
        for move, update in self._left.items():
            self.rise(move)
            for unit in update.units:
                found |= unit.statistics()
        return found

    def variable(self, name: str) -> list[Any]:
        """The values of a variable, one array per sequence; columns that nothing touches are NaN if hidden."""
        self._catch_up()
        return self._values.variable(name)

    def parameter(self, name: str) -> Any:
        """The current matrix of a parameter."""
        return self._values.parameter(name)

    def save_state(self) -> dict[str, np.ndarray]:
        """Everything that the next sweep depends on."""
        saved = save_values(self._values.state, self._values.layout)
        return saved | {"momentum": np.array([self._steps, self.cost_ahead])}

    def load_state(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue where `save_state` left off."""
        load_values(self._values.state, saved, self._values.layout)
        self._steps, self.cost_ahead = int(saved["momentum"][0]), float(saved["momentum"][1])
        self._refresh()

    def close(self) -> None:
        """Give all memory back but that of the values themselves; no sweep can follow."""
        self._catch_up()
        self.moves, self.risen, self._flows, self._left = (), {}, {}, {}
        self._values.state.close()
