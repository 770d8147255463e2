"""The update of a variable that is a child and a parent at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from pfn.updates import DIVERGENCES, right_update
from pfn.updates.between import between, child_field

POSITIVE = st.floats(1e-3, 1e3)
DIVERGENCE = st.sampled_from(["kl", "euclidean"])
EPSILON = st.sampled_from([1e-9, 1e-5, 1e-2])


def surrogate(x, x0, n, d, R, weights, divergence, epsilon):
    """What the update minimises, as the module words it, with ε in the numerator and denominator."""
    n, d = n + epsilon, d + epsilon
    if divergence == "kl":
        children = weights * ((x + epsilon) * np.log((x + epsilon) / (R + epsilon)) - x)
        return d * x - x0 * n * np.log(x) + children.sum()
    return d * x**2 / x0 - 2 * n * x + (weights * (x - R) ** 2).sum()


def updated(x, n, d, R, weights, divergence, epsilon):
    kind = DIVERGENCES[divergence]
    count, pull = weights.sum(), (weights * child_field(R, kind, epsilon)).sum()
    one = np.ones(1)
    found = between(x * one, n * one, d * one, count=count * one, pull=pull * one, divergence=kind, epsilon=epsilon)
    return float(found[0])


@given(
    x=POSITIVE,
    n=POSITIVE,
    d=POSITIVE,
    R=st.lists(st.floats(0, 1e3), min_size=1, max_size=3),
    divergence=DIVERGENCE,
    epsilon=EPSILON,
)
def test_it_is_the_minimum(x, n, d, R, divergence, epsilon):
    R, weights = np.array(R), np.array([1.0, 2.0, 0.5])[: len(R)]
    given_values = (x, n, d, R, weights, divergence, epsilon)
    found = updated(x, n, d, R, weights, divergence, epsilon)
    best = minimize_scalar(
        lambda logarithm: surrogate(np.exp(logarithm), *given_values), bounds=(-40, 20), method="bounded"
    )
    lowest, here = best.fun, surrogate(found, *given_values)
    assert here <= lowest + 1e-9 * (1 + abs(lowest))
    assert here <= surrogate(x, *given_values) + 1e-12 * (1 + abs(here))


def test_without_parents_it_is_the_geometric_or_the_plain_mean():
    R, weights = np.array([1.0, 4.0]), np.ones(2)
    assert updated(3.0, 0.0, 0.0, R, weights, "kl", 1e-12) == pytest.approx(2.0)
    assert updated(3.0, 0.0, 0.0, R, weights, "euclidean", 1e-12) == pytest.approx(2.5)


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_without_children_it_is_the_right_update(divergence):
    generator = np.random.default_rng(0)
    X, W, H = (generator.random(shape) for shape in ((4, 5), (4, 3), (3, 5)))
    kind = DIVERGENCES[divergence]
    A = kind.numerator_field(X, W @ H, 1e-9)
    denominator = W.T @ (np.ones_like(X) if divergence == "kl" else W @ H)
    nothing = np.zeros_like(H)
    found = between(H, W.T @ A, denominator, count=nothing, pull=nothing, divergence=kind, epsilon=1e-9)
    np.testing.assert_allclose(found, right_update(X, W, H, kind), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_far_apart_stay_finite(dtype):
    x = np.array([0.0, 1e-30, 1e-9, 1.0, 1e20], dtype)
    for n in (0.0, 1e-20, 1e10):
        for R in (0.0, 1e-15, 1e15):
            pull = child_field(np.full_like(x, R), DIVERGENCES["kl"], 1e-9)
            kind = DIVERGENCES["kl"]
            with np.errstate(all="ignore"):
                found = between(
                    x, x * 0 + dtype(n), x * 0 + 1, count=x * 0 + 1, pull=pull, divergence=kind, epsilon=1e-9
                )
            assert found.dtype == dtype
            assert np.isfinite(found).all()
            assert (found >= 0).all()
