"""Parameters that come as tables: their labels must be those of the variables."""

from typing import Any

import numpy as np
import pytest

from pfn import Convolution, DeclarationError, Diagonal, Factorization, Parameter, Variable, t

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")

x, h = Variable("x", 3, labels=["a", "b", "c"]), Variable("h", 2, labels=["u", "v"])
y, g = Variable("y", 3), Variable("g", 2)
VALUES = np.arange(6.0).reshape(3, 2)


def table(rows: str = "abc", columns: str = "uv", values: Any = VALUES) -> Any:
    return pd.DataFrame(values, index=list(rows), columns=list(columns))


@pytest.mark.parametrize("form", [table, lambda: xr.DataArray(table()), lambda: pd.DataFrame(VALUES)])
def test_tables_in_the_order_of_the_variables(form: Any) -> None:
    W = Parameter("W", form())
    np.testing.assert_array_equal(W.value, VALUES)
    Factorization(x[t], W @ h[t])
    Factorization(y[t], W @ g[t])


def test_labels_of_stacked_children_follow_each_other() -> None:
    W = Parameter("W", table("abcabc", values=np.ones((6, 2))))
    Factorization([x[t], x[t + 1]], W @ h[t])
    with pytest.raises(DeclarationError, match=r"the rows of W: expected the labels 'a', 'b', .* another order"):
        Factorization([x[t], x[t + 1]], Parameter("W", table("aabbcc", values=np.ones((6, 2)))) @ h[t])
    Factorization([x[t], y[t]], Parameter("W", table("aabbcc", values=np.ones((6, 2)))) @ h[t])  # y has none


@pytest.mark.parametrize("role", ["value", "prior", "pattern", "tied"])
def test_other_labels(role: str) -> None:
    values = {"pattern": VALUES > 0, "tied": VALUES.astype(int)}.get(role, VALUES)
    shape = {"shape": (3, 2)} if role == "prior" else {}
    for rows, columns, message in [
        (
            "bac",
            "uv",
            r"^x\[t\] = W h\[t\]: the rows of W: expected the labels 'a', 'b', 'c' in this order, found others",
        ),
        ("abc", "vu", r"the columns of W: expected the labels 'u', 'v' in this order"),
        ("abz", "uv", r"missing: 'c'; unknown: 'z'"),
    ]:
        given: Any = {role: table(rows, columns, values)} | shape
        with pytest.raises(DeclarationError, match=message):
            Factorization(x[t], Parameter("W", **given) @ h[t])
    right: Any = {role: table(values=values)} | shape
    Factorization(x[t], Parameter("W", **right) @ h[t])


def test_a_value_and_its_prior_have_one_order() -> None:
    with pytest.raises(
        DeclarationError, match=r"parameter W: the rows of its prior: expected the labels 'a', 'b', 'c'"
    ):
        Parameter("W", table(), learn=True, prior=table("cab"), prior_weight=1.0)


def test_numbers_with_labels_are_no_diagonal() -> None:
    series = pd.Series([1.0, 2], index=["u", "v"])
    for make in (lambda: Diagonal("D", series), lambda: Convolution("D", series, 4)):
        with pytest.raises(
            DeclarationError, match=r"is taken by position, found numbers with labels\. Give \.to_numpy"
        ):
            make()
    assert Diagonal("D", series.reset_index(drop=True)).shape == (2, 2)


def test_what_is_missing_is_no_value() -> None:
    with pytest.raises(DeclarationError, match=r"parameter W: its value must be finite and non-negative, found nan"):
        Parameter("W", pd.DataFrame({0: pd.array([1, None], "Int64")}))
    with pytest.raises(DeclarationError, match=r"found category entries in column 'u'"):
        Parameter("W", table().astype("category"))
