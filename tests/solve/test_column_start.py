"""`start="columns"`: learned matrices start from slices of the data, so that one run finds all transitions."""

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from pfn.solve.column_start import from_columns
from pfn.solve.data import check_observations
from pfn.updates.columns import distinct_columns
from tests.networks import plain_nmf
from tests.test_figures import learned_moves, mixture, unknown, walk

METHOD = pfn.Propagate(start="columns")
PARTS = np.array([[3.0, 0, 1], [1, 0, 1], [0, 2, 1], [0, 2, 0], [0, 0, 4]])


def one_walk(seed):
    return walk(np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("columns", "data"),
    [(8, one_walk), (6, one_walk), (8, mixture), (6, mixture)],
    ids=["8", "6", "mixed 8", "mixed 6"],
)
def test_one_run_finds_all_transitions(columns, data):
    """FINDINGS: 17 of 20 with R = 8 and 7 of 20 with R = 6 from random starts; here all (benchmarks/convergence.py)."""
    for seed in range(4):
        result = pfn.learn(unknown(columns, "subcolumns"), {"x": data(seed)}, method=METHOD, seed=seed, iterations=250)
        assert learned_moves(result["W"])[0] == 6


def test_parts_that_occur_alone_are_learned_at_once():
    rng = np.random.default_rng(0)
    X = PARTS @ np.hstack([np.eye(3), rng.dirichlet([1, 1, 1], 20).T])
    for data in (X, scipy.sparse.csr_array(X)):
        result = pfn.learn(plain_nmf(5, 3), {"x": data}, method=METHOD, iterations=1)
        found = result["W"] / result["W"].sum(axis=0)
        distance = np.abs(found[:, :, None] - (PARTS / PARTS.sum(axis=0))[:, None, :]).max(axis=0)
        assert distance.min(axis=0).max() < 0.1


def test_what_is_zero_in_a_slice_can_grow():
    X = np.hstack([np.eye(5, 3), np.random.default_rng(0).random((5, 9))])
    data = check_observations(plain_nmf(5, 3), {"x": X}, np.dtype(float))
    network, drawn = plain_nmf(5, 3), {"W": np.random.default_rng(1).random((5, 3))}
    found = from_columns(network.factorizations[0], network, data, drawn)["W"]
    assert 0 < found.min() < 0.1 * found.mean()


def test_sequences_start_from_consecutive_slices():
    """A window of three slices of x and the later y is a column of W0, W1, W2 one below the other; two sequences."""
    x, y, h = pfn.Variable("x", 2), pfn.Variable("y", 1), pfn.Variable("h", 3)
    W = [pfn.Parameter(f"W{k}", shape=(3, 3)) for k in range(3)]
    network = pfn.Network(pfn.Factorization([x[t], y[t + 1]], sum(W[k] @ h[t - k] for k in range(3))))
    X, Y = np.random.default_rng(0).random((2, 20)) ** 4, np.random.default_rng(1).random((1, 20)) ** 4
    data = check_observations(network, {"x": [X, X[:, :8]], "y": [Y, Y[:, :8]]}, np.dtype(float))
    nothing = {w.name: np.zeros((3, 3)) for w in W}
    found = from_columns(network.factorizations[0], network, data, nothing)
    windows = [[*X[:, s], *Y[:, s + 1], *X[:, s + 1], *Y[:, s + 2], *X[:, s + 2], *Y[:, s + 3]] for s in range(17)]
    windows = np.array([*windows, *windows[:5]]).T
    wanted = windows[:, distinct_columns(windows, 3)]
    np.testing.assert_allclose(np.vstack([found[w.name] for w in W]), wanted / wanted.sum(axis=0))


def test_given_values_and_hidden_children_are_left_alone():
    X = PARTS @ np.random.default_rng(0).random((3, 12))
    given = np.random.default_rng(1).random((5, 3))
    hidden = np.where(np.arange(12) == 4, np.nan, X)
    for data, initial in (({"x": X}, {"W": given}), ({"x": hidden}, None)):
        options = {"iterations": 3, "initial": initial}
        one, other = (
            pfn.learn(plain_nmf(5, 3), data, method=pfn.Propagate(start=s), **options) for s in ("columns", "random")
        )
        np.testing.assert_array_equal(one["W"], other["W"])


def test_too_few_different_slices():
    result = pfn.learn(plain_nmf(5, 3), {"x": PARTS[:, :2]}, method=METHOD, iterations=5)
    other = pfn.learn(plain_nmf(5, 3), {"x": PARTS[:, :2]}, iterations=5)
    np.testing.assert_array_equal(result["W"], other["W"])
