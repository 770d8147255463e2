"""Geometric windows: sums along time against loops, and their adjoints."""

import numpy as np
import pytest

from pfn.updates.windows import WindowSums

RATES = np.array([0.0, 0.3, 0.97, 1.0])
POSITION = np.array([0, 1, 2, 3, 4, 5, 6, 0, 0, 1, 2])  # sequences of 7, 1 and 3 columns
LENGTHS = [1, 2, 3, 4, 7, 11, 50, None]


def loops(x: np.ndarray, rates: np.ndarray, length: int | None, position: np.ndarray) -> np.ndarray:
    """Σ_{j<length} rate^j x[t − j], as long as t − j is in the same sequence."""
    seen = np.zeros_like(x)
    for row, rate in enumerate(np.broadcast_to(rates, x.shape[0])):
        for t in range(x.shape[1]):
            reach = position[t] + 1 if length is None else min(length, position[t] + 1)
            seen[row, t] = sum(rate**j * x[row, t - j] for j in range(reach))
    return seen


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("rates", [RATES, np.array([0.8])])
@pytest.mark.parametrize("position", [None, POSITION])
def test_windows_are_sums_over_the_past(length: int | None, rates: np.ndarray, position: np.ndarray | None) -> None:
    generator = np.random.default_rng(0)
    x = generator.random((4, 11)) * (generator.random((4, 11)) < 0.5)  # where windows see nothing, nothing is left
    found = WindowSums(rates, [length], x.shape, position).apply(x)
    wanted = loops(x, rates, length, np.arange(11) if position is None else position)
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=0)
    turned = np.asfortranarray(x)  # columns may lie together in memory, too
    np.testing.assert_array_equal(WindowSums(rates, [length], x.shape, position).apply(turned), found)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("position", [None, POSITION])
def test_the_adjoint_gathers_what_the_window_spreads(length: int | None, position: np.ndarray | None) -> None:
    x, y = np.random.default_rng(1).random((2, 4, 11))
    window = WindowSums(RATES, [length], x.shape, position)
    assert np.vdot(window.apply(x), y) == pytest.approx(np.vdot(x, next(window.adjoint(y))), rel=1e-13)


def test_nothing_is_left_after_a_window() -> None:
    """Loud events long ago leave no trace at all: a rest of rounding would not vanish beside the smallest ε."""
    x = np.zeros((3, 4000))
    x[:, 1000:1100] = 1e6 * np.random.default_rng(5).random(100)
    window = WindowSums(np.array([0.9, 0.999, 1.0]), [100], x.shape)
    np.testing.assert_array_equal(np.flatnonzero(window.apply(x).any(axis=0)), np.arange(1000, 1199))
    np.testing.assert_array_equal(np.flatnonzero(next(window.adjoint(x)).any(axis=0)), np.arange(901, 1100))


def test_single_precision_keeps_its_digits() -> None:
    x = np.random.default_rng(2).random((4, 3000)).astype("float32")
    window = WindowSums(RATES, [5], x.shape)
    assert window.apply(x).dtype == np.float32
    np.testing.assert_allclose(window.apply(x), window.apply(x.astype(float)), rtol=1e-6)


@pytest.mark.parametrize("columns", [0, 1])
def test_windows_over_few_columns(columns: int) -> None:
    x = np.ones((4, columns))
    for length in (1, 3, None):
        window = WindowSums(RATES, [length], x.shape)
        np.testing.assert_array_equal(window.apply(x), x)
        np.testing.assert_array_equal(next(window.adjoint(x)), x)


@pytest.mark.parametrize("position", [None, POSITION])
def test_windows_together_are_the_sum_of_each(position: np.ndarray | None) -> None:
    *xs, y = np.random.default_rng(3).random((len(LENGTHS) + 1, 4, 11))
    together = WindowSums(RATES, LENGTHS, y.shape, position)
    each = [WindowSums(RATES, [length], y.shape, position) for length in LENGTHS]
    total = sum(window.apply(x) for window, x in zip(each, xs, strict=True))
    np.testing.assert_allclose(together.apply(*xs), total, rtol=1e-12)
    for found, window in zip(together.adjoint(y), each, strict=True):
        np.testing.assert_allclose(found, next(window.adjoint(y)), rtol=1e-12, atol=1e-14)
