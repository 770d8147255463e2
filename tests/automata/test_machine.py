"""State machines: the matrices of sections 3.1 and 5.1, sequences in and out, and what is refused."""

import itertools
import re

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from pfn.automata import StateMachine
from pfn.errors import DataError, DeclarationError, OptionError

PAPER_STATES = ["S1", "S2", "S3", "S4"]
PAPER_TRANSITIONS = [("S1", "S2"), ("S2", "S3"), ("S3", "S4"), ("S4", "S1"), ("S3", "S3"), ("S2", "S4")]


def paper_machine() -> StateMachine:
    return StateMachine(PAPER_STATES, PAPER_TRANSITIONS)


def columns(matrix: np.ndarray) -> list[tuple[float, ...]]:
    return sorted(tuple(column) for column in matrix.T)


def test_matrix_is_that_of_the_nondeterministic_machine_of_section_3() -> None:
    expected = np.array(
        [
            [1, 0, 0, 0, 0, 0],
            [0, 1, 0, 0, 0, 1],
            [0, 0, 1, 0, 1, 0],
            [0, 0, 0, 1, 0, 0],
            [0, 0, 0, 1, 0, 0],
            [1, 0, 0, 0, 0, 0],
            [0, 1, 0, 0, 1, 0],
            [0, 0, 1, 0, 0, 1],
        ]
    )
    np.testing.assert_array_equal(paper_machine().matrix(), expected)


def test_columns_follow_the_order_of_the_transitions() -> None:
    reverse = StateMachine(PAPER_STATES, PAPER_TRANSITIONS[::-1])
    np.testing.assert_array_equal(reverse.matrix(), paper_machine().matrix()[:, ::-1])
    assert reverse.transition_labels[0] == "S2→S4"


def test_rows_are_labelled_by_state_and_time() -> None:
    assert paper_machine().row_labels == (
        *(f"S{number}[t]" for number in range(1, 5)),
        *(f"S{number}[t + 1]" for number in range(1, 5)),
    )


def test_a_sparse_matrix_holds_the_same_numbers() -> None:
    sparse = paper_machine().matrix(sparse=True)
    assert scipy.sparse.issparse(sparse)
    assert sparse.nnz == 12
    np.testing.assert_array_equal(sparse.toarray(), paper_machine().matrix())


def test_w6_of_the_tracker_has_an_off_state_that_is_the_zero_vector() -> None:
    zero = np.zeros(9)
    units = {0: zero} | {number: np.eye(9)[number - 1] for number in range(1, 10)}
    sources = [1, 2, 3, 4, 5, 5, 0, 6, 7, 8, 9, 9, 0]
    targets = [2, 3, 4, 5, 0, 2, 1, 7, 8, 9, 0, 7, 6]
    expected = np.array([np.r_[units[i], units[j]] for i, j in zip(sources, targets, strict=True)]).T

    def name(number: int) -> str:
        return f"S{number}" if number else "off"

    pairs = [(name(i), name(j)) for i, j in zip(sources, targets, strict=True)]
    machine = StateMachine([f"S{number}" for number in range(1, 10)], pairs, off="off")
    assert expected.shape == (18, 13)
    np.testing.assert_array_equal(machine.matrix(), expected)
    shuffled = StateMachine(machine.states, pairs[::-1], off="off")
    assert columns(shuffled.matrix()) == columns(expected)


def test_w2_of_the_tracker_has_the_position_transitions() -> None:
    size = 4
    names = [f"P{number}" for number in range(size)]
    self_loops = [(name, name) for name in names]
    increments = list(itertools.pairwise(names))
    decrements = [(b, a) for a, b in increments]
    on = [("off", name) for name in names]
    dying = [(name, "off") for name in names]
    machine = StateMachine(names, self_loops + increments + decrements + on + dying, off="off")
    expected = []
    eye, zero = np.eye(size), np.zeros(size)
    for i in range(size):
        expected += [np.r_[eye[i], eye[i]], np.r_[zero, eye[i]], np.r_[eye[i], zero]]
        if i + 1 < size:
            expected += [np.r_[eye[i], eye[i + 1]], np.r_[eye[i + 1], eye[i]]]
    assert columns(machine.matrix()) == columns(np.array(expected).T)


def test_the_off_state_may_be_listed_among_the_states_and_never_has_a_row() -> None:
    pairs = [("off", "a"), ("a", "off")]
    assert StateMachine(["off", "a"], pairs, off="off") == StateMachine(["a"], pairs, off="off")
    assert StateMachine(["off", "a"], pairs, off="off").states == ("a",)


