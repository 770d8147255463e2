"""What comes out: columns, observations, precision, silence."""

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from tests.engines.comparison import assert_close, sweep
from tests.networks import W_DETERMINISTIC, automaton, hierarchy, random_problem


def test_one_slice_leaves_the_transitions_without_columns() -> None:
    result = pfn.infer(automaton(W_DETERMINISTIC), {"x": np.ones((4, 1))}, iterations=3)
    np.testing.assert_array_equal(result["x"], np.ones((4, 1)))
    assert result["h"].shape == (4, 0)


def test_an_untouched_hidden_column_is_nan() -> None:
    """With three slices eq1 touches x at 0 and y at 2, eq2 touches x at 2; nothing touches x at 1."""
    x, y, h, g = (pfn.Variable(name, 1) for name in "xyhg")
    A, B = pfn.Parameter("A", [[1.0], [1.0]]), pfn.Parameter("B", [[1.0]])
    network = pfn.Network(pfn.Factorization([x[t], y[t + 2]], A @ h[t]), pfn.Factorization(x[t + 2], B @ g[t]))
    result = pfn.infer(network, {y: np.full((1, 3), 4.0)}, iterations=60)
    np.testing.assert_array_equal(np.isnan(result[x]), [[False, True, False]])
    np.testing.assert_allclose(result[x][0, 0], 4, rtol=1e-6)
    np.testing.assert_array_equal(result[y], np.full((1, 3), 4.0))


def test_nothing_observed_but_the_length() -> None:
    result = pfn.infer(automaton(W_DETERMINISTIC), {"x": np.full((4, 6), np.nan)}, iterations=100)
    assert result["x"].shape == (4, 6)
    assert np.isfinite(result["x"]).all()


@pytest.mark.parametrize("seed", range(20))
def test_observed_entries_keep_their_values(seed: int) -> None:
    problem = random_problem(seed)
    result = sweep(problem.network, problem.data, problem.initial, 5, **(problem.options | {"release": {}}))
    for name, given in problem.data.items():
        known = ~np.isnan(given)
        np.testing.assert_array_equal(result[name][:, : given.shape[1]][known], given[known])


@pytest.mark.parametrize("seed", range(20))
def test_values_and_parameters_are_never_negative(seed: int) -> None:
    problem = random_problem(seed)
    for acceleration in (None, "momentum"):
        options = problem.options | {"acceleration": acceleration}
        result = sweep(problem.network, problem.data, problem.initial, 15, **options)
        for value in result.values.values():
            dense = value.toarray() if hasattr(value, "toarray") else value
            assert not (dense < 0).any()


@pytest.mark.parametrize("seed", range(20))
def test_single_precision_stays_single_and_close(seed: int) -> None:
    problem = random_problem(seed)
    options = problem.options | {"epsilon": 1e-5}
    single = sweep(problem.network, problem.data, problem.initial, 5, **options, dtype="float32")
    double = sweep(problem.network, problem.data, problem.initial, 5, **options)
    for name, value in double.values.items():
        dense, found = (v.toarray() if hasattr(v, "toarray") else v for v in (value, single[name]))
        learned = name in {p.name for p in problem.network.parameters if p.learn}
        if learned or name in {v.name for v in problem.network.variables}:
            assert found.dtype == np.float32, name
        np.testing.assert_allclose(found, dense, rtol=2e-3, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_silence_gives_zeros(seed: int, dtype: str) -> None:
    network = hierarchy(4, (3, 2), 2, (1, 2))
    result = pfn.learn(network, {"x1": np.zeros((4, 9))}, iterations=200, seed=seed, dtype=dtype)
    for variable in network.variables:
        np.testing.assert_allclose(result[variable], 0, atol=1e-6)
    for parameter in network.parameters:
        assert np.isfinite(result[parameter]).all()


def test_the_data_and_starting_values_are_left_as_they_were() -> None:
    problem = random_problem(5)
    before = [{name: np.array(value) for name, value in given.items()} for given in (problem.data, problem.initial)]
    sweep(problem.network, problem.data, problem.initial, 5, **problem.options)
    for given, kept in zip((problem.data, problem.initial), before, strict=True):
        for name, value in given.items():
            np.testing.assert_array_equal(value, kept[name])


@pytest.mark.parametrize("seed", range(10))
def test_the_same_run_gives_the_same_bits(seed: int) -> None:
    problem = random_problem(seed)
    options = problem.options | {"acceleration": "momentum"}
    one, two = (sweep(problem.network, problem.data, problem.initial, 10, **options) for _ in range(2))
    for name, value in one.values.items():
        other = two[name]
        if hasattr(value, "toarray"):
            value, other = value.toarray(), other.toarray()  # noqa: PLW2901  (the same for dense and sparse)
        np.testing.assert_array_equal(other, value)


def test_a_known_parameter_may_be_dense_or_sparse() -> None:
    X = np.full((4, 8), np.nan)
    X[:, 3] = [0, 2, 0, 1]
    results = []
    for matrix in (W_DETERMINISTIC, scipy.sparse.csr_array(W_DETERMINISTIC)):
        x, h = pfn.Variable("x", 4), pfn.Variable("h", 4)
        network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", matrix) @ h[t]))
        results.append(pfn.infer(network, {x: X}, iterations=40))
    assert_close(results[1]["x"], results[0]["x"], "x")
