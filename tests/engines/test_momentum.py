"""Runs with momentum: its recipe around sweeps of the oracle, and where they end."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

import pfn
from tests import networks, oracle
from tests.engines.comparison import Array, assert_values, sweep

Values = Mapping[str, Any]
FLOOR = 1e-18


def accelerated(network: pfn.Network, data: Values, initial: Values, sweeps: int) -> dict[str, Any]:
    """x̂ from the change since midway between x and x̂, a plain sweep from x̂, k to zero if it is 0.001 above the lowest.

    Variables are lists, one array for every sequence.
    """
    values = oracle.sweep_sequences(network, data, initial, 0)
    moving = [v.name for v in network.variables] + [p.name for p in network.parameters if p.learn]
    fixed = {name: on_each(lambda now: now == 0, values[name]) for name in moving}
    middle, lowest, k = values, np.inf, 0
    for _ in range(sweeps):
        momentum = partial(extrapolated, k / (k + 6))
        moved = values | {name: on_each(momentum, values[name], middle[name], fixed[name]) for name in moving}
        middle = {name: on_each(lambda x, further: (x + further) / 2, values[name], moved[name]) for name in moving}
        values = oracle.sweep_sequences(network, data, moved, 1)
        now = total_divergence(network, values)
        k, lowest = (0, now) if now > 1.001 * lowest else (k + 1, min(now, lowest))
    return values


def on_each(function: Callable[..., Array], *arguments: Any) -> Any:
    """A function of the arrays of a parameter, or of those of every sequence of a variable."""
    if isinstance(arguments[0], list):
        return [function(*arrays) for arrays in zip(*arguments, strict=True)]
    return function(*arguments)


def extrapolated(strength: float, now: Array, middle: Array, fixed: Array) -> Array:
    change = np.clip(2 * strength * (now / np.maximum(middle, FLOOR) - 1), -0.3, 1)
    least = np.maximum(0.95 * np.minimum(now, 0.003), FLOOR)
    return np.where(fixed, 0.0, np.maximum(now * (1 + change), least))


def total_divergence(network: pfn.Network, values: Values) -> float:
    """Σ over equations KL(X + ε ‖ W H + ε)."""
    hidden = {v.name: [np.full(array.shape, np.nan) for array in values[v.name]] for v in network.bottom}
    total = 0.0
    for strand in oracle.start_strands(network, hidden, values, {}):
        for equation in network.factorizations:
            for column in range(strand.counts[equation.name]):
                X = oracle.stack(strand, equation, "child", column) + 1e-9
                R = oracle.matrix(equation, values) @ oracle.stack(strand, equation, "parent", column) + 1e-9
                total += float(np.sum(X * np.log(X / R) - X + R))
    return total


@pytest.mark.parametrize("seed", range(12))
def test_sweeps_with_momentum_are_the_recipe(seed: int) -> None:
    """Hidden values, learned parameters, exact zeros, one to three sequences.

    Only early sweeps: later the divergence may rise or fall by rounding alone.
    """
    network = networks.hierarchy(5, (4, 3), 2, (1, 2)) if seed % 2 else networks.section_2_2()
    rng = np.random.default_rng(seed)
    lengths = [9, 4, 6][: 1 + seed % 3]
    data = {v.name: [rng.random((v.size, n)) for n in lengths] for v in network.bottom[: 1 + seed % 2]}
    for array in next(iter(data.values())):
        array[rng.random(array.shape) < 0.2] = np.nan
    initial: dict[str, Any] = {
        v.name: [rng.uniform(0.1, 1, (v.size, len(network.columns(n).variables[v.name]))) for n in lengths]
        for v in network.variables
    }
    initial |= {p.name: networks.with_zeros(rng, rng.uniform(0.1, 1, p.shape), 0.2) for p in network.parameters}
    wanted = accelerated(network, data, initial, 12)
    found = sweep(network, data, initial, 12, acceleration="momentum")
    assert_values(found, wanted)


def test_many_values_move_by_the_same_recipe() -> None:
    """More values than fit in a processor's cache, some of them zero."""
    network, rng = networks.plain_nmf(50, 40), np.random.default_rng(0)
    X, H = rng.random((50, 1000)), networks.with_zeros(rng, rng.uniform(0.1, 1, (40, 1000)), 0.1)
    X[:, ::3] = np.nan
    initial = {"x": [np.full(X.shape, 0.5)], "h": [H], "W": rng.uniform(0.1, 1, (50, 40))}
    wanted = accelerated(network, {"x": [X]}, initial, 4)
    assert_values(sweep(network, {"x": [X]}, initial, 4, acceleration="momentum"), wanted)


