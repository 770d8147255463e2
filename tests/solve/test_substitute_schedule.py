"""When `Substitute` learns a parameter, and what the user's functions make of it."""

from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t
from pfn.engines.stretch import Stretch
from tests.network.refusal import refused
from tests.networks import hierarchy
from tests.substitution_oracle import engine_of

x, clean, h = pfn.Variable("x", 8), pfn.Variable("clean", 8), pfn.Variable("h", 3)
gain, W = pfn.Diagonal("gain", np.ones(8), learn=True), pfn.Parameter("W", shape=(8, 3))
NETWORK = pfn.Network(pfn.Factorization(x[t], gain @ clean[t]), pfn.Factorization(clean[t], W @ h[t]))
X = np.random.default_rng(0).random((8, 30))


def changes(method: pfn.Substitute, name: str, sweeps: int = 12) -> list[int]:
    """The sweeps that change a parameter."""
    seen: list[Any] = []

    def look(_number: int, values: Any) -> bool:
        value = values[name]
        seen.append(value.toarray() if hasattr(value, "toarray") else value.copy())
        return False

    pfn.learn(NETWORK, {x: X}, method=method, iterations=sweeps, seed=0, callback=look)
    return [number for number in range(1, sweeps) if (seen[number] != seen[number - 1]).any()]


@pytest.mark.parametrize("acceleration", ["momentum", None])
def test_parameters_rest_between_their_sweeps(acceleration: Any) -> None:
    method = pfn.Substitute(acceleration=acceleration, learn_every={W: 3}, learn_at={gain: [4, 9]})
    assert changes(method, "W") == [3, 6, 9]
    assert changes(method, "gain") == [4, 9]


@pytest.mark.parametrize("start", ["data", "levels"])
def test_momentum_does_not_move_what_has_not_changed_yet(start: str) -> None:
    """A sweep that is the first to learn the gains begins where one begins that does not."""
    ahead = []
    for first in (10, 11):
        method = pfn.Substitute(start=start, learn_at={gain: [first]})
        run = engine_of(NETWORK, {x: X}, method)
        if start == "levels":
            run.fit_levels(5)
        for number in range(11):
            run.advance(Stretch(first=number, count=1, sparseness=lambda _: {}, steps=0, lowest=np.inf))
        ahead.append(run.cost_ahead)
    assert ahead[0] == pytest.approx(ahead[1], rel=1e-12)


def test_parameters_of_one_equation_may_have_their_own_sweeps() -> None:
    y = pfn.Variable("y", 8)
    A, B = (pfn.Parameter(name, shape=(8, 3)) for name in "AB")
    network = pfn.Network(pfn.Factorization(y[t], A @ h[t] + B @ h[t - 1]))
    method = pfn.Substitute(learn_at={A: [2]}, acceleration=None)
    start = {A: np.random.default_rng(1).random((8, 3))}
    before, after = (pfn.learn(network, {y: X}, method=method, iterations=n, initial=start) for n in (2, 3))
    np.testing.assert_array_equal(before[A], start[A])
    assert (after[A] != start[A]).all()
    assert (before[B] != after[B]).all()


def test_functions_have_the_last_word() -> None:
    def level(values: np.ndarray) -> np.ndarray:
        assert values.shape == (8,)
        return values / values.mean()

    method = pfn.Substitute(learn_at={gain: [2, 5]}, adjust={gain: level, "W": lambda values: np.ceil(values * 8) / 8})
    found = pfn.learn(NETWORK, {x: X}, method=method, iterations=10, seed=0)
    assert found[gain].diagonal().mean() == pytest.approx(1)
    np.testing.assert_array_equal(found[W] * 8 % 1, 0)
    assert repr(method) == repr(pfn.Substitute(learn_at={gain: [2, 5]}))  # a file says nothing of functions


def test_an_equaliser_is_found_blindly() -> None:
    """A smooth gain and events, from known templates: both are found up to one factor."""
    generator = np.random.default_rng(2)
    truth = np.linspace(0.5, 1.5, 8)
    templates, events = generator.random((8, 3)) ** 3, generator.random((3, 200)) ** 4
    known = pfn.Parameter("templates", templates)
    network = pfn.Network(pfn.Factorization(x[t], gain @ clean[t]), pfn.Factorization(clean[t], known @ h[t]))
    method = pfn.Substitute(adjust={gain: lambda values: values / values.mean()})
    found = pfn.learn(network, {x: truth[:, None] * (templates @ events)}, method=method, iterations=400, seed=0)
    np.testing.assert_allclose(found[gain].diagonal(), truth / truth.mean(), rtol=0.02)
    np.testing.assert_allclose(found[h], events * truth.mean(), atol=0.02)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learn_every": 3}, "Substitute: learn_every must be a mapping from parameters, found 3."),
        ({"learn_every": {"W": 0}}, "Substitute: learn_every of W must be a whole number >= 1, found 0."),
        ({"learn_at": {W: 3}}, "Substitute: learn_at of W must be a list of the numbers of sweeps, found 3."),
        ({"learn_at": {W: [-1]}}, "Substitute: learn_at of W: each number must be a whole number >= 0, found -1."),
        ({"adjust": {W: 3}}, "Substitute: adjust of W must be a function of its values, found 3."),
    ],
)
def test_wrong_schedules(options: dict[str, Any], message: str) -> None:
    with refused(message, pfn.OptionError):
        pfn.Substitute(**options)


def test_only_learned_parameters_have_schedules() -> None:
    with refused("Substitute: learn_at takes learned parameters, found h.", pfn.OptionError):
        pfn.learn(NETWORK, {x: X}, method=pfn.Substitute(learn_at={"h": [1]}))


@pytest.mark.parametrize("wrong", [np.ones(3), -np.ones(8), np.full(8, np.nan), None])
def test_functions_must_give_what_they_take(wrong: Any) -> None:
    with pytest.raises(pfn.OptionError, match=r"adjust of gain must give finite numbers >= 0 of the shape \(8,\)"):
        pfn.learn(NETWORK, {x: X}, method=pfn.Substitute(adjust={gain: lambda _: wrong}), iterations=2)


def test_the_start_by_levels_is_not_fitted_to_what_is_hidden() -> None:
    """It was: the random start of hidden slices, between 0 and 1, came out as several times the energy around them."""
    rng = np.random.default_rng(0)
    network = hierarchy(30, (3,), 6, (1,))
    W, H = rng.random((6, 30, 3)) ** 4, (rng.random((3, 200)) < 0.1) * rng.random((3, 200))
    X = sum(W[k] @ np.pad(H, ((0, 0), (k, 0)))[:, :200] for k in range(6))
    X /= X.max()
    hidden = np.where((np.arange(200) >= 80) & (np.arange(200) < 110), np.nan, X)
    method = pfn.Substitute(start="levels")
    found = pfn.learn(network, {"x1": hidden}, iterations=50, method=method)["x1"]
    assert found[:, 80:110].sum() < 1.5 * X[:, 80:110].sum()
