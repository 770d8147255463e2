"""Runs of pfn and of the oracle on the same problem, and how closely they must agree."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

import pfn
from tests import networks, oracle
from tests.updates.formulas import distance

Array = np.ndarray[Any, np.dtype[np.float64]]

# Sums in another order differ in the last digits; entries below ABSOLUTE are zero for every purpose.
RELATIVE, ABSOLUTE = 1e-9, 1e-14


def sweep(
    network: pfn.Network, data: Mapping[str, Any], initial: Mapping[str, Any], iterations: int, **options: Any
) -> pfn.Result:
    """Plain sweeps of pfn with the keywords of the oracle."""
    ask = pfn.learn if options.pop("learn", True) else pfn.infer
    weights = options.pop("weights", None)
    dtype = options.pop("dtype", "float64")
    method = pfn.Propagate(**({"acceleration": None} | options))
    return ask(
        network, data, iterations=iterations, stall=None, initial=initial, weights=weights, method=method, dtype=dtype
    )


def assert_close(found: Any, wanted: Any, name: str, relative: float = RELATIVE) -> None:
    """Compare arrays, sparse matrices or lists of arrays."""
    if isinstance(wanted, list):
        assert isinstance(found, list), name
        assert len(found) == len(wanted), name
        for number, pair in enumerate(zip(found, wanted, strict=True)):
            assert_close(*pair, f"{name}, sequence {number}", relative)
        return
    dense = found.toarray() if scipy.sparse.issparse(found) else found
    np.testing.assert_allclose(dense, wanted, rtol=relative, atol=ABSOLUTE, err_msg=name, strict=True)


def assert_values(result: pfn.Result, wanted: Mapping[str, Any], relative: float = RELATIVE) -> None:
    """Every variable and every parameter agrees, and nothing else is there."""
    assert set(result.values) == set(wanted)
    for name, value in wanted.items():
        assert_close(result[name], value, name, relative)


def assert_errors(result: pfn.Result, wanted: Mapping[str, float]) -> None:
    """The errors are differences of values of about one, so they agree absolutely where they are small."""
    assert set(result.rmse) == set(wanted)
    for name, error in wanted.items():
        np.testing.assert_allclose(result.rmse[name], error, rtol=RELATIVE, atol=1e-12, err_msg=name)


def check(problem: networks.RandomProblem, iterations: int = 25) -> None:
    """A single sequence agrees with the oracle in values and errors."""
    arguments = (problem.network, problem.data, problem.initial, iterations)
    wanted = oracle.sweep_many(*arguments, **problem.options)
    result = sweep(*arguments, **problem.options)
    assert_values(result, wanted)
    weights, released = problem.options.get("weights"), released_before(iterations, problem)
    assert_errors(result, oracle.rmse(problem.network, wanted, problem.data, weights, released))
    lists = (oracle.listed(problem.network, mapping) for mapping in (wanted, problem.data, weights or {}))
    assert_divergence(result, problem, oracle.counted_of_sequences(problem.network, *lists, released))


def check_sequences(problem: networks.RandomProblem, iterations: int = 12) -> None:
    """The same for lists of sequences."""
    arguments = (problem.network, problem.data, problem.initial, iterations)
    wanted = oracle.sweep_sequences(*arguments, **problem.options)
    result = sweep(*arguments, **problem.options)
    assert_values(result, wanted)
    weights, released = problem.options.get("weights"), released_before(iterations, problem)
    values = (problem.network, wanted, problem.data, weights, released)
    assert_errors(result, oracle.rmse_of_sequences(*values))
    assert_divergence(result, problem, oracle.counted_of_sequences(*values))


def released_before(iterations: int, problem: networks.RandomProblem) -> list[str]:
    """The variables whose observations are let go in one of so many sweeps."""
    return [name for name, sweep in problem.options["release"].items() if sweep < iterations]


def assert_divergence(
    result: pfn.Result, problem: networks.RandomProblem, counted: Mapping[str, list[oracle.Counted]]
) -> None:
    """The reported divergence is that of the entries that count; the others add nothing."""
    kind, epsilon = problem.options["divergence"], problem.options["epsilon"]
    entries = [one for found in counted.values() for one in found]
    pairs = [(np.array([[one.value]]), np.array([[one.reconstruction]])) for one in entries]
    parts = [one.weight * distance(*pair, kind, epsilon) for one, pair in zip(entries, pairs, strict=True)]
    np.testing.assert_allclose(result.history.divergence[-1], sum(parts), rtol=1e-8, atol=1e-12)


def random_sequences(seed: int, *, joint: bool = False) -> networks.RandomProblem:
    """A random problem with one to four sequences of different lengths and gaps."""
    single = networks.random_joint_problem(seed) if joint else networks.random_problem(seed)
    rng = np.random.default_rng(seed)
    others = [observations(rng, single.network, list(single.data)) for _ in range(int(rng.integers(0, 4)))]
    every = [single.data, *others]
    data = {name: [one[name] for one in every] for name in single.data}
    separate = [{name: arrays[number] for name, arrays in data.items()} for number in range(len(every))]
    columns = [oracle.array_columns(single.network, one) for one in separate]
    initial: dict[str, Any] = {
        variable.name: [rng.random((variable.size, len(found[variable.name]))) for found in columns]
        for variable in single.network.variables
    }
    initial |= {p.name: single.initial[p.name] for p in single.network.parameters if p.name in single.initial}
    weights = random_weights(rng, single.network, separate)
    weights = networks.weights_that_reach(single.network, data, weights, [*single.options["release"]])
    options = single.options | {"weights": weights}
    return networks.RandomProblem(single.network, data, initial, options)


def observations(rng: np.random.Generator, network: pfn.Network, names: list[str]) -> dict[str, Array]:
    """Observations of these variables, of a length that gives all of them columns."""
    bottom = {variable.name for variable in network.bottom}
    for length in rng.permutation(12) + 1:
        data = {name: np.zeros((1, length)) for name in names if name in bottom}
        columns = oracle.array_columns(network, data)
        if all(columns[name] for name in names):
            break
    return {
        name: networks.observations(
            rng, (network.variable(name).size, len(columns[name])), rng.choice([0.0, 0.2, 0.6, 1.0])
        )
        for name in names
    }


def random_weights(
    rng: np.random.Generator, network: pfn.Network, separate: list[dict[str, Array]]
) -> dict[str, list[Array]]:
    """For some equations a number per column of every sequence."""
    counts = [oracle.column_counts(network, one) for one in separate]
    weights: dict[str, list[Array]] = {}
    for equation in network.factorizations:
        if rng.random() < 0.2 and sum(found[equation.name] for found in counts):
            weights[equation.name] = [rng.choice([0.0, 0.5, 1.0, 3.0], size=found[equation.name]) for found in counts]
    return weights
