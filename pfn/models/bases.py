"""Equations with a known basis, whose labelled columns may be active in any non-negative combination."""

from collections.abc import Sequence
from typing import Any

import scipy.sparse

import pfn
from pfn.automata import StateMachine
from pfn.network import Slice

DENSE_ENTRIES = 1_000_000
"""A basis with more entries than this (8 MB) is stored sparse: nearly all of them are zeros."""

NOTHING = "none"
"""The label of the column of zeros in a basis that would have no column."""


def basis_equation(
    children: Sequence[Slice], matrix: Any, labels: Sequence[str], *, basis: str, activations: str
) -> pfn.Factorization:
    """`children = basis activations[t]` with the matrix and a label for each of its columns.

    A matrix without columns, which a parameter cannot have, gets one of zeros: it allows nothing either.
    """
    known = scipy.sparse.csr_array(matrix)
    rows, columns = known.shape
    if not columns:
        known.resize(rows, 1)
    W = pfn.Parameter(basis, known if rows * columns > DENSE_ENTRIES else known.toarray())
    h = pfn.Variable(activations, W.shape[1], labels or (NOTHING,))
    return pfn.Factorization(list(children), W @ h[pfn.t])


def transition_equation(
    machine: StateMachine, states: pfn.Variable, *, basis: str, activations: str
) -> pfn.Factorization:
    """`[states[t]; states[t+1]] = basis activations[t]`, the columns the machine's transitions (section 3.1)."""
    return basis_equation(
        [states[pfn.t], states[pfn.t + 1]],
        machine.matrix(sparse=True),
        machine.transition_labels,
        basis=basis,
        activations=activations,
    )
