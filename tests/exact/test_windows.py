"""Windows against the whole, on random networks: the same equations hold, and the same entries are certain."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pfn.engines import largest_error
from tests.exact.problems import solvable


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_joined_windows_solve_the_whole(seed, window):
    problem = solvable(seed)
    whole, joined = problem.infer(), problem.infer(window=window, overlap=1 + seed % (window - 1))
    assert joined.stop == "exact solution"
    assert largest_error(joined.rmse) < 1e-7
    for variable in problem.network.variables:
        np.testing.assert_array_equal(joined.unique[variable], whole.unique[variable])
        certain = whole.unique[variable]
        np.testing.assert_allclose(joined[variable][certain], whole[variable][certain], atol=1e-6)
