"""Planes for compiled sweeps are planes, dense or sparse, inverted or not."""

import numpy as np
import pytest
import scipy.sparse

jax = pytest.importorskip("jax", reason="jax is not installed")

from pfn.exact import Plane, planes_jax  # noqa: E402
from pfn.exact.planes_jax import Dense, Gradients, Inverse, Sparse, make_plane  # noqa: E402
from tests.exact.test_consensus import matrix  # noqa: E402


def with_full_column(size):
    """I + Wᵀ W has few entries and I + W Wᵀ has all, although both are of the same size."""
    W = scipy.sparse.lil_array((size, size))
    W.setdiag(0.5)
    W[:, 0] = 1.0
    return scipy.sparse.csr_array(W)


MATRICES = {
    "wide": matrix(5, 9, 0.6).toarray(),
    "tall": matrix(400, 3, 0.3),
    "full column": with_full_column(40),
    "empty": scipy.sparse.csr_array((4, 3)),
}


@jax.jit
def projected(plane, copies, near):
    residual = plane.residual(copies)
    multipliers = plane.multipliers(residual, near)
    return residual, multipliers, plane.lifted(multipliers)


@pytest.mark.parametrize("solver", [Inverse, Gradients])
@pytest.mark.parametrize("products", [Dense, Sparse])
@pytest.mark.parametrize("name", MATRICES)
def test_multipliers(name, products, solver, monkeypatch):
    monkeypatch.setattr(planes_jax, "_stays_sparse", lambda *_: products is Sparse)
    monkeypatch.setattr(planes_jax, "_inverse_pays", lambda *_: solver is Inverse)
    W, rng = MATRICES[name], np.random.default_rng(1)
    copies = rng.standard_normal((sum(W.shape), 4))
    wanted = Plane(W)
    residual = wanted.residual(copies)
    multipliers = wanted.multipliers(residual)
    lifted = wanted.lifted(multipliers)
    with jax.enable_x64(True):
        plane = make_plane(Plane(W), 4)
        assert isinstance(plane.matrix, products)
        assert isinstance(plane.solver, solver)
        assert plane.matrix.shape == W.shape
        for near in (np.zeros_like(multipliers), multipliers + 0.1):
            for found, correct in zip(projected(plane, copies, near), (residual, multipliers, lifted), strict=True):
                np.testing.assert_allclose(found, correct, atol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "near", "left"),
    [("float64", 1.0, 1e-13), ("float32", 1.0, 1e-4), ("float64", 1e-154, 1e-150), ("float32", 1e-19, 1e-15)],
)
def test_what_is_on_the_plane_stays(dtype, near, left, monkeypatch):
    """λ is zero, to the digits of where it was thought to be, or of squares: nothing is small against X − W H."""
    monkeypatch.setattr(planes_jax, "_inverse_pays", lambda *_: False)
    zeros, guess = np.zeros((80, 4), dtype), np.full((40, 4), near, dtype)
    with jax.enable_x64(True):
        _, multipliers, _ = projected(make_plane(Plane(MATRICES["full column"].astype(dtype)), 4), zeros, guess)
    assert multipliers.dtype == dtype
    np.testing.assert_allclose(multipliers, 0, atol=left)


@pytest.mark.parametrize(
    ("W", "columns", "products", "solver"),
    [
        (matrix(30, 40, 0.05), 8, Dense, Inverse),
        (matrix(400, 600, 0.005), 100, Sparse, Inverse),
        (matrix(8000, 9000, 3e-4), 100, Sparse, Gradients),
        (matrix(8000, 50, 0.01), 100, Sparse, Inverse),  # through the inner one
    ],
    ids=["small", "medium", "large", "tall"],
)
def test_what_is_less_work(W, columns, products, solver):
    plane = make_plane(Plane(W), columns)
    assert isinstance(plane.matrix, products)
    assert isinstance(plane.solver, solver)


def test_no_inverse_is_too_large_for_memory(monkeypatch):
    monkeypatch.setattr(planes_jax, "MOST_ENTRIES", 24)
    assert isinstance(make_plane(Plane(MATRICES["wide"]), 8).solver, Gradients)
    monkeypatch.setattr(planes_jax, "MOST_ENTRIES", 25)
    assert isinstance(make_plane(Plane(MATRICES["wide"]), 8).solver, Inverse)
