"""The maps of an equation: how its parameters are multiplied with its stacked parents."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines.parameters import Unit
from pfn.engines.problem import Problem
from pfn.network import Factorization, Parameter
from pfn.network.matrices import is_diagonal
from pfn.updates.maps import DenseMap, DenseMapOfSparse, DiagonalMap, Product, SparseMap, sparse_pays


class Block:
    """The map of some adjacent terms of an equation: rows of its stacked parents."""

    def __init__(self, linear: DenseMap | SparseMap, rows: slice, copies: list[tuple[Unit, Parameter, slice]]):
        self.linear = linear
        self.rows = rows
        self._copies = copies

    def refresh(self) -> None:
        """Copy learned parameters in, where the map does not use their own memory."""
        for unit, parameter, columns in self._copies:
            if isinstance(self.linear, SparseMap):
                self.linear.refresh(unit.values)
            else:
                self.linear.matrix[:, columns] = unit.matrix(parameter)


def make_blocks(
    equation: Factorization,
    columns: int,
    units: Iterable[Unit],
    problem: Problem,
    *,
    sparse_data: bool,
    dot: Product,
) -> list[Block]:
    """The maps of an equation: its own learned matrix, or one dense or sparse map per run of terms.

    Where the data of the equation stay sparse, its parameters are dense.
    """
    kind = partial(DenseMapOfSparse if sparse_data else DenseMap, dot=dot)
    owners = {p.name: unit for unit in units for p in unit.parameters}
    first = owners.get(equation.parameters[0].name)
    if first is not None and first.pattern is None and first.parameters == equation.parameters:
        return [Block(kind(first.values), slice(0, first.values.shape[1]), [])]
    blocks: list[Block] = []
    dense: list[Parameter] = []
    row = 0
    for parameter in equation.parameters:
        value, owner = problem.start[parameter.name], owners.get(parameter.name)
        if not sparse_data and _use_sparse(value, owner, columns):
            blocks += _dense_block(dense, row, owners, problem, kind)
            dense = []
            copies = [(owner, parameter, slice(None))] if owner else []
            width = parameter.shape[1]
            matrix = sp.csr_array(value, dtype=problem.dtype)
            linear = (DiagonalMap if is_diagonal(matrix) else SparseMap)(matrix)
            blocks.append(Block(linear, slice(row, row + width), copies))
        else:
            dense.append(parameter)
        row += parameter.shape[1]
    return blocks + _dense_block(dense, row, owners, problem, kind)


def _use_sparse(value: Any, owner: Unit | None, columns: int) -> bool:
    if owner is not None:
        return owner.pattern is not None
    stored = value.nnz if sp.issparse(value) else int(np.count_nonzero(value))
    return sparse_pays(value.shape, stored, columns)


def _dense_block(
    parameters: list[Parameter], end: int, owners: Mapping[str, Unit], problem: Problem, kind: Callable[[Any], DenseMap]
) -> list[Block]:
    """One dense map for adjacent parameters; `end` is the row of the stack after the last."""
    if not parameters:
        return []
    matrices, copies, column = [], [], 0
    for parameter in parameters:
        value = problem.start[parameter.name]
        matrices.append(value.toarray() if sp.issparse(value) else value)
        if parameter.name in owners:
            columns = slice(column, column + parameter.shape[1])
            copies.append((owners[parameter.name], parameter, columns))
        column += parameter.shape[1]
    matrix = np.hstack(matrices) if len(matrices) > 1 or copies else matrices[0]
    matrix = np.ascontiguousarray(matrix, problem.dtype)
    return [Block(kind(matrix), slice(end - column, end), copies)]
