"""Some sweeps in a row: how many at a time."""

import pytest

from pfn.engines.stretch import pace_after


@pytest.mark.parametrize(
    ("milliseconds", "pace"),
    [
        (0.01, 512),
        (5, 20),  # as many as fit in a tenth of a second
        (50, 8),  # a few at least
        (800, 2),  # in two seconds
        (9000, 1),
    ],
)
def test_the_pace_settles_by_the_time_of_a_sweep(milliseconds: float, pace: int) -> None:
    found = 16
    for _ in range(6):
        before, found = found, pace_after(found, found, found * milliseconds / 1000)
        assert found >= before // 2  # the first call may have compiled
    assert found == pace
