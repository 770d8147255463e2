"""Which equations are in the way: in small problems by the smallest violation of all, in large ones nearby."""

import numpy as np
import pytest

import pfn
from pfn.exact import inference
from pfn.exact.diagnosis import shortest_stretch
from pfn.exact.linear import Deadline
from tests.exact.problems import Known, flat_known
from tests.networks import W_DETERMINISTIC, automaton

STATES = [0, 1, 2, 3] * 5
MACHINE = automaton(W_DETERMINISTIC)


def broken(column):
    """A walk through the four states that stands still once, with every second slice hidden."""
    X = np.eye(4)[:, [*STATES[:column], *STATES[column - 1 :]]]
    X[:, 2::4] = np.nan
    return Known(MACHINE, {"x": X}, {})


@pytest.mark.parametrize("column", [5, 8, 12])
@pytest.mark.parametrize("large", [0, 10**6])
def test_the_place_is_found(monkeypatch, column, large):
    monkeypatch.setattr(inference, "LARGE", large)
    with pytest.raises(pfn.NoExactSolution, match=r"eq1: .* cannot hold at t = ") as caught:
        broken(column).infer()
    time = int(str(caught.value).split("t = ")[1].split(" (")[0].split(",")[0])
    assert column - 4 <= time <= column + 2


@pytest.mark.parametrize("column", [5, 8, 12])
def test_the_shortest_stretch(column):
    system, known = flat_known(broken(column))
    rows, _ = shortest_stretch(system, known, 1e-9, Deadline())
    times = np.unique(system.times[rows])
    assert times[0] <= column <= times[-1] + 1
    assert times.size <= 3


def test_rounding_in_a_large_problem(monkeypatch):
    monkeypatch.setattr(inference, "LARGE", 0)
    X = np.eye(4)[:, STATES] * (1 + 5e-9 * np.random.default_rng(0).random(20))
    result = Known(MACHINE, {"x": X}, {}).infer()
    assert result.stop == "exact solution"
    assert result.unique["h"].all()
