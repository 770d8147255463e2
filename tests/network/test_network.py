"""Networks: order, names, lookups, equality, printing."""

from contextlib import suppress
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse

from pfn import Factorization, Network, Parameter, Variable, t
from tests.network.refusal import refused
from tests.networks import plain_nmf, section_2_2, tracking

x, y, h, g = Variable("x", 2), Variable("y", 3), Variable("h", 4), Variable("g", 1)
W, V = Parameter("W", shape=(2, 4)), Parameter("V", shape=(4, 1))


def chain() -> Network:
    return Network(Factorization(x, W @ h), Factorization(h, V @ g, name="above"), name="chain")


def test_variables_and_parameters_come_in_the_order_of_the_equations() -> None:
    network = section_2_2()
    order = "x1 x5 x6 x2 x7 x8 x9 x10 x3 x11 x4 x12"
    assert [variable.name for variable in network.variables] == order.split()
    assert [parameter.name for parameter in network.parameters] == [f"W{n}" for n in range(1, 14)]


def test_unnamed_equations_are_counted() -> None:
    equations = (
        Factorization(x, W @ h),
        Factorization(h, V @ g, name="above"),
        Factorization(y, Parameter("U", shape=(3, 1)) @ g),
    )
    assert [equation.name for equation in Network(*equations).factorizations] == ["eq1", "above", "eq3"]
    assert equations[0].name == ""


def test_the_bottom_is_what_is_never_a_parent() -> None:
    assert [variable.name for variable in section_2_2().bottom] == ["x1", "x2", "x3", "x4"]
    assert {variable.name for variable in tracking().bottom} == {"x1", "x2", "x3", "x4", "x5", "h2"}


def test_everything_is_found_by_name() -> None:
    network = chain()
    assert network["x"] == x
    assert network["W"] == W
    assert network["above"] == Factorization(h, V @ g, name="above")
    assert network["eq1"].same_equation(Factorization(x, W @ h))


def test_everything_is_found_by_object() -> None:
    network = chain()
    for item in (*network.variables, *network.parameters, *network.factorizations):
        assert network[item] is item


def test_an_equal_object_stands_for_the_network_s_own() -> None:
    assert chain()[Variable("x", 2)] == x
    assert chain()[Parameter("W", shape=(2, 4))] == W


def test_an_unnamed_equation_is_found_by_what_it_says() -> None:
    assert chain()[Factorization(x, W @ h)].name == "eq1"
    assert chain()[Factorization(h, V @ g)].name == "above"


def test_variable_finds_variables() -> None:
    assert chain().variable("h") == chain().variable(h) == h


def test_an_unknown_name_with_a_close_one() -> None:
    with refused("the network has nothing called abve. Did you mean above?"):
        chain()["abve"]


def test_a_slice_is_no_name() -> None:
    with refused("x[t] is a slice: use the variable x itself."):
        chain()[x[t]]  # type: ignore[index]  # the mistake under test


@pytest.mark.parametrize("item", ["zzz", 5, None])
def test_an_unknown_name(item: object) -> None:
    shown = item if isinstance(item, str) else repr(item)
    with refused(f"the network has nothing called {shown}. It has x, h, g, W, V, eq1, above."):
        chain()[item]  # type: ignore[index]


def test_another_object_of_a_known_name() -> None:
    with refused("Variable('x', 5) is not the Variable('x', 2) of this network. Use the network's own object."):
        chain()[Variable("x", 5)]
    with refused(
        "Parameter('x', 2 × 4, learned) is not the Variable('x', 2) of this network. Use the network's own object."
    ):
        chain()[Parameter("x", shape=(2, 4))]


def test_another_equation_of_a_known_name() -> None:
    with refused(
        "Factorization(above: x[t] = W h[t]) is not the Factorization(above: h[t] = V g[t]) of this network. "
        "Use the network's own object."
    ):
        chain()[Factorization(x, W @ h, name="above")]


def test_an_equation_with_the_name_of_a_variable() -> None:
    other = Factorization(y, Parameter("U", shape=(3, 1)) @ g, name="x")
    with refused(
        "Factorization(x: y[t] = U g[t]) is not the Variable('x', 2) of this network. Use the network's own object."
    ):
        chain()[other]


def test_a_foreign_equation() -> None:
    other = Factorization(y, Parameter("U", shape=(3, 1)) @ g)
    with refused(f"the network has nothing called {other!r}. It has x, h, g, W, V, eq1, above."):
        chain()[other]


