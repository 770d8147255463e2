"""Hierarchies: the matrices and the coupling table of section 4.1, others, and what is refused."""

import itertools
import re

import numpy as np
import pytest

from pfn.automata import Hierarchy, StateMachine
from pfn.errors import DeclarationError

LOWER = StateMachine(
    ["S1", "S2", "S3"], [("S1", "S2"), ("S2", "S3"), ("S2", "S1")], start="S1", end="S3"
)  # d, e, and the end in which it rests
UPPER_TRANSITIONS = [
    ("S1", "S1"),
    ("S1", "S2"),
    ("S2", "S3"),
    ("S2", "S4"),
    ("S3", "S4"),
    ("S4", "S5"),
    ("S5", "S6"),
    ("S6", "S1"),
]
UPPER = StateMachine([f"S{number}" for number in range(1, 7)], UPPER_TRANSITIONS, start="S1", end="S6")

# The transitions t¹ and t² of the paper by their numbers, and its Table of couplings (level 2, level 1).
PAPER_W1 = ["S1→S2", "S2→S3", "S2→S1", "S3→S1", "S3→S3"]
PAPER_W2 = [f"{source}→{target}" for source, target in UPPER_TRANSITIONS] + ["S5→S5", "S3→S3", "S6→S6"]
PAPER_TABLE = [
    *[(3, 4), (10, 1), (10, 3), (5, 2), (6, 4), (9, 1), (9, 3), (7, 2)],
    *[(11, 5), (8, 5), (1, 5), (2, 5), (4, 5)],
]
W1 = [
    [1, 0, 0, 0, 0],
    [0, 1, 1, 0, 0],
    [0, 0, 0, 1, 1],
    [0, 0, 1, 1, 0],
    [1, 0, 0, 0, 0],
    [0, 1, 0, 0, 1],
]
W2 = [
    [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
    [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1],
    [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0],
    [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0],
    [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1],
]
U = [
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0],
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    [0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0],
    [0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
    [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0],
    [0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0],
    [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
]


def paper_hierarchy() -> Hierarchy:
    return Hierarchy(UPPER, {"S3": LOWER, "S5": LOWER})


def columns(matrix: np.ndarray) -> list[tuple[float, ...]]:
    return [tuple(column) for column in np.asarray(matrix, dtype=float).T]


def assert_paper_matrices(hierarchy: Hierarchy) -> None:
    """W1, W2 and U up to one order of the columns of each, the rows of U in the orders of W2 and W1."""
    found = hierarchy.matrices
    assert list(found) == ["W1", "W2", "U"]
    order1 = [columns(found["W1"]).index(column) for column in columns(np.array(W1))]
    order2 = [columns(found["W2"]).index(column) for column in columns(np.array(W2))]
    np.testing.assert_array_equal(found["W1"][:, order1], W1)
    np.testing.assert_array_equal(found["W2"][:, order2], W2)
    assert found["W1"].shape == (6, 5)
    assert found["W2"].shape == (12, 11)
    rows = [*order2, *(11 + index for index in order1)]
    assert sorted(columns(found["U"][rows])) == sorted(columns(np.array(U)))


def test_matrices_of_the_paper() -> None:
    assert_paper_matrices(paper_hierarchy())


def test_coupling_table_of_the_paper() -> None:
    table = {(PAPER_W2[upper - 1], PAPER_W1[lower - 1]) for upper, lower in PAPER_TABLE}
    pairs = paper_hierarchy().couplings["U"]
    assert len(pairs) == 13
    assert set(pairs) == table


def test_columns_of_u_are_the_couplings_in_order() -> None:
    hierarchy = paper_hierarchy()
    below, above = hierarchy.levels
    for column, (upper, lower) in zip(hierarchy.matrices["U"].T, hierarchy.couplings["U"], strict=True):
        rows = np.flatnonzero(column)
        assert [*above.transition_labels, *below.transition_labels][rows[0]] == upper
        assert rows[1] == len(above.transitions) + below.transition_labels.index(str(lower))
        np.testing.assert_array_equal(column[rows], [1.0, 1.0])


def test_implicit_transitions_may_also_be_drawn() -> None:
    upper = StateMachine(
        UPPER.states, [("S3", "S3"), *UPPER_TRANSITIONS, ("S6", "S6"), ("S5", "S5")], start="S1", end="S6"
    )
    lower = StateMachine(LOWER.states, [("S3", "S3"), ("S3", "S1"), *LOWER.transitions], end="S3")
    assert_paper_matrices(Hierarchy(upper, {"S5": lower, "S3": lower}))


def test_equal_machines_share_their_rows() -> None:
    twin = StateMachine(LOWER.states, LOWER.transitions, start="S1", end="S3")
    assert_paper_matrices(Hierarchy(UPPER, {"S3": LOWER, "S5": twin}))


def test_levels_are_machines_from_the_lowest_up() -> None:
    below, above = paper_hierarchy().levels
    assert below.states == ("S1", "S2", "S3")
    assert below.end == "S3"
    assert above.states == UPPER.states
    assert (above.start, above.end) == (("S1",), "S6")


def joint_runs(hierarchy: Hierarchy, length: int) -> list[tuple[tuple[str, str], ...]]:
    """All runs of two coupled levels: at each time the upper and the lower state."""
    below, above = hierarchy.levels
    upper = dict(zip(above.transition_labels, above.transitions, strict=True))
    lower = dict(zip(below.transition_labels, below.transitions, strict=True))
    steps = [tuple(zip(upper[u], lower[str(low)], strict=True)) for u, low in hierarchy.couplings["U"]]
    runs = [(state,) for state in {now for now, _ in steps}]
    for _ in range(length - 1):
        runs = [(*run, later) for run in runs for now, later in steps if now == run[-1]]
    return runs


def test_two_observations_leave_what_the_paper_says() -> None:
    runs = [run for run in joint_runs(paper_hierarchy(), 10) if run[1][0] == "S2" and run[6][0] == "S4"]
    assert {run[:9] for run in runs} == {
        (
            *[
                ("S1", "S3"),
                ("S2", "S3"),
                ("S3", "S1"),
                ("S3", "S2"),
                ("S3", "S1"),
                ("S3", "S2"),
                ("S4", "S3"),
            ],
            *[("S5", "S1"), ("S5", "S2")],
        )
    }
    assert {run[9] for run in runs} == {("S5", "S1"), ("S6", "S3")}


def test_runs_spell_the_regular_expression() -> None:
    production = {("S1", "S3"): "a", ("S2", "S3"): "b", ("S4", "S3"): "c"}
    production |= {(state, "S1"): "d" for state in ("S3", "S5")} | {(state, "S2"): "e" for state in ("S3", "S5")}
    spelled = set()
    for length in range(2, 8):
        for run in joint_runs(paper_hierarchy(), length):
            inside = all(state != ("S6", "S3") for state in run[:-1])
            if run[0] == ("S1", "S3") and run[-1] == ("S6", "S3") and inside:
                spelled.add("".join(production[state] for state in run[:-1]))
    strings = ("".join(letters) for length in range(1, 7) for letters in itertools.product("abcde", repeat=length))
    assert spelled == {string for string in strings if re.fullmatch("a+b(de)*c(de)+", string)}


class TestOtherHierarchies:
    def test_refining_states_in_a_row_restart_the_lower_machine(self) -> None:
        upper = StateMachine(["A", "B"], [("A", "B")])
        lower = StateMachine(["p", "q", "end"], [("p", "q"), ("q", "end")], start="p", end="end")
        hierarchy = Hierarchy(upper, {"A": lower, "B": lower})
        assert set(hierarchy.couplings["U"]) == {("A→B", "q→p"), ("A→A", "p→q"), ("B→B", "p→q")}
        assert "q→p" in hierarchy.levels[0].transition_labels

    def test_different_machines_share_one_level_and_its_end(self) -> None:
        upper = StateMachine(["A", "B", "x"], [("A", "B"), ("B", "x"), ("x", "A")])
        one = StateMachine(["p", "end"], [("p", "p"), ("p", "end")], start="p", end="end")
        two = StateMachine(["q", "r", "end"], [("q", "end"), ("r", "end")], start=["q", "r"], end="end")
        hierarchy = Hierarchy(upper, {"A": one, "B": two})
        assert hierarchy.levels[0].states == ("p", "end", "q", "r")
        assert set(hierarchy.couplings["U"]) == {
            *[("A→A", "p→p"), ("A→B", "p→q"), ("A→B", "p→r"), ("B→x", "q→end"), ("B→x", "r→end")],
            ("x→A", "end→p"),
        }

    def test_an_off_state_of_the_upper_machine_is_off_on_all_levels(self) -> None:
        upper = StateMachine(
            ["A", "x"], [("off", "A"), ("A", "x"), ("x", "off"), ("off", "x"), ("A", "off")], off="off"
        )
        lower = StateMachine(["p", "end"], [("p", "end")], start="p", end="end")
        hierarchy = Hierarchy(upper, {"A": lower})
        assert hierarchy.levels[0].off == "off"
        assert set(hierarchy.couplings["U"]) == {
            *[
                ("off→A", "off→p"),
                ("A→x", "p→end"),
                ("x→off", "end→off"),
                ("off→x", "off→end"),
                ("A→off", "p→off"),
            ],
        }

    def test_an_end_that_is_the_off_state_rests_in_the_zero_vector(self) -> None:
        upper = StateMachine(["A", "x"], [("x", "x"), ("x", "A"), ("A", "x")])
        lower = StateMachine(["p", "q"], [("p", "q"), ("q", "off")], start="p", end="off", off="off")
        hierarchy = Hierarchy(upper, {"A": lower})
        assert hierarchy.couplings["U"] == (*[("x→x", None), ("x→A", "off→p"), ("A→x", "q→off"), ("A→A", "p→q")],)
        np.testing.assert_array_equal(hierarchy.matrices["U"][:, 0], [1, 0, 0, 0, 0, 0, 0])
        assert hierarchy.levels[0].states == ("p", "q")

    def test_labels_of_the_declared_machines_are_kept(self) -> None:
        labels = [f"t2_{number}" for number in range(1, 9)]
        upper = StateMachine(UPPER.states, UPPER_TRANSITIONS, end="S6", labels=labels)
        hierarchy = Hierarchy(upper, {"S3": LOWER, "S5": LOWER})
        assert ("t2_3", "S3→S1") in hierarchy.couplings["U"]
        assert hierarchy.levels[1].transition_labels[:8] == tuple(labels)

    def test_three_levels_have_two_couplings(self) -> None:
        lowest = StateMachine(["p", "q", "rest"], [("p", "q"), ("q", "rest")], start="p", end="rest")
        middle = StateMachine(["m", "n", "end"], [("m", "n"), ("n", "end")], start="m", end="end")
        top = StateMachine(["A", "x"], [("A", "x"), ("x", "A")])
        hierarchy = Hierarchy(top, {"A": Hierarchy(middle, {"m": lowest})})
        assert [level.states for level in hierarchy.levels] == [lowest.states, middle.states, top.states]
        assert list(hierarchy.matrices) == ["W1", "W2", "W3", "U1", "U2"]
        assert hierarchy.couplings["U2"] == (*[("A→x", "n→end"), ("x→A", "end→m"), ("A→A", "m→n"), ("A→A", "m→m")],)
        assert hierarchy.couplings["U1"] == (
            *[("m→n", "q→rest"), ("n→end", "rest→rest"), ("m→m", "p→q"), ("end→m", "rest→p")],
            ("end→end", "rest→rest"),
        )
        shapes = {name: matrix.shape for name, matrix in hierarchy.matrices.items()}
        assert shapes == {"W1": (6, 4), "W2": (6, 5), "W3": (4, 3), "U1": (9, 5), "U2": (8, 4)}

    def test_staying_and_starting_again_are_two_transitions(self) -> None:
        lowest = StateMachine(["p", "q", "rest"], [("p", "q"), ("q", "rest")], start="p", end="rest")
        middle = StateMachine(["m", "end"], [("m", "end")], start="m", end="end")
        inner = Hierarchy(middle, {"m": lowest})
        hierarchy = Hierarchy(StateMachine(["A", "B"], [("A", "B")]), {"A": inner, "B": inner})
        assert ("A→B", "m→m again") in hierarchy.couplings["U2"]
        assert ("A→B", "m→m") not in hierarchy.couplings["U2"]
        assert {pair for pair in hierarchy.couplings["U1"] if pair[0].startswith("m→m")} == {
            ("m→m", "p→q"),
            ("m→m again", "q→p"),
        }

    def test_hierarchies_are_values(self) -> None:
        assert paper_hierarchy() == paper_hierarchy()
        assert hash(paper_hierarchy()) == hash(paper_hierarchy())
        assert paper_hierarchy() != Hierarchy(UPPER, {"S3": LOWER})


def machine(
    *pairs: str, end: str | None = "z", start: str | tuple[str, ...] = "p", off: str | None = None
) -> StateMachine:
    names = dict.fromkeys([*"".join(pairs), *([end] if end else [])])
    return StateMachine(names, [(pair[0], pair[1]) for pair in pairs], start=start, end=end, off=off)


GOOD = machine("pz")
BOTH = StateMachine(["A", "B", "E"], [("A", "B"), ("B", "E")], end="E")


@pytest.mark.parametrize(
    ("upper", "refinements", "message"),
    [
        (
            Hierarchy(BOTH, {"A": GOOD}),
            {"A": GOOD},
            "upper must be a StateMachine, found Hierarchy. For three levels",
        ),
        (BOTH, {}, "at least one of the states 'A', 'B', 'E' must refine, but refinements is empty"),
        (BOTH, {"A": "p"}, "'A' must refine into a StateMachine or a Hierarchy, found str"),
        (
            BOTH,
            {"C": GOOD},
            "refinements names 'C', but the states of the upper machine that can refine are 'A', 'B'.",
        ),
        (BOTH, {"E": GOOD}, "'E' is the end state of its machine and cannot refine"),
        (BOTH, {"A": machine("pq", end=None)}, "'A' refines into (states 'p', 'q') needs an end state"),
        (
            BOTH,
            {"A": machine("pz", "po", off="o")},
            "'A' refines into rests in its end state 'z', but has 'o' as off state besides",
        ),
        (
            BOTH,
            {"A": machine("pz", start=())},
            "must start in a state other than its end state 'z', found start=()",
        ),
        (
            BOTH,
            {"A": machine("pz", start="z")},
            "must start in a state other than its end state 'z', found start=('z',)",
        ),
        (
            BOTH,
            {"A": machine("pz", "zq", "qz")},
            "starts in 'p', but its end state 'z' also leads to 'q'. Name all of them in start=",
        ),
        (BOTH, {"A": machine("pp")}, "must be able to finish, but no transition leads to its end state 'z'"),
        (
            BOTH,
            {"A": GOOD, "B": machine("py", end="y")},
            "'A' refines into has end='z', off=None and the one that 'B' refines into has end='y', off=None",
        ),
        (
            BOTH,
            {"A": GOOD, "B": machine("pz", "pp")},
            "'A' and 'B' refine into different machines that both have a state 'p'",
        ),
        (
            StateMachine(["A"], [("A", "p"), ("p", "A")], off="p"),
            {"A": GOOD},
            "the off state 'p' of an upper machine is off on every level below, where it must not be a state's name",
        ),
        (
            StateMachine(["A", "B"], [("A", "B"), ("A", "B")], labels=["x", "y"]),
            {"A": GOOD},
            "the machines of a hierarchy must have each transition once, but 'A→B' run in parallel",
        ),
    ],
)
def test_hierarchies_that_cannot_be(upper: StateMachine, refinements: dict[str, StateMachine], message: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(message)):
        Hierarchy(upper, refinements)
