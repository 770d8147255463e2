"""Compiled consensus sweeps are those of NumPy, by whatever products and solvers, in few compiled programs."""

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from tests.exact.problems import random_known
from tests.networks import tracking, tracking_scene

pytest.importorskip("jax", reason="jax is not installed")

from pfn.exact import consensus_jax, planes_jax

TRACKING, SCENE = tracking(), tracking_scene()


def ask(network, data, engine, **options):
    return pfn.infer(network, data, method="consensus", engine=engine, **options)


def assert_same(found, wanted, digits):
    """Values to so many digits of the largest, errors and distance too."""
    for variable in wanted.network.variables:
        pairs = (found[variable], wanted[variable])
        for one, other in zip(*(v if isinstance(v, list) else [v] for v in pairs), strict=True):
            scale = np.nanmax(np.abs(other), initial=1e-300)
            np.testing.assert_allclose(one / scale, other / scale, atol=digits, err_msg=variable.name)
    np.testing.assert_allclose(found.history.divergence, wanted.history.divergence, rtol=digits, atol=digits)


@pytest.fixture
def sparse(monkeypatch):
    """However small: products by gathers, and no inverse."""
    monkeypatch.setattr(planes_jax, "_stays_sparse", lambda *_: True)
    monkeypatch.setattr(planes_jax, "MOST_ENTRIES", 0)


def walks(states, length):
    """Every state is followed by the next one or the one after it; fifty walks superposed, every other slice hidden."""
    rng, transitions = np.random.default_rng(0), np.arange(2 * states)
    before, after = transitions // 2, (transitions // 2 + 1 + transitions % 2) % states
    places = (np.concatenate([before, states + after]), np.tile(transitions, 2))
    W = scipy.sparse.csr_array((np.ones(4 * states), places), (2 * states, 2 * states))
    x, h = pfn.Variable("x", states), pfn.Variable("h", 2 * states)
    network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", W) @ h[t]))
    X = np.zeros((states, length))
    at = rng.integers(states, size=50)
    for time in range(length):
        np.add.at(X[:, time], at, 1.0)
        at = (at + rng.integers(1, 3, size=50)) % states
    X[:, 1:-1:2] = np.nan
    return network, {"x": X}


@pytest.mark.parametrize("seed", [0, 3])
def test_padding_does_not_show(seed):
    known = random_known(seed)
    options = {"iterations": 25, "initial": known.parameters}
    wanted, found = (ask(known.network, known.data, engine, **options) for engine in ("numpy", "jax"))
    assert_same(found, wanted, 1e-9)


@pytest.mark.usefixtures("sparse")
def test_sparse_sweeps_on_a_random_network():
    known = random_known(2)
    options = {"iterations": 25, "initial": known.parameters}
    wanted, found = (ask(known.network, known.data, engine, **options) for engine in ("numpy", "jax"))
    assert_same(found, wanted, 1e-9)


@pytest.mark.usefixtures("sparse")
@pytest.mark.parametrize(("dtype", "digits"), [("float64", 1e-9), ("float32", 1e-4)])
def test_sparse_sweeps_of_walks(dtype, digits, tmp_path):
    """A run that was resumed has the same bits, too."""
    network, data = walks(20, 12)
    options = {"iterations": 60, "tolerance": None, "dtype": dtype}
    wanted, found = (ask(network, data, engine, **options) for engine in ("numpy", "jax"))
    assert found["h"].dtype == dtype
    assert_same(found, wanted, digits)
    ask(network, data, "jax", **(options | {"iterations": 25}), checkpoint=tmp_path / "run")
    resumed = ask(network, data, "jax", **options, resume=tmp_path / "run")
    for name in ("x", "h"):
        np.testing.assert_array_equal(resumed[name], found[name])


def test_a_network_too_large_for_an_inverse():
    """Its inverse would have 4 · 10⁸ entries."""
    network, data = walks(10_000, 6)
    assert planes_jax.MOST_ENTRIES < (2 * 10_000) ** 2
    options = {"iterations": 25, "tolerance": None}
    wanted, found = (ask(network, data, engine, **options) for engine in ("numpy", "jax"))
    assert max(wanted.rmse.values()) > 1e-6
    assert_same(found, wanted, 1e-9)


def test_lengths_share_compiled_programs():
    network, data = walks(5, 30)
    consensus_jax._advance.clear_cache()
    consensus_jax._begin.clear_cache()
    for length in range(20, 31):
        assert ask(network, {"x": data["x"][:, :length]}, "jax", iterations=3)["x"].shape == (5, length)
    for lengths in ([10, 12], [5, 6, 10]):
        ask(network, {"x": [data["x"][:, :length] for length in lengths]}, "jax", iterations=3)
    assert consensus_jax._advance._cache_size() == consensus_jax._begin._cache_size() == 2


@pytest.mark.parametrize(("first", "second"), [("numpy", "jax"), ("jax", "numpy")])
def test_one_engine_goes_on_where_the_other_was(first, second, tmp_path):
    data, options = {"x1": [SCENE["x1"], SCENE["x1"][:, :9]]}, {"iterations": 40, "tolerance": None}
    whole = ask(TRACKING, data, "numpy", **options)
    ask(TRACKING, data, first, iterations=25, checkpoint=tmp_path / "run")
    assert_same(ask(TRACKING, data, second, resume=tmp_path / "run", **options), whole, 1e-9)


def test_how_many_sweeps_a_call_makes_changes_nothing(monkeypatch):
    network, data = walks(5, 12)
    advance, counts, found = consensus_jax._advance, {}, {}
    for seconds in (0.0, 1e9):
        calls = counts[seconds] = []
        monkeypatch.setattr(consensus_jax, "SECONDS", seconds)
        monkeypatch.setattr(consensus_jax, "_advance", lambda *a, calls=calls: calls.append(int(a[2])) or advance(*a))
        found[seconds] = ask(network, data, "jax", iterations=100, tolerance=None, stall=None)
    assert counts == {0.0: [16, 8, 4, 2, *[1] * 70], 1e9: [16, 64, 20]}
    np.testing.assert_array_equal(found[0.0]["h"], found[1e9]["h"])
    np.testing.assert_array_equal(found[0.0].history.divergence, found[1e9].history.divergence)
