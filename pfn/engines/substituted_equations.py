"""Equations of a substituted network: values flow down through them, numerators and denominators rise.

The cost is the divergence of the children that are not eliminated. Its fields A and B (see `Divergence`) at those
children, and what rose from below at eliminated ones, are taken up by Wᵀ and give the update of whatever is above.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pfn.engines.direct import Direct, direct_terms
from pfn.engines.equations import Equation
from pfn.engines.layout import Layout
from pfn.engines.parameters import Unit
from pfn.engines.pieces import ChildPiece, ParentPiece
from pfn.engines.sparse_equations import SparseChildEquation
from pfn.engines.state import Scratch
from pfn.network import Factorization, Slice

BUFFERS = ("field", "second field", "third field")


class Risen(NamedTuple):
    """What has risen to a variable: the numerator and the denominator of its update."""

    numerator: np.ndarray
    denominator: np.ndarray

    def set(self, numerator: np.ndarray | float = 0, denominator: np.ndarray | float = 0) -> None:
        """Begin again, from nothing or from what is known already."""
        self.numerator[...] = numerator
        self.denominator[...] = denominator

    def view(self, layout: Layout, piece: Slice, columns: int) -> "Risen":
        """The slots of a slice, as those of its values."""
        return Risen(layout.view(self.numerator, piece, columns), layout.view(self.denominator, piece, columns))


class Rest(NamedTuple):
    """What rose to a variable when it had the value x0, and stays there while the levels above are updated."""

    x0: np.ndarray
    numerator: np.ndarray
    denominator: np.ndarray


class Rising(Equation):
    """An equation through which numerators and denominators rise."""

    def connect(self, risen: Mapping[str, Risen], layout: Layout) -> None:
        """Find the places of children and parents in what rises."""
        self._to = {
            piece.rows.start: risen[piece.variable].view(layout, term.slice, self.columns)
            for piece, term in zip(self.parents, self.declared.terms, strict=True)
            if piece.variable in risen
        }
        self._direct: list[Direct] = []

    def rise(self, A: Any, B: Any, wanted: Collection[str], settled: Collection[str] = ()) -> None:
        """Add Wᵀ A to the numerators of the wanted parents, and Wᵀ B to the denominators that are not settled.

        Without B, every entry of a column counts as its weight says.
        """
        for piece, found in self._risen(A, wanted):
            total = self._to[piece.rows.start].numerator
            np.add(total, found, out=total)
        for piece, found in self._risen(B, {*wanted} - {*settled}):
            total = self._to[piece.rows.start].denominator
            np.add(total, found, out=total)

    def _risen(self, field: Any, wanted: Collection[str]) -> Iterator[tuple[ParentPiece, np.ndarray]]:
        """What a field of the children has for each wanted parent; without one, what the weights of columns have."""
        for group in self._direct:
            if any(piece.variable in wanted for piece in group.pieces):
                own = np.broadcast_to(self.counts, (self.declared.rows, self.columns)) if field is None else field
                yield from ((piece, found) for piece, found in group.gather(own) if piece.variable in wanted)
        stacked = [piece for piece in self._stacked if piece.variable in wanted]
        if stacked:
            stack = self._weights_above() if field is None else self._adjoint(field, self._stack)
            yield from ((piece, piece.gather(stack)) for piece in stacked)

    def _weights_above(self) -> np.ndarray:
        """Wᵀ times the weights of the columns."""
        for block in self.blocks:
            np.multiply.outer(block.linear.column_sums(), self.counts, out=self._stack[block.rows])
        return self._stack

    def add_to(self, units: Collection[Unit], A: Any, B: Any) -> None:
        """Add this equation's part to the numerators and denominators of left updates."""
        if units:
            self._add_fields(units, self.stacked_parents(), A, B)


