"""What is eliminated, what remains, and through which equations updates go."""

import numpy as np
import pytest

import pfn
from pfn import t
from pfn.compiler.substitution import Definition, Move, substitute
from tests.networks import W_DETERMINISTIC, automaton, hierarchy, regular_expression

HIERARCHY = hierarchy(6, (4, 3, 2), 2, (1, 2, 4))


def learned(network):
    return [parameter.name for parameter in network.parameters]


def test_a_hierarchy_leaves_its_top():
    plan = substitute(HIERARCHY, hidden=["x2", "x3", "x4"], learned=learned(HIERARCHY))
    assert plan.definitions == (Definition("x3", "eq3"), Definition("x2", "eq2"))
    assert plan.free == ("x4",)
    assert plan.moves == (
        Move("left update", 1, ("W1_1", "W1_2"), ("eq1",), 1),
        Move("left update", 2, ("W2_1", "W2_2"), ("eq1", "eq2"), 1),
        Move("left update", 3, ("W3_1", "W3_2"), ("eq1", "eq2", "eq3"), 1),
        Move("right update", 4, ("x4",), ("eq1", "eq2", "eq3"), 1),
    )


def test_it_prints_as_a_table():
    plan = substitute(HIERARCHY, hidden=["x2", "x3", "x4"], keep=["x3"])
    assert str(plan).splitlines() == [
        "level  step          changes  through",
        "2      substitute    x2       eq2: x2[t] = W2_1 x3[t] + W2_2 x3[t-2]",
        "3      right update  x3       eq1, eq2",
        "4      right update  x4       eq3",
    ]
    assert repr(plan).startswith("Substitution of x2 in Network(")


def test_a_child_of_two_slices_stays():
    plan = substitute(automaton(W_DETERMINISTIC), hidden=["x", "h"])
    assert plan.definitions == ()
    assert plan.free == ("x", "h")


def test_coupled_machines_keep_their_states():
    plan = substitute(regular_expression(), hidden=["x1", "h1", "x2", "h2", "v"])
    assert {d.variable for d in plan.definitions} == {"h1", "h2"}
    assert plan.moves[-1] == Move("right update", 3, ("v",), ("eq1", "eq2", "eq3"), 1)


def test_a_later_slice_leaves_columns_to_update():
    x, h, g = pfn.Variable("x", 2), pfn.Variable("h", 2), pfn.Variable("g", 2)
    W, V = pfn.Parameter("W", np.eye(2)), pfn.Parameter("V", np.eye(2))
    network = pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization(h[t + 1], V @ g))
    plan = substitute(network, hidden=["h", "g"])
    assert plan.definitions == (Definition("h", "eq2"),)
    assert plan.free == ("h", "g")


def test_a_stack_with_a_later_slice_leaves_the_last_column():
    x, y, h, g = (pfn.Variable(name, 2) for name in "xyhg")
    W, V = pfn.Parameter("W", np.eye(2)), pfn.Parameter("V", np.ones((4, 2)))
    network = pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization([h[t], y[t + 1]], V @ g))
    plan = substitute(network, hidden=["h", "g"])
    assert plan.definitions == (Definition("h", "eq2"),)
    assert plan.free == ("h", "g")
    X = np.array([[1.0, 2, 3], [1, 2, 4]])
    result = pfn.infer(network, {x: X}, method="substitute", iterations=200)
    np.testing.assert_allclose(result[h], [[1, 2, 3], [1, 2, 4]], atol=1e-4)


@pytest.mark.parametrize(("keep", "degree"), [((), 2), (["h"], 1)])
def test_a_parameter_on_both_levels_has_degree_two(keep, degree):
    x, h, g = (pfn.Variable(name, 2) for name in "xhg")
    W = pfn.Parameter("W", shape=(2, 2))
    network = pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization(h, W @ g))
    plan = substitute(network, hidden=["h", "g"], learned=["W"], keep=keep)
    assert plan.moves[0] == Move("left update", 1, ("W",), ("eq1", "eq2"), degree)
    assert (" (degree 2)" in str(plan)) == (degree == 2)


def test_a_tied_parameter_is_updated_alone():
    x, y, h = (pfn.Variable(name, 2) for name in "xyh")
    W, V, U = (pfn.Parameter(name, shape=(2, 2)) for name in "WVU")
    network = pfn.Network(pfn.Factorization(x, W @ h + U @ h[t - 1]), pfn.Factorization(y, V @ h + U @ h[t - 1]))
    plan = substitute(network, hidden=["h"], learned=["W", "V", "U"])
    assert [move.targets for move in plan.moves] == [("W",), ("U",), ("V",), ("h",)]
    assert plan.moves[1].degree == 1


def test_cycles_through_time_are_refused():
    x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
    W, V = pfn.Parameter("W", np.eye(2)), pfn.Parameter("V", np.eye(2))
    network = pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization(h, V @ x[t - 1]))
    with pytest.raises(pfn.OptionError, match="cycle through time"):
        substitute(network, hidden=["h"])
