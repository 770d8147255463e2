"""One equation in a compiled program: its stacked parents and children, its products, its shares in updates."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import jax.numpy as jnp

from pfn.engines.jax_arrays import ARRAYS, Array, shift, stack, turned
from pfn.engines.jax_data import Data
from pfn.engines.jax_plan import Block, Equation, Matrix, Plan
from pfn.engines.jax_windows import window_sums
from pfn.network import Slice, Window
from pfn.updates import factor, smooth
from pfn.updates.jax_gathers import SparsePattern, inner_products, product, sums

Values = Mapping[str, Array]  # of the variables that change, and of the learned matrices


class Statistics(NamedTuple):
    """The numerator and the denominator of an update."""

    numerator: Array
    denominator: Array

    def __add__(self, other: Any) -> "Statistics":
        return Statistics(self.numerator + other.numerator, self.denominator + other.denominator)


class Turn(NamedTuple):
    """What a sweep is told: its number, and by equation the sparseness and, where they are known, W S, or A and B."""

    number: Array
    sparseness: Mapping[str, Any]
    fresh: Values
    fields: Mapping[str, tuple[Array, Array | None]] = MappingProxyType({})


class Equations:
    """The formulas of equations on the values given."""

    def __init__(self, plan: Plan, data: Data) -> None:
        self.plan, self.data = plan, data

    def _slice(self, piece: Slice, values: Values) -> Array:
        """A child or parent slice in the columns of its equation."""
        name = piece.variable.name
        return shift(values[name] if name in values else self.data.fixed[name], piece.lag)

    def _seen(self, piece: Slice, window: Window | None, values: Values) -> Array:
        """A parent slice, through its window if it has one."""
        if window is None:
            return self._slice(piece, values)
        now = self._slice(Slice(piece.variable, 0), values)
        return shift(window_sums(now, window, self.data.position), piece.lag)

    def children(self, equation: Equation, values: Values) -> Array:
        """X, the stacked children."""
        return stack([self._slice(child, values) for child in equation.children])

    def parents(self, equation: Equation, values: Values, sparseness: Any = 0.0) -> Array:
        """S, the stacked parents, smoothed where sparseness is asked for; zero where the equation does not hold."""
        exists = self.data.columns[equation.name].parents
        pieces = [self._seen(*seen, values) for seen in zip(equation.parents, equation.windows, strict=True)]
        if len(equation.names) > 1:
            stacked = stack(pieces)
            S = jnp.where(exists[0], stacked, 0) if any(equation.masked) else stacked
        else:
            kept = zip(pieces, equation.masked, exists, strict=True)
            S = stack([jnp.where(mask, piece, 0) if masked else piece for piece, masked, mask in kept])
        smoothed: Array = smooth(S, sparseness, xp=ARRAYS)
        return smoothed

    def apply(self, equation: Equation, values: Values, S: Array) -> Array:
        """R = W S."""
        found = []
        for block in equation.blocks:
            part = S if len(equation.blocks) == 1 else S[slice(*block.rows)]
            if block.sparse:
                found.append(product(self._pattern(block).apply, self._stored(block, values), part))
            else:
                found.append(self._matrix(block, values) @ part)
        return sum(found[1:], found[0])

    def adjoint(self, equation: Equation, values: Values, A: Array) -> Array:
        """Wᵀ A."""
        found = []
        for block in equation.blocks:
            if block.sparse:
                found.append(product(self._pattern(block).adjoint, self._stored(block, values), A))
            else:
                found.append(turned(self._matrix(block, values)) @ A)
        return stack(found)

    def column_sums(self, equation: Equation, values: Values) -> Array:
        """Wᵀ 1, as a column."""
        found = []
        for block in equation.blocks:
            if block.sparse:
                found.append(sums(self._pattern(block).adjoint, self._stored(block, values)))
            else:
                found.append(jnp.sum(self._matrix(block, values), axis=0))
        return jnp.concatenate(found)[:, None]

    def _matrix(self, block: Block, values: Values) -> Array:
        owners = self.plan.owners
        first = owners.get(block.parameters[0])
        if first is not None and first.parameters == block.parameters:
            return values[first.name]
        matrices = [
            values[owners[name].name][:, owners[name].columns(name)] if name in owners else self.data.known[name]
            for name in block.parameters
        ]
        return jnp.concatenate(matrices, axis=1) if len(matrices) > 1 else matrices[0]

    def _pattern(self, block: Block) -> SparsePattern:
        return self.data.patterns[" ".join(block.parameters)]

    def _stored(self, block: Block, values: Values) -> Array:
        owner = self.plan.owners.get(block.parameters[0])
        return self.data.known["stored " + " ".join(block.parameters)] if owner is None else values[owner.name]

    def fields(self, equation: Equation, values: Values, turn: Turn) -> tuple[Array, Array | None]:
        """A, and B where it is not a matrix of ones; zero where the equation does not hold."""
        if equation.name in turn.fields:
            return turn.fields[equation.name]
        R = self._reconstruction(equation, values, turn)
        plan, live = self.plan, self.data.columns[equation.name].live
        A = plan.divergence.numerator_field(self.children(equation, values), R, plan.epsilon, xp=ARRAYS)
        return A * live, None if plan.divergence.unit_denominator else R

    def _reconstruction(self, equation: Equation, values: Values, turn: Turn) -> Array:
        """R = W S as updates use it."""
        if equation.name in turn.fresh:
            return turn.fresh[equation.name]
        return self.apply(equation, values, self.parents(equation, values, turn.sparseness[equation.names[0]]))

    def right_terms(self, equation: Equation, values: Values, turn: Turn) -> Statistics:
        """What the right update of the stacked parents is made from; the denominator may be one column for all."""
        sparseness = turn.sparseness[equation.names[0]]
        A, B = self.fields(equation, values, turn)
        numerator = smooth(self.adjoint(equation, values, A), sparseness, xp=ARRAYS)
        down = self.column_sums(equation, values) if B is None else self.adjoint(equation, values, B)
        denominator = smooth(down, sparseness, xp=ARRAYS)
        if any(equation.windows):
            live = self.data.columns[equation.name].live
            numerator, denominator = (self._gathered(equation, field * live) for field in (numerator, denominator))
        return Statistics(numerator, denominator)

    def factors(self, terms: Statistics) -> Array:
        """What parents are to be multiplied by."""
        epsilon = self.plan.epsilon
        found: Array = factor(terms.numerator, terms.denominator + epsilon, epsilon, xp=ARRAYS)
        return found

    def _gathered(self, equation: Equation, field: Array) -> Array:
        """Let windows gather a field of the stacked parents: parents get that of all columns that see them."""
        pieces = [field[rows] for rows in equation.parent_rows]
        exists = self.data.columns[equation.name].parents
        for place, (parent, window) in enumerate(zip(equation.parents, equation.windows, strict=True)):
            if window is not None:
                own = shift(pieces[place] * exists[place], -parent.lag)
                own = window_sums(own, window, self.data.position, backward=True)
                pieces[place] = shift(own, parent.lag)
        return stack(pieces)

    def statistics(
        self, equation: Equation, matrices: list[Matrix], values: Values, turn: Turn
    ) -> dict[str, Statistics]:
        """By learned matrix: what this equation adds to the numerator and the denominator of its left update."""
        counts = self.data.columns[equation.name].counts
        S = self.parents(equation, values, turn.sparseness[equation.name])
        A, B = self.fields(equation, values, turn)
        found: dict[str, Statistics] = {}
        for matrix in matrices:
            for rows in _rows_of(matrix, equation):
                part = S[rows]
                down = self._repeated(part @ counts, matrix) if B is None else self._sums(B * counts, part, matrix)
                share = Statistics(self._sums(A, part * counts, matrix), down)
                found[matrix.name] = found[matrix.name] + share if matrix.name in found else share
        return found

    def _sums(self, A: Array, S: Array, matrix: Matrix) -> Array:
        """A Sᵀ at the entries of a learned matrix."""
        if not matrix.sparse:
            return A @ S.T
        return inner_products(self.data.patterns[matrix.parameters[0]], A, S)

    def _repeated(self, sums_of_parents: Array, matrix: Matrix) -> Array:
        """1 Sᵀ is the same for every row of W: one number per column, or per stored entry."""
        if not matrix.sparse:
            return sums_of_parents
        return sums_of_parents[self.data.patterns[matrix.parameters[0]].columns]


def _rows_of(matrix: Matrix, equation: Equation) -> list[slice]:
    """The rows of the stacked parents that the matrix multiplies."""
    if len(matrix.parameters) > 1:
        whole = slice(0, equation.parent_rows[-1].stop)
        return [whole] if matrix.parameters == equation.parameters else []
    pieces = zip(equation.parent_rows, equation.parameters, strict=True)
    return [rows for rows, name in pieces if name == matrix.parameters[0]]
