"""The level of a variable or an equation (paper, section 2.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfn import Factorization, Network, Parameter, Variable, t
from tests import networks, oracle
from tests.network.refusal import refused


def names(network: Network) -> list[set[str]]:
    return [{variable.name for variable in level} for level in network.levels]


def test_the_levels_of_section_2_2_are_those_of_the_paper() -> None:
    network = networks.section_2_2()
    assert [[variable.name for variable in level] for level in network.levels] == [
        ["x1", "x2", "x3", "x4"],
        ["x5", "x6", "x7", "x8", "x9", "x10", "x11"],
        ["x12"],
    ]
    assert [network.level_of(equation) for equation in network.factorizations] == [1] * 7 + [2] * 3


@pytest.mark.parametrize(
    ("network", "levels"),
    [
        (networks.plain_nmf(3, 2), [{"x"}, {"h"}]),
        (networks.automaton(networks.W_DETERMINISTIC), [{"x"}, {"h"}]),
        (networks.regular_expression(), [{"x1", "x2"}, {"h1", "h2"}, {"v"}]),
        (
            networks.tracking(),
            [{"x1", "x2", "x3", "x4", "x5", "h2"}, {"u1", "u2", "u3", "h1", "h3"}, {"v1", "v2"}],
        ),
        (networks.hierarchy(5, (4, 3, 2), 2, (1, 4, 16)), [{"x1"}, {"x2"}, {"x3"}, {"x4"}]),
    ],
)
def test_the_levels_of_the_paper_s_networks(network: Network, levels: list[set[str]]) -> None:
    assert names(network) == levels


def skip_level() -> Network:
    """c is a parent of a and of b, and b of a."""
    a, b, c = (Variable(name, 2) for name in "abc")
    U, V, W = (Parameter(name, shape=(2, 2)) for name in "UVW")
    return Network(Factorization(b, U @ c, name="upper"), Factorization(a, V @ b + W @ c, name="lower"))


def test_a_parent_several_levels_up() -> None:
    network = skip_level()
    assert names(network) == [{"a"}, {"b"}, {"c"}]
    assert (network.level_of("lower"), network.level_of("upper")) == (1, 2)
    assert [equation.name for equation in network.by_level] == ["lower", "upper"]


def test_levels_by_object_and_by_name() -> None:
    network = skip_level()
    for item in (*network.variables, *network.factorizations):
        assert network.level_of(item) == network.level_of(item.name)


def test_an_equation_with_children_of_several_levels_has_the_highest() -> None:
    network = networks.tracking()
    assert network.level_of("h2") == 1
    assert network.level_of("eq4") == network.level_of("eq5") == 2


def test_a_parameter_has_no_level() -> None:
    with refused("U is a parameter: only variables and factorizations have a level."):
        skip_level().level_of("U")


def test_levels_of_a_cycle_through_time_are_those_within_a_slice() -> None:
    x, h = Variable("x", 2), Variable("h", 2)
    U, V = Parameter("U", shape=(2, 2)), Parameter("V", shape=(2, 2))
    network = Network(Factorization(x, U @ h), Factorization(h, V @ x[t - 1]))
    assert names(network) == [{"x"}, {"h"}]


@given(st.integers(0, 10**6))
def test_levels_are_those_of_the_definition(seed: int) -> None:
    network = networks.random_problem(seed).network
    for equation in network.factorizations:
        assert network.level_of(equation) == oracle.level(network, equation)
        for child in equation.children:
            for parent in equation.parents:
                assert network.level_of(child.variable) < network.level_of(parent.variable)
    assert sum(network.levels, ()) == tuple(sorted(network.variables, key=network.level_of))
    assert network.by_level == tuple(sorted(network.factorizations, key=network.level_of))
