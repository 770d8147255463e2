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


def test_beyond_the_span_each_is_far_from_all_before_it():
    """Of mixtures of two parts: the parts, then the one in the middle, then those between."""
    shares = np.linspace(0, 1, 9)
    X = np.vstack([shares, 1 - shares, np.zeros(9)])
    chosen = distinct_columns(X, 5)
    assert {*chosen[:2]} == {0, 8}
    assert chosen[2] == 4
    assert {*chosen[3:]} == {2, 6}


def test_silence_is_no_start():
    X = np.array([[0.0, 1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(distinct_columns(X, 3), [1])
    assert distinct_columns(np.zeros((2, 3)), 2).size == 0


def loud_and_silent(seed, strength):
    """Thirty slices of noise, with so much of everything; then forty mixtures of the parts, with a little noise."""
    rng = np.random.default_rng(seed)
    loud = PARTS @ rng.dirichlet([0.3, 0.3, 0.3], 40).T + 0.01 * rng.random((5, 40))
    silence = rng.random((5, 30)) ** 8
    return np.hstack([strength * loud.sum() / silence.sum() * silence, loud])


@pytest.mark.parametrize("strength", [0.01, 1e-3, 1e-5, 1e-9])
@pytest.mark.parametrize("seed", range(5))
def test_noise_in_silence_comes_last(seed, strength):
    """Each of its columns is unlike all others, and would be chosen before the parts are."""
    assert (distinct_columns(loud_and_silent(seed, strength), 3) >= 30).all()
    assert {*distinct_columns(loud_and_silent(seed, strength), 70)} == {*range(70)}


@pytest.mark.parametrize("seed", range(5))
def test_a_part_that_occurs_once_is_found_though_it_is_weaker(seed):
    rng = np.random.default_rng(seed)
    walk = rng.permutation(np.arange(300) % 5)
    X = np.eye(8)[:, walk] * rng.uniform(0.9, 1.1, 300) + 0.1 * rng.random((8, 300))
    X[:, 7] = 0.8 * np.eye(8)[:, 5]
    assert 7 in distinct_columns(X, 6)


def test_silence_follows_what_is_loud():
    """Once all else is in the span of those before."""
    X = np.hstack([np.eye(4)[:, [0, 1] * 50], 1e-3 * np.eye(4)[:, [2, 3]]])
    assert {*distinct_columns(X, 3)} < {0, 1, 100, 101}
    X += 1e-5 * np.random.default_rng(0).random(X.shape)
    chosen = distinct_columns(X, 3)
    assert (chosen[:2] < 100).all()
    assert chosen[2] >= 100


@pytest.mark.parametrize("seed", range(5))
def test_one_slice_of_thousands_of_times_the_strength_hides_nothing(seed):
    X = loud_and_silent(seed, 1e-3)
    X[:, 30] = 1e5 * np.random.default_rng(seed).random(5)
    chosen = distinct_columns(X, 4)
    assert chosen[0] == 30
    assert (chosen > 30).sum() == 3
