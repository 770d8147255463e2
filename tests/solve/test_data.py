"""What data may be, and that they are left alone."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from tests.networks import Array, hierarchy, tracking
from tests.solve.cases import MACHINE, PLAIN, assert_same, chain, dense, numbers, parts_based, states, tower

WHOLE = np.arange(24).reshape(4, 6) % 5


class Frame:
    """Like a data frame: no array, but it can become one."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._values, dtype=dtype, copy=copy)


KINDS = {
    "whole numbers": WHOLE,
    "small unsigned": WHOLE.astype(np.uint8),
    "half precision": WHOLE.astype(np.float16),
    "long double": WHOLE.astype(np.longdouble),
    "big endian": WHOLE.astype(">f8"),
    "column-major": np.asfortranarray(WHOLE, dtype=float),
    "strided": np.repeat(WHOLE, 3, axis=1)[:, ::3],
    "reversed": WHOLE[::-1, ::-1].copy()[::-1, ::-1],
    "masked, nothing hidden": np.ma.array(WHOLE),
    "frame": Frame(WHOLE),
}
SPARSE = [getattr(scipy.sparse, f"{order}_{kind}") for order in ("csr", "csc", "coo") for kind in ("array", "matrix")]


@pytest.mark.parametrize("kind", KINDS)
def test_any_kind_of_numbers(kind: str) -> None:
    result = pfn.learn(parts_based(), {"x": KINDS[kind]}, iterations=20)
    assert_same(result, pfn.learn(parts_based(), {"x": WHOLE.astype(float)}, iterations=20))


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("network", [MACHINE, parts_based(), chain()], ids=["stacked", "alone", "chain"])
def test_a_sparse_matrix_is_observed_throughout(network: pfn.Network, kind: Any) -> None:
    bottom = network.bottom[0].name
    start = {variable.name: numbers(variable.size, 12) + 0.1 for variable in network.variables}
    if network is MACHINE:
        start["h"] = start["h"][:, :11]
    X = np.where(numbers(4, 12) < 0.4, 0, numbers(4, 12, seed=1))
    results = [
        pfn.learn(network, {bottom: data}, initial=start | start_of_parameters(network), iterations=20)
        for data in (X, kind(X))
    ]
    np.testing.assert_array_equal(dense(results[1][bottom]), X)
    for name in results[0].values:
        # Where a sparse X is zero, the engine leaves out ε / (W H + ε): ε = 1e-9 against values near 1.
        np.testing.assert_allclose(dense(results[1][name]), dense(results[0][name]), atol=1e-6, err_msg=name)
    assert results[1].rmse == pytest.approx(dict(results[0].rmse), abs=1e-6)


def start_of_parameters(network: pfn.Network) -> dict[str, Any]:
    return {p.name: numbers(*p.shape) + 0.1 for p in network.parameters if p.learn and p.value is None}


def test_booleans_are_zeros_and_ones() -> None:
    yes = pfn.infer(MACHINE, {"x": WHOLE > 2}, iterations=20)
    assert_same(yes, pfn.infer(MACHINE, {"x": (WHOLE > 2).astype(float)}, iterations=20))


@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_masked_entries_are_hidden(dtype: type) -> None:
    hidden = numbers(4, 6, seed=1) < 0.4
    masked: Any = np.ma.array(WHOLE.astype(dtype), mask=hidden)
    same = np.where(hidden, np.nan, WHOLE)
    assert_same(pfn.infer(MACHINE, {"x": masked}, iterations=20), pfn.infer(MACHINE, {"x": same}, iterations=20))


def test_by_object_or_by_name() -> None:
    x = MACHINE.variable("x")
    by_object = pfn.infer(MACHINE, {x: states(1, 0, 0, 0)}, iterations=20)
    assert_same(by_object, pfn.infer(MACHINE, {"x": states(1, 0, 0, 0)}, iterations=20))


def test_observed_entries_come_back_as_they_are() -> None:
    X = np.where(numbers(4, 6, seed=1) < 0.4, np.nan, numbers(4, 6))
    found = pfn.infer(MACHINE, {"x": X}, iterations=20)["x"]
    np.testing.assert_array_equal(found[~np.isnan(X)], X[~np.isnan(X)])
    assert np.isfinite(found).all()


