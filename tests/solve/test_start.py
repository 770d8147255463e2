"""Starting values, seeds and restarts."""

from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse

import pfn
from tests.networks import hierarchy
from tests.oracle import sweep_many
from tests.solve.cases import MACHINE, PLAIN, assert_same, chain, dense, numbers, parts_based, states

ONE = states(1, 0, 0, 0, 0, 0)


def test_the_same_seed_gives_the_same_bits() -> None:
    for network, data in ((MACHINE, {"x": ONE}), (chain(), {"y": numbers()}), (parts_based(), {"x": [numbers()] * 2})):
        first, second = (pfn.learn(network, data, seed=5, iterations=30) for _ in range(2))
        assert_same(first, second)


def test_other_seeds_give_other_values() -> None:
    results = [pfn.learn(chain(), {"y": numbers()}, seed=seed, iterations=3) for seed in range(3)]
    for name in ("x", "h", "Q", "V"):
        assert len({result[name].tobytes() for result in results}) == 3, name


def test_the_global_random_state_is_left_alone() -> None:
    before = np.random.get_state()  # noqa: NPY002  # the state that nobody should touch
    pfn.learn(parts_based(), {"x": numbers()}, iterations=2)
    np.testing.assert_equal(np.random.get_state(), before)  # noqa: NPY002


def test_given_values_are_where_it_starts() -> None:
    start = {"h": numbers(4, 5), "x": numbers(4, 6, seed=1)}
    found = pfn.infer(MACHINE, {"x": ONE}, initial=start, method=PLAIN, iterations=3)
    expected = sweep_many(MACHINE, {"x": ONE}, start, 3, learn=False)
    for name in ("x", "h"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9)


def test_observed_entries_win() -> None:
    start = {"h": numbers(4, 5), "x": numbers(4, 6, seed=1)}
    other = start["x"].copy()
    other[:, 0] = 7
    first = pfn.infer(MACHINE, {"x": ONE}, initial=start, iterations=5)
    assert_same(first, pfn.infer(MACHINE, {"x": ONE}, initial=start | {"x": other}, iterations=5))
    np.testing.assert_array_equal(first["x"][:, 0], ONE[:, 0])


def test_nan_draws_at_random() -> None:
    """All NaN is the same as nothing given; a seed draws the same numbers whatever else is given."""
    plain = pfn.infer(MACHINE, {"x": ONE}, iterations=5)
    assert_same(plain, pfn.infer(MACHINE, {"x": ONE}, initial={"h": np.full((4, 5), np.nan)}, iterations=5))
    half = np.full((4, 5), np.nan)
    half[:, 2] = 0.5
    first, second = (pfn.infer(MACHINE, {"x": ONE}, initial={"h": half}, seed=s, iterations=1)["h"] for s in (0, 1))
    assert (first[:, 3:] != second[:, 3:]).any()


def test_masked_starting_values_draw_at_random() -> None:
    masked = np.ma.array(np.ones((4, 5)), mask=np.ones((4, 5), dtype=bool))
    plain = pfn.infer(MACHINE, {"x": ONE}, iterations=5)
    assert_same(plain, pfn.infer(MACHINE, {"x": ONE}, initial={"h": masked}, iterations=5))


def test_zeros_of_the_start_stay_zero() -> None:
    start = np.ones((4, 2))
    start[1, 0] = start[3, 1] = 0
    for given in (start, scipy.sparse.csr_array(start)):
        W = dense(pfn.learn(parts_based(), {"x": numbers()}, initial={"W": given}, iterations=50)["W"])
        np.testing.assert_array_equal(W == 0, start == 0)


def test_what_no_observation_asks_for_stays_near_zero_in_inference_but_not_in_learning() -> None:
    network = pfn.Network(
        pfn.Factorization(pfn.Variable("x", 4), pfn.Parameter("W", shape=(4, 2)) @ pfn.Variable("h", 2))
    )
    X = 1000 * numbers()
    X[:, 3] = np.nan
    options: dict[str, Any] = {"iterations": 20}
    learned = pfn.learn(network, {"x": X}, **options)
    assert 0.1 < learned["x"][:, 3].mean() / np.nanmean(X) < 10
    known = pfn.infer(network, {"x": X}, initial={"W": learned["W"]}, **options)
    assert 0 < known["x"][:, 3].max() < 1e-5 * np.nanmean(X)


