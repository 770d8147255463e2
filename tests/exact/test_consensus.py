"""The consensus iteration against its definition, entry by entry, and planes against least squares."""

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn.exact import Plane
from tests.exact.problems import Known, random_known

SEEDS = (0, 1, 2, 3, 4, 5, 6, 7)


def matrix(rows, parents, density, seed=0, dtype=float):
    sparse = scipy.sparse.random_array((rows, parents), density=density, rng=np.random.default_rng(seed), dtype=dtype)
    return scipy.sparse.csr_array(sparse)


@pytest.mark.parametrize(
    "W",
    [
        matrix(5, 9, 0.6).toarray(),
        matrix(12, 2, 0.9).toarray(),  # through the inner inverse
        matrix(9, 14, 0.4),
        matrix(300, 250, 0.004),  # by sparse factors
        matrix(400, 3, 0.3),  # by sparse products around the inner inverse
    ],
    ids=["wide", "tall", "sparse", "factors", "tall sparse"],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_nearest_point_of_a_plane(W, dtype):
    """All points of the plane are (W; I) H: the nearest one is a least squares fit."""
    W = W.astype(dtype)
    full = W.toarray() if scipy.sparse.issparse(W) else W
    rows, parents = full.shape
    given = np.random.default_rng(1).standard_normal((rows + parents, 4)).astype(dtype)
    basis = np.vstack([full, np.eye(parents)])
    wanted = basis @ np.linalg.lstsq(basis, given, rcond=None)[0]
    plane = Plane(W)
    found = given - plane.lifted(plane.multipliers(plane.residual(given)))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, atol=1e-10 if dtype == "float64" else 1e-4)


def equations(known: Known):
    """By equation and time: W, and the entries (variable, component, time) of children and parents."""
    matrices, columns = known.dense_parameters(), known.network.columns(known.length)
    for equation in known.network.factorizations:
        W = np.hstack([matrices[p.name] for p in equation.parameters])
        pieces = (*equation.children, *equation.parents)
        for time in range(columns.equations[equation.name]):
            yield W, [(p.variable.name, c, time + p.lag) for p in pieces for c in range(p.variable.size)]


def recipe(known: Known, sweeps: int):
    """Consensus Douglas–Rachford with restarted Halpern anchoring, every copy a number in a dictionary."""
    work = [*equations(known)]
    observed = {
        (name, component, time): array[component, time]
        for name, array in known.data.items()
        for component, time in np.argwhere(~np.isnan(array)).tolist()
    }
    observed |= {entry: 0.0 for _, entries in work for entry in entries if entry[2] < 0}
    w = [np.zeros(len(entries)) for _, entries in work]
    anchor, k, reference, before = w, 0, np.inf, np.inf

    def agree(w):
        found = {}
        for copies, (_, entries) in zip(w, work, strict=True):
            for entry, value in zip(entries, copies, strict=True):
                found.setdefault(entry, []).append(value)
        return {entry: observed.get(entry, max(0.0, np.mean(values))) for entry, values in found.items()}

    y = agree(w)
    for done in range(1, sweeps + 1):
        d = []
        for copies, (W, entries) in zip(w, work, strict=True):
            here = np.array([y[entry] for entry in entries])
            q, rows = 2 * here - copies, W.shape[0]
            H = np.linalg.solve(np.eye(W.shape[1]) + W.T @ W, q[rows:] + W.T @ q[:rows])
            d.append(np.concatenate([W @ H, H]) - here)
        r = np.sqrt(sum(part @ part for part in d))
        w = [(k + 1) / (k + 2) * (a + 2 * b) + c / (k + 2) for a, b, c in zip(w, d, anchor, strict=True)]
        k += 1
        if r <= 0.05 * reference or (r <= 0.9 * reference and r > before) or k >= 0.7 * done:
            anchor, k, reference = w, 0, r
        before, y = r, agree(w)
    return y, r


@pytest.mark.parametrize("seed", SEEDS)
def test_sweeps_are_those_of_the_recipe(seed):
    known = random_known(seed)
    result = pfn.infer(known.network, known.data, method="consensus", iterations=12, initial=known.parameters)
    wanted, distance = recipe(known, 12)
    first = {v.name: known.network.columns(known.length).variables[v.name].start for v in known.network.variables}
    for (name, component, time), value in wanted.items():
        if time >= 0:
            found = result[name][component, time - (0 if name in known.data else first[name])]
            np.testing.assert_allclose(found, value, atol=1e-9, err_msg=f"{name}[{component}, {time}]")
    np.testing.assert_allclose(result.history.divergence[-1], distance**2, atol=1e-9)


def test_the_problems_have_some_of_everything():
    """Lags on both sides, sparse matrices, several terms and children, hidden entries."""
    problems = [random_known(seed) for seed in SEEDS]
    pieces = [p for known in problems for e in known.network.factorizations for p in (*e.children, *e.parents)]
    assert {np.sign(piece.lag) for piece in pieces} == {-1, 0, 1}
    parameters = [p for known in problems for p in known.network.parameters]
    assert any(p.sparse for p in parameters)
    assert any(len(e.terms) > 1 for known in problems for e in known.network.factorizations)
    assert any(np.isnan(array).any() for known in problems for array in known.data.values())
