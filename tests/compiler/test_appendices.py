"""The schedules of the paper's networks against the pseudocode of its appendices D to G.

The order of independent steps does not matter, so two lists of steps are the same if they hold the same steps
and any two steps of which one needs or changes what the other changes come in the same order.
"""

from itertools import combinations
from typing import NamedTuple

import pytest

from pfn import Network, Schedule, compile_network
from pfn.compiler import Step
from tests import networks

Line = tuple[str, str]  # a procedure of the paper, and the equation or variable that it works on

APPENDIX_D = [
    ("upStep", "eq1"),
    ("averageParents", "h"),
    ("downStep", "eq1"),
    ("averageChildren", "x"),
]

APPENDIX_E = [
    ("upStep", "eq1"),
    ("averageParents", "h1"),
    ("upStep", "eq2"),
    ("averageParents", "h2"),
    ("upStep", "eq3"),
    ("averageParents", "v"),
    ("downStep", "eq3"),
    ("averageChildren", "h2"),
    ("averageChildren", "h1"),
    ("downStep", "eq2"),
    ("averageChildren", "x2"),
    ("downStep", "eq1"),
    ("averageChildren", "x1"),
]

APPENDIX_F = [
    ("upStep", "eq1"),
    ("averageParents", "u1"),
    ("upStep", "eq3"),
    ("averageParents", "u2"),
    ("upStep", "eq7"),
    ("averageParents", "u3"),
    ("upStep", "eq2"),
    ("averageParents", "h1"),
    ("upStep", "eq6"),
    ("averageParents", "h3"),
    ("upStep", "eq4"),
    ("averageParents", "v1"),
    ("upStep", "eq5"),
    ("averageParents", "v2"),
    ("downStep", "eq5"),
    ("averageChildren", "h3"),
    ("downStep", "eq4"),
    ("averageChildren", "h1"),
    ("averageChildren", "h2"),
    ("downStep", "eq6"),
    ("downStep", "eq7"),
    ("averageChildren", "x5"),
    ("downStep", "eq3"),
    ("averageChildren", "x4"),
    ("downStep", "eq2"),
    ("downStep", "eq1"),
    ("averageChildren", "x3"),
    ("averageChildren", "x2"),
    ("averageChildren", "x1"),
]

APPENDIX_G = [
    ("learnStep", "eq1"),
    ("upStep", "eq1"),
    ("averageParents", "x2"),
    ("learnStep", "eq2"),
    ("upStep", "eq2"),
    ("averageParents", "x3"),
    ("learnStep", "eq3"),
    ("upStep", "eq3"),
    ("averageParents", "x4"),
    ("downStep", "eq3"),
    ("averageChildren", "x3"),
    ("downStep", "eq2"),
    ("averageChildren", "x2"),
    ("downStep", "eq1"),
    ("averageChildren", "x1"),
]

# Section 2.2 has no pseudocode of its own: this is Algorithm 1 on its ten equations.
SECTION_2_2 = [
    *(("learnStep", f"eq{number}") for number in range(1, 8)),
    *(("upStep", f"eq{number}") for number in range(1, 8)),
    *(("averageParents", f"x{number}") for number in range(5, 12)),
    *(("learnStep", f"eq{number}") for number in range(8, 11)),
    *(("upStep", f"eq{number}") for number in range(8, 11)),
    ("averageParents", "x12"),
    *(("downStep", f"eq{number}") for number in range(8, 11)),
    *(("averageChildren", name) for name in ("x6", "x10", "x11")),
    *(("downStep", f"eq{number}") for number in range(1, 8)),
    *(("averageChildren", f"x{number}") for number in range(1, 5)),
]

WORDS = {
    "left update": "learnStep",
    "right update": "upStep",
    "average parents": "averageParents",
    "propagate": "downStep",
    "average children": "averageChildren",
}


class Effects(NamedTuple):
    """What a line needs and what it changes: variables, and the copies that an equation holds of them."""

    needs: set[str]
    changes: set[str]


