"""Products by gathers are products, whatever the numbers of entries in rows and columns."""

import numpy as np
import pytest
import scipy.sparse

jax = pytest.importorskip("jax", reason="jax is not installed")

from pfn.updates import jax_gathers  # noqa: E402
from pfn.updates.jax_gathers import (  # noqa: E402
    WRITTEN_OUT,
    gathered,
    gathers_pay,
    inner_products,
    make_pattern,
    product,
    sums,
)
from tests.networks import with_zeros  # noqa: E402


def matrix(seed: int) -> scipy.sparse.csr_array:
    """Mostly zero; some seeds have an empty row, a full row and a full column, which take several turns."""
    rng = np.random.default_rng(seed)
    values = with_zeros(rng, rng.uniform(0.1, 1, (3 * WRITTEN_OUT, 2 * WRITTEN_OUT + 5)), 0.97)
    if seed % 2:
        values[3], values[:, 7] = 1.5, 2.5
        values[5] = 0
    return scipy.sparse.csr_array(values, dtype=np.float32)


@pytest.mark.parametrize("seed", range(4))
def test_products_and_sums(seed: int) -> None:
    W, S = matrix(seed), np.random.default_rng(seed).random((2 * WRITTEN_OUT + 5, 9)).astype(np.float32)
    pattern, A = make_pattern(W), np.random.default_rng(seed).random((3 * WRITTEN_OUT, 9)).astype(np.float32)
    stored = jax.numpy.asarray(W.data)
    np.testing.assert_allclose(product(pattern.apply, stored, jax.numpy.asarray(S)), W @ S, rtol=1e-5)
    np.testing.assert_allclose(product(pattern.adjoint, stored, jax.numpy.asarray(A)), W.T @ A, rtol=1e-5)
    np.testing.assert_allclose(sums(pattern.adjoint, stored), W.sum(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(W.toarray()[pattern.rows, pattern.columns], W.data)


@pytest.mark.parametrize("at_a_time", [1, 40, 1 << 20])
@pytest.mark.parametrize("seed", range(2))
def test_inner_products_in_turns(seed: int, at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_gathers, "AT_A_TIME", at_a_time)
    W, rng = matrix(seed), np.random.default_rng(seed)
    A, S = (jax.numpy.asarray(rng.random((rows, 9)), "float32") for rows in W.shape)
    np.testing.assert_allclose(
        inner_products(make_pattern(W), A, S), (np.asarray(A) @ np.asarray(S).T)[W.nonzero()], rtol=1e-5
    )


def test_inner_products_of_nothing() -> None:
    pattern = make_pattern(scipy.sparse.csr_array((3, 2), dtype=np.float32))
    assert inner_products(pattern, jax.numpy.ones((3, 4)), jax.numpy.ones((2, 4))).shape == (0,)


def test_inner_products_do_not_gather_all_rows_at_once() -> None:
    """30,000 entries of 2,000 columns would be 240 MB."""
    W = scipy.sparse.random_array((300, 1000), density=0.1, rng=np.random.default_rng(0), format="csr")
    A, S = (jax.numpy.ones((rows, 2000), "float32") for rows in W.shape)
    compiled = jax.jit(inner_products).lower(make_pattern(W), A, S).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 40e6


def test_no_entry_is_gathered_more_than_twice_as_often_as_it_is_stored() -> None:
    W = matrix(1)
    assert W.nnz <= gathered(W) <= 2 * W.nnz + sum(W.shape)


@pytest.mark.parametrize(("density", "columns", "pays"), [(0.01, 5000, True), (0.01, 5, False), (0.9, 5000, False)])
def test_gathers_are_for_large_matrices_with_few_entries(density: float, columns: int, pays: bool) -> None:
    W = scipy.sparse.random_array((100, 120), density=density, rng=np.random.default_rng(0), format="csr")
    assert gathers_pay(W, columns) == pays
