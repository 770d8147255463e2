"""Every kind of program against an independent modeller and solver, on small random networks of every shape."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pfn
from pfn.engines import largest_error
from tests.exact.problems import flat_known, random_known, solvable

cvxpy = pytest.importorskip("cvxpy", reason="cvxpy with Clarabel is the independent solver (extra dev)")

SEEDS = st.integers(0, 10**6)
FEW = settings(max_examples=25, deadline=None)


def minimum(objective, constraints):
    problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
    problem.solve(solver=cvxpy.CLARABEL)
    return problem


def program(known):
    y = cvxpy.Variable(known.size, nonneg=True)
    seen = np.flatnonzero(~np.isnan(known))
    return y, [y[seen] == known[seen]] if seen.size else []


@FEW
@given(SEEDS)
def test_no_solution_where_there_is_none(seed):
    problem = random_known(seed)
    system, known = flat_known(problem)
    y, constraints = program(known)
    violation = minimum(cvxpy.norm1(system.matrix @ y), constraints).value
    if violation > 1e-4:
        with pytest.raises(pfn.NoExactSolution, match=r"^no exact solution: .* cannot hold at t = "):
            problem.infer()
    elif violation < 1e-9:
        assert largest_error(problem.infer().rmse) < 1e-7


@FEW
@given(SEEDS)
def test_the_penalty_chooses_among_solutions(seed):
    problem = solvable(seed)
    system, known = flat_known(problem)
    chosen = problem.network.variables[-1]
    result = problem.infer(penalty={chosen: 2.0})
    assert largest_error(result.rmse) < 1e-7
    y, constraints = program(known)
    best = minimum(cvxpy.sum(y[system.places[chosen.name]]), [*constraints, system.matrix @ y == 0]).value
    assert np.nansum(result[chosen]) == pytest.approx(best, abs=1e-5)


@FEW
@given(SEEDS)
def test_soft_structure_is_least_squares(seed):
    problem = random_known(seed)
    system, known = flat_known(problem)
    if not system.matrix.shape[0]:
        return
    result = problem.infer(structure="soft")
    y, constraints = program(known)
    best = minimum(cvxpy.sum_squares(system.matrix @ y), constraints).value
    assert result.squared_error == pytest.approx(best, rel=1e-4, abs=1e-6)
    assert result.unique is None
    assert result.stop.startswith("no exact solution: " if best > 1e-6 else ("exact", "no exact"))


@FEW
@given(
    SEEDS, st.sampled_from(["l1", "l2"]), st.booleans(), st.sampled_from([0.0, 0.1]), st.sampled_from([0.01, 1.0, 50.0])
)
def test_noise_penalty_and_background(seed, kind, background, weight, scale):
    problem = random_known(seed)
    noisy = next(iter(problem.data))
    others = {name: np.full(array.shape, np.nan) for name, array in problem.data.items() if name != noisy}
    data = {noisy: problem.data[noisy] * scale, **others}
    problem = type(problem)(problem.network, data, problem.parameters)
    system, known = flat_known(problem)
    if np.isnan(known).all():
        return
    penalised = problem.network.variables[-1].name
    result = problem.infer(
        noise={noisy: kind}, penalty={penalised: weight}, background=[noisy] if background else [], time_limit=60.0
    )
    assert largest_error(result.rmse) < 1e-6 * scale
    seen = np.flatnonzero(~np.isnan(known))
    y, floor = cvxpy.Variable(known.size, nonneg=True), cvxpy.Variable(nonneg=True)
    error = y[seen] + (floor if background else 0.0) - known[seen]
    size = cvxpy.sum_squares(error) if kind == "l2" else cvxpy.norm1(error)
    best = minimum(size + weight * cvxpy.sum(y[system.places[penalised]]), [system.matrix @ y == 0]).value
    assert objective(result, system, known, noisy, kind, weight, penalised) == pytest.approx(best, rel=1e-4, abs=1e-5)


@FEW
@given(SEEDS, st.booleans())
def test_debias_is_best_on_its_support(seed, background):
    """If there are exact observations; otherwise it has parts with magnitudes of their own, which only fit best."""
    problem = solvable(seed)
    noisy, penalised = next(iter(problem.data)), problem.network.variables[-1].name
    problem.data[noisy] += np.random.default_rng(seed).uniform(0.0, 0.3, problem.data[noisy].shape)
    system, known = flat_known(problem)  # all other observations are exact, and may need what is small
    options = {"noise": {noisy: "l2"}, "penalty": {penalised: 0.1}, "background": [noisy] if background else []}
    result = problem.infer(**options, debias=True)
    assert largest_error(result.rmse) < 1e-6
    place = system.mask([noisy])
    found = np.nan_to_num(system.flat({v.name: result[v] for v in problem.network.variables}))
    y, constraints = program(np.where(place, np.nan, known))
    seen = np.flatnonzero(place & ~np.isnan(known))
    if not seen.size:
        return
    if not np.nansum(known[~place]):
        errors = known[seen] - found[seen]
        errors -= max(0.0, errors.mean()) if background else 0.0
        assert errors @ found[seen] == pytest.approx(0.0, abs=1e-6)
        return
    floor = cvxpy.Variable(nonneg=True)
    error = y[seen] + (floor if background else 0.0) - known[seen]
    support = [y[np.flatnonzero(found < 1e-6)] == 0, system.matrix @ y == 0]
    best = minimum(cvxpy.sum_squares(error), [*constraints, *support]).value
    assert objective(result, system, np.where(place, known, np.nan), noisy, "l2", 0.0, penalised) <= best + 1e-5


def objective(result, system, known, noisy, kind, weight, penalised):
    """What was minimised, the background being the best one for the values found."""
    found = system.flat({noisy: result[noisy]})
    seen = ~np.isnan(known)
    error = known[seen] - np.nan_to_num(found[seen])
    if "background" in result.stop:
        error -= max(0.0, error.mean() if kind == "l2" else np.median(error))
    size = np.sum(error**2) if kind == "l2" else np.abs(error).sum()
    return size + weight * np.nansum(result[penalised])
