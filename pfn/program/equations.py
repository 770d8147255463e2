"""One equation while a program is written: stacked parents, reconstruction, fields, and what updates take of them."""

from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from pfn.formulas import Divergence, Fields, smooth
from pfn.network import Factorization, Slice, Term
from pfn.program.layout import Layout
from pfn.program.matrices import Block, DenseMatrix
from pfn.program.problem import Problem
from pfn.program.program import TimeWindow
from pfn.program.store import SlotCounts, SparseData, SparseForm
from pfn.program.tape import Tape, Tracer


class Copy(NamedTuple):
    """One occurrence of a variable in an equation, as a child or as a parent."""

    variable: str
    rows: slice
    """Its rows in the stacked children or parents."""
    skip: int
    """The first slot of the equation at which it exists."""
    start: int
    """The column of the variable's array that belongs to that slot."""
    exists: Tracer | None
    """One row of booleans from that slot on: where the equation holds and the slice lies in its sequence; None: all."""
    window: TimeWindow | None
    """The window that a parent is seen through."""


class SparseField:
    """A field of an update that is zero but for some entries, at the places of sparse data: products and weights."""

    def __init__(self, entries: Tracer, form: SparseForm) -> None:
        self._entries, self._form = entries, form

    def __matmul__(self, dense: Tracer) -> Tracer:
        return dense.tape.sparse_dot(self._entries, self._form.pattern, dense)

    def __rmatmul__(self, dense: Tracer) -> Tracer:
        tape = dense.tape
        turned = tape.take(self._entries, self._form.turn)
        return tape.sparse_dot(turned, self._form.turned, dense.T).T

    def __mul__(self, weights: Tracer) -> "SparseField":
        """Every column times its weight, given as one row."""
        row = weights.reshape(weights.shape[1])
        return SparseField(self._entries * row.tape.take(row, self._form.columns), self._form)


