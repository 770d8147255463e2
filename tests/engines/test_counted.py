"""Errors are means over what can be wrong: not over hidden entries that the fit itself fills in."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from pfn.engines.counted import counted_entries, counted_in, filled_in
from pfn.engines.layout import Layout
from tests import oracle
from tests.engines.comparison import assert_errors
from tests.networks import W_DETERMINISTIC, automaton, plain_nmf

NAN = float("nan")
RNG = np.random.default_rng(0)
X = RNG.random((5, 12)) + 0.1
SEEN = np.where(RNG.random(X.shape) < 0.4, np.nan, X)
V = RNG.random((5, 3)) + 0.1
ANY = pytest.mark.parametrize(
    ("method", "engine"),
    [
        (pfn.Propagate(acceleration=None), "numpy"),
        (pfn.Propagate(), "numpy"),
        (pfn.Propagate(), "jax"),
        (pfn.Substitute(), "numpy"),
        (pfn.Consensus(), "numpy"),
        (pfn.Consensus(), "jax"),
        (pfn.Exact(structure="soft"), "numpy"),
    ],
    ids=["plain", "momentum", "jax", "substitute", "consensus", "jax consensus", "soft"],
)


def infer(network: pfn.Network, data: Any, method: Any, engine: str, **options: Any) -> pfn.Result:
    if engine == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    if isinstance(method, pfn.Exact):
        pytest.importorskip("clarabel", reason="squares need the extra qp")
    return pfn.infer(network, data, method=method, engine=engine, **options)


def known_nmf() -> pfn.Network:
    x, h = pfn.Variable("x", 5), pfn.Variable("h", 3)
    return pfn.Network(pfn.Factorization(x[t], pfn.Parameter("V", V) @ h[t]))


def two_views() -> pfn.Network:
    """x and y of the same h."""
    x, y, h = pfn.Variable("x", 5), pfn.Variable("y", 2), pfn.Variable("h", 3)
    W = pfn.Parameter("W", np.ones((2, 3)))
    return pfn.Network(pfn.Factorization(x[t], pfn.Parameter("V", V) @ h[t]), pfn.Factorization(y[t], W @ h[t]))


@ANY
def test_hidden_entries_of_one_equation_are_left_out(method: Any, engine: str) -> None:
    result = infer(known_nmf(), {"x": SEEN}, method, engine, iterations=30)
    seen = ~np.isnan(SEEN)
    errors = (SEEN - V @ result["h"])[seen]
    assert result.rmse["eq1"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)
    assert result.squared_error == pytest.approx(np.sum(errors**2), rel=1e-6)


@ANY
def test_ends_of_a_sequence_occur_once_and_what_lies_between_twice(method: Any, engine: str) -> None:
    """Hidden: slices 0, 3 and 9 of ten; the third joins two columns of the equation, the others are in one each."""
    states = np.eye(4)[:, np.arange(10) % 4] + np.random.default_rng(1).uniform(0, 0.1, (4, 10))
    states[:, [0, 3, 9]] = np.nan
    network, W = automaton(W_DETERMINISTIC), W_DETERMINISTIC
    result = infer(network, {"x": [states, states[:, 4:]]}, method, engine, iterations=40)
    squared = entries = 0.0
    for x, h, given in zip(result["x"], result["h"], (states, states[:, 4:]), strict=True):
        errors = np.vstack([x[:, :-1], x[:, 1:]]) - W @ h
        counts = np.ones_like(errors)
        counts[:4, 0] = not np.isnan(given[0, 0])  # the slices are hidden as a whole
        counts[4:, -1] = 0
        squared, entries = squared + np.sum(counts * errors**2), entries + counts.sum()
    assert entries == 8 * 9 - 4 - 4 + 8 * 5 - 4  # both end in a hidden slice, the first begins in one
    assert result.rmse["eq1"] == pytest.approx(np.sqrt(squared / entries), rel=1e-6)


@ANY
def test_an_equation_with_nothing_to_fit_has_no_error_and_is_not_in_the_way(method: Any, engine: str) -> None:
    data = {"x": V @ np.random.default_rng(2).random((3, 8))}  # y is hidden: W h, whatever h is
    result = infer(two_views(), data, method, engine, iterations=3000, **_tolerance(method, 1e-3))
    assert np.isnan(result.rmse["eq2"])
    assert result.rmse["eq1"] < 1e-3
    assert result["y"] == pytest.approx(np.ones((2, 3)) @ result["h"], rel=1e-2)
    if len(result.history):
        assert result.stop == "the RMSE of every equation is below the tolerance 0.001"
        assert np.isnan(result.history["eq2"]).all()
        assert np.isfinite(result.history.divergence).all()


def _tolerance(method: Any, tolerance: float) -> dict[str, Any]:
    return {} if isinstance(method, pfn.Exact) else {"tolerance": tolerance}


@ANY
def test_an_equation_that_holds_nowhere_has_no_error(method: Any, engine: str) -> None:
    result = infer(automaton(W_DETERMINISTIC), {"x": np.eye(4)[:, :1]}, method, engine)
    assert np.isnan(result.rmse["eq1"])
    assert result["h"].shape == (4, 0)


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_what_is_released_is_left_out_from_then_on(engine: str) -> None:
    method = pfn.Propagate(release={"x": 4}, acceleration=None)
    result = infer(two_views(), {"x": SEEN, "y": X[:2]}, method, engine, iterations=8)
    before = infer(two_views(), {"x": SEEN, "y": X[:2]}, pfn.Propagate(acceleration=None), engine, iterations=4)
    np.testing.assert_allclose(result.history["eq1"][:4], before.history["eq1"], rtol=1e-12)
    assert np.isnan(result.history["eq1"]).tolist() == [False] * 4 + [True] * 4
    assert np.isfinite(result.history["eq2"]).all()


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_a_run_resumed_after_the_release_is_the_whole_run(engine: str, tmp_path: Path) -> None:
    method = pfn.Propagate(release={"x": 2})
    arguments = (two_views(), {"x": SEEN, "y": X[:2]}, method, engine)
    whole = infer(*arguments, iterations=8)
    infer(*arguments, iterations=5, checkpoint=tmp_path / "run")
    resumed = infer(*arguments, iterations=8, resume=tmp_path / "run")
    np.testing.assert_array_equal(resumed.history["eq1"], whole.history["eq1"])
    np.testing.assert_array_equal(list(resumed.rmse.values()), list(whole.rmse.values()))


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_values_that_overflow_are_found_where_nothing_counts(engine: str) -> None:
    """y is hidden and W is so large that W h is infinite."""
    x, y, h = pfn.Variable("x", 1), pfn.Variable("y", 1), pfn.Variable("h", 1)
    one, huge = pfn.Parameter("V", [[1.0]]), pfn.Parameter("W", [[1e300]])
    network = pfn.Network(pfn.Factorization(x[t], one @ h[t]), pfn.Factorization(y[t], huge @ h[t]))
    data = {"x": np.full((1, 3), 1e10), "h": np.full((1, 3), 1e10)}
    with pytest.raises(pfn.NumericalError, match=r"^eq2: .* the values became infinite"):
        infer(network, data, pfn.Propagate(), engine)


def test_weights_count_entries_too() -> None:
    weights = np.array([0.0, 2, 1, 1, 3, 0, 1, 1, 1, 1, 0.5, 1])
    result = pfn.infer(known_nmf(), {"x": SEEN}, weights={"eq1": weights}, iterations=30)
    errors = SEEN - V @ result["h"]
    total, entries = np.nansum(weights * errors**2), np.sum(weights * ~np.isnan(SEEN))
    assert result.rmse["eq1"] == pytest.approx(np.sqrt(total / entries), rel=1e-9)
    nothing = pfn.infer(known_nmf(), {"x": SEEN}, weights={"eq1": np.zeros(12)}, iterations=3)
    assert np.isnan(nothing.rmse["eq1"])


def test_all_of_sparse_data_counts() -> None:
    data = scipy.sparse.csr_array(np.where(X < 0.4, 0, X))
    result = pfn.infer(known_nmf(), {"x": data}, iterations=10)
    assert result.rmse["eq1"] == pytest.approx(np.sqrt(np.mean((data.toarray() - V @ result["h"]) ** 2)), rel=1e-9)


def test_learning_by_batches_pools_what_counts() -> None:
    network, sequences = plain_nmf(5, 3), [SEEN[:, :3], SEEN[:, 3:4], SEEN[:, 4:]]
    one = {"batches": pfn.Batches(size=3, first=20), "seed": 0}
    whole = pfn.learn(network, {"x": sequences}, iterations=20, seed=0)
    assert pfn.learn(network, {"x": sequences}, **one).rmse == pytest.approx(dict(whole.rmse), rel=1e-9)
    several = pfn.learn(network, {"x": sequences}, batches=pfn.Batches(size=1, first=5, sweeps=3, shuffle=False))
    counts = [np.sum(~np.isnan(sequence)) for sequence in sequences]
    pooled = np.sqrt(np.sum(several.history["eq1"] ** 2 * counts) / np.sum(counts))
    assert several.rmse["eq1"] == pytest.approx(pooled, rel=1e-9)


def test_batches_in_which_nothing_counts() -> None:
    x, y, h = pfn.Variable("x", 5), pfn.Variable("y", 2), pfn.Variable("h", 3)
    network = pfn.Network(
        pfn.Factorization(x[t], pfn.Parameter("V", shape=(5, 3)) @ h[t]),
        pfn.Factorization(y[t], pfn.Parameter("W", np.ones((2, 3))) @ h[t]),
    )
    data = {"x": [X, X], "y": [np.full((2, 12), np.nan), X[:2]]}
    options = {"batches": pfn.Batches(size=1, first=4, sweeps=4, shuffle=False)}
    result = pfn.learn(network, data, **options)
    assert np.isnan(result.history["eq2"][0])
    assert result.rmse["eq2"] == pytest.approx(result.history["eq2"][1])


def test_streams_go_on_where_nothing_counts() -> None:
    stream = pfn.stream(two_views(), [{"x": column} for column in X.T], sweeps=3)
    assert all(np.isfinite(values["y"]).all() for values in stream)


def test_a_result_without_some_error_is_saved_and_shown(tmp_path: Path) -> None:
    result = pfn.infer(two_views(), {"x": X}, iterations=5)
    result.save(tmp_path / "result")
    np.testing.assert_equal(dict(pfn.load(tmp_path / "result").rmse), dict(result.rmse))
    assert "W h[t]  nan" in repr(result)


def test_masks_and_numbers_on_several_sequences() -> None:
    network = automaton(W_DETERMINISTIC)
    data = {"x": [np.full((4, 3), np.nan), np.full((4, 1), np.nan), np.ones((4, 2))]}
    data["x"][0][0, 0] = 1
    for padded in (None, 16):
        layout = Layout(network, (3, 1, 2), data, padded)
        filled = filled_in(layout, data, ["x", "h"])
        assert list(filled) == ["x"]  # a parent counts wherever it is
        assert filled["x"][:, :6].sum(axis=0).tolist() == [3, 0, 4, 0, 0, 0]  # slice 3 is in no column
        counted = counted_in(network.factorizations[0], layout, filled)
        assert counted is not None
        assert counted[:, 0].tolist() == [True, False, False, False, True, True, True, True]
        assert counted[:, 1].tolist() == [True] * 4 + [False] * 4
        assert counted_entries(layout, filled, {}) == {"eq1": 8 * 3 - 3 - 4}
        weights = {"eq1": [np.array([2.0, 1.0]), np.array([]), np.array([3.0])]}
        assert counted_entries(layout, filled, weights) == {"eq1": 2 * 5 + 4 + 3 * 8}
        released = filled_in(layout, data, ["x", "h"], ["x"])
        assert counted_entries(layout, released, {}) == {"eq1": 8 * 3 - 4 * 4}


def test_a_child_of_two_equations_counts() -> None:
    """Entries that several equations have couple them; here x is hidden and both reconstruct it."""
    x, g, h = pfn.Variable("x", 5), pfn.Variable("g", 3), pfn.Variable("h", 3)
    A, B = pfn.Parameter("A", V), pfn.Parameter("B", V[::-1].copy())
    network = pfn.Network(pfn.Factorization(x[t], A @ g[t]), pfn.Factorization(x[t], B @ h[t]))
    G = np.random.default_rng(3).random((3, 6))
    result = pfn.infer(network, {"g": G, "x": np.full((5, 6), np.nan)}, iterations=5)
    values = {name: np.asarray(value) for name, value in result.values.items()}
    wanted = oracle.rmse(network, values, {"g": G, "x": np.full((5, 6), np.nan)})
    assert_errors(result, wanted)
    assert min(wanted.values()) > 0
