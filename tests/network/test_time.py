"""The symbolic time index."""

import numpy as np
import pytest

from pfn import t
from pfn.network import Time
from tests.network.refusal import refused


@pytest.mark.parametrize(
    ("time", "lag", "text"),
    [
        (t, 0, "t"),
        (t + 1, 1, "t+1"),
        (1 + t, 1, "t+1"),
        (t - 4, -4, "t-4"),
        (t - -2, 2, "t+2"),
        (t + 3 - 3, 0, "t"),
        (t + np.int64(5), 5, "t+5"),
    ],
)
def test_shifts_add_up_and_print(time: Time, lag: int, text: str) -> None:
    assert (time.lag, str(time), repr(time)) == (lag, text, text)


def test_equal_shifts_are_equal() -> None:
    assert t + 1 == Time(1)
    assert hash(t + 1) == hash(Time(1))
    assert t + 1 != t


@pytest.mark.parametrize("steps", [1.5, 1.0, "1", True, None])
def test_a_shift_is_a_whole_number(steps: object) -> None:
    with refused(f"the shift in t + ... must be a whole number, found {steps!r}. Give an int."):
        t + steps  # type: ignore[operator]
    with refused(f"the shift in t-2 - ... must be a whole number, found {steps!r}. Give an int."):
        (t - 2) - steps  # type: ignore[operator]