class EquationWriter:
    """Writes the work of one equation down, with the values of variables as they are at that point of the program."""

    def __init__(
        self,
        equation: Factorization,
        *,
        tape: Tape,
        layout: Layout,
        problem: Problem,
        divergence: Divergence,
        variables: dict[str, Tracer],
        blocks: list[Block],
        windows: Mapping[Term, TimeWindow],
        counts: SlotCounts,
        data: SparseData | None,
        sparseness: Tracer | None,
    ) -> None:
        """`data` are those of a child whose observations are stored sparse: the only child of the equation then.

        `sparseness` is the number θ of the equation, None where it is zero in this kind of sweep.
        """
        self.equation, self.name, self.count = equation, equation.name, layout.count(equation)
        self.tape, self._layout = tape, layout
        self.divergence, self.epsilon = divergence, problem.epsilon
        self._weighs_parents = problem.weigh_parents
        self._variables, self._blocks, self._sparseness = variables, blocks, sparseness
        self.counts, self.data = counts, data
        self.children = [self._copy(piece, rows) for piece, rows in zip(equation.children, equation.parts, strict=True)]
        ends = accumulate((p.variable.size for p in equation.parents), initial=0)
        self.parents = [
            self._copy(term.slice, slice(*rows), windows.get(term))
            for term, rows in zip(equation.terms, pairwise(ends), strict=True)
        ]
        self.height = self.parents[-1].rows.stop

    def _copy(self, piece: Slice, rows: slice, window: TimeWindow | None = None) -> Copy:
        skip = self._layout.skipped(piece, self.count)
        exists = self._layout.exists(self.equation, piece)
        mask = None
        if exists is not None:
            mask = self.tape.constant(f"{self.name} exists at lag {min(piece.lag, 0)}", exists[None, skip:])
        columns = self._layout.slice_columns(piece, self.count)
        return Copy(piece.variable.name, rows, skip, columns.start, mask, window)

    def live(self) -> Tracer | None:
        """One row of booleans: the slots at which the equation holds; None for all."""
        mask = self.counts.live
        return None if mask is None else self.tape.constant(f"{self.name} holds", mask[None])

    def weights(self) -> Tracer | None:
        """How often every slot counts, as one row; None where all count once."""
        if self.counts.uniform:
            return None
        return self.slots().reshape(1, self.count)

    def slots(self) -> Tracer:
        """How often every slot counts, as a vector."""
        return self.tape.given(f"{self.name} counts")

    def _seen(self, copy: Copy) -> Tracer:
        """The columns of a variable that a copy is."""
        columns = slice(copy.start, copy.start + self.count - copy.skip)
        return self._variables[copy.variable].columns(columns)

    def stacked_parents(self) -> Tracer:
        """S: the parent slices on top of each other, zero before time 0 and before the start of a sequence."""
        pieces, boxes = [], []
        for copy in self.parents:
            seen = self._seen(copy)
            if copy.window is not None:
                seen = self.tape.window(seen, copy.window)
            if copy.skip and copy.exists is not None:  # the start of a sequence follows the end of another one
                seen = self.tape.where(copy.exists, seen, 0.0)
            pieces.append(seen)
            boxes.append((copy.rows.start, copy.skip))
        return self.tape.overlay((self.height, self.count), pieces, boxes)

    def smoothed_parents(self) -> Tracer:
        """S smoothed for the sparseness, which takes the place of S in updates."""
        S = self.stacked_parents()
        return S if self._sparseness is None else smooth(S, self._sparseness)

    def reconstruction(self, S: Tracer) -> Tracer:
        """R = W S."""
        return _sum_of([block.matrix.apply(S.rows(block.rows)) for block in self._blocks])

    def child_pairs(self, R: Tracer) -> Iterator[tuple[Tracer, Tracer]]:
        """For each child its values X and its rows of R."""
        return ((self._seen(copy), R.rows(copy.rows)) for copy in self.children)

    def fields(self, S: Tracer) -> Fields:
        """A and B of the divergence, zero where the equation does not hold."""
        if self.data is not None:
            X, R = self.sides_at_entries(S, self.data)
            return Fields(SparseField(self.divergence.fields(X, R, self.epsilon).A, self.data.form), None)
        found = []
        for X, R in self.child_pairs(self.reconstruction(S)):
            self.tape.chain()
            found.append(self.divergence.fields(X, R, self.epsilon))
        self.tape.chain()
        A = self.tape.stack([part.A for part in found])
        fields_B = [part.B for part in found if part.B is not None]
        B = self.tape.stack(fields_B) if fields_B else None
        return Fields(self._where_live(A), None if B is None else self._where_live(B))

    def sides_at_entries(self, S: Tracer, data: SparseData) -> tuple[Tracer, Tracer]:
        """The stored entries of the child, and of R = W S the entries at their places."""
        R = _sum_of([block.matrix.apply_at(S.rows(block.rows), data.form.pattern) for block in self._blocks])
        return self.tape.given(f"entries of {self.children[0].variable}"), R

    def _where_live(self, x: Tracer) -> Tracer:
        live = self.live()
        return x if live is None else self.tape.where(live, x, 0.0)

    def parent_terms(self, fields: Fields) -> tuple[Tracer, Tracer]:
        """Numerators Wᵀ A and denominators Wᵀ B of the right update of S.

        Denominators that are the same in all columns are a vector.
        """
        weights = self.weights() if self._weighs_parents else None
        if weights is not None:
            fields = Fields(fields.A * weights, None if fields.B is None else fields.B * weights)
        numerator = self._adjoint(fields.A)
        if fields.B is None:
            sums = [block.matrix.column_sums() for block in self._blocks]
            denominator = self.tape.stack([part.reshape(part.shape[0], 1) for part in sums])
        else:
            denominator = self._adjoint(fields.B)
        if self._sparseness is not None:
            numerator, denominator = smooth(numerator, self._sparseness), smooth(denominator, self._sparseness)
        if fields.B is not None:
            return numerator, denominator
        # Wᵀ 1 is the same in all columns, but for their weights.
        return numerator, denominator.reshape(self.height) if weights is None else denominator * weights

    def _adjoint(self, field: Tracer) -> Tracer:
        return self.tape.stack([block.matrix.adjoint(field) for block in self._blocks])

    def terms_of(self, copy: Copy, numerator: Tracer, denominator: Tracer) -> tuple[Tracer, Tracer]:
        """What the right update of one parent takes: its rows, from the slot on at which it exists.

        A parent that is seen through a window gets what all slots that see it have.
        """
        above = numerator.rows(copy.rows).columns(slice(copy.skip, self.count))
        below = denominator.rows(copy.rows)
        if len(below.shape) == 2:
            below = below.columns(slice(copy.skip, self.count))
        if copy.window is None:
            return above, below
        if len(below.shape) == 1:
            ones = self.tape.constant(f"ones {above.shape[1]}", np.ones((1, above.shape[1])))
            below = below.reshape(below.shape[0], 1) * ones
        gathered = []
        for field in (above, below):
            inside = field if copy.exists is None else self.tape.where(copy.exists, field, 0.0)
            reached = self.tape.window_adjoint(inside, copy.window)
            gathered.append(reached if copy.exists is None else self.tape.where(copy.exists, reached, 0.0))
        return gathered[0], gathered[1]

    def errors_of_sparse_data(self, data: SparseData) -> tuple[Tracer, Tracer]:
        """Divergence and squared error; entries that are not stored are zero in X, so sums of W S say what is missing.

        Σ (W S)² = ⟨Wᵀ W, S Sᵀ⟩, and Σ W S = (1ᵀ W) (S 1), every column as often as it counts.
        """
        S = self.stacked_parents()
        X, R = self.sides_at_entries(S, data)
        slots = self.slots()
        counts = self.tape.take(slots, data.form.columns)
        row = slots.reshape(1, self.count)
        blocks = [(block.matrix, S.rows(block.rows)) for block in self._blocks if isinstance(block.matrix, DenseMatrix)]
        total = _sum_of([(W.column_sums() * (rows @ slots)).sum() for W, rows in blocks])
        squares = _sum_of(
            [(W.values.T @ V.values * ((rows * row) @ others.T)).sum() for W, rows in blocks for V, others in blocks]
        )
        inside = self.divergence.value(X, R, self.epsilon, counts)
        squares = squares + ((X * X - X * R * 2.0) * counts).sum()
        # Rounding may leave less than nothing of the squares.
        return inside + (total - (R * counts).sum()), self.tape.elementwise("maximum", squares, 0.0)

    def propagated(self) -> Tracer:
        """The copies of the children in the downward pass: R = W S with the plain W, zero where it does not hold."""
        return self._where_live(self.reconstruction(self.stacked_parents()))


def _sum_of(parts: list[Tracer]) -> Tracer:
    """The sum of at least one part."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
