"""Sparse observations give what the same dense ones give.

An engine may take ε / (W H + ε) as zero where a sparse X is zero, which with a tiny ε changes values by about ε
times the size of the problem, and values that vanish by themselves; hence the wide absolute tolerance.
"""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from pfn.engines import fixed
from tests.engines.comparison import Array, sweep

TINY, CLOSE = 1e-14, 1e-7


def sparse_values(seed: int, rows: int, columns: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((rows, columns)) < 0.2, rng.random((rows, columns)), 0.0)


def networks() -> dict[str, pfn.Network]:
    x, h, g = pfn.Variable("x", 12), pfn.Variable("h", 3), pfn.Variable("g", 2)
    W, V, D = (pfn.Parameter(name, shape=shape) for name, shape in (("W", (12, 3)), ("V", (12, 3)), ("D", (24, 3))))
    U = pfn.Parameter("U", shape=(3, 2))
    return {
        "plain": pfn.Network(pfn.Factorization(x, W @ h)),
        "echo": pfn.Network(pfn.Factorization(x, W @ h + V @ h[t - 1], normalize="sequences")),
        "stacked": pfn.Network(pfn.Factorization([x[t], x[t + 1]], D @ h, normalize="subcolumns")),
        "levels": pfn.Network(pfn.Factorization(x, W @ h, normalize="columns"), pfn.Factorization(h, U @ g)),
        "shared": pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization(x, V @ pfn.Variable("f", 3))),
    }


def start(network: pfn.Network, lengths: list[int]) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    hidden = [variable for variable in network.variables if variable.name != "x"]
    initial: dict[str, Any] = {
        v.name: [rng.uniform(0.1, 1, (v.size, len(network.columns(n).variables[v.name]))) for n in lengths]
        for v in hidden
    }
    return initial | {p.name: rng.uniform(0.1, 1, p.shape) for p in network.parameters}


@pytest.mark.parametrize("name", networks())
@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
@pytest.mark.parametrize("options", [{}, {"sparseness": 0.2}, {"learn": False}])
def test_sparse_is_dense(name: str, divergence: str, options: dict[str, Any]) -> None:
    network, lengths = networks()[name], [9, 14]
    X = [sparse_values(number, 12, length) for number, length in enumerate(lengths)]
    arguments = {"divergence": divergence, "epsilon": TINY} | options
    dense = sweep(network, {"x": X}, start(network, lengths), 8, **arguments)
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_array):
        sparse = sweep(network, {"x": [kind(array) for array in X]}, start(network, lengths), 8, **arguments)
        compare(sparse, dense)


def compare(sparse: pfn.Result, dense: pfn.Result) -> None:
    for key, wanted in dense.values.items():
        pairs = zip(sparse[key], wanted, strict=True) if isinstance(wanted, list) else [(sparse[key], wanted)]
        for found, expected in pairs:
            full = found.toarray() if scipy.sparse.issparse(found) else found
            np.testing.assert_allclose(full, expected, rtol=CLOSE, atol=CLOSE, err_msg=key)
    for key, error in dense.rmse.items():
        assert sparse.rmse[key] == pytest.approx(error, rel=CLOSE, abs=CLOSE)


@pytest.mark.parametrize("name", networks())
def test_weighted_columns(name: str) -> None:
    network = networks()[name]
    X = sparse_values(3, 12, 10)
    drawn = np.random.default_rng(4).choice([0.5, 1.0, 2.5], size=10)
    if name == "echo":  # neighbouring columns share a parent
        drawn[:] = 2.5
    weights = {equation: drawn[:count] for equation, count in network.columns(10).equations.items()}
    initial = {key: value[0] if isinstance(value, list) else value for key, value in start(network, [10]).items()}
    results = [
        sweep(network, {"x": data}, initial, 8, epsilon=TINY, weights=weights)
        for data in (scipy.sparse.csr_array(X), X)
    ]
    compare(*results)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_precision_and_silence(dtype: str) -> None:
    network = networks()["plain"]
    for X in (sparse_values(5, 12, 10), np.zeros((12, 10))):
        result = pfn.learn(network, {"x": scipy.sparse.csr_array(X)}, iterations=30, dtype=dtype)
        for name in ("h", "W"):
            assert result[name].dtype == dtype
            assert np.isfinite(result[name]).all()
        reconstruction = result["W"] @ result["h"]
        direct = np.sqrt(np.mean((X - reconstruction) ** 2))
        assert result.rmse["eq1"] == pytest.approx(direct, rel=1e-3 if dtype == "float32" else 1e-7, abs=1e-7)


