"""What a left update is made from: the next sweep begins with just that update, and both engines find the same."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t

x, y, h = pfn.Variable("x", 5), pfn.Variable("y", 4), pfn.Variable("h", 3)
TIED = pfn.Parameter("T", shape=(5, 3))
SPARSE = pfn.Parameter("S", scipy.sparse.csr_array(np.tri(5, 3)), learn=True)
PRIOR = pfn.Parameter("P", shape=(5, 3), prior=np.full((5, 3), 0.3), prior_weight=2.0)
NETWORKS = {
    "one": pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", shape=(5, 3)) @ h[t])),
    "side by side": pfn.Network(
        pfn.Factorization(x[t], sum(pfn.Parameter(f"W{lag}", shape=(5, 3)) @ h[t - lag] for lag in range(3)))
    ),
    "tied": pfn.Network(
        pfn.Factorization(x[t], TIED @ h[t] + TIED @ h[t - 2]),
        pfn.Factorization([y[t], y[t + 1]], pfn.Parameter("V", shape=(8, 3)) @ h[t]),
    ),
    "sparse": pfn.Network(pfn.Factorization(x[t], SPARSE @ h[t])),
    "prior": pfn.Network(pfn.Factorization(x[t], PRIOR @ h[t])),
}


def data(network: pfn.Network) -> dict[str, list[np.ndarray]]:
    """Two sequences, with holes."""
    generator = np.random.default_rng(0)
    found = {}
    for variable in network.bottom:
        arrays = [generator.gamma(1, 1, (variable.size, length)) for length in (9, 6)]
        arrays[0][1, 2:4] = np.nan
        found[variable.name] = arrays
    return found


def plain(matrix: Any) -> np.ndarray:
    return matrix.data if scipy.sparse.issparse(matrix) else np.asarray(matrix)


def kept(network: pfn.Network, **options: Any) -> dict[str, Any]:
    """The statistics of plain learning of four sweeps on all data."""
    memory = pfn.learn(network, data(network), batches=pfn.Batches(first=4), **options).memory
    assert memory is not None
    return dict(memory.sums)


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_next_left_update_is_their_quotient(name: str, divergence: Any) -> None:
    network = NETWORKS[name]
    method = pfn.Propagate(acceleration=None, divergence=divergence, epsilon=1e-14, initial_scale=1.0)
    sums = kept(network, method=method)
    after = pfn.learn(network, data(network), method=method, iterations=5)
    wanted = {}
    for parameter in network.parameters:
        products, denominators = sums[parameter.name]
        weight, prior = parameter.prior_weight, 0.0 if parameter.prior is None else parameter.prior
        wanted[parameter] = (products + weight * prior) / (denominators + weight)
    # Where nothing fixes the scale, learned columns sum to 1, after four sweeps as after five.
    scale = sum(W.sum(axis=0) for W in wanted.values()) if name in ("one", "side by side") else 1
    for parameter, W in wanted.items():
        np.testing.assert_allclose(plain(after[parameter]), W / scale, rtol=1e-6)


def test_compiled_they_are_the_same() -> None:
    pytest.importorskip("jax")
    wanted, found = (kept(NETWORKS["tied"], engine=engine) for engine in ("numpy", "jax"))
    assert found.keys() == wanted.keys()
    for parameter, sums in wanted.items():
        for one, other in zip(found[parameter], sums, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize(("name", "engine"), [("side by side", "numpy"), ("sparse", "numpy"), ("sparse", "jax")])
def test_of_data_seen_before_they_count_as_if_the_data_were_here(name: str, engine: str) -> None:
    """Where the data of both batches are the same and all batches count alike, nothing is pulled anywhere else."""
    if engine == "jax":
        pytest.importorskip("jax")
    network, options = NETWORKS[name], {"engine": engine, "method": pfn.Propagate(acceleration=None)}
    first = pfn.learn(network, data(network), batches=pfn.Batches(first=2000), **options)
    again = pfn.Batches(settle=1000, sweeps=3, memory=1.0)
    second = pfn.learn(network, data(network), batches=again, partial=first, **options)
    for parameter in network.parameters:
        np.testing.assert_allclose(plain(second[parameter]), plain(first[parameter]), rtol=0.02, atol=0.01)