@pytest.mark.parametrize("item", ["W", "above"])
def test_something_else_where_a_variable_is_needed(item: str) -> None:
    with refused(f"{item} is not a variable of the network. Its variables are x, h, g."):
        chain().variable(item)
    with refused(f"{item} is not a variable of the network. Its variables are x, h, g."):
        chain().graph(observed=[item])
    with refused(f"{item} is not a variable of the network. Its variables are x, h, g."):
        chain().unroll(2, observed=[item])


def test_networks_compare_by_content() -> None:
    assert chain() == chain()
    assert hash(chain()) == hash(chain())
    assert chain() != Network(*chain().factorizations)
    assert chain() != Network(*chain().factorizations[:1], name="chain")
    assert section_2_2() == section_2_2()
    assert len({plain_nmf(3, 2), plain_nmf(3, 2), plain_nmf(2, 3)}) == 2


def test_values_of_parameters_count_in_comparisons() -> None:
    def network(value: float) -> Network:
        return Network(Factorization(x, Parameter("W", np.full((2, 4), value)) @ h))

    assert network(1) == network(1)
    assert network(1) != network(2)


@pytest.mark.parametrize("field", ["factorizations", "name", "value"])
def test_nothing_can_be_stored_on_a_network(field: str) -> None:
    network = chain()
    with pytest.raises(FrozenInstanceError):
        setattr(network, field, None)


def test_questions_leave_a_network_as_it_was() -> None:
    network = chain()
    graph = network.graph()
    graph.nodes["x"]["level"] = 7
    graph.remove_node("h")
    with suppress(AttributeError, TypeError):  # a read-only mapping would be as good as a new one
        network.columns(5).variables.clear()
    assert network == chain()
    assert hash(network) == hash(chain())
    assert network.graph().nodes["x"]["level"] == 1
    assert network.columns(5).variables.keys() == {"x", "h", "g"}


def test_a_network_describes_itself() -> None:
    assert repr(chain()) == "Network(chain: 2 equations, 3 variables, 2 parameters)"
    assert repr(plain_nmf(3, 2)) == "Network(1 equations, 2 variables, 1 parameters)"
    assert (chain().name, plain_nmf(3, 2).name) == ("chain", None)


def test_plain_nmf_prints_as_its_equation() -> None:
    assert str(plain_nmf(3, 2)) == "eq1: x[t] = W h[t]    x: 3; h: 2; W: 3 × 2 learned"


def test_the_example_of_section_2_2_prints_as_its_equations() -> None:
    assert str(section_2_2()).splitlines() == [
        "eq1: x1[t] = W1 x5[t] + W2 x6[t]    x1: 3; x5: 4; x6: 2; W1: 3 × 4 learned; W2: 3 × 2 learned",
        "eq2: x2[t] = W3 x6[t] + W4 x7[t]    x2: 4; x6: 2; x7: 3; W3: 4 × 2 learned; W4: 4 × 3 learned",
        "eq3: x2[t] = W5 x8[t] + W6 x9[t]    x2: 4; x8: 4; x9: 2; W5: 4 × 4 learned; W6: 4 × 2 learned",
        "eq4: x2[t] = W7 x10[t]              x2: 4; x10: 3; W7: 4 × 3 learned",
        "eq5: x3[t] = W8 x10[t]              x3: 2; x10: 3; W8: 2 × 3 learned",
        "eq6: x3[t] = W9 x11[t]              x3: 2; x11: 4; W9: 2 × 4 learned",
        "eq7: x4[t] = W10 x11[t]             x4: 3; x11: 4; W10: 3 × 4 learned",
        "eq8: x6[t] = W11 x12[t]             x6: 2; x12: 2; W11: 2 × 2 learned",
        "eq9: x10[t] = W12 x12[t]            x10: 3; x12: 2; W12: 3 × 2 learned",
        "eq10: x11[t] = W13 x12[t]           x11: 4; x12: 2; W13: 4 × 2 learned",
    ]


def test_printing_says_what_is_known_tied_sparse_and_normalized() -> None:
    known, tied = Parameter("K", scipy.sparse.csr_array(np.eye(4, 1))), Parameter("T", np.ones((4, 4)), learn=True)
    network = Network(
        Factorization([x[t], x[t + 1]], tied @ h[t] + tied @ h[t - 1] + known @ g, normalize="balanced", name="move")
    )
    assert str(network) == (
        "move: [x[t]; x[t+1]] = T h[t] + T h[t-1] + K g[t]    x: 2; h: 4; g: 1; "
        "T: 4 × 4 learned from a start; K: 4 × 1 known, sparse; normalize balanced"
    )
