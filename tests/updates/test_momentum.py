"""Ratio momentum against its formula, written with a loop."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pfn.updates import momentum
from tests.updates.draws import Array

BOTH = pytest.mark.parametrize("dtype", ["float32", "float64"])
BETAS = st.one_of(st.just(0.0), st.just(1 / 3), st.floats(0.01, 0.999))
VALUES = st.one_of(st.just(0.0), st.just(1.0), st.floats(2.0**-20, 100, width=32))


@st.composite
def histories(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    """Values now, the middle of before, and which entries must stay zero."""
    size = draw(st.integers(1, 6))
    now, middle = (draw(arrays(np.float64, size, elements=VALUES)) for _ in range(2))
    return now, middle, draw(arrays(bool, size)) & (now == 0)


def moved(now: Array, middle: Array, beta: float, floor: Any) -> Array:
    """x̂, after checking that `middle` is now between x and x̂; both middles are at least the floor."""
    lowest = now.dtype.type(momentum.FLOOR)
    x, between = now.copy(), np.maximum(middle, lowest)
    momentum.extrapolate(x, between, beta, np.asarray(floor, dtype=x.dtype), np.empty_like(x))
    np.testing.assert_array_equal(between, np.maximum((now + x) / 2, lowest))
    assert x.dtype == now.dtype
    return x


def formula(now: float, middle: float, beta: float, floor: float) -> float:
    """x̂ = max(x · (1 + clip(2β · (x / max(z, 1e-18) − 1), −0.3, 1)), 0.95 · min(x, 0.003), floor)."""
    change = 2 * beta * (now / max(middle, 1e-18) - 1)
    return max(now * (1 + min(max(change, -0.3), 1)), 0.95 * min(now, 0.003), floor)


@given(history=histories(), beta=BETAS)
def test_it_is_the_formula(history: tuple[Array, Array, Array], beta: float) -> None:
    now, middle, fixed = history
    floor = np.where(fixed, 0.0, 1e-18)
    wanted = [formula(*entry) for entry in zip(now, middle, [beta] * now.size, floor, strict=True)]
    np.testing.assert_allclose(moved(now, middle, beta, floor), wanted, rtol=1e-14, atol=0)


@given(history=histories(), beta=BETAS)
def test_one_floor_for_all(history: tuple[Array, Array, Array], beta: float) -> None:
    now, middle, _ = history
    wanted = moved(now, middle, beta, np.full(now.size, 1e-18))
    np.testing.assert_array_equal(moved(now, middle, beta, 1e-18), wanted)


@BOTH
@given(history=histories(), beta=BETAS)
def test_both_precisions(dtype: str, history: tuple[Array, Array, Array], beta: float) -> None:
    now, middle, _ = (part.astype(dtype) for part in history)
    floor = now.dtype.type(momentum.FLOOR)
    wanted = [formula(float(x), float(y), beta, floor) for x, y in zip(now, middle, strict=True)]
    np.testing.assert_allclose(moved(now, middle, beta, floor), wanted, rtol=1e-5 if dtype == "float32" else 1e-13)


@BOTH
@given(values=arrays(np.float64, 4, elements=st.floats(2.0**-20, 100, width=32)), beta=BETAS)
def test_fixed_points_stay_fixed(dtype: str, values: Array, beta: float) -> None:
    typed = values.astype(dtype)
    np.testing.assert_allclose(moved(typed, typed, beta, 0.0), typed, rtol=4 * np.finfo(dtype).eps)


@BOTH
@given(middle=arrays(np.float64, 4, elements=VALUES), beta=BETAS)
def test_zero_stays_zero_without_a_floor(dtype: str, middle: Array, beta: float) -> None:
    zeros = np.zeros(4, dtype)
    np.testing.assert_array_equal(moved(zeros, middle.astype(dtype), beta, 0.0), zeros)


@BOTH
def test_zero_is_lifted_to_the_floor(dtype: str) -> None:
    floor = np.dtype(dtype).type(momentum.FLOOR)
    found = moved(np.zeros(2, dtype), np.ones(2, dtype), 0.5, floor)
    np.testing.assert_array_equal(found, np.full(2, floor, dtype))


@BOTH
def test_the_largest_steps(dtype: str) -> None:
    now = np.array([1.0, 1.0, 1.0, 4e-3, 2e-3], dtype)
    middle = np.array([1e-30, 1e20, 1 / 1.1, 1.0, 1.0], dtype)
    np.testing.assert_allclose(moved(now, middle, 0.5, 0.0), [2, 0.7, 1.1, 2.85e-3, 1.9e-3], rtol=1e-6)


@BOTH
@given(now=arrays(np.float64, 4, elements=VALUES), middle=arrays(np.float64, 4, elements=VALUES))
def test_without_strength_values_stay(dtype: str, now: Array, middle: Array) -> None:
    typed = now.astype(dtype)
    np.testing.assert_array_equal(moved(typed, middle.astype(dtype), 0.0, 0.0), typed)


def test_long_arrays() -> None:
    rng = np.random.default_rng(0)
    now, middle = rng.random(40_005), rng.random(40_005)
    floor = rng.choice([0.0, 0.5], now.size)
    least = np.maximum(0.95 * np.minimum(now, 0.003), floor)
    wanted = np.maximum(now * (1 + np.clip(1.2 * (now / middle - 1), -0.3, 1)), least)
    np.testing.assert_allclose(moved(now, middle, 0.6, floor), wanted, rtol=1e-14)


def test_the_strength_grows_with_the_sweeps() -> None:
    assert [momentum.strength(steps) for steps in (0, 2, 6, 18)] == [0, 1 / 4, 1 / 2, 3 / 4]


def counted(divergences: list[float], changed: tuple[int, ...] = ()) -> list[int]:
    """The sweeps without a rise, after each of these divergences."""
    steps, lowest, found = 0, np.inf, []
    for number, now in enumerate(divergences):
        steps, lowest = momentum.steps_after(steps, lowest, now, number in changed)
        found.append(int(steps))
    return found


def test_small_rises_add_up() -> None:
    assert counted([2, 1, 1.0005, 1.0009, 1.0014, 1.0018, 1.0023, 1.0028]) == [1, 2, 3, 4, 0, 1, 2, 0]


def test_a_small_rise_does_not_count_after_a_fall() -> None:
    assert counted([1, 1.0008, 0.99, 0.9908, 0.98, 0.9808]) == [1, 2, 3, 4, 5, 6]


def test_rises_with_the_sparseness_do_not_count_and_others_count_from_there() -> None:
    assert counted([1, 1.5, 1.5005, 1.503], changed=(1,)) == [1, 2, 3, 0]


def test_what_is_no_number_has_risen() -> None:
    assert counted([1, np.nan, 1]) == [1, 0, 0]
