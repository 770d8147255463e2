"""The parts of noisy explanations, against all paths of a small machine and all choices among few parts."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import pfn
from pfn import t
from pfn.exact import Asked, Deadline, Noise, Question, assemble
from pfn.exact.parts import Piece, Price
from pfn.exact.selection import Pool

STATES, LENGTH = 4, 6
MOVES = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 2), (1, 3)]


def machine() -> pfn.Network:
    x, h = pfn.Variable("x", STATES), pfn.Variable("h", len(MOVES))
    W = np.zeros((2 * STATES, len(MOVES)))
    for column, (before, after) in enumerate(MOVES):
        W[before, column] = W[STATES + after, column] = 1
    return pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", W) @ h[t]))


def paths() -> list[np.ndarray]:
    """The states of every path through the machine, as x would have them."""
    walks = product(range(STATES), repeat=LENGTH)
    return [np.eye(STATES)[:, walk] for walk in walks if set(pairwise(walk)) <= set(MOVES)]


def cost(images, values, entry):
    """Squared errors with the best magnitudes, and a price for every transition of every path."""
    return nnls(np.column_stack(images), values)[1] ** 2 + entry * len(images) * (LENGTH - 1)


@pytest.mark.parametrize("seed", range(6))
def test_of_all_paths_the_best_few(seed):
    rng = np.random.default_rng(seed)
    every, level = [path.T.ravel() for path in paths()], 0.1
    true = rng.choice(len(every), 2, replace=False)
    values = rng.uniform(0.4, 1.0, 2) @ [every[number] for number in true]
    values = values + level * rng.standard_normal(values.size)
    network = machine()
    system = assemble(network, {"W": network.parameters[0].value}, LENGTH, {"x": LENGTH})
    observed = system.flat({"x": values.reshape(LENGTH, STATES).T})
    hidden = np.full(observed.shape, np.nan)
    noise = Noise(hidden, observed, system.mask(["x"]), np.full(observed.shape, -1), system.mask(["h"]).astype(float))
    question = Question(system.matrix, system.times, noise, system.slices)
    asked = Asked(hidden, None, 1e-9, 1e-7, 1.0, rng, Deadline())
    entry = 3 * level**2
    found = Piece(question, np.ones(observed.shape), Price(entry, level), asked).explained()
    for part in found:
        np.testing.assert_allclose(system.matrix @ part, 0.0, atol=1e-7)
    best = min(cost(group, values, entry) for size in (1, 2, 3) for group in combinations(every, size))
    assert cost([part[system.places["x"]] for part in found], values, entry) == pytest.approx(best)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_no_choice_nearby_is_better(seed):
    """One part added, left out, or exchanged for another."""
    rng = np.random.default_rng(seed)
    images, prices = rng.random((12, 7)) * (rng.random((12, 7)) < 0.5), rng.uniform(0.01, 0.2, 7)
    values = images[:, :3] @ rng.random(3) + 0.1 * rng.standard_normal(12)
    importance = rng.uniform(0.5, 2.0, 12)
    pool = Pool(values, importance)
    for image, price in zip(images.T, prices, strict=True):
        pool.add(image, price)

    def slow(parts):
        root = np.sqrt(importance)
        error = nnls(images[:, parts] * root[:, None], values * root)[1] if parts else np.linalg.norm(values * root)
        return error**2 + prices[parts].sum()

    best = pool.best([range(7), ()])
    chosen = list(best.parts)
    assert best.cost == pytest.approx(slow(chosen))
    others = [k for k in range(7) if k not in chosen]
    nearby = [[*chosen, new] for new in others] + [[k for k in chosen if k != old] for old in chosen]
    nearby += [[*(k for k in chosen if k != old), new] for old in chosen for new in others]
    assert min(map(slow, nearby)) >= best.cost - 1e-3 * prices.min() - 1e-9


def test_a_dictionary():
    """Parts need no track: of a product x = W h they are the columns of W, each at one time, whatever their numbers."""
    pytest.importorskip("clarabel", reason="squares need the extra qp")
    rng = np.random.default_rng(1)
    W, H = rng.random((20, 8)) ** 2, np.zeros((8, 10))
    for time in range(10):
        H[rng.choice(8, 2, replace=False), time] = rng.uniform(0.5, 1.0, 2)
    x, h = pfn.Variable("x", 20), pfn.Variable("h", 8)
    network = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", W) @ h))
    X = np.maximum(W @ H + 0.05 * rng.standard_normal((20, 10)), 0.0)
    method = pfn.Exact(noise={x: "l2"}, penalty={h: 0.1}, debias=True)
    found = pfn.infer(network, {x: X}, method=method)[h]
    assert (found[H > 0] > 0.3).all()
    assert found[H == 0].sum() < 0.02 * found.sum()
    np.testing.assert_allclose(found[H > 0], H[H > 0], atol=0.15)
