"""Hidden values that end far above all observations of their variable: named once, at the user's own line."""

import signal
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t
from pfn.solve.runaways import ENOUGH, FACTOR, Runaways
from tests.solve.cases import MACHINE, states

Array = np.ndarray[Any, np.dtype[np.float64]]
LARGEST = 16


def like_digits(seed: int = 0, hidden: float = 0.3) -> Array:
    """Sums of ten parts as whole numbers from 0 to 16, some of them hidden."""
    generator = np.random.default_rng(seed)
    X = generator.gamma(0.3, size=(64, 10)) @ generator.gamma(0.3, size=(10, 200))
    X = np.minimum(np.rint(LARGEST * X / np.quantile(X, 0.97)), LARGEST)
    X[generator.random(X.shape) < hidden] = np.nan
    return X


def factorization(components: int, penalty: float = 0.0, normalize: str | None = "columns") -> pfn.Network:
    """x = W h, perhaps with a price on h."""
    x, h = pfn.Variable("x", 64), pfn.Variable("h", components)
    W = pfn.Parameter("W", shape=(64, components))
    equations = [pfn.Factorization(x, W @ h, normalize=normalize)]
    if penalty:
        price = pfn.Parameter("price", np.full((1, components), penalty))
        equations.append(pfn.Factorization(pfn.Variable("z", 1), price @ h))
    return pfn.Network(*equations)


def largest_hidden(X: Array, result: pfn.Result) -> float:
    return float(result["x"][np.isnan(X)].max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", [pfn.Propagate(), pfn.Substitute()], ids=["propagate", "substitute"])
def test_too_many_components(seed: int, method: Any) -> None:
    X = like_digits(seed)
    with pytest.warns(pfn.RunawayWarning) as caught:
        result = pfn.learn(factorization(16), {"x": X}, method=method, iterations=1000)
    largest = largest_hidden(X, result)
    component, column = np.unravel_index(np.argmax(result["x"]), X.shape)
    assert largest > 20 * LARGEST
    (warning,) = caught
    assert warning.filename == __file__
    message = str(warning.message)
    assert f"x ran away: its hidden value at component {component}, column {column} became {largest:.4g}" in message
    assert f"{largest / LARGEST:.3g} times the largest observation of x, 16" in message
    assert all(way in message for way in ("fewer components", "iterations=", "z = λ h", "normalize='columns'"))


def test_the_ways_out() -> None:
    X = like_digits()
    for network, data, iterations in [
        (factorization(6), {"x": X}, 1000),
        (factorization(16), {"x": X}, 20),
        (factorization(16, penalty=0.1), {"x": X, "z": np.zeros((1, 200))}, 1000),
    ]:
        result = pfn.learn(network, data, iterations=iterations)  # warnings are errors
        assert largest_hidden(X, result) < 3 * LARGEST


def test_place_in_sequences() -> None:
    X = like_digits()
    with pytest.warns(pfn.RunawayWarning, match=r"component \d+, column \d+ of sequence [01] became") as caught:
        result = pfn.learn(factorization(16), {"x": [X[:, :100], X[:, 100:]]}, iterations=1000)
    largest = [array.max() for array in result["x"]]
    sequence = int(np.argmax(largest))
    component, column = np.unravel_index(np.argmax(result["x"][sequence]), (64, 100))
    assert f"component {component}, column {column} of sequence {sequence} became" in str(caught[0].message)


def test_batches_keep_no_values_and_still_tell() -> None:
    data = {"x": [like_digits(seed)[:, :50] for seed in range(2)]}
    with pytest.warns(pfn.RunawayWarning, match=r"of sequence 0 of batch [01] became") as caught:
        pfn.learn(factorization(16), data, batches=pfn.Batches(size=1, first=1000, sweeps=20))
    assert len(caught) == 1


def test_an_interrupted_run_tells() -> None:
    def interrupt(number: int, _values: Any) -> None:
        if number == 700:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(pfn.RunawayWarning):
        result = pfn.learn(factorization(16), {"x": like_digits()}, callback=interrupt)
    assert result.interrupted


def test_a_stream_tells_once_a_variable() -> None:
    """Nothing but growth: each state is twice the one before, and none is observed after the first 30 slices."""
    x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
    double = pfn.Parameter("W", np.vstack([np.eye(2), 2 * np.eye(2)]))
    network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], double @ h[t]))

    def frames() -> Iterator[dict[str, list[float]]]:
        for number in range(50):
            yield {"x": [2.0 ** (number - 30)] * 2 if number < 30 else [np.nan] * 2}

    with pytest.warns(pfn.RunawayWarning, match=r"component [01], column \d+ became") as caught:
        values = list(pfn.stream(network, frames(), sweeps=200))
    assert values[40]["x"].max() > FACTOR
    assert len(caught) == 1
    assert caught[0].filename == __file__


def warned_of(seen: Array, values: Array) -> bool:
    runaways = Runaways()
    runaways.observe("x", seen)
    runaways.compare("x", seen, values)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runaways.warn()
        runaways.warn()
    assert len(caught) <= 1
    return bool(caught)


def warned(X: Array, value: float) -> bool:
    return warned_of(X, np.where(np.isnan(X), value, X))


def observed(count: int, largest: float) -> Array:
    """A component with that many observations, then one hidden entry."""
    return np.array([[largest] * count + [np.nan]])


def test_what_is_compared() -> None:
    assert warned(observed(ENOUGH, 2.0), 2.01 * FACTOR)
    assert not warned(observed(ENOUGH, 2.0), 2.0 * FACTOR)
    assert not warned(observed(ENOUGH - 1, 2.0), 1e6)  # too few to say how large x is
    assert not warned(observed(ENOUGH, 0.0), 1e6)  # zeros say nothing about it
    assert not warned(np.vstack([np.ones(ENOUGH), np.full(ENOUGH, np.nan)]), 1e6)  # a component never observed
    assert warned(np.vstack([np.ones(ENOUGH), np.full(ENOUGH, np.nan), observed(ENOUGH - 1, 1.0)]), 1e6)


def test_no_alarm_where_hidden_values_are_right() -> None:
    X = np.hstack([states(*[1, 2, 3, 4] * 10), np.full((4, 10), np.nan)])
    pfn.infer(MACHINE, {"x": X})
    pfn.infer(MACHINE, {"x": [X, 3 * X]})


def test_observations_that_were_let_go_on_purpose_are_no_runaways() -> None:
    result = pfn.learn(
        factorization(4, normalize=None), {"x": [np.ones((64, 9))]}, method=pfn.Propagate(release={"x": 2})
    )
    assert result["x"][0].shape == (64, 9)
    assert not warned_of(np.ones((1, ENOUGH)), np.full((1, ENOUGH), 1e6))
