"""Forced co-activations (paper, section 2.2): children of one parent through equally normalized columns."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from pfn import Factorization, Network, Parameter, Variable, t
from tests.networks import W_DETERMINISTIC, automaton, regular_expression, section_2_2, tracking

a, b, c, h, g = (Variable(name, 2) for name in ("a", "b", "c", "h", "g"))
UNIT = [[0.25, 1.0], [0.75, 0.0]]


def learned(name: str, rows: int = 2) -> Parameter:
    return Parameter(name, shape=(rows, 2))


def coactivations(*equations: Factorization) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = Network(*equations).graph().graph["coactivations"]
    return found


def test_x3_and_x4_of_section_2_2_when_their_columns_are_normalized() -> None:
    plain = section_2_2()
    chosen = [
        Factorization(e.children, e.terms[0], normalize="columns") if e.name in ("eq6", "eq7") else e
        for e in plain.factorizations
    ]
    assert plain.graph().graph["coactivations"] == []
    assert coactivations(*chosen) == [("x3", "x4")]


@pytest.mark.parametrize("normalize", ["columns", "sequences"])
def test_children_of_one_parent_with_unit_columns(normalize: str) -> None:
    assert coactivations(
        Factorization(a, learned("A") @ h, normalize=normalize),
        Factorization(b, learned("B") @ h, normalize=normalize),
        Factorization(c, learned("C") @ g, normalize=normalize),
    ) == [("a", "b")]


def test_one_of_two_normalized_is_not_enough() -> None:
    for normalize in (None, "balanced"):
        equations = (
            Factorization(a, learned("A") @ h, normalize="columns"),
            Factorization(b, learned("B") @ h, normalize=normalize),
        )
        assert coactivations(*equations) == []


@pytest.mark.parametrize(
    ("normalize", "pairs"),
    [
        ("subcolumns", [("a", "b"), ("a", "c"), ("b", "c")]),
        ("balanced", [("a", "b"), ("a", "c"), ("b", "c")]),
        ("columns", []),
        ("sequences", []),
        (None, []),
    ],
)
def test_children_that_are_stacked(normalize: str | None, pairs: list[tuple[str, str]]) -> None:
    assert coactivations(Factorization([a[t], b[t], c[t]], learned("W", 6) @ h, normalize=normalize)) == pairs


def test_sums_that_are_not_promised_for_a_single_term() -> None:
    """The j-th columns of both parameters sum to one, those of either need not."""
    assert (
        coactivations(
            Factorization(a, learned("A") @ h + learned("B") @ g, normalize="sequences"),
            Factorization(b, learned("C") @ h + learned("D") @ g, normalize="sequences"),
        )
        == []
    )
    assert coactivations(
        Factorization(a, learned("A") @ h + learned("B") @ g, normalize="columns"),
        Factorization(b, learned("C") @ h + learned("D") @ g, normalize="columns"),
    ) == [("a", "b")]


def test_different_sums_are_no_coactivation() -> None:
    """The parts of a stack of two sum to a half each, the columns of a single child to one."""
    assert coactivations(
        Factorization([a[t], b[t]], learned("A", 4) @ h, normalize="subcolumns"),
        Factorization(c, learned("C") @ h, normalize="columns"),
    ) == [("a", "b")]


def test_balanced_parts_of_different_equations_have_different_sums() -> None:
    d = Variable("d", 2)
    assert coactivations(
        Factorization([a[t], b[t]], learned("A", 4) @ h, normalize="balanced"),
        Factorization([c[t], d[t]], learned("C", 4) @ h, normalize="balanced"),
    ) == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array])
@pytest.mark.parametrize(
    ("first", "second", "pairs"),
    [
        (UNIT, [[1, 0], [0, 1]], [("a", "b")]),
        (UNIT, [[2, 0], [0, 2]], []),
        ([[2, 0], [0, 2]], [[1, 1], [1, 1]], [("a", "b")]),
        (UNIT, [[1, 0], [0, 0.5]], []),
        (UNIT, [[0, 0], [0, 0]], []),
        ([[0, 0], [0, 0]], [[0, 0], [0, 0]], []),
    ],
)
def test_known_matrices_with_equal_column_sums(make: Any, first: Any, second: Any, pairs: list[Any]) -> None:
    A, B = (Parameter(name, make(np.array(value, float))) for name, value in (("A", first), ("B", second)))
    assert coactivations(Factorization(a, A @ h), Factorization(b, B @ h)) == pairs


def test_known_sums_are_equal_up_to_rounding() -> None:
    tenths = Parameter("A", np.full((10, 2), 0.1))
    assert tenths.value.sum(axis=0)[0] != 1
    wide = Variable("wide", 10)
    assert coactivations(Factorization(wide, tenths @ h), Factorization(b, learned("B") @ h, normalize="columns")) == [
        ("wide", "b")
    ]


def test_a_start_value_promises_nothing() -> None:
    A, B = (Parameter(name, UNIT, learn=True) for name in "AB")
    assert coactivations(Factorization(a, A @ h), Factorization(b, B @ h)) == []


def test_a_variable_is_not_coactivated_with_itself() -> None:
    assert automaton(W_DETERMINISTIC).graph().graph["coactivations"] == []


def test_coactivated_transitions_of_section_4() -> None:
    assert regular_expression().graph().graph["coactivations"] == [("h1", "h2")]


def test_coactivated_variables_of_section_5() -> None:
    """W2 and W6 have columns that end or begin a target, whose halves do not have equal sums."""
    assert tracking().graph().graph["coactivations"] == [
        ("x3", "x2"),
        ("x3", "x1"),
        ("x3", "x4"),
        ("x2", "x1"),
        ("h1", "h2"),
        ("x4", "x5"),
        ("h2", "h3"),
    ]


def test_coactivations_of_an_unrolled_automaton() -> None:
    graph = automaton(W_DETERMINISTIC).unroll(3)
    assert graph.graph["coactivations"] == [(("x", 0), ("x", 1)), (("x", 1), ("x", 2))]


def test_coactivations_of_an_unrolled_echo() -> None:
    """Known unit columns at lags 0 and 2: a parent's children are two slices apart."""
    first, second = Parameter("first", UNIT), Parameter("second", UNIT)
    network = Network(Factorization(a[t], first @ h[t] + second @ h[t - 2]))
    assert network.graph().graph["coactivations"] == []
    assert network.unroll(4).graph["coactivations"] == [(("a", 0), ("a", 2)), (("a", 1), ("a", 3))]
