"""The columns that a learned matrix may start from."""

import numpy as np
import pytest

from pfn.updates.columns import distinct_columns

PARTS = np.array([[3.0, 0, 1], [1, 0, 1], [0, 2, 1], [0, 2, 0], [0, 0, 4]])


@pytest.mark.parametrize("seed", range(5))
def test_parts_that_occur_alone_are_found(seed):
    rng = np.random.default_rng(seed)
    mixed = PARTS @ rng.dirichlet([1, 1, 1], 40).T * rng.uniform(0.1, 10, 40)
    alone = rng.permutation(43)[:3]
    X = np.zeros((5, 43))
    X[:, np.setdiff1d(np.arange(43), alone)] = mixed
    X[:, alone] = PARTS * rng.uniform(0.1, 10, 3)
    assert set(distinct_columns(X, 3)) == set(alone)


def test_beyond_the_span_the_farthest_follow():
    """The edges of a square span three directions, and the fourth is a sum of the others with signs."""
    edges = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    X = np.hstack([edges, edges, 0.5 * edges[:, :1] + 0.5 * edges[:, 3:]])
    chosen = distinct_columns(X, 4)
    assert {*(np.array(chosen) % 4)} == {0, 1, 2, 3}
    assert 8 not in chosen


def test_silence_is_no_start():
    X = np.array([[0.0, 1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(distinct_columns(X, 3), [1])
    assert distinct_columns(np.zeros((2, 3)), 2).size == 0


@pytest.mark.parametrize("seed", range(5))
def test_noise_in_silence_comes_last(seed):
    """Each of its columns is unlike all others, and would be chosen before the parts are."""
    rng = np.random.default_rng(seed)
    loud = PARTS @ rng.dirichlet([0.3, 0.3, 0.3], 40).T + 0.01 * rng.random((5, 40))
    X = np.hstack([1e-3 * rng.random((5, 30)) ** 8, loud])
    assert (distinct_columns(X, 3) >= 30).all()
    assert {*distinct_columns(X, 70)} == {*range(70)}
