"""Unique entries, against the least and the greatest value of each, found one by one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from pfn.engines import largest_error
from tests.exact.problems import flat_known, solvable

MANY = settings(max_examples=25, deadline=None)


def ranges(system, known):
    """The least and the greatest value of every entry over all solutions with entries up to 10."""
    bounds = [(0, 10) if np.isnan(value) else (value, value) for value in known]
    zeros = np.zeros(system.matrix.shape[0])
    for entry in range(known.size):
        costs = np.eye(1, known.size, entry)[0]
        low, high = (linprog(s * costs, A_eq=system.matrix, b_eq=zeros, bounds=bounds) for s in (1, -1))
        yield low.fun, -high.fun


@MANY
@given(st.integers(0, 10**6))
def test_unique_exactly_where_all_solutions_agree(seed):
    problem = solvable(seed)
    system, known = flat_known(problem)
    if not 0 < known.size <= 80:  # a program for every entry takes its time
        return
    touched = system.touched()
    low, high = np.where(touched, np.array(list(ranges(system, known))).T, 0.0)
    sparse, spread = problem.infer(), problem.infer(prefer="spread")
    unique = flat(problem, sparse.unique)
    assert not unique[~touched & np.isnan(known)].any()
    np.testing.assert_array_equal(unique[touched], (high - low < 1e-6)[touched])
    for result in (sparse, spread):
        assert largest_error(result.rmse) < 1e-7
        np.testing.assert_allclose(flat(problem, result)[touched & unique], low[touched & unique], atol=1e-6)
    assert (flat(problem, spread)[touched & (high > 1e-4)] > 0).all()  # a superposition has everything possible


def flat(problem, arrays):
    return np.concatenate([np.asarray(arrays[v]).T.ravel() for v in problem.network.variables])


def test_where_the_presolve_of_highs_finds_no_solution():
    """It does for this network, from differences in the last digit."""
    result = solvable(5022).infer()
    assert result.stop == "exact solution"
    assert result.unique is not None
