"""A large equation of which threads take some rows each, from the product W S to what the updates need."""

from typing import NamedTuple

import numpy as np

from pfn.engines.blocks import Block
from pfn.engines.equations import Equation
from pfn.engines.parameters import Unit
from pfn.engines.pieces import ChildBlock
from pfn.engines.problem import Problem
from pfn.engines.state import Scratch, block_entries
from pfn.engines.threads import Threads, spans
from pfn.updates.maps import DenseMap


def is_shared(columns: int, blocks: list[Block], problem: Problem, threads: Threads) -> bool:
    """Whether an equation of dense data is large, and its W is one dense matrix."""
    one_matrix = len(blocks) == 1 and type(blocks[0].linear) is DenseMap
    return one_matrix and problem.divergence.unit_denominator and len(_spans(blocks[0], columns, threads)) > 1


def _spans(block: Block, columns: int, threads: Threads) -> list[slice]:
    """The rows of each thread."""
    matrix = block.linear.matrix
    return spans(matrix.shape[0], threads.for_product(matrix.size * columns))


class Share(NamedTuple):
    """The rows of one thread: what they have of W S, and their blocks."""

    rows: slice
    R: np.ndarray
    blocks: list[ChildBlock]


class SharedEquation(Equation):
    """The work of an equation with Kullback-Leibler updates and one dense W."""

    def reserve(self, scratch: Scratch) -> None:
        """Say how large the shared buffers must be."""
        scratch.want("stack", (self.height, self.columns))
        most = block_entries(self.reconstruction.size, self.threads)
        for share, rows in enumerate(_spans(self.blocks[0], self.columns, self.threads)):
            for block, _ in self._row_groups(rows, most):
                scratch.want(f"block {share}", (block.stop - block.start, self.columns))

    def bind(self, scratch: Scratch) -> None:
        """Take the shared buffers."""
        self._stack = scratch.take("stack", (self.height, self.columns))
        most = block_entries(self.reconstruction.size, self.threads)
        self._shares = []
        for share, rows in enumerate(_spans(self.blocks[0], self.columns, self.threads)):
            groups = self._row_groups(rows, most)
            blocks = [self._child_block(*group, scratch, f"block {share}") for group in groups]
            self._shares.append(Share(rows, self.reconstruction[rows], blocks))

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
