"""Lists of sequences: one alone, in another order, and independent of each other without learning."""

import numpy as np
import pytest

import pfn
from pfn import t
from tests.engines.comparison import Array, assert_close, assert_values, random_sequences, sweep
from tests.networks import random_problem

EXACT = 1e-12


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("acceleration", [None, "momentum"])
def test_a_list_of_one_is_that_one(seed: int, acceleration: str | None) -> None:
    problem = random_problem(seed)
    parameters = {parameter.name for parameter in problem.network.parameters}
    options = problem.options | {"acceleration": acceleration}
    alone = sweep(problem.network, problem.data, problem.initial, 10, **options)
    options["weights"] = {name: [array] for name, array in problem.options["weights"].items()}
    data = {name: [array] for name, array in problem.data.items()}
    initial = {name: value if name in parameters else [value] for name, value in problem.initial.items()}
    listed = sweep(problem.network, data, initial, 10, **options)
    for name, value in alone.values.items():
        dense = value.toarray() if hasattr(value, "toarray") else value
        assert_close(listed[name], dense if name in parameters else [dense], name, EXACT)


@pytest.mark.parametrize("seed", range(30))
def test_sequences_in_another_order_give_results_in_that_order(seed: int) -> None:
    problem = random_sequences(seed)
    count = len(next(iter(problem.data.values())))
    order = np.random.default_rng(seed).permutation(count)
    forward = sweep(problem.network, problem.data, problem.initial, 8, **problem.options)
    permuted = [
        {name: [value[place] for place in order] if isinstance(value, list) else value for name, value in given.items()}
        for given in (problem.data, problem.initial, problem.options["weights"], forward.values)
    ]
    data, initial, weights, wanted = permuted
    found = sweep(problem.network, data, initial, 8, **(problem.options | {"weights": weights}))
    dense = {name: value.toarray() if hasattr(value, "toarray") else value for name, value in wanted.items()}
    assert_values(found, dense)


@pytest.mark.parametrize("seed", range(20))
def test_without_learning_sequences_do_not_see_each_other(seed: int) -> None:
    problem = random_sequences(seed)
    initial = problem.initial | {p.name: np.full(p.shape, 0.5) for p in problem.network.parameters if p.value is None}
    options = problem.options | {"learn": False, "learn_every": {}, "weights": None}
    together = sweep(problem.network, problem.data, initial, 8, **options)
    variables = [variable.name for variable in problem.network.variables]
    for number in range(len(next(iter(problem.data.values())))):
        own = {name: value[number] if name in variables else value for name, value in initial.items()}
        data = {name: arrays[number] for name, arrays in problem.data.items()}
        alone = sweep(problem.network, data, own, 8, **options)
        for name in variables:
            assert_close(together[name][number], alone[name], name)


def test_learning_from_a_sequence_twice_is_learning_from_it_once() -> None:
    """Both copies give the same numerators and denominators, so their ratio stays."""
    rng = np.random.default_rng(0)
    x, h = pfn.Variable("x", 5), pfn.Variable("h", 2)
    network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", shape=(10, 2)) @ h[t]))
    X, H, W = rng.random((5, 9)), rng.random((2, 8)), rng.random((10, 2))
    once = sweep(network, {"x": [X]}, {"h": [H], "W": W}, 20, epsilon=1e-30)
    twice = sweep(network, {"x": [X, X]}, {"h": [H, H], "W": W}, 20, epsilon=1e-30)
    assert_close(twice["W"], once["W"], "W")
    assert_close(twice["h"], [once["h"][0]] * 2, "h")


def test_a_lagged_parent_does_not_reach_into_the_sequence_before() -> None:
    """x[t] = h[t-1]: the first column of every sequence has no parent, so it stays unexplained."""
    x, h = pfn.Variable("x", 1), pfn.Variable("h", 1)
    network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", [[1.0]]) @ h[t - 1]))
    data: list[Array] = [np.full((1, length), 5.0) for length in (4, 3)]
    result = pfn.infer(network, {x: data}, iterations=50)
    for H, length in zip(result[h], (4, 3), strict=True):
        np.testing.assert_allclose(H, np.full((1, length - 1), 5.0), rtol=1e-6)
    assert result.rmse["eq1"] == pytest.approx(np.sqrt(2 * 25 / 7), rel=1e-6)
