"""What is compiled: the shape of the work without its numbers.

Runs with equal plans share one compiled program; everything else (parameters, data, masks, weights) is an
argument of it. Lengths are rounded up to a few sizes, and what was added is masked.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import scipy.sparse as sp

from pfn.compiler import Step
from pfn.engines.layout import Layout
from pfn.engines.parameters import Unit, make_units
from pfn.engines.problem import Problem
from pfn.network import Factorization, Network, Slice, Window
from pfn.updates import Divergence
from pfn.updates.jax_gathers import gathers_pay

# Equations of a level with up to so many entries are merged: then a call costs more than its arithmetic.
MERGED_ENTRIES = 1 << 15


class Block(NamedTuple):
    """Adjacent terms of an equation that are one product: rows of its stacked parents."""

    rows: tuple[int, int]
    parameters: tuple[str, ...]
    sparse: bool


class Equation(NamedTuple):
    """An equation without the values of its parameters, or several small ones that are worked on as one."""

    names: tuple[str, ...]
    heights: tuple[int, ...]  # the rows of each of them
    children: tuple[Slice, ...]
    parents: tuple[Slice, ...]
    windows: tuple[Window | None, ...]  # that the parents are seen through
    parameters: tuple[str, ...]
    masked: tuple[bool, ...]  # by parent: whether it has values in columns where the equation does not hold
    blocks: tuple[Block, ...]
    normalize: str | None
    simple: bool  # every parent is hidden, has this copy only and no lag; every parameter is known
    joint: bool  # its left and right updates are made from the same ratios

    @property
    def name(self) -> str:
        """The name, or the names of all."""
        return " ".join(self.names)

    @property
    def child_rows(self) -> list[slice]:
        """The rows of each stacked child."""
        return stacked(child.variable.size for child in self.children)

    @property
    def parent_rows(self) -> list[slice]:
        """The rows of each stacked parent."""
        return stacked(parent.variable.size for parent in self.parents)


def stacked(sizes: Iterable[int]) -> list[slice]:
    """The rows of things of these sizes on top of each other."""
    return [slice(*ends) for ends in pairwise(accumulate(sizes, initial=0))]


class Matrix(NamedTuple):
    """Learned parameters that are updated as one matrix, side by side, or one sparse parameter."""

    name: str
    parameters: tuple[str, ...]
    shapes: tuple[tuple[int, int], ...]
    every: int
    sparse: bool

    def columns(self, parameter: str) -> slice:
        """Where a parameter lies."""
        return stacked(width for _, width in self.shapes)[self.parameters.index(parameter)]

    def part(self, parameter: str) -> Any:
        """The entries of a parameter: all stored ones of a sparse one, else its columns."""
        return ... if self.sparse else (..., self.columns(parameter))


class Level(NamedTuple):
    """The work of one level: equations, left updates, and the variables whose last copies are here."""

    equations: tuple[Equation, ...]
    learning: tuple[Step, ...]
    parents: tuple[str, ...]
    children: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Everything that a compiled program depends on, hashable."""

    levels: tuple[Level, ...]  # from the bottom up
    names: tuple[str, ...]  # of all equations, as declared
    matrices: tuple[Matrix, ...]
    changing: tuple[str, ...]  # the variables that are not observed throughout
    smoothed: tuple[str, ...]  # the equations that have sparseness in some sweep
    width: int
    divergence: Divergence
    epsilon: float
    accelerated: bool
    pooled: bool  # whether the copies of a parent are updated together
    mesh: Any  # the devices over which columns are spread, or None

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """The equations of all levels."""
        return tuple(equation for level in self.levels for equation in level.equations)

    @cached_property
    def by_name(self) -> dict[str, Equation]:
        """The equations by name."""
        return {equation.name: equation for equation in self.equations}

    @cached_property
    def owners(self) -> dict[str, Matrix]:
        """By learned parameter the matrix that it lies in."""
        return {name: matrix for matrix in self.matrices for name in matrix.parameters}


def make_plan(problem: Problem, layout: Layout, width: int, changing: tuple[str, ...]) -> Plan:
    """The plan of a problem in arrays of this width."""
    network, units = problem.schedule.network, make_units(problem)
    numbers = sorted({step.level for step in problem.schedule.up})
    return Plan(
        levels=tuple(_level(number, units, problem, layout, changing) for number in numbers),
        names=tuple(e.name for e in network.factorizations),
        matrices=tuple(_matrix(unit) for unit in units),
        changing=changing,
        smoothed=tuple(e.name for e in network.factorizations if e.name in problem.smoothed),
        width=width,
        divergence=problem.divergence,
        epsilon=problem.epsilon,
        accelerated=problem.accelerated,
        pooled=problem.averaging == "pooled",
        mesh=problem.mesh,
    )