def test_single_components_may_be_hidden() -> None:
    X = states(1, 2, 3, 4, 1)
    X[1, 1] = X[3, 3] = np.nan
    np.testing.assert_allclose(pfn.infer(MACHINE, {"x": X}, iterations=500)["x"], states(1, 2, 3, 4, 1), atol=1e-6)


@pytest.mark.parametrize("kind", ["array", "read-only", "column-major", "masked", "sparse", "list"])
@pytest.mark.parametrize("hidden", [False, True])
def test_the_users_arrays_are_never_changed(kind: str, hidden: bool) -> None:
    if kind == "sparse" and hidden:
        hidden = False
    X = states(1, 2, 0, 4, 1, 2) if hidden else numbers(4, 6)
    given: Any = {
        "array": X,
        "read-only": X,
        "column-major": np.asfortranarray(X),
        "masked": np.ma.masked_invalid(X),
        "sparse": unsorted(X),
        "list": [X],
    }[kind]
    X.flags.writeable = kind != "read-only"
    before = snapshot(given)
    method = pfn.Propagate(release={"x": 3})
    for chosen in (method, "propagate", PLAIN):
        pfn.infer(MACHINE, {"x": given}, method=chosen, iterations=6)
    np.testing.assert_equal(snapshot(given), before)


def unsorted(X: Array) -> Any:
    """A CSR matrix with its columns in the wrong order and one entry in two halves."""
    columns = np.tile(np.arange(X.shape[1])[::-1], X.shape[0])
    data = X[:, ::-1].ravel()
    row_ends = np.arange(X.shape[0] + 1) * X.shape[1]
    row_ends[-1] += 1
    halves = np.append(data, data[-1] / 2)
    halves[-2] /= 2
    return scipy.sparse.csr_array((halves, np.append(columns, columns[-1]), row_ends), shape=X.shape)


def snapshot(given: Any) -> list[Any]:
    """Copies of all arrays in something given."""
    if scipy.sparse.issparse(given):
        return [given.data.copy(), given.indices.copy(), given.indptr.copy()]
    if isinstance(given, np.ma.MaskedArray):
        return [given.data.copy(), np.ma.getmaskarray(given).copy()]
    return [array.copy() for array in (given if isinstance(given, list) else [given])]


def test_the_result_is_not_the_users_array() -> None:
    X = numbers(4, 6)
    assert not np.shares_memory(pfn.infer(MACHINE, {"x": X}, iterations=2)["x"], X)


def test_nothing_is_stored_on_the_declarations() -> None:
    network = parts_based()
    pfn.learn(network, {"x": numbers()}, iterations=5)
    assert network == parts_based()
    assert network.parameters[0].value is None


METHODS = {"momentum": pfn.Propagate(), "plain": PLAIN, "paper": pfn.PAPER, "all": pfn.Propagate(averaging="all")}
METHODS |= {"euclidean": pfn.Propagate(divergence="euclidean"), "sparse": pfn.Propagate(sparseness=0.1)}
METHODS |= {"levels": pfn.Propagate(start="levels")}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", METHODS)
def test_silence_is_explained_by_zeros(method: str, dtype: str) -> None:
    networks = {"x": MACHINE, "x1": hierarchy(5, (3, 2), 2, (1, 2))}
    for name, network in networks.items():
        silence = np.zeros((network.variable(name).size, 20))
        result = pfn.learn(network, {name: silence}, method=METHODS[method], dtype=dtype)
        for variable in network.variables:
            np.testing.assert_allclose(result[variable], 0, atol=1e-6)
        assert max(result.rmse.values()) < 1e-6


def test_silence_under_the_tracker() -> None:
    result = pfn.infer(tracking(), {"x1": np.zeros((19, 26))}, iterations=300)
    assert max(result[variable].max() for variable in result.network.variables) < 1e-8


@pytest.mark.parametrize("normalize", ["columns", "subcolumns", "balanced", "sequences"])
def test_silence_leaves_normalized_parameters_normalized(normalize: str) -> None:
    network = parts_based(normalize=normalize)
    W = pfn.learn(network, {"x": np.zeros((4, 6))}, iterations=200)["W"]
    assert np.isfinite(W).all()
    if normalize != "balanced":
        np.testing.assert_allclose(W.sum(axis=0), 1)


