"""What the options do, on small runs that can be followed by hand or by the oracle."""

from typing import Any

import numpy as np
import pytest

import pfn
from tests.networks import Array, hierarchy
from tests.oracle import sweep_many
from tests.solve.cases import MACHINE, PLAIN, assert_same, chain, dense, numbers, parts_based, states


def test_the_papers_numbers() -> None:
    numbers = {"epsilon": 1e-5, "initial_scale": 1e-6}
    assert pfn.Propagate(averaging="updated", acceleration=None, start="random", settle=False, **numbers) == pfn.PAPER
    assert (pfn.PAPER.epsilon, pfn.PAPER.initial_scale, pfn.PAPER.sparseness) == (1e-5, 1e-6, 0.0)
    assert (pfn.PAPER.averaging, pfn.PAPER.divergence, pfn.PAPER.start) == ("updated", "kl", "random")


def test_the_defaults() -> None:
    method = pfn.Propagate()
    assert (method.averaging, method.acceleration, method.divergence) == ("pooled", "momentum", "kl")
    assert (method.epsilon, method.initial_scale, method.sparseness) == (1e-9, None, 0.0)
    assert (dict(method.release), dict(method.learn_every), method.start) == ({}, {}, "data")
    assert_same(pfn.infer(MACHINE, {"x": states(1, 0, 0)}), pfn.infer(MACHINE, {"x": states(1, 0, 0)}, method=method))


def test_a_method_is_frozen() -> None:
    with pytest.raises(AttributeError):
        pfn.Propagate().epsilon = 1.0  # type: ignore[misc]  # that is the point


@pytest.mark.parametrize(
    ("sweep", "value"), [(0, 0.2), (3, 0.2), (10, 0.2), (11, 0.25), (13, 0.35), (14, 0.4), (15, 0.4), (999, 0.4)]
)
def test_values_of_a_ramp(sweep: int, value: float) -> None:
    assert pfn.ramp(0.2, 0.4, start=10, stop=14).at(sweep) == pytest.approx(value)


def test_a_ramp_may_fall_or_jump() -> None:
    falling = pfn.ramp(1, 0, start=0, stop=4)
    assert [falling.at(sweep) for sweep in range(6)] == [1, 0.75, 0.5, 0.25, 0, 0]
    jump = pfn.ramp(0, 1, start=3, stop=3)
    assert [jump.at(sweep) for sweep in range(5)] == [0, 0, 0, 1, 1]


def start_of(network: pfn.Network, columns: dict[str, int]) -> dict[str, Array]:
    start = {name: numbers(network.variable(name).size, count, seed=3) + 0.1 for name, count in columns.items()}
    unknown = [p for p in network.parameters if p.learn and p.value is None]
    return start | {p.name: numbers(*p.shape, seed=4) + 0.1 for p in unknown}


def assert_follows_the_oracle(method: dict[str, Any], **oracle: Any) -> None:
    """Plain learning on the chain from given values, against the slow loops."""
    network, data = chain(), {"y": numbers(4, 9)}
    start = start_of(network, {"x": 9, "h": 9})
    result = pfn.learn(network, data, initial=start, method=pfn.Propagate(acceleration=None, **method), iterations=12)
    expected = sweep_many(network, data, start, 12, **(method | oracle))
    for name, value in expected.items():
        np.testing.assert_allclose(dense(result[name]), value, rtol=1e-9, err_msg=name)


def test_sparseness_along_a_ramp() -> None:
    ramp = pfn.ramp(0.0, 0.3, start=2, stop=8)
    assert_follows_the_oracle({"sparseness": ramp}, sparseness=ramp.at)


def test_sparseness_by_equation() -> None:
    ramp = pfn.ramp(0.1, 0.3, start=2, stop=8)
    assert_follows_the_oracle({"sparseness": {"eq1": 0.2, "eq2": ramp}}, sparseness={"eq1": 0.2, "eq2": ramp.at})


@pytest.mark.parametrize(
    "method",
    [
        {},
        {"averaging": "all"},
        {"divergence": "euclidean"},
        {"epsilon": 1e-3},
        {"learn_every": {"P": 3, "V": 2}},
        {"release": {"y": 5}},
    ],
    ids=str,
)
def test_other_options_against_the_oracle(method: dict[str, Any]) -> None:
    assert_follows_the_oracle(method)


