"""The multiplicative updates: what defines them holds for every problem that hypothesis can think of."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from pfn.updates import DIVERGENCES, factor, left_update, pulled, right_update, smooth
from tests.updates import formulas
from tests.updates.draws import ENTRIES, EPSILONS, SPARSENESS, Problem, problems, smoothing_matrix

BOTH = pytest.mark.parametrize("divergence", ["kl", "euclidean"])

# Rounding of sums of a few products of numbers up to 1e4.
ROUNDING = 1e-12


def assert_no_rise(before: float, after: float) -> None:
    assert after <= before + ROUNDING * (1 + before)


@BOTH
@pytest.mark.parametrize("sparse", [False, True])
@given(problem=problems(), epsilon=EPSILONS, sparseness=SPARSENESS)
def test_a_right_update_never_increases_the_divergence(
    divergence: str, sparse: bool, problem: Problem, epsilon: float, sparseness: float
) -> None:
    """ε is one more fixed part of X and R, so the theorem holds for any ε; W S takes the place of W."""
    X, W, H = problem
    given_w = scipy.sparse.csr_array(W) if sparse else W
    new = right_update(X, given_w, H, DIVERGENCES[divergence], epsilon, sparseness=sparseness)
    smoothed = W @ smoothing_matrix(H.shape[0], sparseness)
    assert_no_rise(
        formulas.distance(X, smoothed @ H, divergence, epsilon),
        formulas.distance(X, smoothed @ new, divergence, epsilon),
    )


@BOTH
@given(problem=problems(), epsilon=EPSILONS, sparseness=SPARSENESS)
def test_a_left_update_never_increases_the_divergence(
    divergence: str, problem: Problem, epsilon: float, sparseness: float
) -> None:
    X, W, H = problem
    new = left_update(X, W, H, DIVERGENCES[divergence], epsilon, sparseness=sparseness)
    smoothed = smoothing_matrix(H.shape[0], sparseness) @ H
    assert_no_rise(
        formulas.distance(X, W @ smoothed, divergence, epsilon),
        formulas.distance(X, new @ smoothed, divergence, epsilon),
    )


@BOTH
def test_many_updates_of_both_kinds_reach_an_exact_factorization(divergence: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((6, 2)) @ rng.random((2, 9))
    W, H = rng.random((6, 2)), rng.random((2, 9))
    for _ in range(4000):
        W = left_update(X, W, H, DIVERGENCES[divergence], 1e-12)
        H = right_update(X, W, H, DIVERGENCES[divergence], 1e-12)
    np.testing.assert_allclose(W @ H, X, rtol=1e-3)


@BOTH
@given(problem=problems(), epsilon=EPSILONS)
def test_updates_are_the_formulas_of_the_paper(divergence: str, problem: Problem, epsilon: float) -> None:
    for update, formula in ((right_update, formulas.right), (left_update, formulas.left)):
        found = update(*problem, DIVERGENCES[divergence], epsilon)
        np.testing.assert_allclose(found, formula(*problem, divergence, epsilon), rtol=1e-9, atol=0)


@BOTH
@given(problem=problems(), epsilon=EPSILONS, sparseness=SPARSENESS)
def test_left_is_right_transposed(divergence: str, problem: Problem, epsilon: float, sparseness: float) -> None:
    X, W, H = problem
    chosen = DIVERGENCES[divergence]
    np.testing.assert_allclose(
        left_update(X, W, H, chosen, epsilon, sparseness=sparseness),
        right_update(X.T, smooth(H, sparseness).T, W.T, chosen, epsilon).T,
        rtol=1e-12,
    )


@BOTH
@given(problem=problems(), epsilon=EPSILONS)
def test_without_sparseness_an_update_is_plain(divergence: str, problem: Problem, epsilon: float) -> None:
    for update in (right_update, left_update):
        plain = update(*problem, DIVERGENCES[divergence], epsilon)
        found = update(*problem, DIVERGENCES[divergence], epsilon, sparseness=0.0)
        np.testing.assert_array_equal(found, plain)


@BOTH
@given(problem=problems(), epsilon=EPSILONS, sparseness=st.floats(0.01, 1.0))
def test_sparse_updates_are_plain_ones_of_the_smoothed_problem(
    divergence: str, problem: Problem, epsilon: float, sparseness: float
) -> None:
    X, W, H = problem
    chosen, S = DIVERGENCES[divergence], smoothing_matrix(H.shape[0], sparseness)
    np.testing.assert_allclose(
        right_update(X, W, H, chosen, epsilon, sparseness=sparseness),
        right_update(X, W @ S, H, chosen, epsilon),
        rtol=1e-9,
    )
    np.testing.assert_allclose(
        left_update(X, W, H, chosen, epsilon, sparseness=sparseness),
        left_update(X, W, S @ H, chosen, epsilon),
        rtol=1e-9,
    )


@BOTH
@given(problem=problems(), epsilon=EPSILONS, sparseness=SPARSENESS)
def test_a_sparse_matrix_gives_what_a_dense_one_gives(
    divergence: str, problem: Problem, epsilon: float, sparseness: float
) -> None:
    dense = right_update(*problem, DIVERGENCES[divergence], epsilon, sparseness=sparseness)
    found = right_update(*problem.with_sparse(), DIVERGENCES[divergence], epsilon, sparseness=sparseness)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, dense, rtol=1e-12)


@BOTH
@given(problem=problems(), epsilon=EPSILONS, sparseness=SPARSENESS)
def test_values_stay_non_negative_and_zero_stays_zero(
    divergence: str, problem: Problem, epsilon: float, sparseness: float
) -> None:
    for update, old in ((right_update, problem.H), (left_update, problem.W)):
        new = update(*problem, DIVERGENCES[divergence], epsilon, sparseness=sparseness)
        assert np.isfinite(new).all()
        assert (new >= 0).all()
        assert (new[old == 0] == 0).all()


@BOTH
@given(problem=problems())
def test_an_exact_factorization_is_a_fixed_point(divergence: str, problem: Problem) -> None:
    X = problem.W @ problem.H
    for update, old in ((right_update, problem.H), (left_update, problem.W)):
        new = update(X, problem.W, problem.H, DIVERGENCES[divergence], 1e-9)
        np.testing.assert_allclose(new, old, rtol=1e-9)


@BOTH
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sparse", [False, True])
@given(problem=problems(), sparseness=SPARSENESS)
def test_updates_stay_in_their_precision(
    divergence: str, dtype: str, sparse: bool, problem: Problem, sparseness: float
) -> None:
    chosen, typed = DIVERGENCES[divergence], problem.as_type(dtype)
    for update, double in ((right_update, typed.with_sparse() if sparse else typed), (left_update, typed)):
        found = update(*double, chosen, 1e-5, sparseness=sparseness)
        assert found.dtype == dtype
        precise = update(*problem, chosen, 1e-5, sparseness=sparseness)
        np.testing.assert_allclose(found, precise, rtol=2e-4 if dtype == "float32" else 1e-12)


@given(problem=problems())
def test_arguments_are_left_as_they_were(problem: Problem) -> None:
    before = Problem(*(part.copy() for part in problem))
    for divergence in DIVERGENCES.values():
        for update in (right_update, left_update):
            update(*problem, divergence, 1e-9, sparseness=0.3)
    for part, kept in zip(problem, before, strict=True):
        np.testing.assert_array_equal(part, kept)


@given(numerator=ENTRIES, denominator=ENTRIES, epsilon=EPSILONS)
def test_a_factor_is_a_ratio(numerator: float, denominator: float, epsilon: float) -> None:
    """The denominator brings its own ε."""
    upper, lower = np.array([[numerator]]), np.array([[denominator + epsilon]])
    found = factor(upper, lower, epsilon)
    assert found[0, 0] == (numerator + epsilon) / (denominator + epsilon)
    assert upper[0, 0] == numerator
    assert factor(upper, lower, epsilon, out=upper) is upper
    assert upper[0, 0] == found[0, 0]
    assert lower[0, 0] == denominator + epsilon


@given(
    entries=st.tuples(*[ENTRIES] * 4),
    weight=st.floats(0, 100),
    epsilon=EPSILONS,
)
def test_a_prior_pulls_as_designed(entries: tuple[float, ...], weight: float, epsilon: float) -> None:
    """W ← (W · numerator + κ · prior) / (denominator + κ), with ε in numerator and denominator."""
    W, numerator, denominator, prior = entries
    arrays: list[Any] = [np.array([[entry]]) for entry in entries]
    found = pulled(*arrays[:3], epsilon, prior=arrays[3], weight=weight)
    wanted = (W * (numerator + epsilon) + weight * prior) / (denominator + epsilon + weight)
    np.testing.assert_allclose(found, [[wanted]], rtol=1e-14)


def test_a_prior_without_weight_does_not_pull_and_one_of_great_weight_wins() -> None:
    W, numerator, denominator, prior = (np.array([[value]]) for value in (2.0, 3.0, 4.0, 7.0))
    plain = W * factor(numerator, denominator + 1e-9, 1e-9)
    free = pulled(W, numerator, denominator, 1e-9, prior=prior, weight=0.0)
    np.testing.assert_allclose(free, plain, rtol=1e-15)
    strong = pulled(W, numerator, denominator, 1e-9, prior=prior, weight=1e12)
    np.testing.assert_allclose(strong, prior, rtol=1e-10)