W_KNOWN = np.random.default_rng(0).random((12, 3))


def known() -> pfn.Network:
    x, h = pfn.Variable("x", 12), pfn.Variable("h", 3)
    return pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", W_KNOWN) @ h[t]))


def with_a_sparse_matrix() -> pfn.Network:
    x, h = pfn.Variable("x", 12), pfn.Variable("h", 3)
    return pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", scipy.sparse.csr_array(W_KNOWN)) @ h[t]))


def with_a_sparse_parent() -> pfn.Network:
    y, x = pfn.Variable("y", 3), pfn.Variable("x", 12)
    return pfn.Network(pfn.Factorization(y[t], pfn.Parameter("W", shape=(3, 12)) @ x[t]))


def with_a_decay() -> pfn.Network:
    y, x = pfn.Variable("y", 3), pfn.Variable("x", 12)
    return pfn.Network(pfn.Factorization(y[t], pfn.Parameter("W", shape=(3, 12)) @ pfn.decay(x[t], 0.5)))


S = scipy.sparse.csr_array(sparse_values(0, 12, 10))
HIDDEN = np.full((12, 10), np.nan)
DENSE: dict[str, tuple[pfn.Network, Any, Any, str]] = {
    "euclidean": (networks()["plain"], S, pfn.Propagate(divergence="euclidean"), "the divergence is not that of"),
    "euclidean, exact updates": (networks()["plain"], S, pfn.Substitute(divergence="euclidean"), "the divergence is"),
    "lag": (networks()["stacked"], S, "propagate", "eq1 has several children or parents beside it"),
    "decay": (with_a_decay(), S, "propagate", "eq1 sees it through a decay"),
    "sparse matrix": (with_a_sparse_matrix(), S, "propagate", "the matrix of eq1 is sparse, too"),
    "smoothed": (with_a_sparse_parent(), S, pfn.Propagate(sparseness=0.1), "sparseness smooths it in eq1"),
    "released": (networks()["plain"], S, pfn.Propagate(release={"x": 3}), "its observations are released"),
    "hidden elsewhere": (networks()["plain"], [S, HIDDEN], "propagate", "x is hidden in part in other sequences"),
    "dense elsewhere": (networks()["plain"], [S, S.toarray()], "propagate", "it is dense in other sequences"),
    "exact": (known(), S, "exact", "the program has a number for every entry"),
    "consensus": (known(), S, "consensus", "consensus has copies of every entry"),
}
NO_LEARNING = ("exact", "consensus")


@pytest.mark.parametrize("case", DENSE)
def test_large_sparse_data_are_not_made_dense_in_silence(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, data, method, reason = DENSE[case]
    ask = pfn.infer if case in NO_LEARNING else pfn.learn
    options: dict[str, Any] = {} if method == "exact" else {"iterations": 1}
    if case not in NO_LEARNING:
        ask(network, {"x": data}, method=method, **options)  # small enough
    monkeypatch.setattr(fixed, "DENSE_ENTRIES", 100)
    monkeypatch.setattr(fixed, "MOST_DENSE", 119)
    message = rf"^x: the sparse matrix of 12 × 10.* would be made dense \({reason}.*give a dense array: matrix.toarray"
    with pytest.raises(pfn.OptionError, match=message):
        ask(network, {"x": data}, method=method, **options)
    monkeypatch.setattr(fixed, "MOST_DENSE", 120)
    if case not in NO_LEARNING:
        ask(network, {"x": data}, method=method, **options)


@pytest.mark.parametrize("method", ["propagate", "substitute", pfn.Propagate(sparseness=0.1)])
def test_sparse_data_stay_sparse_where_they_can(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed, "DENSE_ENTRIES", 0)
    monkeypatch.setattr(fixed, "MOST_DENSE", 0)
    for data in (S, [S, S]):
        pfn.learn(networks()["plain"], {"x": data}, method=method, iterations=2)
    if method == "propagate":
        pfn.learn(with_a_sparse_parent(), {"x": S, "y": np.ones((3, 10))}, iterations=2)


def test_pictures_of_large_sparse_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    pfn.plots.image(S)
    monkeypatch.setattr(fixed, "MOST_DENSE", 119)
    with pytest.raises(pfn.OptionError, match="a picture shows every entry"):
        pfn.plots.image(S)