def test_objects_stand_for_names_in_options() -> None:
    network = chain()
    data = {"y": numbers(4, 9)}
    P, y, lower = network["P"], network["y"], network["eq1"]
    by_name, by_object = (
        pfn.Propagate(sparseness={third: 0.1}, release={second: 5}, learn_every={first: 2})  # type: ignore[dict-item]
        for first, second, third in (("P", "y", "eq1"), (P, y, lower))
    )
    first, second = (pfn.learn(network, data, method=method, iterations=9) for method in (by_name, by_object))
    assert_same(first, second)


@pytest.mark.parametrize("acceleration", ["momentum", None])
def test_release_holds_and_then_hides(acceleration: Any) -> None:
    X, seen = numbers(4, 6), []
    method = pfn.Propagate(release={"x": 4}, acceleration=acceleration)
    pfn.infer(MACHINE, {"x": X}, method=method, iterations=8, callback=lambda _, values: seen.append(values["x"]))
    held = [np.array_equal(values, X) for values in seen]
    assert held[:7] == [True] * 4 + [False] * 3


def test_released_observations_are_forgotten() -> None:
    """The released run goes on as a run that starts, all hidden, from where the held run stood."""
    X = numbers(4, 6)
    held = pfn.infer(MACHINE, {"x": X}, method=PLAIN, iterations=4)
    hidden = pfn.infer(
        MACHINE, {"x": np.full_like(X, np.nan)}, initial={"x": X, "h": held["h"]}, method=PLAIN, iterations=6
    )
    released = pfn.infer(MACHINE, {"x": X}, method=pfn.Propagate(acceleration=None, release={"x": 4}), iterations=10)
    np.testing.assert_allclose(released["x"], hidden["x"], rtol=1e-12)


@pytest.mark.parametrize("acceleration", ["momentum", None])
def test_learn_every_leaves_a_parameter_alone_in_between(acceleration: Any) -> None:
    seen: list[Any] = []
    method = pfn.Propagate(learn_every={"W": 3}, acceleration=acceleration)
    pfn.learn(parts_based(), {"x": numbers()}, method=method, iterations=9, callback=lambda _, v: seen.append(v["W"]))
    changes = [sweep for sweep in range(1, 8) if not np.array_equal(seen[sweep - 1], seen[sweep])]
    assert changes == [3, 6]


@pytest.mark.parametrize("acceleration", ["momentum", None])
@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_weights_count_columns_that_often(acceleration: Any, divergence: Any) -> None:
    counts = np.array([2, 1, 0, 3, 1])
    X, H, W = numbers(4, 5), numbers(2, 5, seed=1), numbers(4, 2, seed=2)
    method = pfn.Propagate(acceleration=acceleration, divergence=divergence)
    weighted = pfn.learn(
        parts_based(normalize="columns"),
        {"x": X},
        initial={"h": H, "W": W},
        weights={"eq1": counts},
        method=method,
        iterations=25,
    )
    repeated = pfn.learn(
        parts_based(normalize="columns"),
        {"x": np.repeat(X, counts, axis=1)},
        initial={"h": np.repeat(H, counts, axis=1), "W": W},
        method=method,
        iterations=25,
    )
    np.testing.assert_allclose(weighted["W"], repeated["W"], rtol=1e-9)
    np.testing.assert_allclose(np.repeat(weighted["h"], counts, axis=1), repeated["h"], rtol=1e-9)
    assert weighted.rmse["eq1"] == pytest.approx(repeated.rmse["eq1"], rel=1e-9)
    assert weighted.squared_error == pytest.approx(repeated.squared_error, rel=1e-9)


def test_weights_of_one_change_nothing() -> None:
    plain = pfn.learn(parts_based(), {"x": numbers()}, iterations=25)
    weighted = pfn.learn(parts_based(), {"x": numbers()}, weights={"eq1": np.ones(12)}, iterations=25)
    np.testing.assert_allclose(weighted["W"], plain["W"], rtol=1e-12)


