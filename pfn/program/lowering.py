"""Schedule → program: the steps of a sweep, written down by the formulas, one operation after the other.

What is written is naive: every result is an array of its own, nothing is kept and nothing is done in place. The passes
(`pfn.program.passes`) see to that. Only the order has foresight: equations of a level are written down side by side.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from pfn.formulas import DIVERGENCES, Fields, extrapolate, factor, updated
from pfn.formulas.momentum import FLOOR
from pfn.network import Factorization, Term
from pfn.program.equations import Copy, EquationWriter
from pfn.program.layout import Layout
from pfn.program.learning import Sums, left_terms, normalize, tied, update_unit
from pfn.program.matrices import MatrixShelf
from pfn.program.measuring import write_divergence, write_result, write_squared_errors
from pfn.program.problem import Problem
from pfn.program.program import SMALL_ENTRIES, Array, Op, Program, TimeWindow, View
from pfn.program.store import Store, Unit
from pfn.program.tape import Tape, Tracer


class SweepKind(NamedTuple):
    """What distinguishes the sweeps of a run that need programs of their own."""

    due: frozenset[str]
    """Learned parameters that are updated in the sweep."""
    released: frozenset[str]
    """Variables whose observations have been let go."""
    smoothed: frozenset[str]
    """Equations with a sparseness above zero."""


class ParentCopy(NamedTuple):
    """Numerators and denominators of a right update for one occurrence of a parent, and the equation they are from.

    Denominators that are the same in all columns are a vector.
    """

    work: EquationWriter
    copy: Copy
    numerator: Tracer
    denominator: Tracer


class Lowering:
    """Writes programs down for the runs of one problem; constants and decisions are shared by all of them."""

    def __init__(self, problem: Problem, backend: str) -> None:
        self.problem, self.network = problem, problem.schedule.network
        self.layout = Layout(self.network, problem.lengths, problem.observed)
        self.store = Store(problem, self.layout)
        self.shelf = MatrixShelf(self.store, backend)
        self.constants: dict[str, Array] = {}
        self.windows = {
            (term, e.name): self._window_of(term, e)
            for e in self.network.factorizations
            for term in e.terms
            if term.window
        }
        self.levels = [
            [e for e in self.network.by_level if self.network.level_of(e) == level]
            for level in range(1, len(self.network.levels))
        ]

    def _window_of(self, term: Term, equation: Factorization) -> TimeWindow:
        """The window of a term, over the columns that the equation sees of its parent."""
        assert term.window is not None  # the caller has looked
        columns = self.layout.slice_columns(term.slice, self.layout.count(equation))
        position = self.layout.positions(columns.stop - columns.start)
        rates = np.array(np.broadcast_to(term.window.rates, term.slice.variable.size))
        return TimeWindow(rates, term.window.length, position)

    @property
    def signature(self) -> tuple[object, ...]:
        """What the programs depend on beside the network: those of equal signatures differ in what is given only."""
        return *self.store.signature(), *self.shelf.signature

    def sweep(self, kind: SweepKind) -> Program:
        """One sweep: momentum if the problem asks for it, up through the levels, down again; the errors after it."""
        writing = _SweepWriter(self, kind)
        if self.problem.accelerated:
            writing.extrapolate()
        writing.up(range(len(self.levels)))
        writing.down()
        body = writing.tape.section()
        errors = write_divergence(writing.tape, list(writing.work.values()))
        measure = writing.tape.section()
        write_squared_errors(writing.tape, writing.work, errors)
        return writing.program(body, measure, writing.tape.section())

    def level(self, level: int, kind: SweepKind) -> Program:
        """The upward work of one level (from 0), whose parents settle at once: a round of the start by levels."""
        writing = _SweepWriter(self, kind)
        writing.up([level])
        return writing.program(writing.tape.section())

    def propagation(self, kind: SweepKind) -> Program:
        """The downward pass alone."""
        writing = _SweepWriter(self, kind)
        writing.down()
        return writing.program(writing.tape.section())

    def statistics(self, kind: SweepKind) -> Program:
        """The sums of the left updates of all units as they are now; `names` has two arrays for each unit."""
        writing = _SweepWriter(self, kind)
        names = writing.statistics()
        program = writing.program(writing.tape.section())
        return replace(program, names={**program.names, **names})


class _SweepWriter:
    """One program while it is written."""

    def __init__(self, lowering: Lowering, kind: SweepKind) -> None:
        self.problem, self.network, self.kind = lowering.problem, lowering.network, kind
        self.layout, self.store, self.levels = lowering.layout, lowering.store, lowering.levels
        self.divergence = DIVERGENCES[self.problem.divergence.name]
        self.tape = Tape(self.problem.dtype, lowering.constants, self.store.given)
        # All programs declare the same state in the same order, so that it lies alike in all of them.
        self.state = {name: self.tape.state(name) for name in self.store.start}
        if self.problem.accelerated:
            self.state |= {f"before {name}": self.tape.state(f"before {name}") for name in self.store.start}
        dense = [v.name for v in self.network.variables if v.name not in self.store.sparse]
        self.variables = {name: self.store.variable(self.tape, name) for name in dense}
        self.units = {unit: self.store.unit(self.tape, unit) for unit in self.store.units}
        self.work = {e.name: self._writer(lowering, e) for e in self.network.factorizations}

    def _writer(self, lowering: Lowering, equation: Factorization) -> EquationWriter:
        return EquationWriter(
            equation,
            tape=self.tape,
            layout=self.layout,
            problem=self.problem,
            divergence=self.divergence,
            variables=self.variables,
            blocks=lowering.shelf.blocks(self.tape, equation),
            counts=self.store.counts_of(equation),
            data=self.store.sparse.get(equation.children[0].variable.name),
            windows={term: lowering.windows[term, equation.name] for term in equation.terms if term.window},
            sparseness=self.tape.input(f"sparseness {equation.name}") if equation.name in self.kind.smoothed else None,
        )

    def program(self, body: tuple[Op, ...], measure: tuple[Op, ...] = (), errors: tuple[Op, ...] = ()) -> Program:
        """What was written."""
        names = {name: tracer.view for name, tracer in self.state.items()}
        return Program(self.tape.arrays, body, measure, errors, names=names, dtype=self.problem.dtype)

    # --- values

    def _changes(self, name: str) -> bool:
        return name in self.store.start

    def _take(self, name: str, new: Tracer) -> None:
        """Let a variable take new values, then put its observed entries back."""
        self.tape.assign(self.variables[name], new)
        self._restore(name)

    def _restore(self, name: str) -> None:
        held = self.store.held.get(name)
        if held is not None and name not in self.kind.released:
            x = self.variables[name]
            mask, observed = self.tape.given(f"{name} is observed"), self.tape.given(f"{name} observed")
            self.tape.assign(x, self.tape.where(mask, observed, x))

    # --- momentum

    def extrapolate(self) -> None:
        """Ratio momentum on all variables that change and the learned parameters that are due.

        Values that are zero at the start of the run stay zero: fixed zeros of W, columns between sequences.
        """
        start = self.store.start
        moving = [n for n in start if n in self.variables]
        moving += [unit.name for unit in self.units if unit.names <= self.kind.due]
        gain, rest = self.tape.input("gain"), self.tape.input("rest")
        zeros = {name for name in moving if not start[name].all()}
        if sum(start[name].size for name in moving) <= SMALL_ENTRIES and zeros:
            zeros = set(moving)  # the same operation for all of them, so that they can become one
        with self.tape.stage():
            for name in moving:
                self.tape.chain()
                x, doubled = self.state[name], self.state[f"before {name}"]
                floor = self.tape.given(f"{name} floor") if name in zeros else FLOOR
                moved, now = extrapolate(x, doubled, gain, rest, floor)
                self.tape.assign(doubled, now)
                self.tape.assign(x, moved)
        with self.tape.stage():
            for name in moving:
                self.tape.chain()
                self._restore(name)

    # --- the upward pass

    def up(self, levels: Collection[int]) -> None:
        """By level: left updates, then right updates of the parents whose equations are all done.

        With one level only, all of its parents are settled from the copies in it.
        """
        waiting: dict[str, list[ParentCopy]] = {}
        for level in levels:
            made = self._joint_fields(level) if self.problem.joint else {}
            with self.tape.stage():
                joint = {name: self.work[name].parent_terms(fields) for name, (_, fields) in made.items()}
            self._left_updates(level + 1, made)
            with self.tape.stage():
                self._right_terms(level, waiting, joint)
                later = [e for n in levels if n > level for e in self.levels[n]]
                unfinished = {p.variable.name for e in later for p in e.parents}
                ready = {name: waiting.pop(name) for name in list(waiting) if name not in unfinished}
                for name, copies in ready.items():
                    self.tape.chain()
                    self._take(name, self._right_update(name, copies))

    def _joint_fields(self, level: int) -> dict[str, tuple[Tracer, Fields]]:
        """Stacked parents and fields of the equations whose left and right updates are made from the same ratios."""
        steps = [s for s in self.problem.schedule.up if s.action == "left update" and s.level == level + 1]
        due = {name for s in steps if self.kind.due & set(s.targets) for name in s.equations}
        with self.tape.stage():
            found = {}
            for equation in self.levels[level]:
                work = self.work[equation.name]
                if equation.name in due and self._changing_parents(work):
                    S = work.smoothed_parents()
                    found[equation.name] = S, work.fields(S)
            return found

    def _changing_parents(self, work: EquationWriter) -> list[Copy]:
        """The parents that change; none where the equation has no columns."""
        return [copy for copy in work.parents if self._changes(copy.variable)] if work.count else []

    def _left_updates(self, level: int, made: Mapping[str, tuple[Tracer, Fields]]) -> None:
        """The left updates of a level, all from the same values, and the normalizations after them."""
        steps = [s for s in self.problem.schedule.up if s.action == "left update" and s.level == level]
        with self.tape.stage():
            for step in steps:
                units = [u for u in self.units if u.names & set(step.targets) and u.names <= self.kind.due]
                sums = self._left_sums(units, step.equations, made)
                for unit in units:
                    self.tape.chain()
                    new = update_unit(self.tape, self.store, unit, sums[unit], self.problem.epsilon)
                    self.tape.assign(self.units[unit], new)
                names = {name for unit in units for name in unit.names}
                equations = [self.work[name].equation for name in step.equations]
                normalize(self.tape, self.store, names, equations)

    def _left_sums(
        self, units: list[Unit], equations: Collection[str], made: Mapping[str, tuple[Tracer, Fields]]
    ) -> dict[Unit, Sums]:
        """The sums of units over all equations of a step."""
        total: dict[Unit, Sums] = {}
        for name in equations if units else ():
            work = self.work[name]
            if name in made:
                S, fields = made[name]
            else:
                S = work.smoothed_parents()
                fields = work.fields(S)
            for unit in units:
                found = left_terms(work, S, fields, unit)
                if found is not None and unit in total:
                    found = Sums(*(a + b for a, b in zip(total[unit], found, strict=True)))
                total |= {unit: found} if found is not None else {}
        return total

    def _right_terms(
        self, level: int, waiting: dict[str, list[ParentCopy]], joint: Mapping[str, tuple[Tracer, Tracer]]
    ) -> None:
        """Numerators and denominators of the right updates of a level, by parent."""
        for equation in self.levels[level]:
            work = self.work[equation.name]
            copies = self._changing_parents(work)
            if not copies:
                continue
            self.tape.chain()
            if equation.name in joint:
                numerator, denominator = joint[equation.name]
            else:
                numerator, denominator = work.parent_terms(work.fields(work.smoothed_parents()))
            for copy in copies:
                above, below = work.terms_of(copy, numerator, denominator)
                waiting.setdefault(copy.variable, []).append(ParentCopy(work, copy, above, below))

    def _right_update(self, name: str, copies: list[ParentCopy]) -> Tracer:
        """The new values of a parent from its copies: pooled, or the mean of what each copy alone would become."""
        x, epsilon = self.variables[name], self.problem.epsilon
        if self.problem.averaging == "pooled":
            numerator = self._sum_of(name, copies, [c.numerator for c in copies], masked=False)
            return cast("Tracer", updated(x, numerator, self._pooled_denominator(name, copies), epsilon))
        factors = [factor(c.numerator, _as_column(c.denominator), epsilon) for c in copies]
        total = self._sum_of(name, copies, factors, masked=True)
        equations = {c.work.name for c in copies}
        return x * self._mean(total, *self._mean_counts(name, "parents", equations))

    def _sum_of(self, name: str, copies: list[ParentCopy], fields: list[Tracer], *, masked: bool) -> Tracer:
        """The sum over copies of fields in the columns where each copy is; zero where there is none.

        Fields are zero where the equation does not hold, unless they are to be masked; they are not where it holds but
        the slice lies before the start of its sequence.
        """
        pieces = []
        for (_, copy, _, _), field in zip(copies, fields, strict=True):
            values = field
            if copy.exists is not None and (masked or copy.skip):
                values = self.tape.where(copy.exists, values, 0.0)
            pieces.append(values)
        boxes = [(0, c.copy.start) for c in copies]
        return self.tape.overlay(self.variables[name].shape, pieces, boxes)

    def _pooled_denominator(self, name: str, copies: list[ParentCopy]) -> Tracer:
        """The sum of the denominators of all copies; where each is one column, a product of few numbers."""
        if any(len(c.denominator.shape) == 2 for c in copies):
            return self._sum_of(name, copies, [self._in_full(c) for c in copies], masked=False)
        there = np.array([self.layout.touches(c.work.equation, self._slice_of(c)) for c in copies], float)
        if there.all():
            total = copies[0].denominator
            for copy in copies[1:]:
                total = total + copy.denominator
            return _as_column(total)
        columns = self.tape.stack([c.denominator.reshape(1, c.denominator.shape[0]) for c in copies])
        return columns.T @ self.tape.constant(f"columns of the copies of {name} {_names(copies)}", there)

    def _in_full(self, copy: ParentCopy) -> Tracer:
        """The denominators of a copy in all of its columns, zero where it does not exist."""
        if len(copy.denominator.shape) == 2:
            return copy.denominator
        there = np.ones((1, copy.numerator.shape[1]))
        if copy.copy.exists is not None:
            there = np.asarray(self.tape.arrays[copy.copy.exists.view.array].value, float)
        columns = self.tape.constant(f"columns of {copy.copy.variable} in {copy.work.name} {copy.copy.skip}", there)
        return _as_column(copy.denominator) * columns

    @staticmethod
    def _slice_of(copy: ParentCopy) -> Any:
        return copy.work.equation.parents[copy.work.parents.index(copy.copy)]

    # --- the downward pass

    def down(self) -> None:
        """From the top: children become the mean of their copies W S once all of their equations are done."""
        copies: dict[str, list[tuple[EquationWriter, Copy]]] = {}
        for work in self.work.values():
            for copy in work.children if work.count else ():
                copies.setdefault(copy.variable, []).append((work, copy))
        lowest = {name: min(self.network.level_of(w.equation) for w, _ in found) for name, found in copies.items()}
        propagated: dict[str, Tracer] = {}
        for level in range(len(self.levels), 0, -1):
            with self.tape.stage():
                for equation in self.levels[level - 1]:
                    self.tape.chain()
                    if self.work[equation.name].data is None:
                        propagated[equation.name] = self.work[equation.name].propagated()
                for name, found in copies.items():
                    if lowest[name] == level and self._changes(name):
                        self.tape.chain()
                        self._take(name, self._mean_of_children(name, found, propagated))

    def _mean_of_children(
        self, name: str, copies: list[tuple[EquationWriter, Copy]], propagated: Mapping[str, Tracer]
    ) -> Tracer:
        pieces = [propagated[work.name].rows(copy.rows) for work, copy in copies]
        boxes = [(0, copy.start) for _, copy in copies]
        total = self.tape.overlay(self.variables[name].shape, pieces, boxes)
        current, share = self._mean_counts(name, "children", {work.name for work, _ in copies})
        if current is not None:
            total = total + self.variables[name] * current
        return total if share is None else total * share

    @staticmethod
    def _mean(total: Tracer, current: Tracer | None, share: Tracer | None) -> Tracer:
        """(total + current) · share, where a part that does nothing is left out."""
        total = total if current is None else total + current
        return total if share is None else total * share

    def _mean_counts(self, name: str, role: str, equations: Collection[str]) -> tuple[Tracer | None, Tracer | None]:
        """By column how often the current value counts in a mean, and one over the number of what is counted.

        None in place of a row of zeros or of ones. Columns that no copy touches keep their value; with the averaging
        "all", copies that are not updated in this pass count with the current value.
        """
        updated, others = np.zeros((2, self.layout.width(name)))
        for equation in self.network.factorizations:
            for kind, pieces in (("parents", equation.parents), ("children", equation.children)):
                for piece in (p for p in pieces if p.variable.name == name):
                    touched = self.layout.touches(equation, piece)
                    if kind == role and equation.name in equations:
                        updated += touched
                    else:
                        others += touched
        current = others if self.problem.averaging == "all" else np.zeros_like(others)
        current = np.where(updated == 0, 1.0, current)
        share = 1 / np.maximum(current + updated, 1.0)
        of = f"{name} among its {role} in {', '.join(sorted(equations))}"
        return (
            self.tape.constant(f"current {of}", current[None]) if current.any() else None,
            self.tape.constant(f"share {of}", share[None]) if (share != 1).any() else None,
        )

    # --- statistics

    def statistics(self) -> dict[str, View]:
        """Sums of the left updates of all units."""
        names: dict[str, View] = {}
        for step in (s for s in self.problem.schedule.up if s.action == "left update"):
            units = [u for u in self.units if u.names & set(step.targets)]
            with self.tape.stage():
                sums = self._left_sums(units, step.equations, {})
                for unit, found in sums.items():
                    numerator, denominator = tied(self.tape, unit, found)
                    for what, value in (("products", self.units[unit] * numerator), ("denominators", denominator)):
                        names[f"{what} {unit.name}"] = write_result(self.tape, f"{what} {unit.name}", value).view
        return names


def _as_column(x: Tracer) -> Tracer:
    """A vector as a matrix of one column."""
    return x.reshape(x.shape[0], 1) if len(x.shape) == 1 else x


def _names(copies: list[ParentCopy]) -> str:
    return ", ".join(dict.fromkeys(copy.work.name for copy in copies))
