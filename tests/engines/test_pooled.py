"""Copies of a parent updated together: a descent."""

from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t
from tests.engines.comparison import assert_values
from tests.networks import hierarchy

RNG = np.random.default_rng(0)
X = RNG.gamma(0.5, size=(12, 40))
EPSILON = 1e-9


@pytest.fixture(params=["numpy", "jax"])
def engine(request: pytest.FixtureRequest) -> str:
    """The engines, where they are installed."""
    if request.param == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    return str(request.param)


def convolved(W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Σ W_k H shifted by k."""
    return sum(W[k] @ np.pad(H, ((0, 0), (k, 0)))[:, : H.shape[1]] for k in range(len(W)))


def test_a_sweep_is_one_of_convolutive_nmf(engine: str) -> None:
    """W_k of all lags from one reconstruction, then H with numerators and denominators summed over the lags."""
    network = hierarchy(12, (3,), 4, (1,))
    W, H = RNG.random((4, 12, 3)), RNG.random((3, 40))
    W /= W.sum(axis=(0, 1))
    initial = {f"W1_{k + 1}": W[k] for k in range(4)} | {"x2": H}
    method = pfn.Propagate(acceleration=None)
    result = pfn.learn(network, {"x1": X}, method=method, engine=engine, initial=initial, iterations=10)
    for _ in range(10):
        Q = (X + EPSILON) / (convolved(W, H) + EPSILON)
        late = [np.pad(H, ((0, 0), (k, 0)))[:, :40] for k in range(4)]
        W = np.array([W[k] * (Q @ late[k].T + EPSILON) / (late[k].sum(axis=1) + EPSILON) for k in range(4)])
        W /= W.sum(axis=(0, 1))
        Q = (X + EPSILON) / (convolved(W, H) + EPSILON)
        upper, lower = np.full((2, *H.shape), EPSILON)
        for k in range(4):
            upper[:, : 40 - k] += W[k].T @ Q[:, k:]
            lower[:, : 40 - k] += W[k].sum(axis=0)[:, None]
        H = H * upper / lower
    np.testing.assert_allclose(result["x2"], H, rtol=1e-9)
    for k in range(4):
        np.testing.assert_allclose(result[f"W1_{k + 1}"], W[k], rtol=1e-9)


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
@pytest.mark.parametrize("seed", range(5))
def test_inference_with_lags_never_raises_the_divergence(seed: int, divergence: Any, engine: str) -> None:
    """The mean of the copies does (see below)."""
    rng = np.random.default_rng(seed)
    x, h = pfn.Variable("x", 12), pfn.Variable("h", 3)
    known = [pfn.Parameter(f"W{k}", rng.gamma(0.3, size=(12, 3)) * 0.5**k) for k in range(4)]
    network = pfn.Network(pfn.Factorization(x[t], sum(W @ h[t - k] for k, W in enumerate(known))))
    options: dict[str, Any] = {"engine": engine, "iterations": 60, "seed": seed}

    def cost(**settings: Any) -> np.ndarray:
        method = pfn.Propagate(acceleration=None, divergence=divergence, initial_scale=1.0, **settings)
        history = pfn.infer(network, {x: [X, X[:, :9]]}, method=method, **options).history
        return history.divergence

    pooled, mean = cost(), cost(averaging="updated")
    assert (np.diff(pooled) <= 1e-9 * pooled[:-1]).all()
    assert pooled[-1] < mean[-1]


def test_learning_with_lags_hardly_raises_the_divergence() -> None:
    """Normalization is no part of the update; from where substitution ends the mean leads 10 % up."""
    network = hierarchy(12, (3,), 4, (1,))
    falls = [
        np.diff(pfn.learn(network, {"x1": X}, method=pfn.Propagate(acceleration=None), seed=seed).history.divergence)
        for seed in range(4)
    ]
    assert max(fall.max() for fall in falls) <= 1e-6


def test_with_one_copy_each_there_is_no_difference(engine: str) -> None:
    network = hierarchy(12, (4, 2), 1, (1, 1))
    one, other = (
        pfn.learn(
            network, {"x1": [X, X[:, :5]]}, method=pfn.Propagate(averaging=averaging), engine=engine, iterations=30
        )
        for averaging in ("pooled", "updated")
    )
    assert_values(one, other.values, 1e-9)


def test_a_parent_of_several_equations_is_pooled_over_all_of_them(engine: str) -> None:
    rng = np.random.default_rng(1)
    A, B, H = rng.random((4, 2)), 5 * rng.random((3, 2)), rng.random((2, 6))
    x, y, h = pfn.Variable("x", 4), pfn.Variable("y", 3), pfn.Variable("h", 2)
    network = pfn.Network(
        pfn.Factorization(x[t], pfn.Parameter("A", A) @ h[t]), pfn.Factorization(y[t], pfn.Parameter("B", B) @ h[t])
    )
    U, V = rng.random((4, 6)) + 0.1, rng.random((3, 6)) + 0.1
    method = pfn.Propagate(acceleration=None, start="random")
    result = pfn.infer(network, {x: U, y: V}, initial={h: H}, method=method, engine=engine, iterations=1)
    upper = A.T @ (U / (A @ H)) + B.T @ (V / (B @ H))
    lower = A.sum(axis=0) + B.sum(axis=0)
    np.testing.assert_allclose(result["h"], H * upper / lower[:, None], rtol=1e-7)
