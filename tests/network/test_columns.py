"""Columns of equations and variables: every slice that an equation names lies within its variable."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfn import Factorization, Network, Parameter, Variable, t
from tests import networks, oracle
from tests.network import draws

x, y, g, h, v = (Variable(name, 1) for name in ("x", "y", "g", "h", "v"))


def network(*equations: tuple[Any, Any]) -> Network:
    """Children and parents, as slices or lists of them; every parameter is a column of ones."""
    made = []
    for number, pair in enumerate(equations):
        children, parents = (item if isinstance(item, list) else [item] for item in pair)
        ones = np.ones((len(children), 1))
        terms = [Parameter(f"W{number}{k}", ones) @ parent for k, parent in enumerate(parents)]
        made.append(Factorization(children, sum(terms)))
    return Network(*made)


AUTOMATON = network(([x[t], x[t + 1]], h[t]))
STACKED = network(([x[t], x[t + 1]], h[t]), ([h[t], g[t]], v[t]))


@pytest.mark.parametrize(
    ("declared", "slices", "equations", "variables"),
    [
        (network((x[t], h[t])), 4, [4], {"x": range(4), "h": range(4)}),
        (AUTOMATON, 5, [4], {"x": range(5), "h": range(4)}),
        (AUTOMATON, 2, [1], {"x": range(2), "h": range(1)}),
        (AUTOMATON, 1, [0], {"x": range(0), "h": range(0)}),
        (STACKED, 5, [4, 4], {"x": range(5), "h": range(4), "g": range(4), "v": range(4)}),
        (STACKED, 1, [0, 0], {"x": range(0), "h": range(0), "g": range(0), "v": range(0)}),
        (network((x[t], [h[t], h[t - 1], h[t - 2]])), 5, [5], {"x": range(5), "h": range(5)}),
        (network((x[t], h[t - 2])), 5, [5], {"x": range(5), "h": range(3)}),
        (network((x[t], h[t - 2])), 2, [2], {"x": range(2), "h": range(0)}),
        (network((x[t + 2], h[t])), 5, [3], {"x": range(2, 5), "h": range(3)}),
        (network((x[t + 2], h[t - 1])), 5, [3], {"x": range(2, 5), "h": range(2)}),
        (network(([x[t], y[t + 3]], h[t])), 5, [2], {"x": range(2), "y": range(3, 5), "h": range(2)}),
        (network((x[t], h[t]), (h[t + 1], g[t])), 5, [5, 4], {"x": range(5), "h": range(5), "g": range(4)}),
        (network((x[t], h[t - 1]), (h[t], g[t])), 5, [5, 4], {"x": range(5), "h": range(4), "g": range(4)}),
        (
            network(([x[t], y[t + 2]], h[t]), (x[t + 2], g[t])),
            3,
            [1, 1],
            {"x": range(3), "y": range(2, 3), "h": range(1), "g": range(1)},
        ),
        (
            network((x[t], [h[t], g[t - 2]]), ([h[t], g[t]], v[t])),
            5,
            [5, 3],
            {"x": range(5), "h": range(5), "g": range(3), "v": range(3)},
        ),
        (network((x[t], h[t - 1]), (y[t], h[t])), 3, [3, 3], {"x": range(3), "y": range(3), "h": range(3)}),
    ],
)
def test_columns(declared: Network, slices: int, equations: list[int], variables: dict[str, range]) -> None:
    columns = declared.columns(slices)
    assert list(columns.equations.values()) == equations
    assert columns.variables == variables


def test_columns_of_the_hierarchy_of_section_6() -> None:
    columns = networks.hierarchy(2, (2, 2, 2), 4, (1, 4, 16)).columns(623)
    assert columns.equations == {"eq1": 623, "eq2": 623, "eq3": 623}
    assert columns.variables == dict.fromkeys(("x1", "x2", "x3", "x4"), range(623))


def test_columns_of_the_tracker_of_section_5() -> None:
    columns = networks.tracking().columns(26)
    shorter = {"eq2", "eq4", "eq5", "eq6"}
    assert columns.equations == {f"eq{n}": 25 if f"eq{n}" in shorter else 26 for n in range(1, 8)}
    full = {"x1", "x2", "x3", "x4", "x5", "u1", "u2", "u3"}
    assert {name for name, found in columns.variables.items() if found == range(26)} == full
    assert {name for name, found in columns.variables.items() if found == range(25)} == {
        "h1",
        "h2",
        "h3",
        "v1",
        "v2",
    }


def test_columns_of_a_cycle_through_time() -> None:
    assert network((x[t + 1], x[t])).columns(4) == ({"eq1": 3}, {"x": range(4)})
    assert network((x[t], h[t]), (h[t], x[t - 1])).columns(4) == (
        {"eq1": 4, "eq2": 4},
        {"x": range(4), "h": range(4)},
    )


@given(draws.networks(), st.integers(1, 9))
def test_columns_are_those_of_the_definition(declared: Network, slices: int) -> None:
    bottom = declared.bottom[0].name
    data = {bottom: np.zeros((1, slices))}
    found = declared.columns(slices)
    assert found.equations == oracle.column_counts(declared, data)
    wanted = oracle.array_columns(declared, data)
    touched = [column for name, column in oracle.find_holders(declared, data) if name == bottom]
    wanted[bottom] = range(min(touched), max(touched) + 1) if touched else range(0)
    assert found.variables == wanted


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_a_longer_sequence_has_no_fewer_columns(seed: int, slices: int) -> None:
    declared = networks.random_problem(seed).network
    shorter, longer = declared.columns(slices), declared.columns(slices + 1)
    for name, count in shorter.equations.items():
        assert count <= longer.equations[name] <= count + 1
    for name, columns in shorter.variables.items():
        assert set(columns) <= set(longer.variables[name])
