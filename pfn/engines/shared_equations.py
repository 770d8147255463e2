"""A large equation of which threads take some rows each, from the product W S to what the updates need."""

from typing import NamedTuple

import numpy as np

from pfn.engines.equations import Equation
from pfn.engines.parameters import Block, Unit
from pfn.engines.pieces import ChildBlock
from pfn.engines.problem import Problem
from pfn.engines.state import Scratch
from pfn.engines.threads import Threads, spans
from pfn.network import Factorization
from pfn.updates.maps import DenseMap

# How many entries a thread works on at a time: more than one thread alone would take, since each call has to wait for
# the interpreter.
BLOCK_ENTRIES = 1 << 16


def is_shared(declared: Factorization, columns: int, blocks: list[Block], problem: Problem, threads: Threads) -> bool:
    """Whether an equation of dense data is large, with one dense W, which is much smaller than the data."""
    one_matrix = len(blocks) == 1 and type(blocks[0].linear) is DenseMap
    return (
        one_matrix
        and problem.divergence.unit_denominator
        and 2 * blocks[0].linear.matrix.shape[1] <= declared.rows  # every thread has its own Wᵀ A
        and len(_spans(declared.rows, columns, threads)) > 1
    )


def _spans(rows: int, columns: int, threads: Threads) -> list[slice]:
    """The rows of each thread."""
    return spans(rows, threads.for_pass(rows * columns))


class Share(NamedTuple):
    """The rows of one thread: what they have of W S, their blocks, and room for their part of Wᵀ A."""

    rows: slice
    R: np.ndarray
    blocks: list[ChildBlock]
    risen: np.ndarray


class SharedEquation(Equation):
    """The work of an equation with Kullback-Leibler updates and one dense W."""

    def reserve(self, scratch: Scratch) -> None:
        """Say how large the shared buffers must be."""
        scratch.want("stack", (self.height, self.columns))
        for share, rows in enumerate(_spans(self.declared.rows, self.columns, self.threads)):
            scratch.want(f"risen {share}", (self.height, self.columns))
            for block, _ in self._row_groups(rows, BLOCK_ENTRIES):
                scratch.want(f"block {share}", (block.stop - block.start, self.columns))

    def bind(self, scratch: Scratch) -> None:
        """Take the shared buffers."""
        self._stack = scratch.take("stack", (self.height, self.columns))
        self._shares = []
        for share, rows in enumerate(_spans(self.declared.rows, self.columns, self.threads)):
            groups = self._row_groups(rows, BLOCK_ENTRIES)
            blocks = [self._child_block(*group, scratch, f"block {share}") for group in groups]
            risen = scratch.take(f"risen {share}", (self.height, self.columns))
            self._shares.append(Share(rows, self.reconstruction[rows], blocks, risen))

    def _raised(self, sparseness: float) -> tuple[np.ndarray, None]:
        parents, W = self.stacked_parents(sparseness), self.blocks[0].linear.matrix
        ready = self._use_up(sparseness)

        def work(share: Share) -> None:
            A = self._ratio(share, W, None if ready else parents)
            np.dot(W[share.rows].T, A, out=share.risen)

        self.threads.each(work, self._shares)
        first, second, *others = (share.risen for share in self._shares)
        np.add(first, second, out=self._stack)
        for risen in others:
            self._stack += risen
        return self._stack, None

    def _fields(self, parents: np.ndarray, sparseness: float) -> tuple[np.ndarray, None]:
        W, ready = self.blocks[0].linear.matrix, self._use_up(sparseness)
        self.threads.each(lambda share: self._ratio(share, W, None if ready else parents), self._shares)
        return self.reconstruction, None

    def add_statistics(self, units: list[Unit], sparseness: float) -> None:
        """Add this equation's numerators and denominators of the left update to those of its units."""
        if [self._rows_of(unit) for unit in units] != [[slice(0, self.height)]]:
            super().add_statistics(units, sparseness)
            return
        parents, W = self.stacked_parents(sparseness), self.blocks[0].linear.matrix
        ready = self._use_up(sparseness)
        with units[0].numerator_to_add() as numerator:

            def work(share: Share) -> None:
                A = self._ratio(share, W, None if ready else parents)
                if self.weights is not None:
                    A *= self.weights
                np.dot(A, parents.T, out=numerator[share.rows])

            self.threads.each(work, self._shares)
        units[0].add_uniform_denominator(parents @ self.counts)

    def _use_up(self, sparseness: float) -> bool:
        """Whether the reconstruction can be used as it is; it is no more afterwards."""
        ready, self.fresh = self.fresh and not sparseness, False
        return ready

    def _ratio(self, share: Share, W: np.ndarray, parents: np.ndarray | None) -> np.ndarray:
        """A in the rows of a thread, from W S as it is or from these parents; zero where the equation does not hold."""
        if parents is not None:
            np.dot(W[share.rows], parents, out=share.R)
        self._ratios_of(share.blocks)
        if self.dead is not None:
            share.R[:, self.dead] = 0
        return share.R