def test_weights_by_sequence() -> None:
    counts = [np.array([1, 2, 0]), np.array([3, 1])]
    data = [numbers(4, 3), numbers(4, 2, seed=1)]
    start = {"W": numbers(4, 2, seed=2), "h": [np.full((2, 3), 0.5), np.full((2, 2), 0.5)]}
    equation = parts_based().factorizations[0]
    weighted = pfn.learn(
        parts_based(), {"x": data}, initial=start, weights={equation: counts}, method=PLAIN, iterations=20
    )
    repeated = pfn.learn(
        parts_based(),
        {"x": np.repeat(np.hstack(data), np.hstack(counts), axis=1)},
        initial={"W": start["W"], "h": np.full((2, 7), 0.5)},
        method=PLAIN,
        iterations=20,
    )
    np.testing.assert_allclose(weighted["W"], repeated["W"], rtol=1e-9)


def test_a_prior_pulls_by_its_weight() -> None:
    X, W, H, prior, weight = numbers(4, 5), numbers(4, 2, seed=1), numbers(2, 5, seed=2), numbers(4, 2, seed=3), 2.5
    network = parts_based(prior=prior, prior_weight=weight)
    found = pfn.learn(network, {"x": X}, initial={"h": H, "W": W}, method=PLAIN, iterations=1)["W"]
    numerator, denominator = (X / (W @ H)) @ H.T, H.sum(axis=1)
    np.testing.assert_allclose(found, (W * numerator + weight * prior) / (denominator + weight), rtol=1e-6)


def test_a_heavy_prior_decides() -> None:
    prior = numbers(4, 2, seed=3)
    network = parts_based(prior=prior, prior_weight=1e9)
    np.testing.assert_allclose(pfn.learn(network, {"x": numbers()}, iterations=50)["W"], prior, rtol=1e-6)


def test_a_prior_without_weight_does_nothing() -> None:
    network = parts_based(prior=numbers(4, 2, seed=3))
    plain = pfn.learn(parts_based(), {"x": numbers()}, iterations=25)
    np.testing.assert_array_equal(pfn.learn(network, {"x": numbers()}, iterations=25)["W"], plain["W"])


def test_the_start_by_levels_is_a_better_start() -> None:
    network, data = hierarchy(8, (4, 3), 2, (1, 2)), {"x1": numbers(8, 60)}
    random, levels = (
        pfn.learn(network, data, method=pfn.Propagate(start=start), iterations=5) for start in ("random", "levels")
    )
    assert levels.history.divergence[0] < random.history.divergence[0]
    assert levels.squared_error < random.squared_error


@pytest.mark.parametrize("normalize", [None, "columns", "subcolumns", "balanced", "sequences"])
def test_results_come_in_the_dtype_asked_for(normalize: str | None) -> None:
    for network, name in ((parts_based(normalize=normalize), "x"), (chain(), "y"), (MACHINE, "x")):
        result = pfn.learn(network, {name: numbers()}, dtype="float32", iterations=5)
        assert {key: value.dtype for key, value in result.values.items()} == dict.fromkeys(result.values, np.float32)
        double = pfn.learn(network, {name: numbers().astype(np.float32)}, iterations=5)
        assert {key: value.dtype for key, value in double.values.items()} == dict.fromkeys(double.values, np.float64)


def test_single_precision_is_close_to_double() -> None:
    single = pfn.infer(MACHINE, {"x": states(1, 0, 0, 0, 0)}, dtype=np.float32, tolerance=1e-4)
    double = pfn.infer(MACHINE, {"x": states(1, 0, 0, 0, 0)}, tolerance=1e-4)
    assert abs(single.iterations - double.iterations) <= 2
    np.testing.assert_allclose(single["x"], double["x"], atol=1e-3)


def test_settings_say_how_the_result_was_made() -> None:
    result = pfn.infer(
        MACHINE, {"x": states(1, 0)}, method=pfn.PAPER, seed=7, restarts=2, dtype="float32", iterations=2
    )
    assert result.settings["method"] == repr(pfn.PAPER)
    assert (result.settings["seed"], result.settings["restarts"]) == ("7", "2")
    assert (result.settings["dtype"], result.settings["engine"]) == ("float32", "numpy")
