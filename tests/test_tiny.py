"""The outside behaviour in seconds: what a user does in the first hour."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t


def machine() -> tuple[pfn.Network, pfn.Variable, pfn.Variable, pfn.Parameter]:
    """Four states that take turns."""
    x, h = pfn.Variable("x", 4), pfn.Variable("h", 4)
    W = pfn.Parameter("W", np.vstack([np.eye(4), np.roll(np.eye(4), 1, axis=0)]))
    return pfn.Network(pfn.Factorization([x[t], x[t + 1]], W @ h[t])), x, h, W


def test_prediction_from_one_slice() -> None:
    network, x, h, W = machine()
    X = np.full((4, 10), np.nan)
    X[:, 0] = [1, 0, 0, 0]
    result = pfn.infer(network, {x: X}, iterations=500, seed=0)
    np.testing.assert_array_equal(result[x].argmax(axis=0), np.arange(10) % 4)
    np.testing.assert_allclose(result["h"].sum(axis=0), 1, atol=1e-5)
    assert result[h].shape == (4, 9)
    assert result[W] is result["W"]
    assert result.rmse["eq1"] < 1e-6


def test_a_mixture_is_explained_like_its_parts() -> None:
    network, x, h, _ = machine()
    turns = np.eye(4)[:, np.arange(10) % 4]
    later = np.roll(turns, -2, axis=0)
    parts = [pfn.infer(network, {x: part})[h] for part in (0.5 * turns, later)]
    mixture = pfn.infer(network, {x: 0.5 * turns + later})[h]
    np.testing.assert_allclose(mixture, sum(parts), atol=1e-6)


def test_plain_factorization() -> None:
    x, h = pfn.Variable("x", 6), pfn.Variable("h", 2)
    W = pfn.Parameter("W", shape=(6, 2))
    network = pfn.Network(pfn.Factorization(x, W @ h, normalize="columns"))
    draw = np.random.default_rng(0).random
    X = draw((6, 2)) @ draw((2, 30))
    result = pfn.learn(network, {x: X}, iterations=2000, tolerance=1e-5)
    assert result.stop == "the RMSE of every equation is below the tolerance 1e-05"
    np.testing.assert_allclose(result[W] @ result[h], X, atol=1e-3)
    np.testing.assert_allclose(result[W].sum(axis=0), 1)


def test_echoes() -> None:
    """Section 6: every event explains four slices; a single click comes back as one event."""
    spectrum, event = pfn.Variable("spectrum", 8), pfn.Variable("event", 1)
    basis = [pfn.Parameter(f"basis{k}", shape=(8, 1)) for k in range(4)]
    terms = sum(basis[k] @ event[t - k] for k in range(4))
    network = pfn.Network(pfn.Factorization(spectrum[t], terms, normalize="sequences"))
    sound = np.random.default_rng(0).random((8, 4))
    X = np.zeros((8, 30))
    for start, loudness in ((3, 1.0), (12, 0.5), (20, 2.0)):
        X[:, start : start + 4] += loudness * sound
    result = pfn.learn(network, {spectrum: X}, iterations=1000, restarts=3)
    learned = np.hstack([result[parameter] for parameter in basis])
    assert learned.sum() == pytest.approx(1)
    np.testing.assert_allclose(learned, sound / sound.sum(), atol=0.01)
    np.testing.assert_allclose(result[event][0, [3, 12, 20]], sound.sum() * np.array([1, 0.5, 2]), rtol=0.05)


def test_several_sequences() -> None:
    network, x, h, _ = machine()
    pieces = [np.full((4, length), np.nan) for length in (3, 5)]
    for number, piece in enumerate(pieces):
        piece[number, 0] = 1
        piece[[k for k in range(4) if k != number], 0] = 0
    result = pfn.infer(network, {x: pieces}, iterations=500)
    assert [part.argmax(axis=0).tolist() for part in result[x]] == [[0, 1, 2], [1, 2, 3, 0, 1]]
    assert [part.shape for part in result[h]] == [(4, 2), (4, 4)]


def test_save_and_load(tmp_path: Path) -> None:
    network, x, h, _ = machine()
    result = pfn.infer(network, {x: np.eye(4)}, iterations=3)
    result.save(tmp_path / "result.safetensors")
    again = pfn.load(tmp_path / "result.safetensors")
    np.testing.assert_array_equal(again[h], result[h])
    assert again.network == network
    assert repr(again) == repr(result)


def test_a_long_run_in_two_halves(tmp_path: Path) -> None:
    network, x, h, _ = machine()
    X = np.full((4, 10), np.nan)
    X[:, 0] = [1, 0, 0, 0]
    whole = pfn.infer(network, {x: X}, iterations=60)
    pfn.infer(network, {x: X}, iterations=30, checkpoint=tmp_path / "half")
    np.testing.assert_array_equal(pfn.infer(network, {x: X}, iterations=60, resume=tmp_path / "half")[h], whole[h])


def test_silence() -> None:
    network, x, h, _ = machine()
    result = pfn.infer(network, {x: np.zeros((4, 10))})
    np.testing.assert_array_equal(result[x], 0)
    np.testing.assert_allclose(result[h], 0, atol=1e-9)


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"x": -np.ones((4, 3))}, pfn.DataError, ["x", "non-negative", "-1.0", "component 0", "NaN"]),
        ({"x": np.ones((3, 4))}, pfn.DataError, ["x", "(4, columns)", "(3, 4)", "array.T"]),
        ({"y": np.ones((4, 3))}, pfn.DataError, ["y", "x, h, W, eq1"]),
        ({"x": "loud"}, pfn.DataError, ["x", "real numbers", "Convert"]),
        ({}, pfn.DataError, ["empty", "Give an array for x"]),
    ],
)
def test_errors_say_what_to_do(data: Any, error: type[pfn.PfnError], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        pfn.infer(machine()[0], data)
    for word in words:
        assert word in str(caught.value)


def test_every_error_is_a_pfn_error() -> None:
    for name in ("DeclarationError", "DataError", "OptionError", "FileError", "NumericalError", "NoExactSolution"):
        assert issubclass(getattr(pfn, name), pfn.PfnError)


def test_the_public_names() -> None:
    public = "Variable Parameter Factorization Network t infer learn load Propagate PAPER ramp Result compile_network"
    assert set(public.split()) <= set(dir(pfn))
    assert all(getattr(pfn, name) is not None for name in pfn.__all__)
    with pytest.raises(AttributeError, match="module 'pfn' has no attribute 'inference'"):
        pfn.inference  # noqa: B018  # the attribute is what is asked for