def test_machines_are_values() -> None:
    assert paper_machine() == paper_machine()
    assert hash(paper_machine()) == hash(paper_machine())
    assert paper_machine() != StateMachine(PAPER_STATES, PAPER_TRANSITIONS[::-1])
    with pytest.raises(AttributeError):
        paper_machine().off = "S1"  # type: ignore[misc]


def test_a_machine_without_transitions_has_a_matrix_without_columns() -> None:
    machine = StateMachine(["a"], [])
    assert machine.matrix().shape == (2, 0)
    assert machine.matrix(sparse=True).shape == (2, 0)


def test_parallel_transitions_are_told_apart_by_labels() -> None:
    machine = StateMachine(["a"], [("a", "a"), ("a", "a")], labels=["slow", "fast"])
    assert machine.transition_labels == ("slow", "fast")
    np.testing.assert_array_equal(machine.matrix(), np.ones((2, 2)))


class TestSequences:
    def test_encode_has_hidden_columns_and_zeros_for_off(self) -> None:
        machine = StateMachine(["a", "b"], [("a", "b"), ("b", "off")], off="off")
        expected = [[2.0, np.nan, 0.0, 0.0, np.nan], [0.0, np.nan, 2.0, 0.0, np.nan]]
        np.testing.assert_array_equal(machine.encode(["a", "?", "b", "off", None], magnitude=2.0), expected)

    def test_an_encoded_valid_sequence_is_explained_by_one_transition_per_step(self) -> None:
        machine = paper_machine()
        values = machine.encode(machine.sample(50, seed=1))
        stacked = np.vstack([values[:, :-1], values[:, 1:]])
        fits = stacked.T @ machine.matrix() == 2
        np.testing.assert_array_equal(fits.sum(axis=1), np.ones(49))

    def test_superpositions_are_decoded_largest_first(self) -> None:
        machine = StateMachine(PAPER_STATES, PAPER_TRANSITIONS, off="off")
        mixture = (
            machine.encode(["S1", "S2", "off"], magnitude=0.5)
            + machine.encode(["S3", "S2", "off"], magnitude=0.8)
            + machine.encode(["S4", "off", "off"], magnitude=0.009)
        )
        decoded = machine.decode(mixture)
        assert decoded == [[("S3", 0.8), ("S1", 0.5)], [("S2", 1.3)], []]
        assert machine.decode(mixture, threshold=0.001)[0][-1] == ("S4", 0.009)

    @given(st.integers(0, 40), st.integers(0, 2**32 - 1), st.floats(0.02, 1e6))
    def test_decode_undoes_encode(self, length: int, seed: int, magnitude: float) -> None:
        path = paper_machine().sample(length, seed)
        decoded = paper_machine().decode(paper_machine().encode(path, magnitude))
        assert decoded == [[(state, magnitude)] for state in path]

    @given(st.integers(1, 60), st.integers(0, 1000))
    def test_samples_follow_the_transitions(self, length: int, seed: int) -> None:
        path = paper_machine().sample(length, seed)
        assert len(path) == length
        assert set(itertools.pairwise(path)) <= set(PAPER_TRANSITIONS)
        assert path == paper_machine().sample(length, seed)

    def test_samples_take_each_outgoing_transition_equally_often(self) -> None:
        path = paper_machine().sample(30_000, seed=0)
        steps = list(itertools.pairwise(path))
        for state, ways in [("S2", ["S3", "S4"]), ("S3", ["S3", "S4"])]:
            counts = [steps.count((state, way)) for way in ways]
            # Four standard deviations of a fair coin.
            assert abs(counts[0] - counts[1]) < 4 * np.sqrt(sum(counts))

    def test_samples_begin_where_they_are_told(self) -> None:
        machine = StateMachine(["a", "b", "c"], [("a", "b"), ("b", "c"), ("c", "a")], start=["b", "c"])
        assert {machine.sample(1, seed)[0] for seed in range(50)} == {"b", "c"}
        assert {machine.sample(1, seed, initial="a")[0] for seed in range(5)} == {"a"}
        anywhere = StateMachine(["a", "b"], [("a", "b"), ("b", "a")])
        assert {anywhere.sample(1, seed)[0] for seed in range(50)} == {"a", "b"}

    def test_an_off_state_stays_off_or_is_left(self) -> None:
        machine = StateMachine(["a"], [("off", "a"), ("a", "off")], off="off")
        steps = set(itertools.pairwise(machine.sample(100, seed=0, initial="off")))
        assert steps == {("off", "off"), ("off", "a"), ("a", "off")}
        dying = StateMachine(["a"], [("a", "off")], off="off")
        assert dying.sample(4, seed=0, initial="a") == ["a", "off", "off", "off"]


def declare(*arguments: object, **options: object) -> StateMachine:
    return StateMachine(*arguments, **options)  # type: ignore[arg-type]


