"""The matrices of an equation while a program is written: products with stacked parents, dense or sparse alike."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from pfn.network import Factorization, Parameter
from pfn.program.program import Pattern
from pfn.program.storage import is_sparse
from pfn.program.store import SparseForm, Store
from pfn.program.tape import Tape, Tracer, as_constant


class Matrix(Protocol):
    """A matrix W of rows × columns entries."""

    def apply(self, S: Tracer) -> Tracer:
        """W S."""

    def adjoint(self, A: Tracer) -> Tracer:
        """Wᵀ A."""

    def column_sums(self) -> Tracer:
        """Wᵀ 1, one number per column."""

    def apply_at(self, S: Tracer, pattern: Pattern) -> Tracer:
        """The entries of W S at the places of a pattern."""


class DenseMatrix:
    """A matrix of which all entries are stored."""

    def __init__(self, values: Tracer) -> None:
        self.values = values

    def apply(self, S: Tracer) -> Tracer:
        """W S."""
        return self.values @ S

    def adjoint(self, A: Tracer) -> Tracer:
        """Wᵀ A."""
        return self.values.T @ A

    def column_sums(self) -> Tracer:
        """Wᵀ 1, one number per column."""
        return self.values.sum(axis=0)

    def apply_at(self, S: Tracer, pattern: Pattern) -> Tracer:
        """The entries of W S at the places of a pattern."""
        return S.tape.sampled_dot(self.values, S, pattern)


class SparseMatrix:
    """A matrix of which some entries are stored: `entries` in the order of its sparse form."""

    def __init__(self, entries: Tracer, form: SparseForm) -> None:
        self._entries, self._form = entries, form

    def apply(self, S: Tracer) -> Tracer:
        """W S."""
        if self._form.diagonal:
            return self._entries.reshape(S.shape[0], 1) * S
        return self._entries.tape.sparse_dot(self._entries, self._form.pattern, S)

    def adjoint(self, A: Tracer) -> Tracer:
        """Wᵀ A."""
        if self._form.diagonal:
            return self.apply(A)
        tape = self._entries.tape
        return tape.sparse_dot(tape.take(self._entries, self._form.turn), self._form.turned, A)

    def column_sums(self) -> Tracer:
        """Wᵀ 1, one number per column."""
        return self._entries.tape.label_sums(self._entries, self._form.columns)

    def apply_at(self, S: Tracer, pattern: Pattern) -> Tracer:
        """The entries of W S at the places of a pattern."""
        raise NotImplementedError("equations with sparse data have dense matrices")


class Block(NamedTuple):
    """A matrix and the rows of the stacked parents that it multiplies."""

    matrix: Matrix
    rows: slice


class MatrixShelf:
    """The matrices of all equations, each decided and converted once for all programs of a run."""

    def __init__(self, store: Store, backend: str) -> None:
        self._store, self._backend = store, backend
        self._known: dict[tuple[str, ...], SparseForm | None] = {}
        # Sparse data are multiplied with dense matrices only.
        self._dense_only = {
            e.name for e in store.network.factorizations for c in e.children if c.variable.name in store.sparse
        }
        for equation in store.network.factorizations:
            for kind, group in self._groups(equation):
                names = tuple(p.name for p in group)
                if kind != "learned" and names not in self._known:
                    self._decide(names, 0 if equation.name in self._dense_only else store.layout.count(equation))

    @property
    def signature(self) -> tuple[object, ...]:
        """Which matrices are stored sparse, and the patterns of those."""
        return tuple((names, form.digest if form else None) for names, form in self._known.items())

    def _groups(self, equation: Factorization) -> Iterator[tuple[str, list[Parameter]]]:
        """The parameters of an equation: neighbours that are known together, learned ones each alone."""
        for kind, run in groupby(equation.parameters, key=self._kind):
            parameters = list(run)
            yield from ((kind, group) for group in ([parameters] if kind != "learned" else [[p] for p in parameters]))

    def blocks(self, tape: Tape, equation: Factorization) -> list[Block]:
        """The matrices of an equation: the unit that all its parameters make up, or one for each run of terms."""
        store, row = self._store, 0
        first = store.unit_of.get(equation.parameters[0].name)
        if first is not None and first.parameters == equation.parameters and first.form is None:
            values = store.unit(tape, first)
            return [Block(DenseMatrix(values), slice(0, values.shape[1]))]
        blocks = []
        for _, group in self._groups(equation):
            width = sum(p.shape[1] for p in group)
            blocks.append(Block(self._matrix(tape, group), slice(row, row + width)))
            row += width
        return blocks

    def _kind(self, parameter: Parameter) -> str:
        if parameter.name in self._store.unit_of:
            return "learned"
        return "known, sparse" if sp.issparse(self._store.problem.start[parameter.name]) else "known"

    def _matrix(self, tape: Tape, parameters: list[Parameter]) -> Matrix:
        unit = self._store.unit_of.get(parameters[0].name)
        if unit is not None:
            if unit.form is not None:
                return SparseMatrix(self._store.unit(tape, unit), unit.form)
            return DenseMatrix(self._store.parameter(tape, parameters[0]))
        names = tuple(p.name for p in parameters)
        form = self._known[names]
        constant = tape.given(_array_of(names))
        return DenseMatrix(constant) if form is None else SparseMatrix(constant, form)

    def _decide(self, names: tuple[str, ...], columns: int) -> None:
        """Whether known matrices side by side are stored dense or sparse: what is faster with so many columns."""
        given: list[Any] = [self._store.problem.start[name] for name in names]
        if any(map(sp.issparse, given)):
            matrix: Any = sp.csr_array(sp.hstack([sp.csr_array(m) for m in given], format="csr"))
        else:
            matrix = given[0] if len(given) == 1 else np.hstack(given)
        if not is_sparse(matrix, columns, self._backend):
            values, form = (matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)), None
        else:
            csr = sp.csr_array(matrix)
            if not sp.issparse(given[0]):
                csr.eliminate_zeros()
            values, form = csr.data, SparseForm(csr)
        self._known[names] = form
        self._store.given[_array_of(names)] = lambda: as_constant(values, self._store.problem.dtype)


def _array_of(names: tuple[str, ...]) -> str:
    """The name of the array of known parameters side by side."""
    return f"[{' '.join(names)}]"
