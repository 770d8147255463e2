"""One equation at work: its stacked parents, its reconstruction, its share in left and right updates."""

from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines.blocks import Block
from pfn.engines.layout import Layout
from pfn.engines.parameters import Unit
from pfn.engines.pieces import ChildBlock, ChildPiece, ParentPiece, Terms
from pfn.engines.problem import Problem
from pfn.engines.state import BLOCK_ENTRIES, Scratch, row_blocks
from pfn.engines.threads import Threads
from pfn.engines.windows import Windows
from pfn.network import Factorization
from pfn.updates import smooth


class Equation:
    """The work of one equation, on views of the variables' arrays."""

    def __init__(
        self,
        declared: Factorization,
        arrays: dict[str, Any],
        layout: Layout,
        *,
        blocks: list[Block],
        reconstruction: np.ndarray,
        problem: Problem,
        threads: Threads,
    ) -> None:
        self.name = declared.name
        self.threads = threads
        self.declared = declared
        self.columns = layout.count(declared)
        self.blocks = blocks
        self.divergence = problem.divergence
        self.epsilon = problem.epsilon
        self.children = self._children(arrays, layout)
        self.parents = self._parents(arrays, layout)
        self.height = self.parents[-1].rows.stop
        self._stacked = self.parents
        self._windowed = [piece for piece in self.parents if piece.window is not None]
        self.reconstruction = reconstruction
        self.fresh = False  # whether the reconstruction is W times the parents as they are now
        self._sums: tuple[float, np.ndarray] | None = None
        self._joint: Terms | None = None  # those of the next right update, if a left one has made them
        self._learned = any(parameter.name in problem.learned for parameter in declared.parameters)
        self._place_in_time(layout, problem)

    def _children(self, arrays: dict[str, Any], layout: Layout) -> list[ChildPiece]:
        return [
            ChildPiece(child.variable.name, layout.view(arrays[child.variable.name], child, self.columns), rows)
            for child, rows in zip(self.declared.children, self.declared.parts, strict=True)
        ]

    def _parents(self, arrays: dict[str, Any], layout: Layout) -> list[ParentPiece]:
        pieces, row = [], 0
        alive = None if layout.single else layout.live(self.declared)
        for term in self.declared.terms:
            name, lag = term.slice.variable.name, term.slice.lag
            rows = slice(row, row + term.slice.variable.size)
            values = layout.view(arrays[name], term.slice, self.columns)
            cut = None if alive is None else np.flatnonzero(alive & ~layout.live(self.declared, lag))
            window = Windows([term], values.shape[1], layout, self.threads) if term.window else None
            pieces.append(ParentPiece(name, term.parameter, values, rows, min(-lag, self.columns), cut, window))
            row = rows.stop
        return pieces

    def _place_in_time(self, layout: Layout, problem: Problem) -> None:
        """The columns that do not count, and how often the others do."""
        dead = np.flatnonzero(layout.counts(self.declared) == 0)
        self.dead = dead if dead.size else None
        counts = layout.counts(self.declared, problem.weights.get(self.name, ()))
        self.counts = counts.astype(problem.dtype)
        self.weights = None if (counts == 1).all() else self.counts

    @property
    def work(self) -> int:
        """How many multiplications W S takes."""
        return self.columns * sum(int(block.linear.matrix.size) for block in self.blocks)

    def reserve(self, scratch: Scratch) -> None:
        """Say how large the shared buffers must be."""
        shape = (self.declared.rows, self.columns)
        scratch.want("stack", (self.height, self.columns))
        for rows, _ in self._row_groups(slice(0, self.declared.rows), BLOCK_ENTRIES):
            scratch.want("block 0", (rows.stop - rows.start, self.columns))
        if len(self.blocks) > 1:
            scratch.want("part", shape)
        if not self.divergence.unit_denominator:
            scratch.want("children", shape)
            scratch.want("second stack", (self.height, self.columns))

    def bind(self, scratch: Scratch) -> None:
        """Take the shared buffers."""
        shape = (self.declared.rows, self.columns)
        self._stack = scratch.take("stack", (self.height, self.columns))
        groups = self._row_groups(slice(0, self.declared.rows), BLOCK_ENTRIES)
        self._child_blocks = [self._child_block(rows, pieces, scratch) for rows, pieces in groups]
        if len(self.blocks) > 1:
            self._part = scratch.take("part", shape)
        if not self.divergence.unit_denominator:
            self._stacked_children = scratch.take("children", shape)
            self._second_stack = scratch.take("second stack", (self.height, self.columns))

    def _row_groups(self, among: slice, most: int) -> list[tuple[slice, list[ChildPiece]]]:
        """Some rows in blocks: a small equation is one block of all children, a large one several of one child each."""
        if among == slice(0, self.declared.rows) and self.declared.rows * self.columns <= most:
            return [(among, self.children)]
        groups = []
        for piece in self.children:
            start, stop = max(piece.rows.start, among.start), min(piece.rows.stop, among.stop)
            for rows in row_blocks(max(stop - start, 0), self.columns, most):
                place = slice(start + rows.start, start + rows.stop)
                values = piece.values[place.start - piece.rows.start : place.stop - piece.rows.start]
                groups.append((place, [ChildPiece(piece.variable, values, slice(0, place.stop - place.start))]))
        return groups

    def _child_block(
        self, rows: slice, pieces: list[ChildPiece], scratch: Scratch, room: str = "block 0"
    ) -> ChildBlock:
        shape = (rows.stop - rows.start, self.columns)
        buffer = scratch.take(room, shape)
        children = [(piece.values, buffer[piece.rows]) for piece in pieces]
        return ChildBlock(children, self.reconstruction[rows], buffer)

    def stacked_parents(self, sparseness: float = 0.0) -> Any:
        """S, smoothed where sparseness is asked for: a view of a single parent, or the shared stack."""
        if len(self.parents) == 1 and not self.parents[0].skip and not self._windowed:
            values = self.parents[0].values
            if sparseness and sp.issparse(values):
                values = values.toarray()
            return smooth(values, sparseness, out=self._stack) if sparseness else values
        stack = self._stack
        for piece in self._stacked:
            stack[piece.rows, : piece.skip] = 0
            stack[piece.rows, piece.skip :] = piece.window.apply(piece.values) if piece.window else piece.values
            if piece.cut is not None and piece.cut.size:
                stack[piece.rows, piece.cut] = 0
        return smooth(stack, sparseness, out=stack)

    def reconstruct(self, parents: Any) -> np.ndarray:
        """R = W S, into the equation's own buffer."""
        first, *others = self.blocks
        whole = first.rows == slice(0, self.height)
        first.linear.apply(parents if whole else parents[first.rows], self.reconstruction)
        for block in others:
            block.linear.apply(parents[block.rows], self._part)
            self.reconstruction += self._part
        return self.reconstruction

    def make_fresh(self) -> None:
        """See to it that the reconstruction is W times the parents as they are."""
        if not self.fresh:
            self.reconstruct(self.stacked_parents())

    def use_up(self, factors: np.ndarray) -> None:
        """Take Wᵀ A, where A has taken the place of the reconstruction."""
        self.fresh = False
        self._adjoint(self.reconstruction, factors)

    def _fields(self, parents: Any, sparseness: float) -> tuple[Any, Any]:
        """A, and B where it is not a matrix of ones; the reconstruction is used up."""
        R = self.reconstruction if self.fresh and not sparseness else self.reconstruct(parents)
        self.fresh = False
        A, B = (self._ratios(), None) if self.divergence.unit_denominator else (self._gather_children(), R)
        if self.dead is not None:
            A[:, self.dead] = 0
            R[:, self.dead] = 0
        return A, B

    def _ratios(self) -> np.ndarray:
        self._ratios_of(self._child_blocks)
        return self.reconstruction

    def _ratios_of(self, blocks: list[ChildBlock]) -> None:
        for children, R, buffer in blocks:
            values = children[0][0]
            if len(children) > 1:
                values = buffer
                for child, room in children:
                    np.copyto(room, child)
            self.divergence.numerator_field(values, R, self.epsilon, scratch=buffer, out=R)

    def _gather_children(self) -> np.ndarray:
        for piece in self.children:
            self._stacked_children[piece.rows] = piece.values
        return self._stacked_children

    def right_terms(self, sparseness: float) -> Terms:
        """What the right update of the stacked parents is made from; in the shared stack, if no left update made it."""
        if self._joint is not None:
            terms, self._joint = self._joint, None
            return terms
        return self._terms(*self._fields(self.stacked_parents(sparseness), sparseness), sparseness, self._stack)

    def _terms(self, A: Any, B: Any, sparseness: float, out: np.ndarray) -> Terms:
        numerator = smooth(self._adjoint(A, out), sparseness, out=out)
        if B is None:
            denominator = self.column_sums(sparseness)
        else:
            denominator = smooth(self._adjoint(B, self._second_stack), sparseness)
        if self._windowed:
            denominator = self._gathered(numerator, denominator)
        return Terms(numerator, denominator)

    def _gathered(self, numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
        """Let windows gather the numerators, in place, and the denominators: parents get those of all they reach."""
        denominator = np.array(np.broadcast_to(denominator, numerator.shape))
        if self.dead is not None:
            denominator[:, self.dead] = 0
        for piece in self._windowed:
            for field in (numerator, denominator):
                field[piece.rows, piece.skip :] = piece.gather(field)
        return denominator

    def _adjoint(self, A: np.ndarray, out: np.ndarray) -> np.ndarray:
        for block in self.blocks:
            block.linear.adjoint(A, out[block.rows])
        return out

    def column_sums(self, sparseness: float) -> np.ndarray:
        """(W S)ᵀ 1 as a column, kept until a parameter or the sparseness changes."""
        if self._sums is None or self._sums[0] != sparseness:
            sums = np.concatenate([block.linear.column_sums() for block in self.blocks])[:, None]
            self._sums = sparseness, smooth(sums, sparseness)
        return self._sums[1]

    def values_changed(self) -> None:
        """The parents and the learned parameters may have new values."""
        self.fresh = False
        if self._learned:
            self._sums = None
            for block in self.blocks:
                block.refresh()

    def add_statistics(self, units: list[Unit], sparseness: float) -> None:
        """Add this equation's numerators and denominators of the left update to those of its units."""
        parents = self.stacked_parents(sparseness)
        self._add_weighted(units, parents, *self._fields(parents, sparseness))

    def add_joint_statistics(self, units: list[Unit], sparseness: float) -> None:
        """The same, and the terms of the next right update from the same A.

        They are kept until then: parents of this equation may be children in left updates that are still to come.
        """
        parents = self.stacked_parents(sparseness)
        A, B = self._fields(parents, sparseness)
        self._joint = self._terms(A, B, sparseness, self._joint_stack)
        self._add_weighted(units, parents, A, B)

    @cached_property
    def _joint_stack(self) -> np.ndarray:
        return np.empty_like(self._stack)

    def _add_weighted(self, units: list[Unit], parents: Any, A: Any, B: Any) -> None:
        if self.weights is not None:
            self._weigh(A, B)
        self._add_fields(units, parents, A, B)

    def _add_fields(self, units: Collection[Unit], parents: Any, A: Any, B: Any) -> None:
        """Add A parentsᵀ to the numerators and B parentsᵀ to the denominators; without B every entry counts alike."""
        for unit in units:
            for rows in self._rows_of(unit):
                part = parents if rows == slice(0, self.height) else parents[rows]
                unit.add_numerator(A, part)
                if B is None:
                    unit.add_uniform_denominator(part @ self.counts)
                else:
                    unit.add_denominator(B, part)

    def _weigh(self, A: Any, B: Any) -> None:
        """Let columns count as often as their weights say."""
        A *= self.weights
        if B is not None:
            B *= self.weights

    def _rows_of(self, unit: Unit) -> list[slice]:
        """The rows of the stacked parents that the unit multiplies."""
        if len(unit.parameters) > 1:
            return [slice(0, self.height)] if unit.parameters == self.declared.parameters else []
        return [piece.rows for piece in self.parents if piece.parameter is unit.parameters[0]]

    def propagate(self) -> None:
        """The down step: the copies of the children become W times the parents."""
        self.reconstruct(self.stacked_parents())
        self.fresh = True
        if self.dead is not None:
            self.reconstruction[:, self.dead] = 0
