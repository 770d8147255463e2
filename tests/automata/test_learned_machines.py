"""Learned matrices read back as machines."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfn.automata import StateMachine, machine_from
from pfn.errors import DataError, DeclarationError, OptionError

MACHINE = StateMachine(
    ["S1", "S2", "S3"], [("S1", "S2"), ("S2", "S3"), ("S3", "S3"), ("S3", "off"), ("off", "S1")], off="off"
)


def test_a_matrix_is_read_back_as_its_machine() -> None:
    assert machine_from(MACHINE.matrix()) == MACHINE
    assert machine_from(MACHINE.matrix(sparse=True)) == MACHINE
    assert machine_from(MACHINE.matrix(), ["S1", "S2", "S3"], 1.0) == MACHINE


@given(st.integers(0, 10_000))
def test_scaled_repeated_faded_and_smeared_columns_are_the_same_machine(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = MACHINE.matrix()
    order = np.r_[np.arange(5), rng.integers(0, 5, size=4)]
    # Up to 0.05 of each entry in five wrong places at most: below the share 0.2 that the threshold allows.
    learned = (matrix[:, order] + 0.05 * rng.random((6, 9)) * (matrix[:, order].sum(axis=0) > 1)) * rng.uniform(
        0.5, 2, 9
    )
    faded = 1e-5 * rng.random((6, 2))
    assert machine_from(np.hstack([faded, learned])) == MACHINE


def test_without_an_off_transition_there_is_no_off_state() -> None:
    assert machine_from([[1, 0], [0, 1], [0, 1], [1, 0]]) == StateMachine(["S1", "S2"], [("S1", "S2"), ("S2", "S1")])


def test_states_and_the_off_state_can_be_named() -> None:
    machine = machine_from([[1.0, 0.0], [0.0, 1.0]], ["a"], off="gone")
    assert machine == StateMachine(["a"], [("a", "gone"), ("gone", "a")], off="gone")


def test_mixed_columns_are_refused_by_number_unless_the_threshold_allows_them() -> None:
    learned = np.array([[0.7, 0.0], [0.3, 1.0], [0.0, 0.9], [1.0, 0.1]])
    message = (
        "each column must be a single transition, its states with at least 0.8 of either half, found "
        "column 0: S1 0.70, S2 0.30 → S2 1.00. Leave such columns out with numpy.delete(W, [0], axis=1)"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        machine_from(learned)
    with pytest.raises(DataError, match=re.escape("column 0: S1 0.70, S2 0.30 → S2 1.00; column 1: S2 1.00 → S1 0.90")):
        machine_from(learned, threshold=0.95)
    assert machine_from(learned, threshold=0.65).transition_labels == ("S1→S2", "S2→S1")
    assert machine_from(np.delete(learned, [0], axis=1)).transition_labels == ("S2→S1",)


def test_a_mixed_column_beside_the_off_state_is_named() -> None:
    with pytest.raises(DataError, match=re.escape("column 0: S1 0.50, S2 0.50 → nothing")):
        machine_from([[1], [1], [0], [0]])


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            np.ones((3, 2)),
            "W must have twice as many rows as there are states and a column per transition, found shape (3, 2)",
        ),
        (np.ones(4), "found shape (4,)"),
        (np.ones((0, 2)), "found shape (0, 2)"),
        ([[1.0], [np.nan]], "W must be finite and not negative, found nan in row 1, column 0"),
        ([[1.0], [-1.0]], "found -1.0 in row 1, column 0"),
        (np.zeros((4, 3)), "W of shape (4, 3) has no column above zero, so no transition"),
        (np.ones((4, 0)), "W of shape (4, 0) has no column above zero, so no transition"),
    ],
)
def test_matrices_that_are_none(matrix: object, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        machine_from(matrix)  # type: ignore[arg-type]


def test_wrong_names_and_thresholds() -> None:
    with pytest.raises(
        DeclarationError, match=re.escape("W has 6 rows, so 3 states, but 2 names were given ('a', 'b')")
    ):
        machine_from(MACHINE.matrix(), ["a", "b"])
    with pytest.raises(
        DeclarationError, match=re.escape("needs a name of its own, but off='b' is also one of the states")
    ):
        machine_from(MACHINE.matrix(), ["a", "b", "c"], off="b")
    for threshold in (0.5, 1.1):
        with pytest.raises(OptionError, match=f"threshold must lie above 0.5 and up to 1, found {threshold}"):
            machine_from(MACHINE.matrix(), threshold=threshold)


def test_a_half_with_next_to_nothing_is_the_off_state() -> None:
    learned = [[1.0], [0.0], [0.05], [0.1]]
    assert machine_from(learned).transition_labels == ("S1→off",)
    with pytest.raises(DataError, match=re.escape("column 0: S1 1.00 → S2 0.67, S1 0.33")):
        machine_from(learned, threshold=0.9)
