"""Problems large enough for sparse products and for work in blocks agree with the oracle too."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from tests import oracle
from tests.engines.comparison import Array, assert_errors, assert_values, sweep
from tests.networks import with_zeros


def sparse_matrix(rng: np.random.Generator, rows: int, columns: int, density: float = 0.01) -> Any:
    values = rng.uniform(0.1, 1, (rows, columns))
    return scipy.sparse.csr_array(with_zeros(rng, values, 1 - density))


def initial_values(rng: np.random.Generator, network: pfn.Network, data: dict[str, Array]) -> dict[str, Array]:
    columns = oracle.array_columns(network, data)
    start = {v.name: rng.uniform(0.05, 1, (v.size, len(columns[v.name]))) for v in network.variables}
    learned = [p for p in network.parameters if p.learn and p.value is None]
    return start | {p.name: rng.uniform(0.05, 1, p.shape) for p in learned}


def check(network: pfn.Network, data: dict[str, Array], seed: int, iterations: int, **options: Any) -> None:
    initial = initial_values(np.random.default_rng(seed), network, data)
    wanted = oracle.sweep_many(network, data, initial, iterations, **options)
    result = sweep(network, data, initial, iterations, **options)
    assert_values(result, wanted)
    assert_errors(result, oracle.rmse(network, wanted, data))


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
@pytest.mark.parametrize("learn", [False, True])
def test_large_sparse_parameters_known_and_learned(divergence: str, learn: bool) -> None:
    """Dense and sparse terms in one equation, lags, stacks, and a sparse level on top."""
    rng = np.random.default_rng(11)
    x, y, h, g, v = (pfn.Variable(*given) for given in (("x", 90), ("y", 30), ("h", 110), ("g", 5), ("v", 80)))
    lower, start = sparse_matrix(rng, 120, 110), sparse_matrix(rng, 110, 80)
    A = pfn.Parameter("A", lower)
    D = pfn.Parameter("D", rng.random((120, 5)))
    B = pfn.Parameter("B", start, learn=True)
    network = pfn.Network(
        pfn.Factorization([x[t], y[t + 1]], A @ h[t] + D @ g[t] + A @ h[t - 2]),
        pfn.Factorization(h, B @ v, normalize="columns"),
    )
    data = {"x": with_zeros(rng, rng.random((90, 24)), 0.2)}
    check(network, data, 12, 6, divergence=divergence, learn=learn)


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
@pytest.mark.parametrize("sparseness", [0.0, 0.3])
def test_large_dense_problems_are_worked_on_in_blocks(divergence: str, sparseness: float) -> None:
    rng = np.random.default_rng(13)
    x, y, h = pfn.Variable("x", 70), pfn.Variable("y", 50), pfn.Variable("h", 6)
    W = [pfn.Parameter(f"W{k}", shape=(120, 6)) for k in range(2)]
    network = pfn.Network(pfn.Factorization([x[t], y[t + 2]], W[0] @ h[t] + W[1] @ h[t - 3], normalize="sequences"))
    X, Y = rng.random((70, 320)), rng.random((50, 320))
    X[rng.random(X.shape) < 0.1] = np.nan
    check(network, {"x": X, "y": Y}, 14, 3, divergence=divergence, sparseness=sparseness)


def test_large_weighted_sequences() -> None:
    rng = np.random.default_rng(15)
    x, h = pfn.Variable("x", 100), pfn.Variable("h", 4)
    network = pfn.Network(
        pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", shape=(200, 4)) @ h, normalize="subcolumns")
    )
    data = {"x": [rng.random((100, length)) for length in (120, 60)]}
    initial = {"h": [rng.random((4, length - 1)) for length in (120, 60)], "W": rng.random((200, 4))}
    weights = {"eq1": [rng.choice([0.5, 1.0, 2.0], size=length - 1) for length in (120, 60)]}
    wanted = oracle.sweep_sequences(network, data, initial | data, 3, weights=weights)
    result = sweep(network, data, initial, 3, weights=weights)
    assert_values(result, wanted)
    assert_errors(result, oracle.rmse_of_sequences(network, wanted, data, weights))
