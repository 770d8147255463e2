"""Streams: the values of whole sequences, from a window that moves, in bounded work per frame."""

from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t
from pfn.solve import window
from tests.networks import W_DETERMINISTIC, automaton, tracking, tracking_scene

x, e, u = pfn.Variable("x", 6), pfn.Variable("e", 3), pfn.Variable("u", 3)
RNG = np.random.default_rng(0)
LAGS = (0, 1, 3)
MATRICES = [np.eye(6, 3, -lag) + 0.2 * RNG.random((6, 3)) for lag in LAGS]  # far enough apart to be told apart fast
ECHO = pfn.Network(
    pfn.Factorization(x[t], sum(pfn.Parameter(f"V{k}", V) @ e[t - k] for k, V in zip(LAGS, MATRICES, strict=True)))
)


def echo(length: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Events, and what is heard of them now and later."""
    generator = np.random.default_rng(seed)
    events = generator.gamma(1, 1, (3, length)) * (generator.random((3, length)) < 0.5)
    heard = np.zeros((6, length))
    for lag, matrix in zip(LAGS, MATRICES, strict=True):
        heard[:, lag:] += matrix @ events[:, : length - lag]
    return events, heard


def columns(values: list[Any], name: str) -> np.ndarray:
    return np.array([one[name] for one in values]).T


def test_a_window_on_everything_gives_what_inference_on_the_whole_gives() -> None:
    network, scene = tracking(), tracking_scene()
    X = scene["x1"]
    whole = pfn.infer(network, {"x1": X}, iterations=1500)
    values = list(pfn.stream(network, ({"x1": frame} for frame in X.T), window=27, delay=25, sweeps=300))
    assert [one.time for one in values] == list(range(26))
    for variable in network.variables:
        wanted = whole[variable]
        found = columns(values, variable.name)
        np.testing.assert_allclose(found[:, : wanted.shape[1]], wanted, atol=0.02, err_msg=variable.name)
        assert np.isnan(found[:, wanted.shape[1] :]).all()


@pytest.mark.parametrize("options", [{}, {"dtype": "float32"}, {"method": pfn.Propagate(divergence="euclidean")}])
def test_a_window_that_moves_knows_what_came_before(options: dict[str, Any]) -> None:
    """Without the slices before the window, what is still heard of them would be taken for something else."""
    events, heard = echo(60)
    values = list(pfn.stream(ECHO, heard.T, window=8, delay=3, sweeps=60, **options))
    found = columns(values, "e")
    assert found.dtype == options.get("dtype", "float64")
    np.testing.assert_allclose(found, events, atol=0.02 * events.max())


def test_states_reach_far_beyond_the_window() -> None:
    network = automaton(W_DETERMINISTIC)
    frames: list[Any] = [{"x": [1.0, 0.0, 2.0, 0.0]}, *[{}] * 40]
    values = list(pfn.stream(network, frames, window=4, delay=1, sweeps=100))
    for number, one in enumerate(values):
        np.testing.assert_allclose(one["x"], np.roll([1, 0, 2, 0], number), atol=0.01)
    np.testing.assert_allclose(values[7]["h"], np.roll([1, 0, 2, 0], 7), atol=0.01)
    assert np.isnan(values[-1]["h"]).all()


def test_lags_of_children_and_of_parents_together() -> None:
    a, b, c = pfn.Variable("a", 2), pfn.Variable("b", 2), pfn.Variable("c", 2)
    K, L = pfn.Parameter("K", [[1, 0.1], [0, 1], [0.5, 0], [0, 0.3]]), pfn.Parameter("L", [[0, 1], [0.2, 0]] * 2)
    network = pfn.Network(pfn.Factorization([a[t], b[t + 1]], K @ c[t] + L @ c[t - 2]))
    C = np.random.default_rng(2).gamma(1, 1, (2, 30))
    stacked = K.value @ C
    stacked[:, 2:] += L.value @ C[:, :-2]
    frames = [{"a": stacked[:2, n], "b": stacked[2:, n - 1] if n else [np.nan] * 2} for n in range(30)]
    values = list(pfn.stream(network, frames, window=7, delay=1, sweeps=300))
    np.testing.assert_allclose(columns(values, "c")[:, :-1], C[:, :-1], rtol=0.02, atol=0.02)
    assert np.isnan(values[0]["b"]).all()


def test_work_per_frame_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    made, sweeps = [], []

    class Counting(window.WindowRun):
        def __init__(self, problem: Any) -> None:
            made.append(problem.lengths)
            super().__init__(problem)

        def advance(self, stretch: Any) -> Any:
            sweeps.append(stretch.first)
            return super().advance(stretch)

    monkeypatch.setattr(window, "WindowRun", Counting)
    stream = pfn.stream(ECHO, window=6, sweeps=3)
    for number, frame in enumerate(echo(20)[1].T):
        stream.push(frame)
        assert len(sweeps) == 3 * (number + 1)
    assert made == [(1,), (2,), (3,), (4,), (5,), (6,)]


def test_pushing_and_going_through_are_the_same() -> None:
    _, heard = echo(12)
    stream = pfn.stream(ECHO, window=6, delay=2, sweeps=5)
    pushed = [stream.push({x: frame}) for frame in heard.T]
    assert pushed[:2] == [None, None]
    values = [one for one in pushed if one is not None] + list(stream.finish())
    again = list(pfn.stream(ECHO, heard.T, window=6, delay=2, sweeps=5))
    np.testing.assert_array_equal(columns(values, "e"), columns(again, "e"))
    assert len(values) == 12
    assert list(values[0]) == ["x", "e"]
    np.testing.assert_array_equal(values[3][x], heard[:, 3])
    np.testing.assert_array_equal(values[3][e], values[3]["e"])
    assert repr(values[3]) == "slice 3 of x, e"
    assert list(stream.finish()) == []


def test_hidden_entries_are_filled_in() -> None:
    events, heard = echo(30)
    holes = np.where(np.random.default_rng(3).random(heard.shape) < 0.2, np.nan, heard)
    values = list(pfn.stream(ECHO, ({"x": frame} for frame in holes.T), window=10, delay=5, sweeps=200))
    np.testing.assert_allclose(columns(values, "x"), heard, atol=0.05 * heard.max())
    np.testing.assert_allclose(columns(values, "e")[:, :-5], events[:, :-5], atol=0.1 * events.max())


def test_learned_parameters_take_their_values_from_a_result() -> None:
    W = pfn.Parameter("W", shape=(6, 3))
    network = pfn.Network(pfn.Factorization(x[t], W @ e[t]))
    with pytest.raises(pfn.DataError, match=r"parameter W is unknown.*initial=\{'W': matrix\}"):
        pfn.stream(network)
    X = MATRICES[0] @ RNG.random((3, 5))
    values = list(pfn.stream(network, X.T, initial={W: MATRICES[0]}, sweeps=200))
    np.testing.assert_allclose(MATRICES[0] @ columns(values, "e"), X, rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window must be a whole number >= 1, found 0"),
        ({"window": 3}, r"window must have at least 4 slices: 0 of the delay, 3 that.*found 3"),
        ({"window": 6, "delay": 3}, "window must have at least 7 slices: 3 of the delay"),
        ({"delay": -1}, "delay must be"),
        ({"sweeps": 0}, "sweeps must be"),
        ({"seed": "a"}, "seed must be"),
        ({"dtype": "int8"}, "dtype must be one of 'float64', 'float32'"),
        ({"method": "exact"}, "stream needs the method 'propagate'"),
        ({"method": pfn.Propagate(release={"x": 3})}, "stream: release, ramps and the start"),
        ({"method": pfn.Propagate(sparseness=pfn.ramp(0, 0.1, start=1, stop=2))}, "a stream has no end"),
        ({"frames": 5}, "frames must be an iterable of frames, found int"),
        ({"frames": {"x": [1] * 6}}, "frames must be an iterable of frames, found dict"),
        ({"initial": {"e": np.ones((3, 1))}}, "initial: a stream takes values of parameters, found e"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pfn.OptionError, match=message):
        pfn.stream(ECHO, **options)


def test_networks_that_cannot_be_streamed() -> None:
    with pytest.raises(pfn.OptionError, match=r"network must be a pfn\.Network, found int"):
        pfn.stream(5)  # type: ignore[arg-type]
    with pytest.raises(pfn.OptionError, match="made without frames"):
        list(pfn.stream(ECHO))
    endless = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", np.ones((6, 3))) @ pfn.decay(e[t], 0.5)))
    with pytest.raises(pfn.OptionError, match=r"reaches back to the first slice.*Give the decay a length"):
        pfn.stream(endless)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"x": [1, 2]}, r"frame 1: x: expected 6 numbers, NaN where hidden, found the shape \(2,\)"),
        ({"x": [-1.0] * 6}, "frame 1: x: entries must be finite and non-negative"),
        ({"x": ["a"] * 6}, "frame 1: x: expected real numbers"),
        ({"y": [1] * 6}, "the network has nothing called y"),
        ({x: [1] * 6, "x": [1] * 6}, "frame 1 has x twice"),
        (None, "frame 1: x: expected real numbers"),
    ],
)
def test_bad_frames_leave_the_stream_as_it_was(frame: Any, message: str) -> None:
    stream = pfn.stream(ECHO, window=6)
    stream.push(np.ones(6))
    with pytest.raises(pfn.DataError, match=message):
        stream.push(frame)
    assert stream.push({}).time == 1  # type: ignore[union-attr]  # without delay there is a slice


def test_a_bare_frame_needs_one_bottom_variable() -> None:
    network = pfn.Network(pfn.Factorization([x[t], u[t]], pfn.Parameter("B", np.ones((9, 3))) @ e[t]))
    with pytest.raises(pfn.DataError, match=r"frame 0: numbers without a name.*there are 2: x, u"):
        pfn.stream(network).push(np.ones(6))


def test_numbers_too_large() -> None:
    with pytest.raises(pfn.NumericalError, match="eq1: the values became infinite with frame 0"):
        pfn.stream(ECHO, dtype="float32").push(np.full(6, 3e38))


def test_a_frame_that_is_too_large_leaves_no_trace() -> None:
    stream = pfn.stream(ECHO, window=6, delay=1)
    frames = RNG.random((20, 6))
    for time, frame in enumerate(frames):
        with pytest.raises(pfn.NumericalError, match=f"with frame {time}"):
            stream.push(np.full(6, 1e308))
        values = stream.push(frame)
        if values is not None:
            assert values.time == time - 1
            np.testing.assert_array_equal(values["x"], frames[time - 1])
            assert np.isfinite(values["e"]).all()


def test_a_window_holds_all_that_a_decay_reaches() -> None:
    x, h, W = pfn.Variable("x", 2), pfn.Variable("h", 2), pfn.Parameter("W", np.eye(2))
    network = pfn.Network(pfn.Factorization(x[t], W @ pfn.decay(h[t - 1], 0.5, 4)))
    with pytest.raises(pfn.OptionError, match="window must have at least 5 slices"):
        pfn.stream(network, window=4)
    pfn.stream(network, window=5)
    endless = pfn.Network(pfn.Factorization(x[t], W @ pfn.decay(h[t], 0.5)))
    with pytest.raises(pfn.OptionError, match=r"reaches back to the first slice.*Give the decay a length"):
        pfn.stream(endless)
