"""The schedule as inert data that prints as a table."""

from dataclasses import FrozenInstanceError

import pytest

from pfn import Factorization, Network, Parameter, Schedule, Variable, compile_network, t
from tests import networks


def test_plain_nmf_prints_as_a_table() -> None:
    assert str(compile_network(networks.plain_nmf(3, 2))).splitlines() == [
        "pass  level  step              changes  from",
        "up    1      left update       W        eq1: x[t] = W h[t]",
        "up    1      right update      h        eq1: x[t] = W h[t]",
        "up    1      average parents   h        eq1 (1 copy)",
        "down  1      propagate         x        eq1: x[t] = W h[t]",
        "down  1      average children  x        eq1 (1 copy)",
    ]


def test_tied_parameters_and_copies_print_as_a_table() -> None:
    a, b, c = Variable("a", 1), Variable("b", 2), Variable("c", 2)
    W = Parameter("W", shape=(2, 2))
    network = Network(
        Factorization([a[t], a[t + 1]], W @ b[t] + W @ b[t - 1] + W @ c[t], name="low"),
        Factorization(b, W @ c, name="high"),
    )
    assert str(compile_network(network)).splitlines() == [
        "pass  level  step              changes  from",
        "up    1      left update       W        low: [a[t]; a[t+1]] = W b[t] + W b[t-1] + W c[t]; high: b[t] = W c[t]",
        "up    1      right update      b, c     low: [a[t]; a[t+1]] = W b[t] + W b[t-1] + W c[t]",
        "up    1      average parents   b        low (2 copies)",
        "up    2      right update      c        high: b[t] = W c[t]",
        "up    2      average parents   c        low, high (2 copies)",
        "down  2      propagate         b        high: b[t] = W c[t]",
        "down  2      average children  b        high (1 copy)",
        "down  1      propagate         a        low: [a[t]; a[t+1]] = W b[t] + W b[t-1] + W c[t]",
        "down  1      average children  a        low (2 copies)",
    ]


def test_every_step_is_a_line_of_the_table() -> None:
    schedule = compile_network(networks.tracking())
    lines = str(schedule).splitlines()[1:]
    assert len(lines) == len(schedule.steps) == 29
    for line, step in zip(lines, schedule.steps, strict=True):
        assert f"  {step.level}      {step.action}  " in line
        assert all(name in line for name in (*step.targets, *step.equations))


def test_a_schedule_describes_itself() -> None:
    assert repr(compile_network(networks.plain_nmf(3, 2))) == (
        "Schedule of Network(1 equations, 2 variables, 1 parameters): 3 steps up, 2 steps down"
    )


def test_the_steps_are_those_up_and_then_those_down() -> None:
    schedule = compile_network(networks.section_2_2())
    assert schedule.steps == schedule.up + schedule.down


def test_compiling_twice_gives_equal_schedules() -> None:
    one, two = compile_network(networks.tracking()), compile_network(networks.tracking())
    assert one == two
    assert hash(one) == hash(two)
    assert one != compile_network(networks.regular_expression())


def test_schedules_of_different_networks_with_equal_steps_differ() -> None:
    small, large = compile_network(networks.plain_nmf(3, 2)), compile_network(networks.plain_nmf(4, 2))
    assert small.steps == large.steps
    assert small != large


def test_compiling_leaves_the_network_as_it_was() -> None:
    network = networks.section_2_2()
    assert compile_network(network).network is network
    assert network == networks.section_2_2()


@pytest.mark.parametrize("field", ["network", "up", "down", "steps"])
def test_nothing_can_be_changed(field: str) -> None:
    schedule = compile_network(networks.plain_nmf(3, 2))
    with pytest.raises((FrozenInstanceError, AttributeError)):
        setattr(schedule, field, ())
    with pytest.raises(AttributeError):
        schedule.up[0].level = 2  # type: ignore[misc]


def test_a_schedule_can_be_made_by_hand() -> None:
    made = compile_network(networks.plain_nmf(3, 2))
    assert Schedule(made.network, made.up, made.down) == made


@pytest.mark.parametrize("slices", [1, 2, 26])
def test_a_schedule_knows_its_columns(slices: int) -> None:
    network = networks.tracking()
    found = compile_network(network).columns(slices)
    assert found == network.columns(slices)
    assert len(found.variables["x1"]) == slices
    assert len(found.variables["v2"]) == slices - 1
