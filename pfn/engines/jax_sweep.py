"""One sweep as a pure function of the values, to be compiled: up, down, and the errors after it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from pfn.engines.jax_arrays import ARRAYS, Array, once, shift, stack
from pfn.engines.jax_data import Data
from pfn.engines.jax_devices import has_accelerator
from pfn.engines.jax_equations import Equations, Statistics, Turn, Values
from pfn.engines.jax_learning import learn
from pfn.engines.jax_plan import Equation, Level, Plan
from pfn.engines.means import Counts
from pfn.updates import momentum

# Bytes of a row, beyond which XLA's sums of columns take ten times as long on processors, and a product does not.
WIDE = 1 << 16

Contributions = dict[str, list[Array]]  # by variable: sums over its copies as a parent, of both terms or of factors


class Sweep:
    """The work of a sweep; `holding` says by name whether a variable that will be released still is held."""

    def __init__(self, plan: Plan, data: Data, holding: Mapping[str, Array]) -> None:
        self._plan, self._data, self._holding = plan, data, holding
        self._equations = Equations(plan, data)

    def restored(self, values: Values) -> dict[str, Array]:
        """The values with the observed entries put back."""
        return {name: self._restored(name, array) for name, array in values.items()}

    def _restored(self, name: str, values: Array) -> Array:
        if name not in self._data.observed:
            return values
        seen = self._data.observed[name]
        mask = seen.mask & self._holding[name] if name in self._holding else seen.mask
        return jnp.where(mask, seen.values, values)

    def extrapolated(
        self, values: Values, previous: Values, movable: Values, beta: Array, number: Array
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Momentum on all values but learned matrices that are not due: the values moved, and those midway there."""
        rhythms = {matrix.name: matrix.every for matrix in self._plan.matrices if matrix.every > 1}
        moved, middle = {}, {}
        for name, now in values.items():
            lowest = jnp.asarray(momentum.FLOOR, now.dtype)
            lifted, floor = jnp.maximum(previous[name], lowest), jnp.where(movable[name], lowest, 0)
            further = momentum.extrapolated(now, lifted, beta.astype(now.dtype), floor, xp=ARRAYS)
            due = number % rhythms[name] == 0 if name in rhythms else True
            moved[name] = jnp.where(due, further, now) if name in rhythms else further
            midway = momentum.midway(now, further, xp=ARRAYS)
            middle[name] = jnp.where(due, midway, previous[name]) if name in rhythms else midway
        return moved, middle

    def up(self, values: Values, turn: Turn) -> Values:
        """The upward pass."""
        contributions: Contributions = {}
        for level in self._plan.levels:
            values = self._update(values, contributions, turn, level)
            values = self._average(values, contributions, level.parents, self._data.parent_counts)
            turn = _after_learning(turn, level)
        return values

    def fit_level(self, values: Values, turn: Turn, level: Level, counts: Mapping[str, Counts]) -> Values:
        """One round of updates of a level, averaged over its copies alone."""
        contributions: Contributions = {}
        values = self._update(values, contributions, turn, level)
        return self._average(values, contributions, list(contributions), counts)

    def turn(self, number: Array, sparseness: Array, fresh: Values) -> Turn:
        """What a sweep is told; `fresh` has W S of some equations."""
        smoothed = self._plan.smoothed
        thetas = {name: sparseness[smoothed.index(name)] if name in smoothed else 0.0 for name in self._plan.names}
        return Turn(number, thetas, {name: R for name, R in fresh.items() if name not in smoothed})

    def _update(self, values: Values, contributions: Contributions, turn: Turn, level: Level) -> Values:
        """The left updates of a level, then its right updates, whose factors are added to the contributions."""
        fields = {e.name: once(self._equations.fields(e, values, turn)) for e in level.equations if e.joint}
        turn = turn._replace(fields=fields)
        before = values, turn
        for step in level.learning:
            values = learn(step, self._equations, values, turn)
        turn = _after_learning(turn, level)
        changed: dict[str, Array] = {}
        for equation in level.equations:
            now = before if equation.joint else (values, turn)
            if equation.simple:
                changed |= self._updated_parents(equation, *now)
            elif any(parent.variable.name in values for parent in equation.parents):
                self._contribute(equation, *now, contributions)
        return {**values, **changed}

    def _updated_parents(self, equation: Equation, values: Values, turn: Turn) -> dict[str, Array]:
        """The parents of a simple equation: with one copy each there is nothing to average."""
        factors = self._equations.factors(self._equations.right_terms(equation, values, turn))
        if any(equation.masked):
            factors = jnp.where(self._data.columns[equation.name].parents[0], factors, 1)
        names = [parent.variable.name for parent in equation.parents]
        new = stack([values[name] for name in names]) * factors
        return {name: self._restored(name, new[rows]) for name, rows in zip(names, equation.parent_rows, strict=True)}

    def _contribute(self, equation: Equation, values: Values, turn: Turn, contributions: Contributions) -> None:
        terms = self._equations.right_terms(equation, values, turn)
        fields: Sequence[Array] = terms if self._plan.pooled else [self._equations.factors(terms)]
        exists = self._data.columns[equation.name].parents
        for parent, rows, mask in zip(equation.parents, equation.parent_rows, exists, strict=True):
            name = parent.variable.name
            if name in values:
                parts = [_moved(field[rows], mask, -parent.lag) for field in fields]
                before = contributions.get(name)
                contributions[name] = parts if before is None else [a + b for a, b in zip(before, parts, strict=True)]

    def _average(
        self, values: Values, contributions: Contributions, names: Iterable[str], counts: Mapping[str, Counts]
    ) -> Values:
        """Variables are updated with what their copies as parents have."""
        changed = {}
        for name in names:
            if name in contributions:
                factors, *denominators = contributions.pop(name)
                if denominators:
                    factors = self._equations.factors(Statistics(factors, *denominators))
                else:
                    factors = (factors + counts[name].current) * counts[name].reciprocal
                changed[name] = self._restored(name, values[name] * factors)
        return {**values, **changed}

    def down(self, values: Values) -> tuple[Values, dict[str, Array]]:
        """The downward pass: the values, and W S of every equation."""
        reconstructions: dict[str, Array] = {}
        for level in reversed(self._plan.levels):
            for equation in level.equations:
                reconstructions[equation.name] = self._reconstruction(equation, values)
            changed = {name: self._child_mean(name, values, reconstructions) for name in level.children}
            values = {**values, **changed}
        return values, reconstructions

    def reconstructions(self, values: Values, names: Collection[str]) -> dict[str, Array]:
        """W S of these equations."""
        return {name: self._reconstruction(self._plan.by_name[name], values) for name in names}

    def _reconstruction(self, equation: Equation, values: Values) -> Array:
        return self._equations.apply(equation, values, self._equations.parents(equation, values))

    def _child_mean(self, name: str, values: Values, reconstructions: Mapping[str, Array]) -> Array:
        """The mean of the copies of a variable as a child."""
        current, reciprocal = self._data.child_counts[name]
        summed = values[name] * current
        for equation in self._plan.equations:
            for child, rows in zip(equation.children, equation.child_rows, strict=True):
                if child.variable.name == name:
                    summed = summed + shift(reconstructions[equation.name][rows], -child.lag)
        return self._restored(name, summed * reciprocal)

    def errors(self, values: Values, reconstructions: Mapping[str, Array]) -> Array:
        """The RMSE of every equation, the summed divergence, the summed squared error; in double precision."""
        names = [name for equation in self._plan.equations for name in equation.names]
        squares, divergences = [], []
        for equation in self._plan.equations:
            counts, R = self._data.columns[equation.name].counts, reconstructions[equation.name]
            error = self._equations.children(equation, values) - R
            terms = self._plan.divergence.value(error, R, self._plan.epsilon, xp=ARRAYS)
            # R − X, not X − R again: the compiler would keep what is used twice in memory, at the cost of another pass
            reverse = R - self._equations.children(equation, values)
            squares.append(_sums(reverse * reverse, counts, equation.heights))
            divergences.append(_sums(terms, counts, equation.heights))
        totals = _added(squares + divergences)
        each = totals[np.array([names.index(name) for name in self._plan.names])]
        total = jnp.stack([jnp.sum(totals[len(names) :]), jnp.sum(each)])
        entries = self._data.entries
        means = jnp.where(entries > 0, each / entries, jnp.nan)
        rmse = jnp.where(jnp.isfinite(each), jnp.sqrt(means), jnp.inf)
        return jnp.concatenate([rmse, total])