def _level(number: int, units: list[Unit], problem: Problem, layout: Layout, changing: tuple[str, ...]) -> Level:
    network, schedule = problem.schedule.network, problem.schedule
    steps = [step for step in schedule.steps if step.level == number]
    declared = [e for e in network.factorizations if network.level_of(e) == number]
    equations = [_equation(e, units, problem, layout, changing) for e in declared]
    learned = {p.name for unit in units for p in unit.parameters}
    children = [step.targets[0] for step in steps if step.action == "average children"]
    return Level(
        equations=tuple(_merged(equations, problem, layout)),
        learning=tuple(s for s in steps if s.action == "left update" and learned & set(s.targets)),
        parents=tuple(s.targets[0] for s in steps if s.action == "average parents"),
        children=tuple(name for name in children if name in changing),
    )


def _matrix(unit: Unit) -> Matrix:
    names = tuple(p.name for p in unit.parameters)
    shapes = tuple(p.shape for p in unit.parameters)
    return Matrix(f"unit {unit.name}", names, shapes, unit.every, unit.pattern is not None)


def _equation(
    declared: Factorization, units: list[Unit], problem: Problem, layout: Layout, changing: tuple[str, ...]
) -> Equation:
    return Equation(
        names=(declared.name,),
        heights=(declared.rows,),
        children=declared.children,
        parents=declared.parents,
        windows=tuple(term.window for term in declared.terms),
        parameters=tuple(p.name for p in declared.parameters),
        masked=tuple(term.window is not None or _is_masked(declared, term.slice, layout) for term in declared.terms),
        blocks=tuple(_blocks(declared, layout, units, problem)),
        normalize=declared.normalize,
        simple=_is_simple(declared, problem, changing),
        joint=problem.joint and bool({p.name for p in declared.parameters} & problem.learned),
    )


def _blocks(declared: Factorization, layout: Layout, units: list[Unit], problem: Problem) -> list[Block]:
    """One product for adjacent dense terms, one for every sparse term."""
    patterns = {p.name: unit.pattern for unit in units for p in unit.parameters}
    width = layout.width(declared.parents[0].variable.name)
    blocks: list[Block] = []
    for rows, parameter in zip(stacked(p.variable.size for p in declared.parents), declared.parameters, strict=True):
        name = parameter.name
        sparse = patterns[name] is not None if name in patterns else _stays_sparse(problem.start[name], width)
        if blocks and not sparse and not blocks[-1].sparse:
            before = blocks.pop()
            blocks.append(Block((before.rows[0], rows.stop), (*before.parameters, name), sparse=False))
        else:
            blocks.append(Block((rows.start, rows.stop), (name,), sparse))
    return blocks


def _is_masked(declared: Factorization, parent: Slice, layout: Layout) -> bool:
    """Whether a parent slice has values in columns where the equation does not hold."""
    return bool(parent.lag) or any(
        layout.columns_of(parent.variable.name, sequence).stop > layout.columns(sequence).equations[declared.name]
        for sequence in range(len(layout.lengths))
    )


def _stays_sparse(value: Any, columns: int) -> bool:
    """Dense matrices with many zeros are sparse ones too."""
    return gathers_pay(sp.csr_array(value), columns)


def _is_simple(declared: Factorization, problem: Problem, changing: tuple[str, ...]) -> bool:
    network: Network = problem.schedule.network
    copies = [parent.variable.name for e in network.factorizations for parent in e.parents]
    return problem.averaging != "all" and all(
        term.parameter.name not in problem.learned
        and term.slice.lag == 0
        and term.window is None
        and term.slice.variable.name in changing
        and copies.count(term.slice.variable.name) == 1
        for term in declared.terms
    )


def _merged(equations: list[Equation], problem: Problem, layout: Layout) -> list[Equation]:
    """The equations of a level, the small simple ones as one whose matrix has theirs along its diagonal."""
    small = [e for e in equations if e.simple and len(e.parents) == 1 and not set(e.names) & problem.smoothed]
    rows = sum(sum(e.heights) for e in small)
    if len(small) < 2 or rows * layout.width(small[0].parents[0].variable.name) > MERGED_ENTRIES:
        return equations
    parameters = tuple(name for e in small for name in e.parameters)
    parents = tuple(parent for e in small for parent in e.parents)
    one = Equation(
        names=tuple(name for e in small for name in e.names),
        heights=tuple(height for e in small for height in e.heights),
        children=tuple(child for e in small for child in e.children),
        parents=parents,
        windows=(None,) * len(parents),
        parameters=parameters,
        masked=tuple(masked for e in small for masked in e.masked),
        blocks=(Block((0, sum(p.variable.size for p in parents)), parameters, sparse=True),),
        normalize=None,
        simple=True,
        joint=False,
    )
    return [one, *(e for e in equations if e not in small)]
