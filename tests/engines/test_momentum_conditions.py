"""Momentum's restart rule, clip and floor put to the test: float32, ramps, mixed parameters, all copies."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t
from pfn.models import simulate_targets, tracking_network
from tests import networks
from tests.models.scenes import PAPER_LENGTH, PAPER_TARGETS
from tests.solve.cases import states

AUTOMATON = (networks.automaton(networks.W_DETERMINISTIC), {"x": states(1, *[0] * 9)})
EXPRESSION = (networks.regular_expression(), {"x2": states(0, 2, 0, 0, 0, 0, 4, 0, 0, 0, of=6)})
TRACKING = (networks.tracking(), {"x1": networks.tracking_scene()["x1"]})


def sweeps(question: Any, method: pfn.Propagate, tolerance: float, **options: Any) -> int:
    result = pfn.infer(*question, method=method, tolerance=tolerance, iterations=6000, **options)
    assert max(result.rmse.values()) < tolerance
    return result.iterations


@pytest.mark.parametrize("averaging", ["pooled", "updated", "all"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("question", "tolerance", "most"),
    [(AUTOMATON, 1e-4, 100), (EXPRESSION, 1e-4, 120), (TRACKING, 1e-3, 300)],
    ids=["automaton", "expression", "tracking"],
)
def test_inference_in_a_fifth_of_the_plain_sweeps(
    question: Any, tolerance: float, most: int, dtype: str, averaging: Any
) -> None:
    """In both precisions and all kinds of averages; measured 0.05 to 0.21, the longer the runs the less."""
    method = pfn.Propagate(averaging=averaging, start="random")
    counts = [sweeps(question, method, tolerance, dtype=dtype, seed=seed) for seed in range(3)]
    assert max(counts) <= most
    if dtype == "float32":
        return  # which takes as many plain sweeps
    plain = sweeps(question, replace(method, acceleration=None), tolerance)
    assert np.median(counts) <= 0.21 * plain


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_at_the_floor_grow_again(dtype: str) -> None:
    """After hundreds of sweeps in which nothing needs it, a value is at the floor; momentum must not keep it there.

    x is held to a path without the third state, then released, with the third state given by a second variable.
    """
    x, y = pfn.Variable("x", 3), pfn.Variable("y", 3)
    h, g = pfn.Variable("h", 3), pfn.Variable("g", 3)
    network = pfn.Network(
        pfn.Factorization(x[t], pfn.Parameter("A", np.eye(3)) @ h[t]),
        pfn.Factorization(y[t], pfn.Parameter("B", np.eye(3)) @ g[t]),
        pfn.Factorization(h[t], pfn.Parameter("C", np.eye(3)) @ g[t]),
    )
    X, Y = np.tile([[1.0], [0.5], [0.0]], 4), np.tile([[1.0], [0.5], [0.25]], 4)
    method = pfn.Propagate(release={x: 300})
    result = pfn.infer(network, {x: X, y: Y}, method=method, iterations=2000, dtype=dtype, tolerance=None)
    assert np.isfinite(result["h"]).all()
    np.testing.assert_allclose(result["x"], Y, atol=1e-3)


def test_long_runs_in_float32_stay_where_they_are() -> None:
    for network, data in (AUTOMATON, EXPRESSION):
        result = pfn.infer(network, data, dtype="float32", iterations=3000)
        assert max(result.rmse.values()) < 1e-6


NETWORK = tracking_network()


def share_outside(seed: int, **options: Any) -> float:
    """The share of x4 outside the true states after a short ramp to θ = 0.05, with noise up to 0.06."""
    scene = simulate_targets(NETWORK, PAPER_TARGETS, length=PAPER_LENGTH, noise=0.06, seed=seed)
    method = pfn.Propagate(sparseness=pfn.ramp(0.0, 0.05, start=200, stop=500))
    x4 = pfn.infer(NETWORK, scene.observed, method=method, iterations=500, **options)["x4"]
    return float(x4[scene.truth["x4"] == 0].sum() / x4.sum())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_ramp_keeps_the_momentum(dtype: str) -> None:
    """10,000 plain sweeps leave a share of 0.047. As θ grows the divergence rises in every sweep, which is no reason
    to restart: with restarts these shares were 0.058, 0.14 and 0.089.
    """
    shares = [share_outside(seed, dtype=dtype) for seed in (5, 6, 7)]
    assert max(shares) < 0.056


def test_a_ramp_keeps_the_momentum_of_the_compiled_engine() -> None:
    """On the partly observed automaton, stretches of many sweeps included: the same divergence after every sweep."""
    pytest.importorskip("jax", reason="jax is not installed")
    network, data = networks.automaton(networks.W_NONDETERMINISTIC), {"x": states(0, 2, 0, 3, 4, 0, 0, 0, 0, 0)}
    method = pfn.Propagate(sparseness=pfn.ramp(0.0, 0.1, start=5, stop=45))
    numpy, jax = (
        pfn.infer(network, data, method=method, iterations=60, engine=engine).history.divergence
        for engine in ("numpy", "jax")
    )
    assert (np.diff(numpy) > 0).any()
    np.testing.assert_allclose(jax, numpy, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_known_and_learned_parameters_together(dtype: str) -> None:
    """A known lower matrix with zeros, a learned upper one: the error of 300 plain sweeps in at most 0.55 of them."""
    rng = np.random.default_rng(0)
    x, h, g = pfn.Variable("x", 12), pfn.Variable("h", 6), pfn.Variable("g", 3)
    known = networks.with_zeros(rng, rng.random((12, 6)), 0.5)
    network = pfn.Network(
        pfn.Factorization(x[t], pfn.Parameter("A", known) @ h[t]),
        pfn.Factorization(h[t], pfn.Parameter("B", shape=(6, 3)) @ g[t], normalize="columns"),
    )
    X = known @ rng.random((6, 3)) @ rng.random((3, 40))
    ratios = []
    for seed in range(5):
        options = {"seed": seed, "dtype": dtype, "iterations": 300}
        plain = pfn.learn(network, {x: X}, method=pfn.Propagate(acceleration=None), **options)
        fast = pfn.learn(network, {x: X}, tolerance=max(plain.rmse.values()), **options)
        np.testing.assert_array_equal(fast["A"], known.astype(dtype))
        ratios.append(fast.iterations / 300)
    assert max(ratios) <= 0.55
