"""Programs whose large operations are shared among threads do the sweeps of one thread."""

from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t
from pfn.engines import threads
from tests import networks
from tests.engines.comparison import assert_values, check, check_sequences, random_sequences
from tests.networks import random_problem
from tests.program.runs import by_programs


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three threads, which share even the smallest operations."""
    monkeypatch.setattr(threads._Blas, "threads", 3)
    for name in ("SMALL", "LARGE", "PRODUCT", "PASS", "ROWS"):
        monkeypatch.setattr(threads, name, 1)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = by_programs(monkeypatch)
    check(random_problem(seed), 10)
    check_sequences(random_sequences(seed), 10)
    assert any(run._threads.count == 3 for run in made)


@pytest.mark.parametrize("acceleration", ["momentum", None])
def test_the_sweeps_of_one_thread(acceleration: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    by_programs(monkeypatch)
    network, rng = networks.hierarchy(40, (9, 4), 3, (1, 2)), np.random.default_rng(0)
    options: Any = {"iterations": 15, "seed": 1, "method": pfn.Propagate(acceleration=acceleration)}
    X = rng.random((40, 70))
    X[:, ::7] = np.nan
    several = pfn.learn(network, {"x1": X}, **options)
    monkeypatch.setattr(threads._Blas, "threads", 1)
    one = pfn.learn(network, {"x1": X}, **options)
    assert_values(several, one.values)


def test_rows_of_a_product_that_is_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of the parents are products with a vector."""
    by_programs(monkeypatch)
    x, h = pfn.Variable("x", 1), pfn.Variable("h", 1)
    network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", shape=(1, 1)) @ h[t]))
    result = pfn.learn(network, {"x": np.full((1, 3), 2.0)}, iterations=50, seed=0)
    np.testing.assert_allclose(result["W"] @ result["h"], 2.0, rtol=1e-6)