def effects(network: Network, line: Line) -> Effects:
    procedure, name = line
    if procedure.startswith("average"):
        role = "parents" if procedure == "averageParents" else "children"
        holders = [e for e in network.factorizations if name in {s.variable.name for s in getattr(e, role)}]
        return Effects({f"copies in {equation.name}" for equation in holders}, {name})
    equation = network[name]
    children, parents = ({piece.variable.name for piece in part} for part in (equation.children, equation.parents))
    if procedure == "learnStep":
        return Effects(children | parents, {f"parameters of {name}"})
    needed = parents if procedure == "downStep" else children | parents
    return Effects({*needed, f"parameters of {name}"}, {f"copies in {name}"})


def dependent(one: Effects, other: Effects) -> bool:
    return bool(one.changes & (other.needs | other.changes) or one.needs & other.changes)


def ordered_pairs(network: Network, lines: list[Line]) -> set[tuple[Line, Line]]:
    """The pairs of lines that must not change places."""
    found = {line: effects(network, line) for line in lines}
    return {(one, other) for one, other in combinations(lines, 2) if dependent(found[one], found[other])}


def in_words_of_the_paper(step: Step) -> Line:
    """Averaging changes one variable; the other steps work on one equation, where no parameter is tied."""
    named = step.targets if step.action.startswith("average") else step.equations
    (name,) = named
    return WORDS[step.action], name


def assert_same_work(network: Network, found: list[Line], wanted: list[Line]) -> None:
    assert len(found) == len(set(found))
    assert sorted(found) == sorted(wanted)
    assert ordered_pairs(network, found) == ordered_pairs(network, wanted)


PAPER = [
    pytest.param(networks.automaton(networks.W_NONDETERMINISTIC), APPENDIX_D, id="appendix D"),
    pytest.param(networks.plain_nmf(3, 2), [("learnStep", "eq1"), *APPENDIX_D], id="plain NMF"),
    pytest.param(networks.regular_expression(), APPENDIX_E, id="appendix E"),
    pytest.param(networks.tracking(), APPENDIX_F, id="appendix F"),
    pytest.param(networks.hierarchy(5, (4, 3, 3), 4, (1, 4, 16)), APPENDIX_G, id="appendix G"),
    pytest.param(networks.section_2_2(), SECTION_2_2, id="section 2.2"),
]


@pytest.mark.parametrize(("network", "pseudocode"), PAPER)
def test_the_schedule_is_the_pseudocode(network: Network, pseudocode: list[Line]) -> None:
    found = [in_words_of_the_paper(step) for step in compile_network(network).steps]
    assert_same_work(network, found, pseudocode)


@pytest.mark.parametrize(("network", "pseudocode"), PAPER)
def test_a_wrong_order_is_noticed(network: Network, pseudocode: list[Line]) -> None:
    """Moving any line to the front of those that it depends on changes the work."""
    for one, other in ordered_pairs(network, pseudocode):
        moved = [line for line in pseudocode if line != other]
        moved.insert(moved.index(one), other)
        with pytest.raises(AssertionError):
            assert_same_work(network, moved, pseudocode)


def levels(schedule: Schedule) -> list[tuple[str, int, set[str]]]:
    """Direction, level and equations of the work, level by level."""
    found: list[tuple[str, int, set[str]]] = []
    for direction, steps in (("up", schedule.up), ("down", schedule.down)):
        for step in steps:
            if step.action in ("right update", "propagate"):
                if not found or found[-1][:2] != (direction, step.level):
                    found.append((direction, step.level, set()))
                found[-1][2].update(step.equations)
    return found


def test_the_tracker_goes_up_two_levels_and_down_again() -> None:
    lower, upper = {"eq1", "eq2", "eq3", "eq6", "eq7"}, {"eq4", "eq5"}
    assert levels(compile_network(networks.tracking())) == [
        ("up", 1, lower),
        ("up", 2, upper),
        ("down", 2, upper),
        ("down", 1, lower),
    ]


def test_an_average_belongs_to_the_level_that_completed_it() -> None:
    for network in (networks.tracking(), networks.section_2_2(), networks.hierarchy(2, (2, 2), 2, (1, 2))):
        for step in compile_network(network).steps:
            if step.action.startswith("average"):
                wanted = {network.level_of(name) for name in step.equations}
                assert step.level == (max(wanted) if step.action == "average parents" else min(wanted))
