"""The divergences and the fields that updates are made of."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pfn.updates import DIVERGENCES, EUCLIDEAN, KULLBACK_LEIBLER
from tests.updates import formulas
from tests.updates.draws import ENTRIES, EPSILONS, Array

BOTH = pytest.mark.parametrize("divergence", ["kl", "euclidean"])
PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(*[arrays(np.float64, shape, elements=ENTRIES)] * 2)
)
WEIGHTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=3, max_size=3)


def test_divergences_are_found_by_name() -> None:
    assert DIVERGENCES == {"kl": KULLBACK_LEIBLER, "euclidean": EUCLIDEAN}
    assert KULLBACK_LEIBLER.unit_denominator
    assert not EUCLIDEAN.unit_denominator


@BOTH
@given(pair=PAIRS, epsilon=EPSILONS)
def test_the_value_is_the_formula(divergence: str, pair: tuple[Array, Array], epsilon: float) -> None:
    X, R = pair
    found = DIVERGENCES[divergence].value(X - R, R, epsilon)
    assert isinstance(found, float)
    assert found == pytest.approx(formulas.distance(X, R, divergence, epsilon), rel=1e-9, abs=1e-12)


@BOTH
@given(pair=PAIRS, epsilon=EPSILONS, weights=WEIGHTS)
def test_a_column_counts_as_often_as_its_weight(
    divergence: str, pair: tuple[Array, Array], epsilon: float, weights: list[float]
) -> None:
    X, R = pair
    columns = X.shape[1]
    found = DIVERGENCES[divergence].value(X - R, R, epsilon, weights=np.array(weights[:columns]))
    wanted = sum(weights[c] * formulas.distance(X[:, [c]], R[:, [c]], divergence, epsilon) for c in range(columns))
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@BOTH
@given(pair=PAIRS, epsilon=EPSILONS)
def test_equal_arguments_and_only_those_have_no_divergence(
    divergence: str, pair: tuple[Array, Array], epsilon: float
) -> None:
    X, R = pair
    assert DIVERGENCES[divergence].value(X - X, X, epsilon) == 0
    assert DIVERGENCES[divergence].value(X - R, R, epsilon) >= 0
    if abs(X - R).max() > 1e-3:
        assert DIVERGENCES[divergence].value(X - R, R, epsilon) > 0


def test_small_differences_keep_their_digits() -> None:
    """Near R the divergence is about (X − R)² / 2R, far below the rounding of X log(X / R)."""
    R = np.ones((1, 1))
    error = np.full((1, 1), 2.0**-30)
    found = KULLBACK_LEIBLER.value(error, R, 1e-300)
    assert found == pytest.approx(2.0**-61, rel=1e-6)


@BOTH
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(pair=PAIRS)
def test_buffers_change_nothing_but_where_the_work_is_done(
    divergence: str, dtype: str, pair: tuple[Array, Array]
) -> None:
    X, R = (part.astype(dtype) for part in pair)
    error = X - R
    scratch = (np.empty_like(R), np.empty_like(R))
    for weights in (None, np.arange(R.shape[1], dtype=dtype)):
        plain = DIVERGENCES[divergence].value(error, R, 1e-5, weights=weights)
        buffered = DIVERGENCES[divergence].value(error, R, 1e-5, weights=weights, scratch=scratch)
        assert buffered == plain
    np.testing.assert_array_equal(error, X - R)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(pair=PAIRS, epsilon=EPSILONS)
def test_the_numerator_field(dtype: Any, pair: tuple[Array, Array], epsilon: float) -> None:
    X, R = (part.astype(dtype) for part in pair)
    before = X.copy(), R.copy()
    ratio = KULLBACK_LEIBLER.numerator_field(X, R, epsilon)
    assert ratio.dtype == dtype
    np.testing.assert_allclose(ratio, (X + dtype_of(X, epsilon)) / (R + dtype_of(X, epsilon)), rtol=1e-6)
    assert EUCLIDEAN.numerator_field(X, R, epsilon) is X
    np.testing.assert_array_equal((X, R), before)


def dtype_of(array: Array, number: float) -> Any:
    return array.dtype.type(number)


@given(pair=PAIRS, epsilon=EPSILONS)
def test_the_numerator_field_may_take_the_place_of_the_reconstruction(
    pair: tuple[Array, Array], epsilon: float
) -> None:
    X, R = pair
    kept, wanted = X.copy(), KULLBACK_LEIBLER.numerator_field(X, R.copy(), epsilon)
    found = KULLBACK_LEIBLER.numerator_field(X, R, epsilon, scratch=np.empty_like(X), out=R)
    assert found is R
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(X, kept)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_under_large_reconstructions_have_a_divergence(dtype: Any) -> None:
    """R + ε is R in this precision, and (0 − R) / R is −1."""
    R = np.array([[1e9, 2.0]], dtype)
    value = KULLBACK_LEIBLER.value(np.array([[0.0, 2.0]], dtype) - R, R, 1e-9)
    assert value == pytest.approx(1e9, rel=1e-5)
