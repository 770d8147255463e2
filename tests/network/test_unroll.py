"""The graph with explicit time slices."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfn import Factorization, Network, Parameter, Variable, decay, t
from tests import networks, oracle
from tests.network import draws
from tests.network.refusal import refused
from tests.network.test_graph import arcs


def test_the_automaton_of_section_3() -> None:
    graph = networks.automaton(networks.W_DETERMINISTIC).unroll(4, observed=["x"])
    assert set(graph.nodes) == {("x", time) for time in range(4)} | {("h", time) for time in range(3)}
    assert arcs(graph) == [
        (("h", 0), ("x", 0), "W", "eq1", 1, 0),
        (("h", 0), ("x", 1), "W", "eq1", 1, 1),
        (("h", 1), ("x", 1), "W", "eq1", 2, 0),
        (("h", 1), ("x", 2), "W", "eq1", 1, 1),
        (("h", 2), ("x", 2), "W", "eq1", 2, 0),
        (("h", 2), ("x", 3), "W", "eq1", 1, 1),
    ]
    assert graph.nodes["x", 2] == {"level": 1, "size": 4, "observed": True, "variable": "x", "time": 2}
    assert graph.nodes["h", 0] == {"level": 2, "size": 4, "observed": False, "variable": "h", "time": 0}
    assert graph.graph["slices"] == 4


@pytest.mark.parametrize("length", [1, 3, None])
def test_windows_have_the_arcs_of_the_same_sum_written_out(length: int | None) -> None:
    x, y, h = Variable("x", 2), Variable("y", 3), Variable("h", 2)
    W = Parameter("W", shape=(5, 2))
    window = decay(h[t - 1], 0.5) if length is None else decay(h[t - 1], 0.5, length)
    many = 5 if length is None else length
    network = Network(Factorization([x[t], y[t + 1]], W @ window))
    written = Network(Factorization([x[t], y[t + 1]], sum(W @ h[t - 1 - back] for back in range(many))))
    assert arcs(network.unroll(6)) == arcs(written.unroll(6))
    assert {data["slices"] for *_, data in network.graph().edges(data=True)} == {length or inf}


def test_an_automaton_of_one_slice_has_no_transition() -> None:
    graph = networks.automaton(networks.W_DETERMINISTIC).unroll(1)
    assert graph.number_of_edges() == 0
    assert ("h", 0) not in graph


def test_the_hierarchy_of_section_6() -> None:
    graph = networks.hierarchy(3, (2, 2), 2, (1, 2)).unroll(3)
    assert set(graph.nodes) == {(f"x{level}", time) for level in (1, 2, 3) for time in range(3)}
    assert arcs(graph) == [
        (("x2", 0), ("x1", 0), "W1_1", "eq1", 1, 0),
        (("x2", 0), ("x1", 1), "W1_2", "eq1", 1, 1),
        (("x2", 1), ("x1", 1), "W1_1", "eq1", 1, 0),
        (("x2", 1), ("x1", 2), "W1_2", "eq1", 1, 1),
        (("x2", 2), ("x1", 2), "W1_1", "eq1", 1, 0),
        (("x3", 0), ("x2", 0), "W2_1", "eq2", 1, 0),
        (("x3", 0), ("x2", 2), "W2_2", "eq2", 1, 2),
        (("x3", 1), ("x2", 1), "W2_1", "eq2", 1, 0),
        (("x3", 2), ("x2", 2), "W2_1", "eq2", 1, 0),
    ]


def test_the_two_level_machine_of_section_4() -> None:
    graph = networks.regular_expression().unroll(3)
    times = {name: {time for found, time in graph.nodes if found == name} for name in ("x1", "h1", "x2", "h2", "v")}
    assert times == {"x1": {0, 1, 2}, "x2": {0, 1, 2}, "h1": {0, 1}, "h2": {0, 1}, "v": {0, 1}}
    assert graph.number_of_edges() == 2 * (2 + 2 + 2)
    coupled = [arc for arc in arcs(graph) if arc[3] == "eq3"]
    assert coupled == [
        (("v", 0), ("h1", 0), "U", "eq3", 1, 0),
        (("v", 0), ("h2", 0), "U", "eq3", 1, 0),
        (("v", 1), ("h1", 1), "U", "eq3", 1, 0),
        (("v", 1), ("h2", 1), "U", "eq3", 1, 0),
    ]


def test_a_cycle_through_time_unrolls_without_a_cycle() -> None:
    x = Variable("x", 1)
    graph = Network(Factorization(x[t + 1], Parameter("W", shape=(1, 1)) @ x[t])).unroll(4)
    assert [(parent, child) for parent, child, *_ in arcs(graph)] == [
        (("x", time), ("x", time + 1)) for time in range(3)
    ]


@pytest.mark.parametrize("slices", [0, -2])
def test_fewer_than_one_slice(slices: int) -> None:
    with refused(f"unroll takes a number of slices >= 1, found {slices}."):
        networks.plain_nmf(2, 2).unroll(slices)


@pytest.mark.parametrize("slices", [2.0, "3", None, True])
def test_slices_that_are_no_whole_number(slices: int) -> None:
    with refused(f"the number of slices to unroll must be a whole number, found {slices!r}. Give an int."):
        networks.plain_nmf(2, 2).unroll(slices)


@given(draws.networks(), st.integers(1, 7))
def test_arcs_and_dashes_are_those_of_the_definition(network: Network, slices: int) -> None:
    """Algorithm 1 on the equations of every column, with loops."""
    counts = oracle.column_counts(network, {network.bottom[0].name: np.zeros((1, slices))})
    wanted = []
    most: dict[tuple[str, int], int] = {}
    for equation in network.factorizations:
        for time in range(counts[equation.name]):
            for child in equation.children:
                node = (child.variable.name, time + child.lag)
                present = [term for term in equation.terms if time + term.slice.lag >= 0]
                dashes = most[node] = most.get(node, 0) + bool(present)
                for term in present:
                    parent = (term.slice.variable.name, time + term.slice.lag)
                    lag = child.lag - term.slice.lag
                    wanted.append((parent, node, term.parameter.name, equation.name, dashes, lag))
    graph = network.unroll(slices)
    assert arcs(graph) == sorted(wanted)
    columns = network.columns(slices).variables
    assert set(graph.nodes) == {(name, time) for name, times in columns.items() for time in times}