def _after_learning(turn: Turn, level: Level) -> Turn:
    """Without the W S of equations, of higher levels too, whose W the left updates of a level have changed."""
    stale = {name for step in level.learning for name in step.equations}
    return turn._replace(fresh={name: R for name, R in turn.fresh.items() if name not in stale})


def _moved(field: Array, mask: Array, lag: int) -> Array:
    """A field of an equation's columns in those of a parent, zero where it has no copy; one column stands for all."""
    if field.shape[1] == 1:
        return field * shift(mask[None].astype(field.dtype), lag)
    return shift(jnp.where(mask, field, 0), lag)


class _Sums(NamedTuple):
    """Sums of rows or of columns in double precision, and how many of them belong to each equation."""

    values: Array
    lengths: tuple[int, ...]


def _sums(terms: Array, counts: Array, heights: tuple[int, ...]) -> _Sums:
    """The sums of rows or columns, each column as often as it counts, for equations of these heights.

    Processors add vectors of columns, GPUs have threads for every row.
    """
    if len(heights) == 1 and not has_accelerator():
        rows, columns = terms.shape
        if columns * terms.dtype.itemsize > WIDE:
            added = (jnp.ones((1, rows), terms.dtype) @ once(terms))[0]
        else:
            added = jnp.sum(terms, axis=0)
        return _Sums((added * counts).astype(jnp.float64), (columns,))
    return _Sums(jnp.sum(terms * counts, axis=1).astype(jnp.float64), heights)


def _added(sums: list[_Sums]) -> Array:
    """The total of every equation. On an accelerator all in one go: there, a call costs more than its arithmetic."""
    if has_accelerator():
        sums = [_Sums(jnp.concatenate([s.values for s in sums]), tuple(n for s in sums for n in s.lengths))]
    return jnp.concatenate([_total(*each) for each in sums])


def _total(values: Array, lengths: tuple[int, ...]) -> Array:
    if len(lengths) == 1:
        return jnp.sum(values)[None]
    member = jnp.asarray(np.repeat(np.eye(len(lengths)), lengths, axis=1))
    return member @ values
