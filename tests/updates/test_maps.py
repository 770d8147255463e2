"""The linear maps of engines against dense products."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from pfn.updates import DIVERGENCES, factor, left_update
from pfn.updates.maps import (
    DenseMap,
    SparseEntries,
    SparseMap,
    row_of_each_entry,
    sampled_statistics,
    sparse_pays,
    statistics,
)
from tests.updates.draws import EPSILONS, Problem, matrices, problems

BOTH = pytest.mark.parametrize("dtype", ["float32", "float64"])
TOLERANCE = {"float32": 1e-5, "float64": 1e-13}


@pytest.mark.parametrize("make", [DenseMap, SparseMap])
@BOTH
@given(problem=problems())
def test_a_map_is_its_matrix(make: Any, dtype: str, problem: Problem) -> None:
    X, W, H = problem.as_type(dtype)
    linear = make(W)
    applied, adjoint = np.full(X.shape, np.nan, dtype), np.full(H.shape, np.nan, dtype)
    linear.apply(H, applied)
    linear.adjoint(X, adjoint)
    np.testing.assert_allclose(applied, W @ H, rtol=TOLERANCE[dtype])
    np.testing.assert_allclose(adjoint, W.T @ X, rtol=TOLERANCE[dtype])
    np.testing.assert_allclose(linear.column_sums(), W.sum(axis=0), rtol=TOLERANCE[dtype])
    assert linear.column_sums().dtype == dtype
    assert linear.column_sums().shape == (W.shape[1],)


@given(problem=problems(), data=st.data())
def test_a_sparse_map_takes_new_entries_in_both_directions(problem: Problem, data: st.DataObject) -> None:
    X, W, H = problem
    linear = SparseMap(W)
    new = np.where(W != 0, data.draw(matrices(*W.shape)), 0)
    linear.refresh(new[W != 0])
    applied, adjoint = np.empty(X.shape), np.empty(H.shape)
    linear.apply(H, applied)
    linear.adjoint(X, adjoint)
    np.testing.assert_allclose(applied, new @ H, rtol=1e-13)
    np.testing.assert_allclose(adjoint, new.T @ X, rtol=1e-13)
    np.testing.assert_allclose(linear.column_sums(), new.sum(axis=0), rtol=1e-13)


def test_a_sparse_map_is_a_copy() -> None:
    source = scipy.sparse.csr_array(np.eye(2))
    linear = SparseMap(source)
    source.data[:] = 5
    np.testing.assert_array_equal(linear.column_sums(), [1, 1])
    linear.refresh(np.array([2.0, 3.0]))
    np.testing.assert_array_equal(source.data, [5, 5])


def test_a_dense_map_sees_changes_of_its_matrix() -> None:
    W = np.eye(2)
    linear = DenseMap(W)
    W *= 3
    np.testing.assert_array_equal(linear.column_sums(), [3, 3])


@BOTH
@given(problem=problems())
def test_statistics_are_the_product_with_the_transposed_parents(dtype: str, problem: Problem) -> None:
    A, W, S = problem.as_type(dtype)
    out = np.full(W.shape, np.nan, dtype)
    statistics(A, S, out)
    np.testing.assert_allclose(out, A @ S.T, rtol=TOLERANCE[dtype])


@BOTH
@given(problem=problems())
def test_sampled_statistics_are_those_of_the_stored_entries(dtype: str, problem: Problem) -> None:
    A, W, S = problem.as_type(dtype)
    pattern = scipy.sparse.csr_array(W)
    rows = row_of_each_entry(pattern)
    out = np.full(pattern.nnz, np.nan, dtype)
    sampled_statistics(A, S, rows, pattern.indices, out)
    np.testing.assert_allclose(out, (A @ S.T)[W != 0], rtol=TOLERANCE[dtype])
    np.testing.assert_array_equal(rows, np.nonzero(W)[0])


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
@given(problem=problems(), epsilon=EPSILONS)
def test_a_left_update_of_the_stored_entries_is_the_dense_one(
    divergence: str, problem: Problem, epsilon: float
) -> None:
    """Zeros stay zero in a left update, so the stored entries are all that can change."""
    X, W, H = problem
    pattern = scipy.sparse.csr_array(W)
    R, chosen = W @ H, DIVERGENCES[divergence]
    fields = (chosen.numerator_field(X, R, epsilon), np.ones_like(X) if chosen.unit_denominator else R)
    numerator, denominator = np.empty(pattern.nnz), np.empty(pattern.nnz)
    for field, out in zip(fields, (numerator, denominator), strict=True):
        sampled_statistics(field, H, row_of_each_entry(pattern), pattern.indices, out)
    found = pattern.data * factor(numerator, denominator + epsilon, epsilon)
    np.testing.assert_allclose(found, left_update(X, W, H, chosen, epsilon)[W != 0], rtol=1e-12)


def test_many_entries_are_sampled_in_pieces() -> None:
    """With so many columns a piece has three entries, and four remain."""
    rng = np.random.default_rng(0)
    columns = (1 << 20) // 3
    A, S = rng.random((2, columns)), rng.random((5, columns))
    pattern = scipy.sparse.csr_array(np.ones((2, 5)))
    out = np.full(10, np.nan)
    sampled_statistics(A, S, row_of_each_entry(pattern), pattern.indices, out)
    np.testing.assert_allclose(out, (A @ S.T).ravel(), rtol=1e-12)


@given(problem=problems())
def test_entries_know_their_columns(problem: Problem) -> None:
    W = problem.W
    pattern = scipy.sparse.csr_array(W)
    entries = SparseEntries(pattern.data.copy(), pattern)
    for part in (slice(None), slice(0, 1), slice(1, W.shape[0])):
        np.testing.assert_allclose(entries.column_sums(part), W[part].sum(axis=0), rtol=1e-13)
    by = np.arange(W.shape[1]) + 2.0
    entries.scale_columns(slice(1, None), by)
    wanted = W.copy()
    wanted[1:] *= by
    np.testing.assert_allclose(entries.data, wanted[W != 0], rtol=1e-13)


@pytest.mark.parametrize(
    ("shape", "stored", "columns", "pays"),
    [((409, 1000), 3000, 2000, True), ((18, 13), 30, 26, False), ((409, 1000), 409_000, 2000, False)],
)
def test_sparse_products_pay_for_large_and_sparse_matrices(
    shape: tuple[int, int], stored: int, columns: int, pays: bool
) -> None:
    assert sparse_pays(shape, stored, columns) is pays