def test_inference_with_given_parameters_leaves_them_as_they_are() -> None:
    W = 3 * numbers(4, 2)
    result = pfn.infer(parts_based(normalize="columns"), {"x": numbers()}, initial={"W": W}, iterations=20)
    np.testing.assert_array_equal(result["W"], W)
    assert np.isfinite(result["h"]).all()


def test_inference_leaves_a_learned_parameter_with_a_value_as_it_is() -> None:
    W = 3 * numbers(4, 2)
    network = parts_based(value=W, shape=None, learn=True, normalize="columns")
    np.testing.assert_array_equal(pfn.infer(network, {"x": numbers()}, iterations=20)["W"], W)


def test_learning_starts_at_the_value_of_a_parameter() -> None:
    W, H = 3 * numbers(4, 2), numbers(2, 12, seed=1)
    from_value = pfn.learn(
        parts_based(value=W, shape=None, learn=True), {"x": numbers()}, initial={"h": H}, iterations=20
    )
    from_initial = pfn.learn(parts_based(), {"x": numbers()}, initial={"W": W, "h": H}, iterations=20)
    np.testing.assert_array_equal(from_value["W"], from_initial["W"])


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_users_starting_values_are_never_changed(kind: str) -> None:
    H, W = numbers(2, 12), numbers(4, 2)
    sparse = scipy.sparse.csr_array((np.ones(4), np.array([1, 0, 1, 0]), np.array([0, 2, 4, 4, 4])), shape=(4, 2))
    start: dict[str, Any] = {"h": H, "W": W if kind == "dense" else sparse}
    weights = np.arange(12.0)
    copies = [H.copy(), W.copy(), sparse.data.copy(), sparse.indices.copy(), weights.copy()]
    pfn.learn(parts_based(normalize="columns"), {"x": numbers()}, initial=start, weights={"eq1": weights}, iterations=5)
    np.testing.assert_equal([H, W, sparse.data, sparse.indices, weights], copies)


def test_one_restart_is_the_plain_run() -> None:
    plain = pfn.learn(parts_based(), {"x": numbers()}, iterations=20)
    assert_same(plain, pfn.learn(parts_based(), {"x": numbers()}, restarts=1, iterations=20))


def test_the_first_of_several_runs_is_the_plain_run() -> None:
    """The plain run is the best here, so it is what comes back."""
    runs = {s: pfn.learn(parts_based(), {"x": numbers()}, seed=s, iterations=20) for s in range(30)}
    best = min(runs, key=lambda s: runs[s].history.divergence[-1])
    assert_same(
        pfn.learn(parts_based(), {"x": numbers()}, seed=best, iterations=20),
        pfn.learn(parts_based(), {"x": numbers()}, seed=best, restarts=2, iterations=20),
    )


def test_more_restarts_are_never_worse() -> None:
    errors = [
        pfn.learn(parts_based(), {"x": numbers()}, seed=1, restarts=n, iterations=20).history.divergence[-1]
        for n in (1, 2, 4, 8, 16)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0]


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # where a test before this one has loaded JAX
@pytest.mark.parametrize("progress", [False, True])
@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_restarts_run_where_joblib_is_told_to(backend: str, progress: bool) -> None:
    network, data = hierarchy(5, (3, 2), 2, (1, 2)), {"x1": [numbers(5, 20), numbers(5, 9, seed=1)]}
    alone = pfn.learn(network, data, restarts=4, iterations=10)
    with joblib.parallel_config(backend, n_jobs=2):
        assert_same(alone, pfn.learn(network, data, restarts=4, iterations=10, progress=progress))


def test_restarts_with_a_callback_in_threads() -> None:
    calls: list[int] = []
    with joblib.parallel_config("threading", n_jobs=2):
        pfn.learn(parts_based(), {"x": numbers()}, restarts=3, iterations=4, callback=lambda i, _: calls.append(i))
    assert sorted(calls) == sorted([0, 1, 2, 3] * 3)
