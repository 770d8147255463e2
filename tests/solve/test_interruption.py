"""Ctrl-C ends a run in order."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import pfn
from pfn.solve import Answer, Request
from tests.solve.cases import MACHINE, assert_same, numbers, parts_based, states

ONE = states(1, *[0] * 9)
Callback = Callable[[int, Any], None]


@pytest.fixture(autouse=True)
def own_handler() -> Iterator[Callable[..., None]]:
    """A handler that the tests can recognise; what was there before comes back."""
    before = signal.signal(signal.SIGINT, pressed)
    yield pressed
    signal.signal(signal.SIGINT, before)


def pressed(*_: object) -> None:
    raise AssertionError("Ctrl-C reached the program around the run")


def press_at(sweep: int, times: int = 1) -> Callback:
    def press(iteration: int, _: object) -> None:
        if iteration == sweep:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return press


def test_what_there_is_comes_back() -> None:
    result = pfn.infer(MACHINE, {"x": ONE}, callback=press_at(5))
    assert result.interrupted
    assert result.stop == f"interrupted by the user after {result.iterations} sweeps"
    assert 6 <= result.iterations <= 7  # the sweep at work is finished
    same = pfn.infer(MACHINE, {"x": ONE}, iterations=result.iterations)
    np.testing.assert_array_equal(result["x"], same["x"])
    assert result.rmse == same.rmse
    assert "interrupted by the user" in repr(result)


def test_the_handler_of_before_is_restored(own_handler: Callable[..., None]) -> None:
    pfn.infer(MACHINE, {"x": ONE}, callback=press_at(5))
    assert signal.getsignal(signal.SIGINT) is own_handler
    pfn.infer(MACHINE, {"x": ONE}, iterations=2)
    assert signal.getsignal(signal.SIGINT) is own_handler


def test_the_handler_of_before_is_restored_after_an_error(own_handler: Callable[..., None]) -> None:
    with pytest.raises(pfn.DataError):
        pfn.infer(MACHINE, {"x": -np.ones((4, 5))})
    with pytest.raises(pfn.NumericalError):
        pfn.infer(MACHINE, {"x": 1e200 * np.ones((4, 5))})
    assert signal.getsignal(signal.SIGINT) is own_handler


def test_the_second_time_interrupts_at_once(own_handler: Callable[..., None]) -> None:
    with pytest.raises(KeyboardInterrupt):
        pfn.infer(MACHINE, {"x": ONE}, callback=press_at(5, times=2))
    assert signal.getsignal(signal.SIGINT) is own_handler


def test_the_default_handler_is_kept() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert pfn.infer(MACHINE, {"x": ONE}, callback=press_at(5)).interrupted
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_in_another_thread_needs_no_handler(own_handler: Callable[..., None]) -> None:
    found: list[pfn.Result] = []
    worker = threading.Thread(target=lambda: found.append(pfn.infer(MACHINE, {"x": ONE}, iterations=5)))
    worker.start()
    worker.join()
    assert found[0].iterations == 5
    assert signal.getsignal(signal.SIGINT) is own_handler


def test_before_the_first_sweep() -> None:
    class PressedWhenRead(dict[str, Any]):
        def items(self) -> Any:
            signal.raise_signal(signal.SIGINT)
            return super().items()

    result = pfn.infer(MACHINE, {"x": ONE}, initial=PressedWhenRead(h=np.ones((4, 9))))
    assert (result.interrupted, result.iterations, len(result.history)) == (True, 0, 0)
    assert "interrupted by the user after 0 sweeps" in repr(result)


def test_an_interrupted_result_is_saved_as_such(tmp_path: Path) -> None:
    result = pfn.infer(MACHINE, {"x": ONE}, callback=press_at(5))
    result.save(tmp_path / "result")
    assert_same(pfn.load(tmp_path / "result"), result)


@pytest.mark.parametrize("run", range(4))
def test_restarts_end_too(run: int) -> None:
    """Whichever run is interrupted, and whichever is best: the result says that Ctrl-C ended it."""
    calls = 0

    def press(iteration: int, _: object) -> None:
        nonlocal calls
        calls += iteration == 0
        if calls == run + 1 and iteration == 3:
            signal.raise_signal(signal.SIGINT)

    result = pfn.learn(parts_based(), {"x": numbers()}, restarts=4, iterations=40, callback=press)
    assert calls == run + 1
    assert result.interrupted
    assert "interrupted by the user" in result.stop


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_restarts_elsewhere_end_too(backend: str) -> None:
    """Pressed once the first of many runs is back; the others are given up, without a word from joblib."""

    class PressedAfterARun(pfn.Propagate):
        def run(self, request: Request) -> Answer:
            answer = super().run(request)
            if request.restart == 0:
                os.kill(parent, signal.SIGINT)
            return answer

    parent, method = os.getpid(), PressedAfterARun()
    with joblib.parallel_config(backend, n_jobs=2):
        result = pfn.learn(parts_based(), {"x": numbers()}, method=method, restarts=6, iterations=400)
    assert result.interrupted
    assert "interrupted by the user" in result.stop


def test_interrupted_and_resumed_is_the_same_run(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    whole = pfn.learn(parts_based(), {"x": numbers()}, iterations=40)
    pfn.learn(parts_based(), {"x": numbers()}, iterations=40, checkpoint=checkpoint, callback=press_at(11))
    assert_same(pfn.learn(parts_based(), {"x": numbers()}, iterations=40, resume=checkpoint), whole)
