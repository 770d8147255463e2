"""Equations of the kind that their size and their data ask for, with their reconstructions side by side."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines.blocks import Block, make_blocks
from pfn.engines.equations import Equation
from pfn.engines.layout import Layout
from pfn.engines.parameters import Unit
from pfn.engines.problem import Problem
from pfn.engines.shared_equations import SharedEquation, is_shared
from pfn.engines.sparse_equations import SparseChildEquation
from pfn.engines.state import aligned
from pfn.engines.threads import Threads
from pfn.network import Factorization


@dataclass(frozen=True)
class Kit:
    """What equations are made from."""

    problem: Problem
    layout: Layout
    arrays: dict[str, Any]  # by variable
    units: list[Unit]
    threads: Threads

    def make_equations(self, ordered: Iterable[Factorization]) -> tuple[dict[str, Equation], np.ndarray]:
        """By name, in this order, and the flat array of their reconstructions; a sparse child has none."""
        counts = {e: self.layout.count(e) for e in ordered}
        sizes = {e: 0 if self._has_sparse_child(e) else e.rows * count for e, count in counts.items()}
        flat = aligned(sum(sizes.values()), self.problem.dtype)
        equations, start = {}, 0
        for declared, count in counts.items():
            own = flat[start : start + sizes[declared]].reshape(declared.rows, -1 if sizes[declared] else 0)
            equations[declared.name] = self._make(declared, count, own)
            start += sizes[declared]
        return equations, flat

    def _make(self, declared: Factorization, count: int, reconstruction: np.ndarray) -> Equation:
        sparse = any(sp.issparse(self.arrays[p.variable.name]) for p in (*declared.children, *declared.parents))
        dot = self.threads.dot
        blocks = make_blocks(declared, count, self.units, self.problem, sparse_data=sparse, dot=dot)
        return self._kind(declared, count, blocks)(
            declared,
            self.arrays,
            self.layout,
            blocks=blocks,
            reconstruction=reconstruction,
            problem=self.problem,
            threads=self.threads,
        )

    def _kind(self, declared: Factorization, count: int, blocks: list[Block]) -> type[Equation]:
        if self._has_sparse_child(declared):
            return SparseChildEquation
        return SharedEquation if is_shared(count, blocks, self.problem, self.threads) else Equation

    def _has_sparse_child(self, equation: Factorization) -> bool:
        return any(sp.issparse(self.arrays[child.variable.name]) for child in equation.children)
