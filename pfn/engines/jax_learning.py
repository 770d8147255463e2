"""Left updates in a compiled program: learned matrices from the statistics of their equations, then normalized."""

from functools import partial
from itertools import product

import jax
import jax.numpy as jnp

from pfn.compiler import Step
from pfn.engines.jax_arrays import ARRAYS, Array, Entries
from pfn.engines.jax_equations import Equations, Statistics, Turn, Values
from pfn.engines.jax_plan import Equation, Matrix
from pfn.updates import factor, normalize, pulled


def learn(step: Step, equations: Equations, values: Values, turn: Turn) -> dict[str, Array]:
    """The left update of a step: a matrix that is learned every n sweeps changes in sweeps divisible by n."""
    matrices = [matrix for matrix in equations.plan.matrices if matrix.parameters[0] in step.targets]
    update = partial(_update, step, equations, turn)
    rhythms = sorted({matrix.every for matrix in matrices} - {1})
    if not rhythms:
        return update(matrices, values)
    branches = []
    for pattern in product((False, True), repeat=len(rhythms)):
        due = {1} | {every for every, chosen in zip(rhythms, pattern, strict=True) if chosen}
        branches.append(partial(update, [matrix for matrix in matrices if matrix.every in due]))
    index = sum((turn.number % every == 0) << place for place, every in enumerate(reversed(rhythms)))
    found: dict[str, Array] = jax.lax.switch(index, branches, dict(values))
    return found


def _update(step: Step, equations: Equations, turn: Turn, due: list[Matrix], values: Values) -> dict[str, Array]:
    """Update the matrices that are due, and normalize them."""
    if not due:
        return dict(values)
    found = statistics(step, equations, turn, due, values)
    changed = {**values, **{m.name: _stepped(m, equations, values[m.name], found[m.name]) for m in due}}
    updated = {name for matrix in due for name in matrix.parameters}
    _normalize(step, equations, updated, changed)
    return changed


def statistics(
    step: Step, equations: Equations, turn: Turn, due: list[Matrix], values: Values
) -> dict[str, Statistics]:
    """By matrix that is due, the summed numerators and denominators of the equations of a step, and of tied entries."""
    found: dict[str, Statistics] = {}
    for name in step.equations:
        shares = equations.statistics(equations.plan.by_name[name], due, values, turn)
        found |= {key: found[key] + share if key in found else share for key, share in shares.items()}
    ties = equations.data.ties
    return {key: _tied(sums, ties[key]) if key in ties else sums for key, sums in found.items()}


def _tied(found: Statistics, groups: Array) -> Statistics:
    """What entries that are equal have in common."""
    return Statistics(*(jnp.zeros_like(each).at[groups].add(each)[groups] for each in found))


def _stepped(matrix: Matrix, equations: Equations, W: Array, found: Statistics) -> Array:
    """The left update from its numerator and denominator; parameters with a prior are pulled to it."""
    epsilon = equations.plan.epsilon
    new: Array = W * factor(found.numerator, found.denominator + epsilon, epsilon, xp=ARRAYS)
    for name, pull in equations.data.pulls.items():
        if name in matrix.parameters:
            part = matrix.part(name)
            sums = (W[part], found.numerator[part], found.denominator[part])
            new = new.at[part].set(pulled(*sums, epsilon, prior=pull.prior, weight=pull.weight))
    return new


def _normalize(step: Step, equations: Equations, updated: set[str], values: dict[str, Array]) -> None:
    """Normalize, as their equations say, the parameters that were just updated.

    The columns of a sequence are scaled together, also those of its learned parameters that were not.
    """
    plan = equations.plan
    owners = {name: m for name, m in plan.owners.items() if m.parameters[0] in step.targets}
    done: set[str] = set()
    for equation in (plan.by_name[name] for name in step.equations):
        learned = [name for name in dict.fromkeys(equation.parameters) if name in owners and name not in done]
        due = [name for name in learned if name in updated]
        if due and equation.normalize:
            chosen = learned if equation.normalize == "sequences" else due
            _normalize_some(equation, chosen, equations, values)
        done.update(due)


def _normalize_some(equation: Equation, names: list[str], equations: Equations, values: dict[str, Array]) -> None:
    owners = equations.plan.owners
    first, together = owners[names[0]], equation.normalize == "sequences"
    if first.parameters == equation.parameters == tuple(names) and not first.sparse:
        rows = jnp.arange(sum(equation.heights))
        all_entries = Entries(values[first.name], rows, terms=len(names) if together else 1)
        normalize([all_entries], equation.normalize, equation.child_rows, xp=ARRAYS)
        values[first.name] = all_entries.values
        return
    entries = [_entries(name, equations, values) for name in names]
    uses = [equation.parameters.count(name) for name in names]
    normalize(entries, equation.normalize, equation.child_rows, uses, xp=ARRAYS)
    scaled = dict(zip(names, (found.values for found in entries), strict=True))
    for matrix in dict.fromkeys(owners[name] for name in names):
        if matrix.sparse or len(matrix.parameters) == 1:
            values[matrix.name] = _equal(scaled[matrix.parameters[0]], equations.data.ties.get(matrix.name))
        else:
            whole = values[matrix.name]
            parts = [scaled.get(name, whole[:, matrix.columns(name)]) for name in matrix.parameters]
            values[matrix.name] = jnp.concatenate(parts, axis=1)


def _equal(entries: Array, groups: Array | None) -> Array:
    """Tied entries made equal again that rounding set apart."""
    return entries if groups is None else jnp.zeros_like(entries).at[groups].max(entries)[groups]


def _entries(name: str, equations: Equations, values: Values) -> Entries:
    matrix = equations.plan.owners[name]
    whole = values[matrix.name]
    if matrix.sparse:
        pattern = equations.data.patterns[name]
        return Entries(whole, pattern.rows, pattern.columns, matrix.shapes[0][1])
    return Entries(whole[:, matrix.columns(name)], jnp.arange(whole.shape[0]))