DECLARATION_ERRORS = [
    (("abc", []), {}, "states must be a list of names, found the string 'abc'. Write list('abc')"),
    ((["a", "b", "a"], []), {}, "each state may be listed once, but 'a' appear more often"),
    (([], []), {}, "at least one state besides the off state is needed, found none"),
    ((["off"], []), {"off": "off"}, "at least one state besides the off state is needed, found 'off'"),
    ((["a", 1], []), {}, "a state's name must be a non-empty string, found 1. Write str(...)"),
    ((["a", ""], []), {}, "a state's name must be a non-empty string, found ''"),
    ((["a"], []), {"off": ""}, "a state's name must be a non-empty string, found ''"),
    ((["a", "?"], []), {}, "no state may be called '?', which stands for an unknown state"),
    ((["a"], ["aa"]), {}, "transition 1 must be a pair (source, target) of state names, found 'aa'"),
    (
        (["a"], [("a", "a"), ("a",)]),
        {},
        "transition 2 must be a pair (source, target) of state names, found ('a',)",
    ),
    ((["a"], [7]), {}, "transition 1 must be a pair (source, target) of state names, found 7"),
    ((["a"], [("a", "b")]), {}, "transition 1 ('a', 'b') names 'b', but the states are 'a'. Add it"),
    ((["a"], [(None, "a")]), {}, "transition 1 (None, 'a') names None, but the states are 'a'"),
    (
        (["a"], [("off", "off")]),
        {"off": "off"},
        "goes from the off state to itself, which is a column of zeros",
    ),
    ((["a"], [("a", "a")] * 2), {}, "transitions 1 ('a', 'a') and 2 ('a', 'a') are both called 'a→a'"),
    (
        (["a"], [("a", "a")]),
        {"labels": ["x", "y"]},
        "labels must name each of the 1 transitions, found 2 labels",
    ),
    ((["a"], []), {"start": "b"}, "start='b' is not among the states 'a'"),
    ((["a"], []), {"end": "b"}, "end='b' is not among the states 'a'"),
    ((["a"], []), {"start": ["a", "a"]}, "start names each state at most once, found 'a', 'a'"),
]


@pytest.mark.parametrize(("arguments", "options", "message"), DECLARATION_ERRORS)
def test_declarations_that_cannot_be(arguments: tuple[object, ...], options: dict[str, object], message: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(message)):
        declare(*arguments, **options)


def test_long_lists_of_names_are_abbreviated_in_errors() -> None:
    with pytest.raises(DeclarationError, match=re.escape("'S7', … (30 in all)")):
        StateMachine([f"S{number}" for number in range(30)], [("S0", "x")])


@pytest.mark.parametrize("magnitude", [0.0, -1.0, np.nan, np.inf])
def test_a_magnitude_is_positive(magnitude: float) -> None:
    with pytest.raises(OptionError, match="encode: magnitude must be a positive number, found"):
        paper_machine().encode(["S1"], magnitude)


def test_unknown_names_are_refused_with_their_place() -> None:
    with pytest.raises(DataError, match=re.escape("encode: item 1 of the sequence is 'S9', but the states are 'S1'")):
        paper_machine().encode(["S1", "S9"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            np.ones((3, 5)),
            "expected an array of 4 rows (one per component) and one column per time, found shape (3, 5)",
        ),
        (np.ones(4), "found shape (4,)"),
        ([[0], [0], [-1], [0]], "values must be finite and not negative, found -1.0 in row 2, column 0"),
        ([[0, 1], [0, np.nan], [0, 0], [0, 0]], "found nan in row 1, column 1. Infer hidden entries first"),
    ],
)
def test_values_that_cannot_be_decoded(values: object, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(f"decode: {message}" if "expected" in message else message)):
        paper_machine().decode(values)  # type: ignore[arg-type]


def test_a_dead_end_is_named_with_the_walk_that_led_there() -> None:
    machine = StateMachine(["a", "b"], [("a", "b")])
    message = "state 'b' has no outgoing transition, so after 2 of 5 states ('a', 'b') the walk cannot go on"
    with pytest.raises(DeclarationError, match=re.escape(message)):
        machine.sample(5, seed=0, initial="a")
    assert machine.sample(2, seed=0, initial="a") == ["a", "b"]


def test_sample_refuses_unknown_beginnings_and_negative_lengths() -> None:
    with pytest.raises(OptionError, match="sample: initial='x' is not among the states 'S1'"):
        paper_machine().sample(3, seed=0, initial="x")
    with pytest.raises(OptionError, match="sample: length must not be negative, found -1"):
        paper_machine().sample(-1, seed=0)
