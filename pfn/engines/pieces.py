"""Children and parents of an equation, as views of the arrays of their variables."""

from typing import Any, NamedTuple

import numpy as np

from pfn.engines.windows import Windows
from pfn.network import Parameter


class ChildPiece(NamedTuple):
    """A child slice: its variable, its values for the equation's columns, its rows in the stack."""

    variable: str
    values: Any  # an array, or a sparse matrix that is observed throughout
    rows: slice


class ParentPiece(NamedTuple):
    """A parent slice: its variable, its values from column `skip` on, its rows in the stack of parents."""

    variable: str
    parameter: Parameter
    values: Any  # an array, or a sparse matrix that is observed throughout
    rows: slice
    skip: int
    cut: np.ndarray | None  # columns whose parent slice lies before the start of its own sequence
    window: Windows | None

    def gather(self, field: np.ndarray) -> np.ndarray:
        """What the stacked field has for the values of this parent."""
        if self.cut is not None:
            field[self.rows, self.cut] = 0
        part = field[self.rows, self.skip :]
        return part if self.window is None else next(self.window.adjoint(part))


class Terms(NamedTuple):
    """Of a right update of the stacked parents, without ε; the denominator may be one column for all."""

    numerator: np.ndarray
    denominator: np.ndarray


class ChildBlock(NamedTuple):
    """Some rows of the child matrix: the children in them, their part of R, a shared buffer of that size."""

    children: list[tuple[np.ndarray, np.ndarray]]  # values, and their rows of the buffer
    R: np.ndarray
    buffer: np.ndarray
