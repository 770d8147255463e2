"""Learned matrices start from slices of the data, by default, so that one run finds all transitions."""

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from pfn.solve import column_start
from pfn.solve.column_start import Slices
from pfn.solve.data import check_observations
from pfn.solve.start import Start
from pfn.updates.columns import distinct_columns
from tests.networks import W_DETERMINISTIC, automaton, plain_nmf
from tests.test_figures import learned_moves, mixture, unknown, walk

RANDOM = pfn.Propagate(start="random")
PARTS = np.array([[3.0, 0, 1], [1, 0, 1], [0, 2, 1], [0, 2, 0], [0, 0, 4]])


def starts(network, data, drawn, **more):
    """By parameter, what it starts from; all variables that are given are observed throughout."""
    observations = check_observations(network, data, np.dtype(float))
    given = frozenset(observations.arrays)
    return Slices(network, observations, more.pop("weights", {}), drawn, whole=given, given=given, **more).starts()


def one_walk(seed):
    return walk(np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("columns", "data"),
    [(8, one_walk), (6, one_walk), (8, mixture), (6, mixture)],
    ids=["8", "6", "mixed 8", "mixed 6"],
)
def test_one_run_finds_all_transitions(columns, data):
    """From random starts 17 of 20 runs do with R = 8 and 7 of 20 with R = 6; here all (benchmarks/convergence.py)."""
    for seed in range(4):
        result = pfn.learn(unknown(columns, "subcolumns"), {"x": data(seed)}, seed=seed, iterations=250)
        assert learned_moves(result["W"])[0] == 6


def test_parts_that_occur_alone_are_learned_at_once():
    rng = np.random.default_rng(0)
    X = PARTS @ np.hstack([np.eye(3), rng.dirichlet([1, 1, 1], 20).T])
    for data in (X, scipy.sparse.csr_array(X)):
        result = pfn.learn(plain_nmf(5, 3), {"x": data}, iterations=1)
        found = result["W"] / result["W"].sum(axis=0)
        distance = np.abs(found[:, :, None] - (PARTS / PARTS.sum(axis=0))[:, None, :]).max(axis=0)
        assert distance.min(axis=0).max() < 0.1


def test_what_is_zero_in_a_slice_can_grow():
    X = np.hstack([np.eye(5, 3), np.random.default_rng(0).random((5, 9))])
    found = starts(plain_nmf(5, 3), {"x": X}, {"W": np.random.default_rng(1).random((5, 3))})["W"]
    assert 0 < found.min() < 0.1 * found.mean()


def test_all_lags_start_from_the_same_slices():
    """Slices of x and the later y, one below the other, are columns of W0, W1 and W2; two sequences."""
    x, y, h = pfn.Variable("x", 2), pfn.Variable("y", 1), pfn.Variable("h", 3)
    W = [pfn.Parameter(f"W{k}", shape=(3, 3)) for k in range(3)]
    network = pfn.Network(pfn.Factorization([x[t], y[t + 1]], sum(W[k] @ h[t - k] for k in range(3))))
    X, Y = np.random.default_rng(0).random((2, 20)) ** 4, np.random.default_rng(1).random((1, 20)) ** 4
    data = {"x": [X, X[:, :8]], "y": [Y, Y[:, :8]]}
    found = starts(network, data, {w.name: np.zeros((3, 3)) for w in W})
    slices = np.vstack([X[:, :19], Y[:, 1:]])
    wanted = slices[:, distinct_columns(slices, 3)]
    for w in W:
        np.testing.assert_allclose(found[w.name], wanted / wanted.sum(axis=0))


def test_given_values_and_hidden_children_are_left_alone():
    X = PARTS @ np.random.default_rng(0).random((3, 12))
    given = np.random.default_rng(1).random((5, 3))
    hidden = np.where(np.arange(12) == 4, np.nan, X)
    for data, initial in (({"x": X}, {"W": given}), ({"x": hidden}, None)):
        options = {"iterations": 3, "initial": initial}
        one, other = (pfn.learn(plain_nmf(5, 3), data, method=method, **options) for method in ("propagate", RANDOM))
        np.testing.assert_array_equal(one["W"], other["W"])


def test_too_few_different_slices():
    result = pfn.learn(plain_nmf(5, 3), {"x": PARTS[:, :2]}, iterations=5)
    other = pfn.learn(plain_nmf(5, 3), {"x": PARTS[:, :2]}, method=RANDOM, iterations=5)
    np.testing.assert_array_equal(result["W"], other["W"])


def test_slices_that_do_not_count_are_not_taken():
    X, zeros = np.random.default_rng(0).random((5, 9)) ** 4, {"W": np.zeros((5, 3))}
    found = starts(plain_nmf(5, 3), {"x": X}, zeros, weights={"eq1": [np.arange(9) % 2]})
    wanted = starts(plain_nmf(5, 3), {"x": X[:, 1::2]}, zeros)
    np.testing.assert_array_equal(found["W"], wanted["W"])