def test_momentum_changes_the_way_but_not_the_first_sweep() -> None:
    problem = networks.random_problem(1)
    results = [
        [sweep(problem.network, problem.data, problem.initial, n, acceleration=how) for how in (None, "momentum")]
        for n in (1, 4)
    ]
    names = [variable.name for variable in problem.network.variables]
    for name in names:
        np.testing.assert_array_equal(results[0][1][name], results[0][0][name])
    assert any(not np.allclose(results[1][0][name], results[1][1][name], equal_nan=True) for name in names)


def test_the_automaton_predicts_its_states() -> None:
    network = networks.automaton(networks.W_DETERMINISTIC)
    X = np.full((4, 10), np.nan)
    X[:, 0] = [1, 0, 0, 0]
    result = pfn.infer(network, {"x": X}, iterations=1000, tolerance=1e-9)
    assert result.iterations < 1000
    np.testing.assert_allclose(result["x"], np.eye(4)[:, np.arange(10) % 4], atol=1e-6)
    np.testing.assert_allclose(networks.W_DETERMINISTIC @ result["h"], stacked(result["x"]), atol=1e-6)


def stacked(X: Array) -> Array:
    """X_C of the paper: every column on top of the next."""
    return np.vstack([X[:, :-1], X[:, 1:]])


def test_the_tracker_finds_every_target() -> None:
    """The clean problem has one exact solution: exact inference finds no other."""
    network, scene = networks.tracking(), networks.tracking_scene()
    result = pfn.infer(network, {"x1": scene["x1"]}, iterations=2000, tolerance=1e-6)
    assert result.iterations < 2000
    for name, values in scene.items():
        np.testing.assert_allclose(result[name], values, atol=1e-3, err_msg=name)
    for name, error in result.rmse.items():
        assert error < 1e-6, name


def test_the_regular_expression_has_the_states_that_were_not_seen() -> None:
    network = networks.regular_expression()
    X = np.full((3, 10), np.nan)
    X[:, 1], X[:, 6] = [0, 1, 0], [0, 0, 1]
    result = pfn.infer(network, {"x1": X}, iterations=3000, tolerance=1e-8)
    assert result.iterations < 3000
    for equation in network.factorizations:
        assert result.rmse[equation.name] < 1e-8


def test_learning_ends_at_an_exact_factorization() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((8, 2)) @ rng.random((2, 15))
    result = pfn.learn(networks.plain_nmf(8, 2), {"x": X}, iterations=3000, tolerance=1e-7)
    assert result.iterations < 3000
    np.testing.assert_allclose(result["W"] @ result["h"], X, atol=1e-6)


def test_data_that_cannot_be_fitted_end_where_plain_sweeps_end() -> None:
    network = networks.automaton(networks.W_DETERMINISTIC)
    X = np.random.default_rng(1).random((4, 8))
    plain, fast = (
        pfn.infer(network, {"x": X}, iterations=1500, method=pfn.Propagate(acceleration=how))
        for how in (None, "momentum")
    )
    np.testing.assert_allclose(fast["h"], plain["h"], atol=1e-6)
    assert fast.rmse["eq1"] == pytest.approx(plain.rmse["eq1"], rel=1e-9)
