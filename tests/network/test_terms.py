"""Terms and their sums."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from pfn import Factorization, Parameter, Variable, t
from pfn.network import Sum, Term
from tests.network.refusal import refused

h, g = Variable("h", 2), Variable("g", 3)
A, B, C = Parameter("A", shape=(4, 2)), Parameter("B", shape=(4, 3)), Parameter("C", shape=(4, 2))
a, b, c = A @ h[t], B @ g[t - 1], C @ h[t - 2]


@pytest.mark.parametrize("total", [a + b + c, a + (b + c), sum([a, b, c]), sum(iter((a, b, c)))])
def test_terms_add_up_in_order(total: Any) -> None:
    assert isinstance(total, Sum)
    assert total.terms == (a, b, c)
    assert str(total) == repr(total) == "A h[t] + B g[t-1] + C h[t-2]"


@pytest.mark.parametrize("parts", [(a + b, c + a), (a + b, c, a), (a, b + c, a)])
def test_sums_add_up_in_order(parts: Any) -> None:
    assert sum(parts).terms == (a, b, c, a)


def test_a_sum_plus_a_sum() -> None:
    assert ((a + b) + (c + a)).terms == (a, b, c, a)


def test_the_sum_of_one_term_is_the_term() -> None:
    assert sum([a]) is a


def test_sums_and_terms_compare_by_content() -> None:
    assert Term(A, h[t]) == a
    assert hash(Term(A, h[t])) == hash(a)
    assert a + b == Sum((a, b))
    assert a + b != b + a


def test_terms_and_sums_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        a.parameter = B  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        (a + b).terms = ()  # type: ignore[misc]


@pytest.mark.parametrize("other", [3, "b", None])
def test_only_terms_can_be_added_to_terms(other: Any) -> None:
    for left, text in ((a, "A h[t]"), (a + b, "A h[t] + B g[t-1]")):
        with refused(f"{text} + {other!r}: terms add up with terms only. Write parameter @ variable[t]."):
            left + other


@pytest.mark.parametrize("other", [3, "b", None])
def test_terms_can_be_added_to_nothing_else(other: Any) -> None:
    for right, text in ((a, "A h[t]"), (a + b, "A h[t] + B g[t-1]")):
        with refused(f"{other!r} + {text}: terms add up with terms only; the equations have no constants."):
            other + right


@pytest.mark.parametrize("right", [A, 0, None, [a, b]])
def test_a_right_hand_side_is_made_of_terms(right: Any) -> None:
    with refused(f"the right-hand side of an equation must be terms such as W @ h[t] + V @ g[t - 1], found {right!r}."):
        Factorization(Variable("x", 4), right)
