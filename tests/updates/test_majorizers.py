"""What left updates minimise, freely and with given sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pfn.updates import EUCLIDEAN, KULLBACK_LEIBLER
from pfn.updates.constrained import Sums
from pfn.updates.majorizers import Logarithmic, Majorizer, Quadratic, Rooted, kind_of_majorizer

ENTRIES = st.one_of(st.just(0.0), st.floats(1e-6, 1e3))
KINDS = {Logarithmic: 1.0, Quadratic: 1.0, Rooted: 0.5}
LABELS = np.array([0, 1, 0, 2, 1, 1, 0])
SUMS, TOTALS = Sums(LABELS), np.array([1.0, 0.5, 2.0])
CASES = st.tuples(
    st.sampled_from(list(KINDS)),
    arrays(float, 7, elements=st.floats(1e-6, 1e3)),
    arrays(float, 7, elements=ENTRIES),
    arrays(float, 7, elements=st.floats(1e-3, 1e3)),
)


def cost_of(case):
    kind, W, n, d = case
    return kind(W, W * n, d, KINDS[kind])


def totals_of(W):
    return np.array([W[label == LABELS].sum() for label in range(3)])


@given(case=CASES)
def test_the_minimum_is_below_everything_near(case):
    cost = cost_of(case)
    best = cost.minimum()
    value = cost.value(best)
    for factor in (0.7, 0.99, 1.01, 1.5):
        assert (value <= cost.value(best * factor) + 1e-9 * (1 + np.abs(value))).all()


@given(case=CASES)
def test_the_constrained_minimum_has_the_sums(case):
    cost = cost_of(case)
    found = cost.with_sums(TOTALS, SUMS)
    assert (found >= 0).all()
    empty = totals_of(cost.a) == 0 if not isinstance(cost, Quadratic) else np.zeros(3, dtype=bool)
    np.testing.assert_allclose(totals_of(found), np.where(empty, 0, TOTALS), rtol=1e-9)


@given(case=CASES, shift=st.floats(0.001, 0.5))
def test_no_shift_within_a_sum_is_better(case, shift):
    cost = cost_of(case)
    found = cost.with_sums(TOTALS, SUMS)
    value = cost.value(found).sum()
    for giver, taker in ((0, 2), (2, 6), (6, 0), (1, 4), (5, 1)):
        moved = found.copy()
        moved[giver] -= shift * found[giver]
        moved[taker] += shift * found[giver]
        if cost.a[taker] > 0 or isinstance(cost, Quadratic):
            assert value <= cost.value(moved).sum() + 1e-7 * (1 + abs(value))


def test_the_same_denominator_within_a_sum_is_division_by_the_sum():
    """The maximisation step of expectation maximisation."""
    a = np.array([1.0, 2.0, 3.0, 4.0])
    cost = Logarithmic(np.ones(4), a, np.array([5.0, 5.0, 7.0, 7.0]), 1.0)
    labels = np.array([0, 0, 1, 1])
    np.testing.assert_allclose(cost.with_sums(np.ones(2), Sums(labels)), [1 / 3, 2 / 3, 3 / 7, 4 / 7])


@pytest.mark.parametrize("kind", KINDS)
def test_entries_that_count_twice(kind):
    W, a, d = np.array([0.2, 0.3, 0.4]), np.array([0.1, 0.5, 0.2]), np.array([1.0, 2.0, 1.5])
    uses = np.array([1.0, 2.0, 1.0])
    cost = kind(W, a, d, KINDS[kind])
    found = cost.scaled(uses).with_sums(np.ones(1), Sums(np.zeros(3, dtype=int))) / uses
    assert found @ uses == pytest.approx(1)
    for giver, taker in ((0, 1), (1, 0), (1, 2), (2, 0)):
        moved = found.copy()
        moved[giver] -= 0.001 / uses[giver]
        moved[taker] += 0.001 / uses[taker]
        assert cost.value(found).sum() < cost.value(moved).sum()


@pytest.mark.parametrize(
    ("divergence", "degree", "pulled", "kind", "power"),
    [
        (KULLBACK_LEIBLER, 1, True, Logarithmic, 1),
        (KULLBACK_LEIBLER, 2, False, Rooted, 1 / 2),
        (KULLBACK_LEIBLER, 3, False, Majorizer, 1 / 3),
        (EUCLIDEAN, 1, False, Quadratic, 1),
        (EUCLIDEAN, 1, True, Rooted, 1 / 2),
        (EUCLIDEAN, 2, False, Majorizer, 1 / 4),
    ],
)
def test_which_majorizer_it_is(divergence, degree, pulled, kind, power):
    assert kind_of_majorizer(divergence, degree, pulled=pulled) == (kind, power)


def test_sums_of_entries_anywhere():
    values = np.arange(7.0)
    np.testing.assert_array_equal(SUMS.total(SUMS.ordered(values)), [8, 10, 3])
    np.testing.assert_array_equal(SUMS.largest(SUMS.ordered(values)), [6, 5, 3])
    np.testing.assert_array_equal(SUMS.restored(SUMS.spread(np.array([10, 20, 30]))), np.array([10, 20, 30])[LABELS])