def test_of_many_slices_some_are_looked_at_evenly_over_sequences(monkeypatch):
    """At most 12: every fifth of 57, wherever one sequence ends and the next begins."""
    monkeypatch.setattr(column_start, "MOST_ENTRIES", 5 * 12)
    X, zeros = np.random.default_rng(0).random((5, 57)) ** 4, {"W": np.zeros((5, 3))}
    found = starts(plain_nmf(5, 3), {"x": np.split(X, [2, 20, 33], axis=1)}, zeros)
    wanted = starts(plain_nmf(5, 3), {"x": X[:, ::5]}, zeros)
    np.testing.assert_array_equal(found["W"], wanted["W"])


@pytest.mark.parametrize("start", ["data", "levels"])
@pytest.mark.parametrize("kind", [pfn.Propagate, pfn.Substitute])
def test_restarts_start_at_random_in_what_is_not_given(monkeypatch, kind, start):
    """Run 0 is the plain run; the others begin where random starts of their generators do, but for what is given."""
    begun = []
    values = Start.values
    monkeypatch.setattr(Start, "values", lambda self: begun.append(values(self)) or begun[-1])
    X, H = np.random.default_rng(0).random((20, 100)), np.random.default_rng(1).random((6, 100))
    for initial in (None, {"h": H}):
        options = {"iterations": 1, "restarts": 3, "initial": initial}
        for chosen in (start, "random"):
            pfn.learn(plain_nmf(20, 6), {"x": X}, method=kind(start=chosen), **options)
        plain, *others, _, first, second = begun
        for other, drawn in zip(others, (first, second), strict=True):
            np.testing.assert_array_equal(other["W"], drawn["W"])
            np.testing.assert_array_equal(other["h"][0], H if initial else drawn["h"][0])
            assert not np.array_equal(other["W"], plain["W"])
        begun.clear()


def test_restarts_of_inference_start_at_random(monkeypatch):
    """What the observations reach is one answer; runs that all begin there would agree whatever there is."""
    begun = []
    values = Start.values
    monkeypatch.setattr(Start, "values", lambda self: begun.append(values(self)) or begun[-1])
    X = np.full((4, 6), np.nan)
    X[:, 0] = [1, 0, 0, 0]
    for method in ("propagate", RANDOM):
        pfn.infer(automaton(W_DETERMINISTIC), {"x": X}, method=method, restarts=3, iterations=1)
    plain, *others, _, first, second = [start["h"][0] for start in begun]
    np.testing.assert_allclose(plain, np.eye(4)[:, np.arange(5) % 4], atol=1e-4)  # what the observations reach
    np.testing.assert_array_equal(others, [first, second])


def labelled(**known):
    """Spectra x and labels y of the same components h, which follow each other as V says."""
    x, y, h, k = (pfn.Variable(*v) for v in (("x", 5), ("y", 2), ("h", 3), ("k", 3)))
    W, U, V = (
        pfn.Parameter(name, known.get(name), shape=None if name in known else shape)
        for name, shape in (("W", (5, 3)), ("U", (2, 3)), ("V", (6, 3)))
    )
    equations = (
        pfn.Factorization(x[t], W @ h[t]),
        pfn.Factorization(y[t], U @ h[t]),
        pfn.Factorization([h[t], h[t + 1]], V @ k[t]),
    )
    return pfn.Network(*equations)


def test_components_that_something_tells_apart_start_at_random():
    X, Y = PARTS @ np.random.default_rng(0).random((3, 12)), np.random.default_rng(1).random((2, 12))
    moves = np.vstack([np.eye(3), np.roll(np.eye(3), 1, axis=0)])
    zeros = {"W": np.zeros((5, 3)), "U": np.zeros((2, 3)), "V": np.zeros((6, 3))}
    assert starts(labelled(), {"x": X, "y": Y}, zeros).keys() == {"W"}  # and U, whose parent is the same, at random
    for known in ({"V": moves}, {"U": Y[:, :3]}):
        drawn = {name: value for name, value in zeros.items() if name not in known}
        assert not starts(labelled(**known), {"x": X, "y": Y}, drawn)
    assert starts(labelled(), {"x": X, "h": np.ones((3, 12))}, zeros).keys() == {"V"}


def test_a_known_order_of_states_is_kept():
    """A ring of states whose emissions are learned: a start that gave slices to any state would get the order wrong."""
    x, h, k = pfn.Variable("x", 5), pfn.Variable("h", 3), pfn.Variable("k", 3)
    V = pfn.Parameter("V", np.vstack([np.eye(3), np.roll(np.eye(3), 1, axis=0)]))
    network = pfn.Network(
        pfn.Factorization(x[t], pfn.Parameter("W", shape=(5, 3)) @ h[t]), pfn.Factorization([h[t], h[t + 1]], V @ k[t])
    )
    X = PARTS[:, np.arange(21) % 3]
    one, other = (pfn.learn(network, {x: X}, method=method, iterations=5) for method in ("propagate", RANDOM))
    np.testing.assert_array_equal(one["W"], other["W"])
