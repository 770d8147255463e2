"""Left and right updates from the same ratios: expectation maximisation where columns of W have sums that stay."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import pfn
from tests import oracle
from tests.engines.comparison import assert_values
from tests.networks import hierarchy

RNG = np.random.default_rng(0)
X = RNG.gamma(0.5, size=(12, 30))
JOINT = pfn.Propagate(updates="joint", acceleration=None)


@pytest.fixture(params=["numpy", "jax"])
def engine(request: pytest.FixtureRequest) -> str:
    """The engines, where they are installed."""
    if request.param == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    return str(request.param)


def test_a_sweep_is_one_of_expectation_maximisation(engine: str) -> None:
    network = hierarchy(12, (3,), 1, (1,))
    W, H = RNG.random((12, 3)), RNG.random((3, 30))
    W /= W.sum(axis=0)
    result = pfn.learn(network, {"x1": X}, method=JOINT, engine=engine, initial={"W1_1": W, "x2": H}, iterations=10)
    for _ in range(10):
        shares = W[:, :, None] * H / (W @ H)[:, None, :] * X[:, None, :]  # of every entry, what each component has
        W, H = shares.sum(axis=2), shares.sum(axis=0)
        W /= W.sum(axis=0)
    np.testing.assert_allclose(result["W1_1"], W, rtol=1e-6)
    np.testing.assert_allclose(result["x2"], H, rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", [{}, {"weights": {"eq1": np.arange(30) % 3}}], ids=["", "weights"])
def test_the_divergence_never_rises(seed: int, options: dict[str, Any]) -> None:
    result = pfn.learn(hierarchy(12, (4,), 1, (1,)), {"x1": X}, method=JOINT, iterations=80, seed=seed, **options)
    divergence = result.history.divergence
    assert (np.diff(divergence) <= 1e-9 * divergence[:-1]).all()
    assert divergence[-1] < 0.75 * divergence[0]


def test_what_is_not_due_is_left_alone() -> None:
    """In other sweeps the parents get their right update all the same."""
    method = pfn.Propagate(updates="joint", acceleration=None, learn_every={"W1_1": 3})
    seen: list[tuple[np.ndarray, np.ndarray]] = []

    def look(_sweep: int, values: Any) -> None:
        seen.append((values["W1_1"].copy(), values["x2"].copy()))

    pfn.learn(hierarchy(12, (3,), 1, (1,)), {"x1": X}, method=method, iterations=7, callback=look)
    changed = [[not np.array_equal(*pair) for pair in zip(*both, strict=True)] for both in pairwise(seen)]
    assert changed == [[sweep % 3 == 0, True] for sweep in range(1, 7)]


@pytest.mark.parametrize("updates", ["alternating", "joint"])
def test_a_matrix_that_is_tied_to_one_of_a_level_below(engine: str, updates: Any) -> None:
    """It changes there: before eq1 has a new h, which it is learned from as well, and before U is learned in eq3."""
    sizes = {"x": 5, "y": 4, "h": 4, "g": 3, "k": 3, "m": 3}
    x, y, h, g, k, m = (pfn.Variable(name, size) for name, size in sizes.items())
    V, W, U = (pfn.Parameter(name, shape=shape) for name, shape in {"V": (5, 4), "W": (4, 3), "U": (4, 3)}.items())
    equations = [(x, V @ h), (y, W @ g), (h, W @ k + U @ m)]
    network = pfn.Network(*(pfn.Factorization(*both, normalize="columns") for both in equations))
    data = {"x": RNG.random((5, 9)), "y": RNG.random((4, 9))}
    initial = {name: RNG.random((sizes[name], 9)) for name in ("h", "g", "k", "m")}
    initial |= {parameter.name: RNG.random(parameter.shape) for parameter in (V, W, U)}
    wanted = oracle.sweep_many(network, data, initial, 5, updates=updates)
    method = pfn.Propagate(updates=updates, acceleration=None)
    assert_values(pfn.learn(network, data, initial=initial, method=method, engine=engine, iterations=5), wanted)


@pytest.mark.parametrize("normalize", [None, "balanced"])
def test_columns_whose_sums_change_are_refused(normalize: Any) -> None:
    x, h = pfn.Variable("x", 12), pfn.Variable("h", 3)
    network = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", shape=(12, 3)) @ h, normalize=normalize))
    with pytest.raises(
        pfn.OptionError, match=rf"columns whose sums stay, but eq1 has normalize={normalize!r}\. Declare"
    ):
        pfn.learn(network, {x: X}, method=JOINT)


def test_another_divergence_is_refused() -> None:
    with pytest.raises(pfn.OptionError, match=r"updates='joint' is for the Kullback-Leibler divergence, found 'euclid"):
        pfn.Propagate(updates="joint", divergence="euclidean")


def test_without_learning_nothing_is_different() -> None:
    x, h = pfn.Variable("x", 12), pfn.Variable("h", 3)
    network = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", RNG.random((12, 3)), learn=True) @ h))
    one, other = (pfn.infer(network, {x: X}, method=m, iterations=9) for m in (JOINT, pfn.Propagate(acceleration=None)))
    np.testing.assert_array_equal(one["h"], other["h"])
