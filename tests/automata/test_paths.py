"""Superposed walks taken apart: every case with the walks known, and what is refused."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfn.automata import StateMachine, StatePath, paths_from
from pfn.errors import DataError, OptionError

FREE = StateMachine(list("abc"), product("abc", repeat=2))
COMING = StateMachine(list("abc"), [*FREE.transitions, *product(["off"], "abc"), *product("abc", ["off"])], off="off")


def activations(machine, walks, length):
    """The transition activations of walks (start, states, magnitude), added up."""
    values = np.zeros((len(machine.transitions), length - 1))
    for start, states, magnitude in walks:
        before = [machine.off] if start else []
        after = [machine.off] if start + len(states) < length else []
        for time, pair in enumerate(pairwise([*before, *states, *after]), start - len(before)):
            values[machine.transitions.index(pair), time] += magnitude
    return values


def as_tuples(found):
    return [(path.start, "".join(path.states), pytest.approx(path.magnitude)) for path in found]


@pytest.mark.parametrize(
    "walks",
    [
        [],
        [(0, "abcab", 1.0)],
        [(1, "b", 0.5)],
        [(0, "ab", 2.0), (3, "ca", 1.0)],
        [(0, "aabaa", 1.0), (0, "bbbbb", 0.4)],  # they meet in b and part again
        [(0, "ab", 0.3), (0, "abc", 0.7), (2, "ccc", 0.2)],  # one begins where another goes on
        [(0, "abcba", 1.0), (1, "bcb", 0.5), (2, "ca", 0.25)],  # inside each other
    ],
)
def test_walks_of_different_magnitudes_are_found(walks):
    found = paths_from(COMING, activations(COMING, walks, 5))
    assert as_tuples(found) == sorted(walks)


def test_equal_walks_are_one():
    twins = [(0, "abc", 0.5), (0, "abc", 0.25)]
    assert as_tuples(paths_from(FREE, activations(FREE, twins, 3))) == [(0, "abc", 0.75)]


def test_the_strong_one_goes_with_the_strong_one():
    # A walk and two that go together cross; 1.0 can go either way, and only one leaves nothing over.
    walks = [(0, "aba", 1.0), (0, "bbc", 0.6), (0, "bbb", 0.5)]
    assert as_tuples(paths_from(FREE, activations(FREE, walks, 3))) == sorted(walks)


def test_small_errors_do_not_matter():
    walks = [(0, "aabaabcaab", 1.0), (0, "bbbbbbbbbb", 0.4), (3, "ccc", 0.2)]
    exact = activations(COMING, walks, 10)
    noise = np.random.default_rng(0).uniform(0, 0.005, exact.shape)
    found = paths_from(COMING, exact + noise)
    assert [(path.start, "".join(path.states)) for path in found] == [walk[:2] for walk in sorted(walks)]
    np.testing.assert_allclose([path.magnitude for path in found], [1.0, 0.4, 0.2], atol=0.005)


def test_parallel_transitions_are_one_way():
    machine = StateMachine(["a", "b"], [("a", "b"), ("a", "b")], labels=["left", "right"])
    assert paths_from(machine, [[0.5], [0.25]]) == [StatePath(0, ("a", "b"), 0.75)]


def test_one_slice_has_no_transitions():
    assert paths_from(FREE, np.zeros((9, 0))) == []


def test_first_and_last_slice_of_a_path():
    (path,) = paths_from(COMING, activations(COMING, [(2, "ab", 1.0)], 6))
    assert (path.start, path.end) == (2, 3)


walk = st.tuples(st.integers(0, 7), st.text("abc", min_size=1, max_size=8), st.floats(0.5, 2.0))


@given(st.lists(walk, max_size=6))
def test_paths_add_up_to_the_activations(walks):
    inside = [(start, states[: 8 - start], magnitude) for start, states, magnitude in walks]
    values = activations(COMING, inside, 8)
    found = paths_from(COMING, values, threshold=1e-9)
    again = activations(COMING, [(path.start, path.states, path.magnitude) for path in found], 8)
    np.testing.assert_allclose(again, values, atol=1e-7)
    assert len(found) <= max(1, np.count_nonzero(values))


def test_what_is_refused():
    with pytest.raises(OptionError, match=r"threshold must be greater than 0, found 0\."):
        paths_from(FREE, np.zeros((9, 2)), threshold=0)
    with pytest.raises(DataError, match=r"expected an array of 9 rows .* found shape \(8, 2\)"):
        paths_from(FREE, np.zeros((8, 2)))
    with pytest.raises(DataError, match=r"found nan in row 0, column 1"):
        paths_from(FREE, [[0, np.nan]] * 9)
