"""Programs for data and terms of other kinds: sparse observations, windows over the past, tied entries."""

import numpy as np
import pytest
import scipy.sparse as sp

import pfn
from pfn import t
from pfn.engines import fixed
from pfn.program import store
from tests.engines import test_structured as structured
from tests.engines.comparison import assert_close
from tests.engines.test_sparse_observations import networks, sparse_values, start
from tests.program.runs import by_programs, by_the_older_engine


@pytest.mark.parametrize("name", networks())
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_data_are_never_made_dense(name: str, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of all entries above a size leave out what the other engine does: the same to rounding."""
    monkeypatch.setattr(store, "DENSE_ENTRIES", 0)
    monkeypatch.setattr(fixed, "DENSE_ENTRIES", 0)
    network, lengths = networks()[name], [9, 14]
    X = [sp.csr_array(sparse_values(number, 12, length)) for number, length in enumerate(lengths)]
    weights = {
        equation.name: [np.random.default_rng(4).choice([0.0, 0.5, 2.5], size=length) for length in lengths]
        for equation in network.factorizations
    }
    if name == "echo":  # neighbouring columns share a parent
        weights = {"eq1": [np.full(length, 2.5) for length in lengths]}
    weights = {key: [w[: network.columns(w.size).equations[key]] for w in given] for key, given in weights.items()}
    options = {"iterations": 15, "initial": start(network, lengths), "weights": weights if weighted else None}
    by_the_older_engine(monkeypatch)
    wanted = pfn.learn(network, {"x": X}, **options)
    made = by_programs(monkeypatch)
    found = pfn.learn(network, {"x": X}, **options)
    assert bool(made[0]._lowering.store.sparse) == (name != "stacked")
    np.testing.assert_allclose(found.history.divergence, wanted.history.divergence, rtol=1e-9)
    for equation, error in wanted.rmse.items():
        assert found.rmse[equation] == pytest.approx(error, rel=1e-9)
    for item in ("h", *(p.name for p in network.parameters)):
        assert_close(found[item], wanted[item], item)


@pytest.mark.parametrize("method", ["kl", "euclidean", "momentum", "all copies"])
def test_windows_over_the_past(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two decays above each other, and sequences of several lengths, one of them a single column."""
    network, y, Y = structured.two_decays()
    options = {"method": structured.METHODS[method], "iterations": 20, "tolerance": None, "seed": 3}
    by_the_older_engine(monkeypatch)
    wanted = pfn.learn(network, {y: Y}, **options)
    by_programs(monkeypatch)
    found = pfn.learn(network, {y: Y}, **options)
    for name in ("h", "g", "V"):
        assert_close(found[name], wanted[name], name)
    np.testing.assert_allclose(found.history.divergence, wanted.history.divergence, rtol=1e-9)


@pytest.mark.parametrize("normalize", [None, "columns"])
def test_tied_and_diagonal_parameters(normalize: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    x, h, g = pfn.Variable("x", 8), pfn.Variable("h", 6), pfn.Variable("g", 6)
    blur, gain = pfn.Convolution("blur", 3, 6), pfn.Diagonal("gain", 6)
    network = pfn.Network(
        pfn.Factorization(x[t], blur @ h[t], normalize=normalize), pfn.Factorization(h[t], gain @ g[t] + g[t - 1])
    )
    data = {x: [np.random.default_rng(0).random((8, n)) for n in (9, 4)]}
    by_the_older_engine(monkeypatch)
    wanted = pfn.learn(network, data, iterations=20, seed=0)
    by_programs(monkeypatch)
    found = pfn.learn(network, data, iterations=20, seed=0)
    for name in ("h", "g"):
        assert_close(found[name], wanted[name], name)
    for name in ("blur", "gain"):
        assert_close(found[name].data, wanted[name].data, name)
