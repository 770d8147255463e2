from operator import add, ge, gt, le, lt, matmul, mul, neg, sub, truediv
from typing import Any

import numpy as np
import pytest

from pfn import DeclarationError, Parameter, Variable, decay, t

x, h, W = Variable("x", 4), Variable("h", 6), Parameter("W", shape=(4, 6))
MATRIX = np.ones((4, 6))
SYMBOLS = {
    "h": h,
    "h[t-1]": h[t - 1],
    "decay(h[t], 0.5)": decay(h, 0.5),
    "W h[t]": W @ h,
    "W h[t] + x[t]": W @ h + x[t],
}


@pytest.mark.parametrize("text", [*SYMBOLS, "W"])
@pytest.mark.parametrize(("number", "said"), [(2, "2"), (MATRIX, "ndarray of shape (4, 6)")])
@pytest.mark.parametrize(
    ("operator", "sign"), [(mul, "*"), (truediv, "/"), (sub, "-"), (lt, "<"), (le, "<="), (matmul, "@"), (add, "+")]
)
def test_other_arithmetic_is_refused_by_what_was_written(
    text: str, number: Any, said: str, operator: Any, sign: str
) -> None:
    symbol = SYMBOLS.get(text, W)
    for left, right, expression in (
        (symbol, number, f"{text} {sign} {said}"),
        (number, symbol, f"{said} {sign} {text}"),
    ):
        if (left is W and operator is matmul) or (left is number and operator in (lt, le)):
            continue  # refused as what W cannot multiply, and as the opposite comparison, below
        with pytest.raises(DeclarationError) as found:
            operator(left, right)
        assert str(found.value).startswith(f"{expression}: ")


@pytest.mark.parametrize("text", [*SYMBOLS, "W"])
def test_comparisons_from_either_side(text: str) -> None:
    symbol: Any = SYMBOLS.get(text, W)
    for left, operator, right in ((symbol, gt, 2), (2, lt, symbol), (symbol, ge, 2), (2, le, symbol)):
        with pytest.raises(DeclarationError, match="no bounds can be declared; variables are non-negative"):
            operator(left, right)


@pytest.mark.parametrize("text", [*SYMBOLS, "W"])
def test_nothing_is_negative(text: str) -> None:
    with pytest.raises(DeclarationError) as found:
        neg(SYMBOLS.get(text, W))
    assert str(found.value).startswith(f"-{text}: ")


@pytest.mark.parametrize("text", SYMBOLS)
def test_a_parameter_stands_before_what_it_multiplies(text: str) -> None:
    symbol: Any = SYMBOLS[text]
    for operator, sign in ((matmul, "@"), (mul, "*")):
        with pytest.raises(DeclarationError) as found:
            operator(symbol, W)
        assert str(found.value) == (
            f"{text} {sign} W: the only product is that of a parameter and a slice. "
            "Write pfn.Parameter('W', values) @ x[t], with every factor in its values."
        )


def test_time_moves_by_whole_slices() -> None:
    for expression in (lambda: x[2 * t], lambda: x[t * 2]):  # type: ignore[operator]
        with pytest.raises(DeclarationError, match=r"time moves by whole slices only. Write t \+ 1 or t - 4"):
            expression()


def test_equality_stays_that_of_values() -> None:
    assert (x[t] == 3) is False
    assert x[t] == Variable("x", 4)[t]