class Flow(Rising):
    """An equation with a dense reconstruction."""

    def reserve(self, scratch: Scratch) -> None:
        """Say how large the shared buffers must be."""
        scratch.want("stack", (self.height, self.columns))
        if len(self.blocks) > 1:
            scratch.want("part", self.reconstruction.shape)
        for name in BUFFERS:
            scratch.want(name, self.reconstruction.shape)

    def bind(self, scratch: Scratch) -> None:
        """Take the shared buffers."""
        self._stack = scratch.take("stack", (self.height, self.columns))
        if len(self.blocks) > 1:
            self._part = scratch.take("part", self.reconstruction.shape)
        self._buffers = [scratch.take(name, self.reconstruction.shape) for name in BUFFERS]

    def substitute(
        self,
        eliminated: Mapping[tuple[str, Slice], np.ndarray],
        risen: Mapping[str, Risen],
        layout: Layout,
    ) -> None:
        """Say which entries of which child slices are eliminated."""
        self.connect(risen, layout)
        self._direct = direct_terms(self.declared.terms, self.parents, self.blocks, layout, self.threads)
        direct = [piece.rows for group in self._direct for piece in group.pieces]
        self._stacked = [piece for piece in self.parents if piece.rows not in direct]
        self.blocks = [block for block in self.blocks if block.rows not in direct]
        self._through: list[tuple[ChildPiece, np.ndarray, Risen]] = []
        for piece, child in zip(self.children, self.declared.children, strict=True):
            if (self.name, child) in eliminated:
                mask = layout.view(eliminated[self.name, child], child, self.columns)
                place = risen[piece.variable].view(layout, child, self.columns)
                self._through.append((piece, mask, place))
        wholly = all(mask.all() for _, mask, _ in self._through)
        self.in_cost = len(self._through) < len(self.children) or not wholly

    def flow(self) -> None:
        """Reconstruct, and give eliminated children their values."""
        self.reconstruct(self.stacked_parents())
        for piece, mask, _ in self._through:
            np.copyto(piece.values, self.reconstruction[piece.rows], where=mask if self.in_cost else True)

    def reconstruct(self, parents: Any) -> np.ndarray:
        """R = W S, into the equation's own buffer."""
        if self.blocks:
            super().reconstruct(parents)
        else:
            self.reconstruction[...] = 0
        for group in self._direct:
            group.add_to(self.reconstruction)
        return self.reconstruction

    def stacked_children(self) -> np.ndarray:
        """The children, a view of a single one."""
        if len(self.children) == 1:
            return np.asarray(self.children[0].values)
        return np.concatenate([piece.values for piece in self.children])

    def fields(self) -> tuple[np.ndarray, np.ndarray | None]:
        """A and B at the stacked children; B is left out where it is the weight of the column everywhere."""
        if not self.in_cost and len(self.children) == 1:
            return self._through[0][2]
        R, (room, out, _) = self.reconstruction, self._buffers
        X = self.stacked_children()
        A = self._weighted(self.divergence.numerator_field(X, R, self.epsilon, scratch=room, out=out))
        B = None if self.divergence.unit_denominator else self._weighted(R)
        if not self._through:
            return A, B
        A, B = A.copy(), np.array(np.broadcast_to(self.counts, R.shape) if B is None else B)
        for piece, mask, place in self._through:
            np.copyto(A[piece.rows], place.numerator, where=mask)
            np.copyto(B[piece.rows], place.denominator, where=mask)
        return A, B

    def _weighted(self, field: np.ndarray) -> np.ndarray:
        return field * self.counts if self.weights is not None else field

    def errors(self) -> tuple[float, float]:
        """The summed squared error and the divergence."""
        if not self.in_cost:
            return 0.0, 0.0
        error, *scratch = self._buffers
        np.subtract(self.stacked_children(), self.reconstruction, out=error)
        weighted = error if self.weights is None else error * self.weights
        value = self.divergence.value(
            error, self.reconstruction, self.epsilon, weights=self.weights, scratch=(scratch[0], scratch[1])
        )
        return float(np.vdot(error, weighted)), float(value)


class SparseFlow(Rising, SparseChildEquation):
    """An equation whose child is an observed sparse matrix: it has no reconstruction to keep."""

    in_cost = True

    def substitute(
        self,
        _eliminated: Mapping[tuple[str, Slice], np.ndarray],
        risen: Mapping[str, Risen],
        layout: Layout,
    ) -> None:
        """Its child is observed."""
        self.connect(risen, layout)

    def flow(self) -> None:
        """The child is observed: nothing flows further down."""

    def fields(self) -> tuple[Any, None]:
        """A at the stored entries of the child."""
        A, _ = self._fields(self.stacked_parents(), 0.0)
        self._weigh(A, None)
        return A, None


def flow_kind(equation: Factorization, arrays: Mapping[str, Any]) -> type[Flow] | type[SparseFlow]:
    """How an equation is worked on."""
    sparse = any(hasattr(arrays[child.variable.name], "toarray") for child in equation.children)
    return SparseFlow if sparse else Flow
