"""The networks of the paper: 25 sweeps agree with the loops of the oracle."""

from typing import Any

import numpy as np
import pytest

import pfn
from tests import networks, oracle
from tests.engines.comparison import Array, assert_errors, assert_values, sweep


def small_start(network: pfn.Network, slices: int, seed: int, scale: float = 1e-6) -> dict[str, Array]:
    """Starting values of all variables, as the paper draws them, and of the learned parameters."""
    rng = np.random.default_rng(seed)
    columns = network.columns(slices).variables
    initial = {v.name: rng.uniform(0, scale, (v.size, len(columns[v.name]))) for v in network.variables}
    return initial | {p.name: rng.uniform(0.1, 1, p.shape) for p in network.parameters if p.learn}


def check(
    network: pfn.Network, data: dict[str, Array], initial: dict[str, Array], sparseness: Any = 0.0, **options: Any
) -> None:
    by_sweep = sparseness.at if hasattr(sparseness, "at") else sparseness
    wanted = oracle.sweep_many(network, data, initial, 25, sparseness=by_sweep, **options)
    result = sweep(network, data, initial, 25, sparseness=sparseness, **options)
    assert_values(result, wanted)
    assert_errors(result, oracle.rmse(network, wanted, data))


@pytest.mark.parametrize("averaging", ["pooled", "updated", "all"])
def test_the_automaton_with_gaps(averaging: str) -> None:
    network = networks.automaton(networks.W_NONDETERMINISTIC)
    X = np.full((4, 10), np.nan)
    for column, state in ((1, 1), (3, 2), (4, 3)):
        X[:, column] = np.eye(4)[state]
    check(network, {"x": X}, small_start(network, 10, 0), learn=False, averaging=averaging)


@pytest.mark.parametrize("averaging", ["pooled", "updated", "all"])
def test_the_regular_expression(averaging: str) -> None:
    network = networks.regular_expression()
    X = np.full((3, 8), np.nan)
    X[:, 1], X[:, 6] = np.eye(3)[1], np.eye(3)[2]
    check(network, {"x1": X}, small_start(network, 8, 1), learn=False, averaging=averaging)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-5])
def test_the_tracker(epsilon: float) -> None:
    network, scene = networks.tracking(), networks.tracking_scene()
    initial = small_start(network, networks.SLICES, 2)
    check(network, {"x1": scene["x1"]}, initial, learn=False, epsilon=epsilon)


def test_the_tracker_with_a_hidden_slice_and_sparseness() -> None:
    network, X = networks.tracking(), networks.tracking_scene()["x1"]
    X[:, 24] = np.nan
    initial = small_start(network, networks.SLICES, 3)
    check(network, {"x1": X}, initial, learn=False, sparseness=pfn.ramp(0.0, 0.05, start=5, stop=20))


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_the_hierarchy(divergence: str) -> None:
    network = networks.hierarchy(6, (4, 3, 3), 3, (1, 2, 4))
    X = np.random.default_rng(4).random((6, 20))
    check(network, {"x1": X}, small_start(network, 20, 4, scale=1.0), divergence=divergence)


def test_the_hierarchy_that_grows_sparse() -> None:
    network = networks.hierarchy(6, (4, 3, 3), 3, (1, 2, 4))
    X = np.random.default_rng(5).random((6, 20))
    ramp = pfn.ramp(0.0, 0.2, start=3, stop=15)
    check(network, {"x1": X}, small_start(network, 20, 5, scale=1.0), sparseness=ramp)


def test_the_example_of_section_2_2() -> None:
    network = networks.section_2_2()
    rng = np.random.default_rng(6)
    data = {name: rng.random((network.variable(name).size, 7)) for name in ("x1", "x2", "x4")}
    check(network, data, small_start(network, 7, 6, scale=1.0))


def test_plain_nmf() -> None:
    network = networks.plain_nmf(8, 3)
    check(network, {"x": np.random.default_rng(7).random((8, 12))}, small_start(network, 12, 7, scale=1.0))
