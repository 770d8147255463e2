"""The numbers of a run, as arguments of its compiled program: observations, masks, counts, known parameters."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.engines.fixed import observed_values
from pfn.engines.jax_plan import Block, Equation, Plan
from pfn.engines.layout import Layout
from pfn.engines.means import Counts, count_copies
from pfn.engines.problem import Problem, Pull, dense, pulls
from pfn.engines.slots import fill
from pfn.engines.windows import positions
from pfn.network import Factorization
from pfn.updates.jax_gathers import SparsePattern, make_pattern


class Observed(NamedTuple):
    """The observations of a variable that is hidden in part, and where they are."""

    values: Any
    mask: Any


class Columns(NamedTuple):
    """Per column of an equation, and per row if it is several: where it holds, and how often it counts.

    Where a parent exists too: for each of them, or for all on top of each other if it is several.
    """

    live: Any
    counts: Any
    parents: tuple[Any, ...]


class Data(NamedTuple):
    """Everything that does not change from sweep to sweep, by name."""

    fixed: Mapping[str, Any]
    observed: Mapping[str, Observed]
    columns: Mapping[str, Columns]
    position: Any  # of every slot in its own sequence
    entries: Any  # by equation: how many entries of its child matrix count
    parent_counts: Mapping[str, Counts]
    child_counts: Mapping[str, Counts]
    known: Mapping[str, Any]  # dense matrices, or the stored entries of sparse ones
    patterns: Mapping[str, SparsePattern]
    pulls: Mapping[str, Pull]
    ties: Mapping[str, Any]  # by learned matrix with equal entries: for each of them the number of its group
    movable: Mapping[str, Any]  # where values are not zero: elsewhere momentum leaves them zero


def make_data(plan: Plan, problem: Problem, layout: Layout, fixed: Mapping[str, Any], start: Mapping[str, Any]) -> Data:
    """The numbers of a problem on a padded layout; `start` are the values that change."""
    learned = {p.name: p for p in problem.schedule.network.parameters if p.name in problem.learned}
    blocks = [block for equation in plan.equations for block in equation.blocks]
    return Data(
        fixed=fixed,
        observed=_observed(problem, layout, {name: start[name] for name in plan.changing}),
        columns={e.name: _columns(e, problem, layout) for e in plan.equations},
        position=positions(layout, plan.width),
        entries=np.zeros(len(plan.names)),  # taken by the run, which takes them anew when a variable is released
        parent_counts=_copies("parents", plan, problem, layout),
        child_counts=_copies("children", plan, problem, layout),
        known=_known(blocks, plan, problem),
        patterns={" ".join(b.parameters): make_pattern(_sparse(b, problem)) for b in blocks if b.sparse},
        pulls=pulls(problem),
        ties={f"unit {name}": p.groups for name, p in learned.items() if p.groups is not None},
        movable={name: values != 0 for name, values in start.items()} if plan.accelerated else {},
    )


def start_values(plan: Plan, problem: Problem, layout: Layout) -> dict[str, np.ndarray]:
    """The values that change: hidden variables in their slots, and learned matrices."""
    values: dict[str, np.ndarray] = {}
    for name in plan.changing:
        size = problem.schedule.network.variable(name).size
        values[name] = np.zeros((size, plan.width), problem.dtype)
        fill(values[name], name, problem.start[name], layout)
    for matrix in plan.matrices:
        parts = [problem.start[name] for name in matrix.parameters]
        values[matrix.name] = np.array(parts[0].data if matrix.sparse else np.hstack([dense(part) for part in parts]))
    for name, seen in _observed(problem, layout, values).items():
        np.copyto(values[name], seen.values, where=seen.mask)
    return values


def _observed(problem: Problem, layout: Layout, values: Mapping[str, np.ndarray]) -> dict[str, Observed]:
    found = {}
    for name in problem.observed.keys() & values.keys():
        observed = observed_values(name, problem, layout, values[name])
        mask = ~np.isnan(observed)
        found[name] = Observed(np.where(mask, observed, 0).astype(problem.dtype), mask)
    return found


def _widened(slots: np.ndarray, equation: Factorization, layout: Layout) -> np.ndarray:
    """Numbers for the slots of an equation, and zeros up to the width of all arrays."""
    numbers = slots.astype(float)
    return np.pad(numbers, (0, layout.width(equation.parents[0].variable.name) - numbers.size))


def _columns(equation: Equation, problem: Problem, layout: Layout) -> Columns:
    declared = [e for name in equation.names for e in layout.network.factorizations if e.name == name]
    weights = problem.weights
    live = np.array([_widened(layout.live(e), e, layout) for e in declared], problem.dtype)
    counts = np.array([_widened(layout.counts(e, weights.get(e.name, ())), e, layout) for e in declared], problem.dtype)
    exists = np.array([_widened(layout.live(e, p.lag), e, layout) > 0 for e in declared for p in e.parents])
    if len(declared) == 1:
        return Columns(live[0], counts[0], tuple(exists))
    sizes = [parent.variable.size for parent in equation.parents]
    live, counts = (np.repeat(rows, equation.heights, axis=0) for rows in (live, counts))
    return Columns(live, counts, (np.repeat(exists, sizes, axis=0),))


def level_counts(plan: Plan, problem: Problem, layout: Layout) -> list[dict[str, Counts]]:
    """For the start by levels: what averages over the copies in the equations of each level alone need."""
    names = [{name for e in level.equations for name in e.names} for level in plan.levels]
    return [_copies("parents", plan, problem, layout, equations) for equations in names]


def _copies(
    role: str, plan: Plan, problem: Problem, layout: Layout, equations: Collection[str] | None = None
) -> dict[str, Counts]:
    """By variable, what the mean over its copies in these equations, or in all, needs."""
    found = {}
    for name in plan.changing:
        copies = count_copies(layout, name, role, averaging=problem.averaging, dtype=problem.dtype)
        chosen = [e for e in copies.by_equation if equations is None or e in equations]
        if chosen:
            found[name] = copies.counts(chosen)
    return found


def _known(blocks: list[Block], plan: Plan, problem: Problem) -> dict[str, Any]:
    """Known matrices by parameter, and the stored entries of sparse blocks by all their parameters."""
    known: dict[str, Any] = {}
    for block in blocks:
        if block.sparse and block.parameters[0] not in plan.owners:
            known["stored " + " ".join(block.parameters)] = np.asarray(_sparse(block, problem).data, problem.dtype)
        elif not block.sparse:
            new = [name for name in block.parameters if name not in plan.owners]
            known |= {name: np.asarray(dense(problem.start[name]), problem.dtype) for name in new}
    return known


def _sparse(block: Block, problem: Problem) -> Any:
    """The matrix of a sparse block: a parameter, or several along the diagonal."""
    matrices = [sp.csr_array(problem.start[name]) for name in block.parameters]
    return matrices[0] if len(matrices) == 1 else sp.csr_array(sp.block_diag(matrices))
