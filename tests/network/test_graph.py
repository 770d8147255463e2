"""The graph of Algorithm 1 of the paper."""

import networkx
from hypothesis import given

from pfn import Factorization, Network, Parameter, Variable, t
from tests.network import draws
from tests.network.refusal import refused
from tests.networks import W_DETERMINISTIC, automaton, hierarchy, section_2_2

Arc = tuple[object, object, str, str, int, int]


def arcs(graph: networkx.MultiDiGraph) -> list[Arc]:
    """Parent, child, parameter, equation, dashes, lag of every arc, sorted."""
    return sorted(
        (parent, child, data["parameter"], data["equation"], data["dashes"], data["lag"])
        for parent, child, data in graph.edges(data=True)
    )


def test_the_arcs_of_section_2_2_have_the_dashes_of_algorithm_1() -> None:
    graph = section_2_2().graph()
    assert isinstance(graph, networkx.MultiDiGraph)
    assert arcs(graph) == sorted(
        [
            ("x5", "x1", "W1", "eq1", 1, 0),
            ("x6", "x1", "W2", "eq1", 1, 0),
            ("x6", "x2", "W3", "eq2", 1, 0),
            ("x7", "x2", "W4", "eq2", 1, 0),
            ("x8", "x2", "W5", "eq3", 2, 0),
            ("x9", "x2", "W6", "eq3", 2, 0),
            ("x10", "x2", "W7", "eq4", 3, 0),
            ("x10", "x3", "W8", "eq5", 1, 0),
            ("x11", "x3", "W9", "eq6", 2, 0),
            ("x11", "x4", "W10", "eq7", 1, 0),
            ("x12", "x6", "W11", "eq8", 1, 0),
            ("x12", "x10", "W12", "eq9", 1, 0),
            ("x12", "x11", "W13", "eq10", 1, 0),
        ]
    )


def test_the_nodes_of_section_2_2() -> None:
    nodes = section_2_2().graph(observed=["x1", "x3"]).nodes(data=True)
    assert {name for name, _ in nodes} == {f"x{number}" for number in range(1, 13)}
    for number in range(1, 13):
        assert nodes[f"x{number}"] == {
            "level": 1 if number <= 4 else 3 if number == 12 else 2,
            "size": 2 + number % 3,
            "observed": number in (1, 3),
        }


def test_everything_is_hidden_unless_it_is_said_to_be_observed() -> None:
    network = section_2_2()
    assert not any(observed for _, observed in network.graph().nodes(data="observed"))
    by_object = network.graph(observed=network.variables[:2])
    assert {name for name, observed in by_object.nodes(data="observed") if observed} == {"x1", "x5"}
    assert not any(observed for _, observed in network.graph().nodes(data="observed"))


def test_the_two_slices_of_a_stack_have_their_own_arcs_and_dashes() -> None:
    graph = automaton(W_DETERMINISTIC).graph(observed=["x"])
    assert arcs(graph) == [("h", "x", "W", "eq1", 1, 0), ("h", "x", "W", "eq1", 2, 1)]
    assert graph.nodes["x"] == {"level": 1, "size": 4, "observed": True}
    assert graph.nodes["h"] == {"level": 2, "size": 4, "observed": False}


def test_the_lag_is_how_much_later_the_child_is() -> None:
    x, h, g = Variable("x", 1), Variable("h", 1), Variable("g", 1)
    A, B = Parameter("A", shape=(2, 1)), Parameter("B", shape=(2, 1))
    graph = Network(Factorization([x[t], x[t + 2]], A @ h[t - 3] + B @ g[t])).graph()
    assert arcs(graph) == [
        ("g", "x", "B", "eq1", 1, 0),
        ("g", "x", "B", "eq1", 2, 2),
        ("h", "x", "A", "eq1", 1, 3),
        ("h", "x", "A", "eq1", 2, 5),
    ]


def test_the_hierarchy_of_section_6_has_an_arc_for_every_separation() -> None:
    graph = hierarchy(3, (2, 2), 3, (1, 4)).graph()
    assert arcs(graph) == [
        ("x2", "x1", "W1_1", "eq1", 1, 0),
        ("x2", "x1", "W1_2", "eq1", 1, 1),
        ("x2", "x1", "W1_3", "eq1", 1, 2),
        ("x3", "x2", "W2_1", "eq2", 1, 0),
        ("x3", "x2", "W2_2", "eq2", 1, 4),
        ("x3", "x2", "W2_3", "eq2", 1, 8),
    ]


def test_a_cycle_through_time_has_a_graph() -> None:
    x, h = Variable("x", 1), Variable("h", 1)
    A, B = Parameter("A", shape=(1, 1)), Parameter("B", shape=(1, 1))
    graph = Network(Factorization(x, A @ h), Factorization(h, B @ x[t - 1])).graph()
    assert arcs(graph) == [("h", "x", "A", "eq1", 1, 0), ("x", "h", "B", "eq2", 1, 1)]


def test_the_graph_has_the_name_of_the_network() -> None:
    x, h = Variable("x", 1), Variable("h", 1)
    equation = Factorization(x, Parameter("W", shape=(1, 1)) @ h)
    assert Network(equation, name="mixing").graph().name == "mixing"
    assert Network(equation).graph().name == ""


def test_an_unknown_observed_variable() -> None:
    with refused("the network has nothing called z. It has x, h, W, eq1."):
        automaton(W_DETERMINISTIC).graph(observed=["z"])


@given(draws.networks())
def test_equal_dashes_mean_the_same_equation_and_child_slice(network: Network) -> None:
    graph = network.graph()
    wanted = sum(len(e.children) * len(e.parents) for e in network.factorizations)
    assert graph.number_of_edges() == wanted
    for variable in network.variables:
        into = [data for _, _, data in graph.in_edges(variable.name, data=True)]
        places = [
            (equation, child)
            for equation in network.factorizations
            for child in equation.children
            if child.variable == variable
        ]
        assert [data["dashes"] for data in sorted(into, key=lambda data: data["dashes"])] == [
            number for number, (equation, _) in enumerate(places, 1) for _ in equation.parents
        ]
        for number, (equation, child) in enumerate(places, 1):
            dashed = [data for data in into if data["dashes"] == number]
            assert {data["equation"] for data in dashed} == {equation.name}
            assert sorted(data["lag"] for data in dashed) == sorted(child.lag - p.lag for p in equation.parents)


def test_folded_and_unrolled_graphs_have_the_same_attributes() -> None:
    network = section_2_2()
    folded, unrolled = network.graph(["x2"]), network.unroll(3, ["x2"])
    for (name, time), found in unrolled.nodes(data=True):
        assert found == folded.nodes[name] | {"variable": name, "time": time}
    for time in range(3):
        now = [(a[0], b[0], *rest) for a, b, *rest in arcs(unrolled) if (a[1], b[1]) == (time, time)]  # type: ignore[index]
        assert sorted(now) == arcs(folded)
