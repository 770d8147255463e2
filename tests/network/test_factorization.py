"""Factorizations: stacked children, sums of terms, printing, comparing."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from pfn import Factorization, Parameter, Variable, t
from pfn.network import Sum

x, y, h, g = Variable("x", 2), Variable("y", 3), Variable("h", 4), Variable("g", 1)
W, V = Parameter("W", shape=(2, 4)), Parameter("V", shape=(2, 1))
B, C = Parameter("B", shape=(7, 4)), Parameter("C", shape=(7, 1))


@pytest.mark.parametrize("child", [x, x[t], [x], [x[t]], (x[t],)])
def test_one_child_may_be_written_in_many_ways(child: Any) -> None:
    equation = Factorization(child, W @ h)
    assert equation.children == (x[t],)
    assert str(equation) == "x[t] = W h[t]"


def test_an_equation_knows_its_parts() -> None:
    equation = Factorization([x[t], y[t + 2], x[t + 1]], B @ h[t - 1] + C @ g[t])
    assert equation.children == (x[t], y[t + 2], x[t + 1])
    assert equation.parents == (h[t - 1], g[t])
    assert equation.parameters == (B, C)
    assert equation.terms == (B @ h[t - 1], C @ g[t])
    assert equation.rows == 7
    assert equation.parts == (slice(0, 2), slice(2, 5), slice(5, 7))


def test_stacked_children_and_sums_print_as_an_equation() -> None:
    equation = Factorization([x[t], y[t + 2], x[t + 1]], B @ h[t - 1] + C @ g[t])
    assert str(equation) == "[x[t]; y[t+2]; x[t+1]] = B h[t-1] + C g[t]"
    assert repr(equation) == f"Factorization({equation})"


def test_a_named_equation_prints_its_name_too() -> None:
    assert repr(Factorization(x, W @ h, name="mixing")) == "Factorization(mixing: x[t] = W h[t])"
    assert str(Factorization(x, W @ h, name="mixing")) == "x[t] = W h[t]"


def test_a_parameter_may_be_tied_within_an_equation() -> None:
    equation = Factorization(x[t], W @ h[t] + W @ h[t - 1])
    assert equation.parameters == (W, W)
    assert equation.parents == (h[t], h[t - 1])


def test_the_result_of_sum_is_a_right_hand_side() -> None:
    equation = Factorization(x[t], sum(W @ h[t - k] for k in range(3)))
    assert equation.parents == (h[t], h[t - 1], h[t - 2])


@pytest.mark.parametrize("normalize", [None, "columns", "subcolumns", "balanced", "sequences"])
def test_every_normalization_can_be_declared(normalize: str | None) -> None:
    assert Factorization(x, W @ h, normalize=normalize).normalize == normalize


def test_known_parameters_of_a_sequence_may_have_any_width() -> None:
    known = Parameter("K", [[1.0], [2.0]])
    assert Factorization(x, W @ h + known @ g, normalize="sequences").normalize == "sequences"


def test_another_name_makes_the_same_equation() -> None:
    equation = Factorization([x[t], x[t + 1]], Parameter("D", shape=(4, 4)) @ h, normalize="balanced")
    renamed = equation.named("other")
    assert (equation.name, renamed.name) == ("", "other")
    assert renamed.same_equation(equation)
    assert renamed != equation
    assert (renamed.children, renamed.terms, renamed.normalize) == (
        equation.children,
        equation.terms,
        "balanced",
    )


@pytest.mark.parametrize(
    "other",
    [
        Factorization(y, Parameter("W", shape=(3, 4)) @ h),
        Factorization(x[t + 1], W @ h),
        Factorization(x, W @ h[t - 1]),
        Factorization(x, W @ h + V @ g),
        Factorization(x, W @ h, normalize="columns"),
    ],
)
def test_equations_that_say_something_else(other: Factorization) -> None:
    equation = Factorization(x, W @ h)
    assert not equation.same_equation(other)
    assert equation != other


def test_equations_compare_by_content() -> None:
    again = Factorization(Variable("x", 2), Sum((Parameter("W", shape=(2, 4)) @ Variable("h", 4),)))
    assert again == Factorization(x, W @ h)
    assert hash(again) == hash(Factorization(x, W @ h))


@pytest.mark.parametrize("field", ["children", "terms", "name", "normalize"])
def test_fields_are_frozen(field: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(Factorization(x, W @ h), field, None)
