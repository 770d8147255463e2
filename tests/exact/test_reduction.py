"""Entries that can only be zero, against one linear program for each of them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import pfn
from pfn.exact.reduction import only_zero, reduce
from tests import networks
from tests.exact.problems import Known, flat_known, solvable


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_what_is_left_out_is_zero_in_every_solution(seed):
    system, known = flat_known(solvable(seed))
    reduced = reduce(system.matrix, known)
    gone = np.flatnonzero(np.isnan(known) & ~np.isnan(reduced.y))
    bounds = [(0, 1) if np.isnan(value) else (value, value) for value in known]
    for entry in gone[:10]:
        costs = -np.eye(1, known.size, entry)[0]
        largest = linprog(costs, A_eq=system.matrix, b_eq=np.zeros(system.matrix.shape[0]), bounds=bounds)
        assert largest.status == 0
        assert abs(largest.fun) < 1e-9


def test_a_chain_of_zeros_is_followed_to_its_end():
    network = networks.automaton(networks.W_DETERMINISTIC)
    known = np.full((4, 300), np.nan)
    known[:, 0] = [1, 0, 0, 0]
    x = {"x": known}
    system, flat = flat_known(Known(network, x, {}))
    zero = only_zero(system.matrix, flat == 0)
    assert (~zero).sum() == 300 + 299  # one state a slice, and one transition between two
    reduced = reduce(system.matrix, flat)
    assert reduced.unknown.size == 299 + 299


def test_a_child_without_parents_that_are_not_zero_is_zero():
    x, h = pfn.Variable("x", 1), pfn.Variable("h", 3)
    network = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", [[1.0, 1.0, 0.0]]) @ h))
    data = {"x": np.full((1, 1), np.nan), "h": np.array([[0.0], [0.0], [5.0]])}
    system, flat = flat_known(Known(network, data, {}))
    assert reduce(system.matrix, flat).unknown.size == 0


def test_a_conflict_stays_to_be_seen():
    network = networks.automaton(networks.W_DETERMINISTIC)
    X = np.zeros((4, 3))
    X[0, 1] = 1
    system, flat = flat_known(Known(network, {"x": X}, {}))
    reduced = reduce(system.matrix, flat)
    assert reduced.unknown.size == 0
    assert np.abs(reduced.values).max() == 1
