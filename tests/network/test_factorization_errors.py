"""Equations that are refused, and in which words."""

import re
from typing import Any

import pytest

from pfn import DeclarationError, Factorization, Parameter, Variable, t
from tests.network.refusal import refused

x, y, h, g = Variable("x", 2), Variable("y", 3), Variable("h", 4), Variable("g", 1)
W, V = Parameter("W", shape=(2, 4)), Parameter("V", shape=(2, 1))
D = Parameter("D", shape=(4, 4))


@pytest.mark.parametrize("name", ["", "eq ", 3])
def test_a_name_is_a_line_of_text(name: str) -> None:
    with refused(
        f"the name of a factorization must be a non-empty line of text without spaces around it, found {name!r}."
    ):
        Factorization(x, W @ h, name=name)


@pytest.mark.parametrize("children", [[], ()])
def test_no_child(children: Any) -> None:
    with refused("an equation needs a child: give a slice such as x[t], or a list of them."):
        Factorization(children, W @ h)


@pytest.mark.parametrize("child", ["x", W, None])
def test_something_else_than_a_child(child: Any) -> None:
    with refused(f"a child must be a slice such as x[t], found {child!r}."):
        Factorization([x[t], child], D @ h)


def test_a_child_twice() -> None:
    with refused("[x[t+1]; x[t+1]] = D h[t]: x[t+1] is stacked twice. Stack it once."):
        Factorization([x[t + 1], x[t + 1]], D @ h)


def test_a_parent_twice() -> None:
    other = Parameter("U", shape=(2, 4))
    with refused("x[t] = W h[t-1] + U h[t-1]: h[t-1] is a parent twice. Add the two parameters up into one term."):
        Factorization(x, W @ h[t - 1] + other @ h[t - 1])


def test_a_shifted_equation_is_shown_with_the_child_at_the_present() -> None:
    with refused(
        "x[t-1] = W h[t-2] + V g[t-4]: children take lags >= 0, but x[t-1] has -1. "
        "The same equation is x[t] = W h[t-1] + V g[t-3]."
    ):
        Factorization(x[t - 1], W @ h[t - 2] + V @ g[t - 4])


def test_a_shifted_equation_is_shown_with_the_latest_parent_at_the_present() -> None:
    with refused(
        "[x[t+3]; x[t+2]] = D h[t+1]: parents take lags <= 0, but h[t+1] has +1. "
        "The same equation is [x[t+2]; x[t+1]] = D h[t]."
    ):
        Factorization([x[t + 3], x[t + 2]], D @ h[t + 1])


@pytest.mark.parametrize(
    ("child", "terms", "reason", "rewritten"),
    [
        (x[t], W @ h[t + 1], "parents take lags <= 0, but h[t+1] has +1", "x[t] = W h[t]"),
        (x[t - 2], W @ h[t], "children take lags >= 0, but x[t-2] has -2", "x[t] = W h[t]"),
        ([x[t], x[t + 3]], D @ h[t + 1], "parents take lags <= 0, but h[t+1] has +1", "[x[t]; x[t+3]] = D h[t]"),
        (
            x[t],
            W @ h[t] + V @ g[t + 1],
            "parents take lags <= 0, but g[t+1] has +1",
            "x[t] = W h[t] + V g[t]",
        ),
        (
            x[t - 2],
            W @ h[t - 3] + V @ g[t],
            "children take lags >= 0, but x[t-2] has -2",
            "x[t] = W h[t-1] + V g[t]",
        ),
    ],
)
def test_a_parent_after_its_child_is_counted_from_later_on(child: Any, terms: Any, reason: str, rewritten: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Factorization(child, terms)
    message = str(caught.value)
    late = "g" if "g" in rewritten else "h"
    assert f": {reason}. A child cannot come before its parent: count the columns of {late} from" in message
    assert re.search(f" write {re.escape(rewritten)}\\.$", message)


def test_a_parameter_with_too_few_rows_for_its_child() -> None:
    with refused("y[t] = W h[t]: W has 2 rows, but the child y[t] has 3 components. Give W the shape (3, 4)."):
        Factorization(y, W @ h)


def test_a_parameter_with_too_few_rows_for_its_children() -> None:
    with refused(
        "[x[t]; y[t+1]] = D h[t] + V g[t]: D has 4 rows, but the stacked children x[t], y[t+1] have 5 "
        "components. Give D the shape (5, 4)."
    ):
        Factorization([x[t], y[t + 1]], D @ h + V @ g)


@pytest.mark.parametrize("normalize", ["rows", "", True, ["columns"]])
def test_an_unknown_normalization(normalize: Any) -> None:
    with refused(
        "x[t] = W h[t]: normalize must be one of None, 'columns', 'subcolumns', 'balanced', 'sequences', "
        f"found {normalize!r}."
    ):
        Factorization(x, W @ h, normalize=normalize)


def test_a_sequence_of_parameters_of_different_widths() -> None:
    with refused(
        "x[t] = W h[t] + V g[t]: normalize='sequences' sums the j-th columns of all parameters, so they must "
        "have equal numbers of columns, found [1, 4]. Use 'columns', or parents of equal size."
    ):
        Factorization(x, W @ h + V @ g, normalize="sequences")
