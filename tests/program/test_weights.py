"""Weights of columns in right updates: an equation of weight 2 is the same equation twice."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pfn
from benchmarks.program import Sweeper
from pfn import t
from pfn.engines.program_engine import ProgramRun
from tests.program.runs import problem_of

RNG = np.random.default_rng(0)
A, B = RNG.random((4, 3)), RNG.random((5, 3))
X, Y, H = RNG.random((4, 8)), RNG.random((5, 8)), RNG.random((3, 8)) + 0.1


def network(copies: int) -> pfn.Network:
    """Some equations with A that share h with one with B; h at a lag, too."""
    h, y = pfn.Variable("h", 3), pfn.Variable("y", 5)
    known = [pfn.Parameter(name, value) for name, value in (("A", A), ("B", B))]
    first = [
        pfn.Factorization(pfn.Variable(f"x{n}", 4)[t], known[0] @ h[t] + known[0] @ h[t - 1], name=f"first{n}")
        for n in range(copies)
    ]
    return pfn.Network(*first, pfn.Factorization(y[t], known[1] @ h[t]))


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_a_weight_of_two_is_twice_the_equation(divergence: Any) -> None:
    found = []
    for copies, weight in ((2, 1.0), (1, 2.0)):
        data = {f"x{n}": X for n in range(copies)} | {"y": Y}
        method = pfn.Propagate(acceleration=None, divergence=divergence)
        problem = problem_of(pfn.infer, network(copies), data, initial={"h": H}, method=method)
        problem = replace(problem, weights={"first0": [np.full(8, weight)]}, weigh_parents=True)
        run = ProgramRun(problem)
        sweeper = Sweeper(run, problem)
        for _ in range(20):
            sweeper.sweep()
        found.append(run.variable("h")[0])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    assert np.ptp(found[0] / H) > 0.1  # something has moved


def test_columns_of_weight_zero_say_nothing() -> None:
    """Where y counts only, h is what y alone says."""
    weights = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    method = pfn.Propagate(acceleration=None)
    problem = problem_of(pfn.infer, network(1), {"x0": X, "y": Y}, initial={"h": H}, method=method)
    run = ProgramRun(replace(problem, weights={"first0": [weights]}, weigh_parents=True))
    sweeper = Sweeper(run, problem)
    sweeper.sweep()
    alone = H * (B.T @ (Y / (B @ H))) / B.sum(axis=0)[:, None]
    np.testing.assert_allclose(run.variable("h")[0][:, 0], alone[:, 0], rtol=1e-7)