def test_one_slice_leaves_the_transitions_without_columns() -> None:
    result = pfn.infer(MACHINE, {"x": states(2)}, iterations=5)
    np.testing.assert_array_equal(result["x"], states(2))
    assert result["h"].shape == (4, 0)
    assert np.isnan(result.rmse["eq1"])  # which has no columns, so that nothing was fitted


def test_an_untouched_hidden_column_is_nan() -> None:
    result = pfn.infer(MACHINE, {"x": np.full((4, 1), np.nan)}, iterations=5)
    np.testing.assert_array_equal(result["x"], np.full((4, 1), np.nan))


def test_all_hidden_has_the_length_of_the_array() -> None:
    result = pfn.infer(MACHINE, {"x": np.full((4, 7), np.nan)}, iterations=50)
    assert (result["x"].shape, result["h"].shape) == ((4, 7), (4, 6))
    assert np.isfinite(result["x"]).all()


def test_only_an_upper_variable_is_observed() -> None:
    transitions = np.eye(4)[:, [0, 1, 2, 3, 0]]
    result = pfn.infer(MACHINE, {"h": transitions}, iterations=5)
    np.testing.assert_allclose(result["x"], states(1, 2, 3, 4, 1, 2), atol=1e-12)
    np.testing.assert_array_equal(result["h"], transitions)


def test_only_the_top_of_three_levels_is_observed() -> None:
    top = numbers(2, 5)
    result = pfn.infer(tower(), {"top": top}, iterations=5)
    np.testing.assert_allclose(result["h"], top)
    np.testing.assert_allclose(result["y"], np.ones((3, 2)) @ top)


def test_hidden_columns_beyond_what_equations_touch_are_left_out() -> None:
    transitions = np.eye(4, 6)
    transitions[:, 5] = np.nan
    result = pfn.infer(MACHINE, {"x": np.full((4, 6), np.nan), "h": transitions}, iterations=5)
    assert result["h"].shape == (4, 5)


def test_a_list_is_answered_by_lists_in_the_same_order() -> None:
    pieces = [states(1, 0, 0), states(3), states(2, 0, 0, 0, 0)]
    result = pfn.infer(MACHINE, {"x": pieces}, iterations=500)
    expected = [states(1, 2, 3), states(3), states(2, 3, 4, 1, 2)]
    for found, right in zip(result["x"], expected, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-6)
    assert [h.shape for h in result["h"]] == [(4, 2), (4, 0), (4, 4)]


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_one_is_a_list(kind: type) -> None:
    result = pfn.infer(MACHINE, {"x": kind([states(1, 0, 0)])}, iterations=5)
    single = pfn.infer(MACHINE, {"x": states(1, 0, 0)}, iterations=5)
    assert isinstance(result["h"], list)
    np.testing.assert_array_equal(result["h"][0], single["h"])


def test_sequences_do_not_touch_each_other() -> None:
    """With known parameters and plain sweeps, each sequence ends as it does alone."""
    lengths, network = (5, 1, 8), hierarchy_known()
    data = [numbers(3, length, seed=length) for length in lengths]
    start = [numbers(2, length, seed=20 + length) for length in lengths]
    together = pfn.infer(network, {"x": data}, initial={"h": start}, method=PLAIN, iterations=30)
    for number, length in enumerate(lengths):
        alone = pfn.infer(network, {"x": data[number]}, initial={"h": start[number]}, method=PLAIN, iterations=30)
        np.testing.assert_allclose(together["h"][number], alone["h"], rtol=1e-9, err_msg=f"{length} slices")


def hierarchy_known() -> pfn.Network:
    x, h = pfn.Variable("x", 3), pfn.Variable("h", 2)
    A, B = (pfn.Parameter(name, numbers(3, 2, seed=seed)) for seed, name in enumerate("AB"))
    return pfn.Network(pfn.Factorization(x[t], A @ h[t] + B @ h[t - 2]))


def test_sequences_share_what_is_learned() -> None:
    result = pfn.learn(parts_based(), {"x": [numbers(4, 9), numbers(4, 5, seed=1)]}, iterations=50)
    assert result["W"].shape == (4, 2)
    errors = [X - result["W"] @ H for X, H in zip(result["x"], result["h"], strict=True)]
    pooled = np.sqrt(np.mean(np.hstack(errors) ** 2))
    assert result.rmse["eq1"] == pytest.approx(pooled, rel=1e-9)
