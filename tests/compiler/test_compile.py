"""The compiler on networks that the paper's appendices do not have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfn import Factorization, Network, OptionError, Parameter, Variable, compile_network, t
from pfn.compiler import Step
from tests import networks
from tests.network.refusal import refused

a, b, c, d, h, g = (Variable(name, 2) for name in ("a", "b", "c", "d", "h", "g"))


def learned(name: str) -> Parameter:
    return Parameter(name, shape=(2, 2))


def known(name: str) -> Parameter:
    return Parameter(name, [[1, 0], [0, 1]])


def test_a_parent_several_levels_up_is_averaged_when_its_last_equation_is_done() -> None:
    schedule = compile_network(
        Network(Factorization(a, known("V") @ b + known("W") @ c), Factorization(b, known("U") @ c))
    )
    assert schedule.up == (
        Step("right update", 1, ("eq1",), ("b", "c")),
        Step("average parents", 1, ("eq1",), ("b",)),
        Step("right update", 2, ("eq2",), ("c",)),
        Step("average parents", 2, ("eq1", "eq2"), ("c",)),
    )
    assert schedule.down == (
        Step("propagate", 2, ("eq2",), ("b",)),
        Step("average children", 2, ("eq2",), ("b",)),
        Step("propagate", 1, ("eq1",), ("a",)),
        Step("average children", 1, ("eq1",), ("a",)),
    )


def test_a_shared_child_is_averaged_when_all_its_equations_are_done() -> None:
    schedule = compile_network(Network(Factorization(a, known("V") @ b), Factorization(a, known("W") @ c)))
    assert schedule.down == (
        Step("propagate", 1, ("eq2",), ("a",)),
        Step("propagate", 1, ("eq1",), ("a",)),
        Step("average children", 1, ("eq1", "eq2"), ("a",)),
    )


def test_a_child_shared_by_equations_of_two_levels_waits_for_the_lower() -> None:
    tall = Parameter("tall", [[1, 0], [0, 1], [1, 0], [0, 1]])
    network = Network(Factorization(a, known("V") @ b), Factorization([a[t], b[t]], tall @ c))
    schedule = compile_network(network)
    assert [(step.action, step.level, step.targets) for step in schedule.down] == [
        ("propagate", 2, ("a", "b")),
        ("average children", 2, ("b",)),
        ("propagate", 1, ("a",)),
        ("average children", 1, ("a",)),
    ]


def test_a_shared_parent_is_averaged_once() -> None:
    schedule = compile_network(Network(Factorization(a, known("V") @ c), Factorization(b, known("W") @ c)))
    assert schedule.up == (
        Step("right update", 1, ("eq1",), ("c",)),
        Step("right update", 1, ("eq2",), ("c",)),
        Step("average parents", 1, ("eq1", "eq2"), ("c",)),
    )


def test_several_slices_of_one_variable_are_one_target() -> None:
    tall = Parameter("tall", [[1, 0], [0, 1], [1, 0], [0, 1]])
    lagged = Factorization([a[t], a[t + 1]], tall @ h[t] + tall @ h[t - 2])
    schedule = compile_network(Network(lagged))
    assert [step.targets for step in schedule.steps] == [("h",), ("h",), ("a",), ("a",)]


def test_all_learned_parameters_of_an_equation_are_updated_before_its_parents() -> None:
    schedule = compile_network(Network(Factorization(a, learned("V") @ b + known("K") @ d + learned("W") @ c)))
    learning, inferring = schedule.up[:2]
    assert (learning.action, learning.level, learning.equations) == ("left update", 1, ("eq1",))
    assert set(learning.targets) == {"V", "W"}
    assert inferring == Step("right update", 1, ("eq1",), ("b", "d", "c"))


def test_a_tied_parameter_is_updated_once_from_all_its_equations_at_the_lowest() -> None:
    W = learned("W")
    schedule = compile_network(
        Network(
            Factorization(b, W @ c, name="upper"),
            Factorization(a, W @ b, name="lower"),
            Factorization(d, W @ h, name="beside"),
        )
    )
    left = [step for step in schedule.steps if step.action == "left update"]
    assert left == [Step("left update", 1, ("upper", "lower", "beside"), ("W",))]
    assert schedule.up[0] == left[0]


def test_a_parameter_tied_at_a_higher_level_only_waits_for_it() -> None:
    W = learned("W")
    schedule = compile_network(
        Network(
            Factorization(a, known("K") @ b + known("L") @ c),
            Factorization(b, W @ d),
            Factorization(c, W @ h),
        )
    )
    assert [step for step in schedule.up if step.action == "left update"] == [
        Step("left update", 2, ("eq2", "eq3"), ("W",))
    ]


def test_parameters_linked_by_a_tied_one_are_updated_in_one_step() -> None:
    """eq1 and eq2 share V, so U and V are due at once; X belongs to another group."""
    U, V, X = learned("U"), learned("V"), learned("X")
    schedule = compile_network(
        Network(Factorization(a, U @ h + V @ g), Factorization(b, V @ h), Factorization(c, X @ h))
    )
    assert [step for step in schedule.up if step.action == "left update"] == [
        Step("left update", 1, ("eq1", "eq2"), ("U", "V")),
        Step("left update", 1, ("eq3",), ("X",)),
    ]


def test_known_parameters_are_not_updated() -> None:
    actions = {step.action for step in compile_network(networks.tracking()).steps}
    assert actions == {"right update", "average parents", "propagate", "average children"}


@pytest.mark.parametrize(
    ("equations", "order"),
    [
        ([Factorization(a[t + 1], known("W") @ a)], "a → a"),
        ([Factorization(a, known("V") @ b), Factorization(b, known("W") @ a[t - 1])], "a → b → a"),
    ],
)
def test_a_cycle_through_time_is_refused(equations: list[Factorization], order: str) -> None:
    with refused(
        f"the variables {order} form a cycle through time, so they have no levels and propagation cannot order "
        "the work. The methods for this network are: exact, consensus.",
        OptionError,
    ):
        compile_network(Network(*equations))


@given(st.integers(0, 10**6))
def test_every_schedule_does_all_the_work_in_order(seed: int) -> None:
    network = networks.random_problem(seed).network
    schedule = compile_network(network)
    assert {step.action for step in schedule.up} <= {"left update", "right update", "average parents"}
    assert {step.action for step in schedule.down} <= {"propagate", "average children"}
    check_pass(network, schedule.up, "right update", "average parents")
    check_pass(network, schedule.down, "propagate", "average children")
    check_left_updates(network, schedule.up)


def check_pass(network: Network, steps: tuple[Step, ...], work: str, average: str) -> None:
    """Each equation once, level by level; each variable once, after its last equation and in its level."""
    done = [step for step in steps if step.action == work]
    assert sorted(step.equations for step in done) == sorted((e.name,) for e in network.factorizations)
    levels = [network.level_of(step.equations[0]) for step in done]
    assert levels == sorted(levels, reverse=work == "propagate")
    assert [step.level for step in done] == levels
    role = "parents" if work == "right update" else "children"
    for variable in network.variables:
        holders = [e.name for e in network.factorizations if variable in {s.variable for s in getattr(e, role)}]
        averages = [
            place for place, step in enumerate(steps) if (step.action, step.targets) == (average, (variable.name,))
        ]
        assert len(averages) == bool(holders)
        for place in averages:
            assert steps[place].equations == tuple(holders)
            last = max(
                number for number, step in enumerate(steps) if step.action == work and step.equations[0] in holders
            )
            assert last < place
            between = [step for step in steps[last + 1 : place] if step.action in (work, "left update")]
            assert all(step.level == steps[last].level for step in between)


def check_left_updates(network: Network, steps: tuple[Step, ...]) -> None:
    """Each learned parameter once, at its lowest level, before the right updates of that level."""
    left = {
        name: (place, step) for place, step in enumerate(steps) if step.action == "left update" for name in step.targets
    }
    assert sum(len(step.targets) for step in steps if step.action == "left update") == len(left)
    assert set(left) == {parameter.name for parameter in network.parameters if parameter.learn}
    for name, (place, step) in left.items():
        uses = {e.name for e in network.factorizations if name in {p.name for p in e.parameters}}
        assert uses <= set(step.equations)
        assert step.level == min(network.level_of(use) for use in uses)
        for later in (number for number, other in enumerate(steps) if other.action == "right update"):
            assert (later > place) == (steps[later].level >= step.level)
