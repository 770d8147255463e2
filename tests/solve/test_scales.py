"""Learned columns of free scale sum to 1, and nothing changes but scales: compared with runs that keep theirs."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import pfn
from pfn import t
from pfn.solve import ask
from pfn.solve.request import Answer, Method, Request
from tests import oracle
from tests.networks import random_problem, section_2_2
from tests.solve.cases import dense, numbers

Array = np.ndarray[Any, np.dtype[np.float64]]


def as_swept(network: pfn.Network, data: Any, **options: Any) -> pfn.Result:
    """The result in the scales that the sweeps ended with."""

    def same(_request: Request, _method: Method, answer: Answer) -> Answer:
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ask, "with_scales", same)
        return pfn.learn(network, data, **options)


def pieces(value: Any) -> list[Array]:
    return value if isinstance(value, list) else [value]


def factors_between(network: pfn.Network, before: pfn.Result, after: pfn.Result) -> dict[str, Array]:
    """By variable, what each component was multiplied with: the same for all of its entries."""
    found = {}
    for variable in network.variables:
        old, new = (np.hstack(pieces(result[variable])) for result in (before, after))
        np.testing.assert_array_equal(np.isnan(old), np.isnan(new))
        with np.errstate(invalid="ignore"):
            largest = [np.nanmax(array, axis=1, initial=0) for array in (old, new)]
        factors = np.divide(largest[1], largest[0], out=np.ones(variable.size), where=largest[0] > 0)
        np.testing.assert_allclose(new, old * factors[:, None], rtol=1e-12)
        found[variable.name] = factors
    return found


def check_equivalent(network: pfn.Network, data: Any, weights: Any = None, **options: Any) -> dict[str, Array]:
    """Every reconstruction is that of the sweeps, in the units of its children; what may not change did not."""
    before = as_swept(network, data, weights=weights, **options)
    after = pfn.learn(network, data, weights=weights, **options)
    factors = factors_between(network, before, after)
    for name, array in data.items():
        for seen, old, new in zip(pieces(array), pieces(before[name]), pieces(after[name]), strict=True):
            known = ~np.isnan(seen).all(axis=1)
            np.testing.assert_array_equal(new[known], old[known])
    for equation in network.factorizations:
        rows = np.concatenate([factors[child.variable.name] for child in equation.children])
        for term in equation.terms:
            old, new = (dense(result[term.parameter]) for result in (before, after))
            columns = factors[term.slice.variable.name]
            fading = (np.hstack(pieces(before[term.slice.variable])) > 0).any(axis=1)  # else the factor is not seen
            np.testing.assert_allclose((new * columns)[:, fading], (rows[:, None] * old)[:, fading], rtol=1e-12)
            if not is_free(network, term.parameter, options):
                np.testing.assert_array_equal(new, old)
    values = {name: dense(value) for name, value in after.values.items()}
    lists = any(isinstance(value, list) for value in data.values())
    wanted = (oracle.rmse_of_sequences if lists else oracle.rmse)(network, values, data, weights)
    for name, error in after.rmse.items():
        assert error == pytest.approx(wanted[name], rel=1e-8, abs=1e-12, nan_ok=True)
        assert after.history[name][-1] == pytest.approx(error, rel=1e-12, nan_ok=True)
        assert (after.history[name] > 0).tolist() == (before.history[name] > 0).tolist()
    np.testing.assert_array_equal(after.history.divergence, before.history.divergence)
    return factors


def is_free(network: pfn.Network, parameter: pfn.Parameter, options: Any) -> bool:
    """Whether anything about the parameter itself fixes its scale."""
    uses = [p for equation in network.factorizations for p in equation.parameters]
    started = parameter.value is not None or parameter.name in options.get("initial", {})
    tied = parameter.groups is not None or uses.count(parameter) > 1
    return parameter.learn and not started and not tied and not parameter.prior_weight


@given(st.integers(0, 10_000), st.booleans())
def test_random_networks(seed: int, steady: bool) -> None:
    problem = random_problem(seed)
    network, options = problem.network, problem.options
    sparseness = 0.0 if steady else options["sparseness"]
    method = pfn.Propagate(divergence=options["divergence"], initial_scale=1.0, sparseness=sparseness)
    check_equivalent(network, problem.data, options["weights"], method=method, iterations=4)


def test_columns_sum_to_one_and_values_are_in_the_units_of_the_data() -> None:
    x, h, W = pfn.Variable("x", 6), pfn.Variable("h", 3), pfn.Parameter("W", shape=(6, 3))
    network = pfn.Network(pfn.Factorization(x, W @ h))
    X = numbers(6, 30) * 1000
    for divergence in ("kl", "euclidean"):
        for method in (pfn.Propagate(divergence=divergence), pfn.PAPER, pfn.Substitute(divergence=divergence)):
            result = pfn.learn(network, {x: X}, method=method, iterations=200)
            np.testing.assert_allclose(result[W].sum(axis=0), 1, rtol=1e-12)
            np.testing.assert_allclose(result[h].sum(), X.sum(), rtol=0.02)
            check_equivalent(network, {"x": X}, method=method, iterations=20)


def test_every_component_of_several_levels() -> None:
    network = section_2_2()
    data = {v.name: numbers(v.size, 20, seed) for seed, v in enumerate(network.bottom)}
    check_equivalent(network, data, iterations=10)
    result = pfn.learn(network, data, iterations=10)
    first = {term.slice.variable: term.parameter for e in reversed(network.factorizations) for term in e.terms}
    assert len(first) == 8
    for parameter in first.values():
        np.testing.assert_allclose(result[parameter].sum(axis=0), 1, rtol=1e-12)


def test_lags_are_summed_and_sequences_share_factors() -> None:
    x, h = pfn.Variable("x", 5), pfn.Variable("h", 2)
    W = [pfn.Parameter(f"W{lag}", shape=(5, 2)) for lag in range(3)]
    network = pfn.Network(pfn.Factorization(x[t], sum(W[lag] @ h[t - lag] for lag in range(3))))
    data = {"x": [numbers(5, 12), numbers(5, 7, seed=1)]}
    check_equivalent(network, data, iterations=10)
    result = pfn.learn(network, data, iterations=10)
    np.testing.assert_allclose(sum(result[part].sum(axis=0) for part in W), 1, rtol=1e-12)


def test_diagonals_patterns_and_windows() -> None:
    x, u, g, h = (pfn.Variable(*given) for given in (("x", 5), ("u", 4), ("g", 4), ("h", 2)))
    W, P = pfn.Parameter("W", shape=(5, 4)), pfn.Parameter("P", pattern=np.tri(4, 2) > 0)
    D = pfn.Diagonal("D", 4)
    network = pfn.Network(
        pfn.Factorization(x[t], W @ pfn.decay(u[t], 0.5)),
        pfn.Factorization(u[t], D @ g[t]),
        pfn.Factorization(g[t], P @ pfn.decay(h[t], [0.3, 0.9], 4)),
        pfn.Factorization(g[t + 1], pfn.Parameter("Q", shape=(4, 1)) @ pfn.Variable("f", 1)[t]),  # a second copy of g
    )
    data = {"x": numbers(5, 20)}
    before, after = as_swept(network, data, iterations=20), pfn.learn(network, data, iterations=20)
    factors_between(network, before, after)
    for parameter in (W, D, P):
        np.testing.assert_allclose(after[parameter].sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_array_equal(after[P].indices, before[P].indices)
    slow = np.array(after[h])
    for lag in range(1, 4):
        slow[:, lag:] += np.array([[0.3], [0.9]]) ** lag * after[h][:, :-lag]
    assert after.rmse["eq3"] > 0
    np.testing.assert_allclose(after.rmse["eq3"], np.sqrt(np.mean((after[g] - after[P] @ slow) ** 2)), rtol=1e-9)


def network_with(normalize: str | None = None, **options: Any) -> pfn.Network:
    """x = W h."""
    W = pfn.Parameter("W", **({} if "value" in options or "tied" in options else {"shape": (4, 2)}), **options)
    return pfn.Network(pfn.Factorization(pfn.Variable("x", 4), W @ pfn.Variable("h", 2), normalize=normalize))


FIXED = {
    "started by the declaration": (network_with(value=numbers(4, 2), learn=True), {}),
    "started by the user": (network_with(), {"initial": {"W": numbers(4, 2)}}),
    "values started by the user": (network_with(), {"initial": {"h": numbers(2, 12)}}),
    "pulled to a prior": (network_with(prior=np.ones((4, 2)), prior_weight=0.5), {}),
    "tied": (network_with(tied=[[1, 2], [1, 3], [4, 2], [0, 2]]), {}),
    "normalized": (network_with("subcolumns"), {}),
    "adjusted": (network_with(), {"method": pfn.Substitute(adjust={"W": lambda W: W.clip(0.1)})}),
}


@pytest.mark.parametrize("case", FIXED)
def test_what_says_how_large_it_is_stays(case: str) -> None:
    network, options = FIXED[case]
    before = as_swept(network, {"x": numbers()}, iterations=5, **options)
    after = pfn.learn(network, {"x": numbers()}, iterations=5, **options)
    np.testing.assert_array_equal(dense(after["W"]), dense(before["W"]))
    np.testing.assert_array_equal(after["h"], before["h"])


def test_a_normalized_matrix_above_fixes_its_children() -> None:
    x, h, g = pfn.Variable("x", 4), pfn.Variable("h", 3), pfn.Variable("g", 2)
    W, V = pfn.Parameter("W", shape=(4, 3)), pfn.Parameter("V", shape=(3, 2))
    for normalize in ("columns", "balanced"):
        network = pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization(h, V @ g, normalize=normalize))
        before = as_swept(network, {"x": numbers()}, iterations=5)
        after = pfn.learn(network, {"x": numbers()}, iterations=5)
        np.testing.assert_array_equal(after[W], before[W])
        np.testing.assert_array_equal(after[h], before[h])


def test_errors_of_hidden_children_are_in_their_scale() -> None:
    x, h, g = pfn.Variable("x", 4), pfn.Variable("h", 3), pfn.Variable("g", 2)
    W, V = pfn.Parameter("W", shape=(4, 3)), pfn.Parameter("V", shape=(6, 2))
    network = pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization([h[t], h[t + 1]], V @ g[t]))
    check_equivalent(network, {"x": numbers()}, iterations=5)
    before, after = (
        as_swept(network, {"x": numbers()}, iterations=5),
        pfn.learn(network, {"x": numbers()}, iterations=5),
    )
    assert abs(after.rmse["eq2"] / before.rmse["eq2"] - 1) > 0.01
    squares = {"eq1": 4 * 12 * after.rmse["eq1"] ** 2, "eq2": 6 * 11 * after.rmse["eq2"] ** 2}
    assert after.squared_error == pytest.approx(sum(squares.values()), rel=1e-9)


def test_balanced_columns_have_free_sums() -> None:
    result = pfn.learn(network_with("balanced"), {"x": numbers()}, iterations=5)
    np.testing.assert_allclose(result["W"].sum(axis=0), 1, rtol=1e-12)


def test_a_matrix_of_two_equations_stays() -> None:
    x, y, h, g = (pfn.Variable(*given) for given in (("x", 4), ("y", 4), ("h", 2), ("g", 2)))
    W = pfn.Parameter("W", shape=(4, 2))
    network = pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization(y, W @ g))
    data = {"x": numbers(), "y": numbers(seed=1)}
    before, after = as_swept(network, data, iterations=5), pfn.learn(network, data, iterations=5)
    np.testing.assert_array_equal(after[W], before[W])


def test_components_that_were_observed_keep_their_scale_and_the_others_do_not() -> None:
    H = np.full((2, 12), np.nan)
    H[0, :4] = 0.7
    result = pfn.learn(network_with(), {"x": numbers(), "h": H}, iterations=5)
    np.testing.assert_array_equal(result["h"][0, :4], 0.7)
    sums = result["W"].sum(axis=0)
    assert sums[1] == pytest.approx(1, rel=1e-12)
    assert abs(sums[0] - 1) > 0.01


def test_known_matrices_tie_components() -> None:
    """x = W y is learned with transitions [y; y'] = V h: y and h have one scale, and W one mean of its sums."""
    x, y, h = pfn.Variable("x", 6), pfn.Variable("y", 3), pfn.Variable("h", 3)
    W, V = pfn.Parameter("W", shape=(6, 3)), pfn.Parameter("V", [*np.eye(3), *np.eye(3)[[1, 2, 0]]])
    network = pfn.Network(pfn.Factorization(x[t], W @ y[t]), pfn.Factorization([y[t], y[t + 1]], V @ h[t]))
    factors = check_equivalent(network, {"x": numbers(6, 20)}, iterations=10)
    np.testing.assert_allclose(factors["y"], factors["y"][0], rtol=1e-12)
    np.testing.assert_allclose(factors["h"], factors["y"], rtol=1e-12)
    result = pfn.learn(network, {"x": numbers(6, 20)}, iterations=10)
    assert result[W].sum(axis=0).mean() == pytest.approx(1, rel=1e-12)
    assert np.ptp(result[W].sum(axis=0)) > 0.01


def test_sparseness_leaves_one_scale_to_all_parents_of_its_equation() -> None:
    method = pfn.Propagate(sparseness=pfn.ramp(0.0, 0.3, start=2, stop=4))
    factors = check_equivalent(network_with(), {"x": numbers()}, iterations=8, method=method)
    np.testing.assert_allclose(factors["h"], factors["h"][0], rtol=1e-12)
    result = pfn.learn(network_with(), {"x": numbers()}, iterations=8, method=method)
    assert result["W"].sum(axis=0).mean() == pytest.approx(1, rel=1e-12)


def test_columns_of_zeros_stay_zero() -> None:
    X = np.zeros((4, 12))
    result = pfn.learn(network_with(), {"x": X}, iterations=50)
    assert np.isfinite(result["W"]).all()
    assert np.isfinite(result["h"]).all()


def test_inference_changes_no_scale() -> None:
    W = numbers(4, 2) * 100
    result = pfn.infer(network_with(), {"x": numbers()}, initial={"W": W}, iterations=5)
    np.testing.assert_array_equal(result["W"], W)


@pytest.mark.parametrize("engine", ["numpy", "jax"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_dtypes_stay(engine: str, dtype: str) -> None:
    result = pfn.learn(network_with(), {"x": numbers()}, iterations=30, engine=engine, dtype=dtype)
    assert result["W"].dtype == result["h"].dtype == dtype
    np.testing.assert_allclose(result["W"].sum(axis=0), 1, rtol=1e-12 if dtype == "float64" else 1e-6)


def test_the_best_of_several_runs_is_that_of_the_sweeps() -> None:
    data = {"x": numbers()}
    before = as_swept(network_with(), data, iterations=10, restarts=4)
    after = pfn.learn(network_with(), data, iterations=10, restarts=4)
    assert after.squared_error == before.squared_error
    np.testing.assert_allclose(after["W"] @ after["h"], before["W"] @ before["h"], rtol=1e-12)


SHORT = [numbers(4, 8, seed) for seed in range(6)]


class TestBatches:
    @pytest.mark.parametrize("divergence", ["kl", "euclidean"])
    @pytest.mark.parametrize("pattern", [None, np.tri(4, 2) > 0])
    def test_the_averages_go_with_the_matrices(self, divergence: Any, pattern: Any) -> None:
        options = {} if pattern is None else {"pattern": pattern}
        W = pfn.Parameter("W", **({"shape": (4, 2)} | options))
        network = pfn.Network(pfn.Factorization(pfn.Variable("x", 4), W @ pfn.Variable("h", 2)))
        method = pfn.Propagate(divergence=divergence, initial_scale=1.0)
        asked: dict[str, Any] = {"batches": pfn.Batches(size=2), "method": method}
        before, after = as_swept(network, {"x": SHORT}, **asked), pfn.learn(network, {"x": SHORT}, **asked)
        np.testing.assert_allclose(after[W].sum(axis=0), 1, rtol=1e-12)
        sums = dense(before[W]).sum(axis=0)
        assert before.memory is not None
        assert after.memory is not None
        (old, old_under), (new, new_under) = (memory.sums["W"] for memory in (before.memory, after.memory))
        np.testing.assert_array_equal(new, old)  # W · (A Hᵀ), of W / sums and sums · H
        by = sums if pattern is None else sums[sp.csr_array(after[W]).indices]
        np.testing.assert_allclose(new_under, old_under * by, rtol=1e-12)

    def test_going_on_is_the_same_in_other_units(self) -> None:
        network, asked = network_with(), {"batches": pfn.Batches(size=2, shuffle=False)}
        before = as_swept(network, {"x": SHORT}, **asked)
        after = pfn.learn(network, {"x": SHORT}, **asked)
        more = {"x": [numbers(4, 8, seed) for seed in (8, 9)]}
        one, other = (pfn.learn(network, more, partial=model, **asked) for model in (before, after))
        np.testing.assert_allclose(other["W"].sum(axis=0), 1, rtol=1e-12)
        np.testing.assert_allclose(other["W"], one["W"], atol=2e-3)  # hidden values of new batches start alike, small

    def test_what_was_observed_in_an_earlier_run_keeps_its_scale(self, tmp_path: Any) -> None:
        H = [np.array([[0.5] * 8, [np.nan] * 8]), *[np.full((2, 8), np.nan)] * 5]
        first = pfn.learn(network_with(), {"x": SHORT, "h": H}, batches=pfn.Batches(size=2, shuffle=False))
        assert first["W"].sum(axis=0)[1] == pytest.approx(1, rel=1e-12)
        assert first["W"].sum(axis=0)[0] != pytest.approx(1, rel=1e-3)
        first.save(tmp_path / "first")
        for model in (first, pfn.load(tmp_path / "first")):
            more = pfn.learn(network_with(), {"x": SHORT[:2]}, batches=pfn.Batches(size=2), partial=model)
            assert more["W"].sum(axis=0)[1] == pytest.approx(1, rel=1e-12)
            assert more["W"].sum(axis=0)[0] == pytest.approx(first["W"].sum(axis=0)[0], rel=0.3)
            assert more["W"].sum(axis=0)[0] != pytest.approx(1, rel=1e-3)

    def test_hidden_children_keep_their_scale(self) -> None:
        x, h, g = pfn.Variable("x", 4), pfn.Variable("h", 3), pfn.Variable("g", 2)
        W, V = pfn.Parameter("W", shape=(4, 3)), pfn.Parameter("V", shape=(3, 2))
        network = pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization(h, V @ g))
        before = as_swept(network, {"x": SHORT}, batches=pfn.Batches(size=2))
        after = pfn.learn(network, {"x": SHORT}, batches=pfn.Batches(size=2))
        np.testing.assert_array_equal(after[W], before[W])
        np.testing.assert_allclose(after[V].sum(axis=0), 1, rtol=1e-12)
        assert after.rmse == before.rmse
