"""A run that was stopped or killed and then resumed is the run that never was."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import FileError, Propagate
from pfn.files import read_file, write_file
from tests.network.refusal import refused
from tests.networks import W_DETERMINISTIC, hierarchy, regular_expression, tracking, tracking_scene
from tests.solve.cases import MACHINE, assert_same, chain, numbers, parts_based, states

Ask = Callable[..., pfn.Result]
SWEEPS = 40


def infer(network: pfn.Network, data: dict[str, Any], **settings: Any) -> Ask:
    return lambda **more: pfn.infer(network, data, **({"iterations": SWEEPS} | settings | more))


def learn(network: pfn.Network, data: dict[str, Any], **settings: Any) -> Ask:
    return lambda **more: pfn.learn(network, data, **({"iterations": SWEEPS} | settings | more))


ONE = {"x": states(1, *[0] * 9)}
SEQUENCES = {"y": [numbers(), numbers(4, 1, seed=1), numbers(4, 7, seed=2)]}
SPARSE = scipy.sparse.csr_array(np.where(numbers() < 0.5, 0, numbers()))
HIERARCHY = hierarchy(6, (4, 3), 2, (1, 2))
RUNS: dict[str, Ask] = {
    "momentum": infer(MACHINE, ONE, method=Propagate(start="random")),
    "start from the data": infer(MACHINE, ONE),
    "plain": infer(MACHINE, ONE, method=pfn.PAPER),
    "several levels": infer(tracking(), {"x1": tracking_scene()["x1"]}),
    "coupled": infer(regular_expression(), {"x2": states(0, 2, 0, 0, 0, 0, 4, 0, 0, 0, of=6)}),
    "learning": learn(chain(), {"y": numbers()}),
    "learning, plain": learn(chain(), {"y": numbers()}, method=Propagate(acceleration=None)),
    "sequences": learn(chain(), SEQUENCES),
    "sequences, half hidden": learn(chain(), {"y": [np.where(y < 0.5, np.nan, y) for y in SEQUENCES["y"]]}),
    "ramp and release": learn(
        chain(),
        {"y": numbers()},
        method=Propagate(sparseness=pfn.ramp(0, 0.2, start=5, stop=30), release={"y": 13}),
    ),
    "release of what is partly hidden": infer(MACHINE, ONE, method=Propagate(release={"x": 20})),
    "single precision": learn(HIERARCHY, {"x1": numbers(6, 30)}, dtype="float32"),
    "start by levels": learn(HIERARCHY, {"x1": numbers(6, 30)}, method=Propagate(start="levels")),
    "levels of zeros": learn(
        chain(), {"y": np.where(np.arange(4)[:, None] == 2, 0, numbers())}, method=Propagate(start="levels")
    ),
    "all copies, euclidean": learn(
        chain(), {"y": numbers()}, method=Propagate(averaging="all", divergence="euclidean")
    ),
    "learn every": learn(chain(), {"y": numbers()}, method=Propagate(learn_every={"P": 3, "Q": 7})),
    "normalized": learn(parts_based(normalize="balanced"), {"x": numbers()}, method=Propagate(sparseness=0.1)),
    "weights": learn(parts_based(), {"x": numbers()}, weights={"eq1": np.arange(12)}),
    "given start with zeros": learn(
        parts_based(), {"x": numbers()}, initial={"W": np.eye(4, 2) + 0.1 * (numbers(4, 2) > 0.5)}
    ),
    "sparse start": learn(parts_based(), {"x": numbers()}, initial={"W": scipy.sparse.csr_array(np.eye(4, 2))}),
    "sparse data": learn(parts_based(), {"x": SPARSE}),
    "tolerance": infer(MACHINE, ONE, method=Propagate(start="random"), tolerance=1e-3),
    "stall": learn(parts_based(), {"x": numbers()}, stall=0.05, iterations=300),
    "silence": infer(MACHINE, {"x": np.zeros((4, 6))}),
}


@pytest.mark.parametrize("kind", RUNS)
def test_stopped_and_resumed(kind: str, tmp_path: Path) -> None:
    run, path = RUNS[kind], tmp_path / "checkpoint"
    whole = run()
    for last in (0, 12, 20, 28):
        stopped = run(checkpoint=path, checkpoint_every=1000, callback=lambda sweep, _, last=last: sweep == last)
        assert stopped.iterations == last + 1 < whole.iterations
        assert_same(run(resume=path), whole)


def test_resumed_several_times(tmp_path: Path) -> None:
    run, path = RUNS["ramp and release"], tmp_path / "checkpoint"
    run(checkpoint=path, callback=lambda sweep, _: sweep == 3)
    for stop in (11, 12, 13, 31):
        run(checkpoint=path, resume=path, callback=lambda sweep, _, stop=stop: sweep == stop)
    assert_same(run(resume=path), run())


def test_writing_checkpoints_changes_nothing(tmp_path: Path) -> None:
    run = RUNS["learning"]
    assert_same(run(checkpoint=tmp_path / "checkpoint", checkpoint_every=3), run())


def test_a_checkpoint_every_so_many_sweeps(tmp_path: Path) -> None:
    path, found = tmp_path / "checkpoint", []

    def look(sweep: int, _: object) -> None:
        found.append((sweep, int(read_file(path, "checkpoint")[0]["done"][0]) if path.exists() else 0))

    RUNS["learning"](checkpoint=path, checkpoint_every=10, callback=look, iterations=35)
    # The callback after a sweep may come before the checkpoint after the same sweep is written.
    assert all(sweep // 10 * 10 <= done <= (sweep + 1) // 10 * 10 for sweep, done in found)
    assert read_file(path, "checkpoint")[0]["done"][0] == 35


def test_a_finished_run_is_resumed_without_a_sweep(tmp_path: Path) -> None:
    run = RUNS["learning"]
    whole = run(checkpoint=tmp_path / "checkpoint")
    assert_same(run(resume=tmp_path / "checkpoint"), whole)


def test_a_finished_run_can_be_continued(tmp_path: Path) -> None:
    run = RUNS["learning"]
    run(checkpoint=tmp_path / "checkpoint")
    assert_same(run(resume=tmp_path / "checkpoint", iterations=2 * SWEEPS), run(iterations=2 * SWEEPS))


def test_other_criteria_to_stop_are_allowed(tmp_path: Path) -> None:
    run = RUNS["momentum"]
    run(checkpoint=tmp_path / "checkpoint")
    resumed = run(resume=tmp_path / "checkpoint", tolerance=1e-4, iterations=1000)
    assert_same(resumed, run(tolerance=1e-4, iterations=1000))


def reversed_machine() -> pfn.Network:
    x, h = MACHINE.variables
    W = pfn.Parameter("W", W_DETERMINISTIC[::-1])
    return pfn.Network(pfn.Factorization([x[pfn.t], x[pfn.t + 1]], W @ h[pfn.t]))


def priors(value: float) -> pfn.Network:
    return parts_based(prior=np.full((4, 2), value), prior_weight=1.0)


DATA = {"x": numbers()}
HIDDEN = {"x": np.where(np.eye(4, 12), np.nan, numbers())}
ONES = np.ones((4, 2))
OTHERS: dict[str, tuple[Ask, Ask]] = {
    "data": (learn(parts_based(), DATA), learn(parts_based(), {"x": numbers(seed=1)})),
    "hidden entry": (learn(parts_based(), DATA), learn(parts_based(), HIDDEN)),
    "observed variable": (learn(parts_based(), DATA), learn(parts_based(), DATA | {"h": numbers(2)})),
    "length": (learn(parts_based(), DATA), learn(parts_based(), {"x": numbers(4, 13)})),
    "list": (learn(parts_based(), DATA), learn(parts_based(), {"x": [numbers(4, 6), numbers(4, 6)]})),
    "normalization": (learn(parts_based(), DATA), learn(parts_based(normalize="columns"), DATA)),
    "network": (infer(MACHINE, ONE), learn(parts_based(), {"x": numbers()})),
    "known value": (infer(MACHINE, ONE), infer(reversed_machine(), ONE)),
    "prior": (learn(priors(1.0), DATA), learn(priors(2.0), DATA)),
    "method": (learn(parts_based(), DATA), learn(parts_based(), DATA, method=pfn.PAPER)),
    "ramp": (
        learn(parts_based(), DATA, method=Propagate(sparseness=pfn.ramp(0, 0.1, start=50, stop=60))),
        learn(parts_based(), DATA, method=Propagate(sparseness=pfn.ramp(0, 0.2, start=50, stop=60))),
    ),
    "seed": (learn(parts_based(), DATA), learn(parts_based(), DATA, seed=1)),
    "dtype": (learn(parts_based(), DATA), learn(parts_based(), DATA, dtype="float32")),
    "start": (learn(parts_based(), DATA), learn(parts_based(), DATA, initial={"W": ONES})),
    "masked start": (
        learn(parts_based(), DATA, initial={"W": ONES}),
        learn(parts_based(), DATA, initial={"W": np.ma.array(ONES, mask=np.eye(4, 2) > 0)}),
    ),
    "weights": (learn(parts_based(), DATA), learn(parts_based(), DATA, weights={"eq1": np.arange(12)})),
    "learning": (learn(parts_based(value=ONES, learn=True), DATA), infer(parts_based(value=ONES, learn=True), DATA)),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_the_checkpoint_of_another_run_is_refused(kind: str, tmp_path: Path) -> None:
    first, second = OTHERS[kind]
    path = tmp_path / "checkpoint"
    first(checkpoint=path, iterations=5)
    message = (
        f"{path}: this checkpoint belongs to another run: the network, the data, the starting values, the weights, "
        "the method, the seed and the dtype must be those of the run that wrote it."
    )
    with refused(message, FileError):
        second(resume=path)


def test_the_same_question_in_other_words_is_not_another(tmp_path: Path) -> None:
    """Objects or names, whole numbers or floats, arrays in another order in memory."""
    path, network = tmp_path / "checkpoint", parts_based()
    X, start = np.arange(48).reshape(4, 12), numbers(4, 2)
    whole = pfn.learn(network, {"x": X}, initial={"W": start}, iterations=20)
    pfn.learn(network, {"x": X}, initial={"W": start}, iterations=5, checkpoint=path)
    resumed = pfn.learn(
        parts_based(),
        {network.variable("x"): np.asfortranarray(X, dtype=float)},
        initial={network.parameters[0]: np.asfortranarray(start)},
        iterations=20,
        resume=str(path),
    )
    assert_same(resumed, whole)


def test_files_that_are_no_checkpoints(tmp_path: Path) -> None:
    run, path = RUNS["momentum"], tmp_path / "file"
    with refused(f"{path}: cannot be read: No such file or directory.", FileError):
        run(resume=path)
    run().save(path)
    with refused(f"{path}: expected a checkpoint, found a result. Read a result with pfn.load(path).", FileError):
        run(resume=path)
    run(checkpoint=path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileError, match="truncated or damaged"):
        run(resume=path)


FORGED: dict[str, tuple[dict[str, Any], str]] = {
    "sweeps": ({"done": np.array([10**12])}, r"\[1000000000000\] sweeps, .* do not agree"),
    "sweeps, as the history says": (
        {"done": np.array([10**12]), "iterations": np.array([*range(SWEEPS - 1), 10**12 - 1])},
        "claims 1000000000000 sweeps of which it knows 40",
    ),
    "less than no sweep": ({"done": np.array([-3])}, "do not agree"),
    "no number of sweeps": ({"done": np.array([], int)}, "do not agree"),
    "undefined": ({"done": np.array([np.nan])}, "do not agree"),
    "steps": ({"steps": np.array([10**12])}, "do not agree"),
    "history": ({"iterations": np.arange(SWEEPS)[::-1].copy()}, "do not agree"),
    "errors": ({"rmse": np.ones((5, SWEEPS))}, "do not agree"),
    "values": ({"now h": np.ones((1, 12))}, r"h has the shape \(1, 12\) in place of \(2, 12\)"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_a_checkpoint_whose_counts_cannot_be(kind: str, tmp_path: Path) -> None:
    """The run would make a list as long as the sweeps that were done."""
    run, path, (changes, message) = learn(parts_based(), DATA), tmp_path / "file", FORGED[kind]
    run(checkpoint=path)
    arrays, content = read_file(path, "checkpoint")
    write_file(path, "checkpoint", arrays | changes, content)
    with pytest.raises(FileError, match=message):
        run(resume=path, iterations=2 * SWEEPS)


def test_a_checkpoint_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be written"):
        RUNS["momentum"](checkpoint=tmp_path / "none" / "file", checkpoint_every=5)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="pipe: cannot be written: it is a device, a pipe or a socket"):
        RUNS["momentum"](checkpoint=tmp_path / "pipe", callback=lambda *_: pytest.fail("a sweep was lost"))


KILLED = """
import sys
from tests.solve.test_checkpoints import RUNS
RUNS[sys.argv[1]](checkpoint=sys.argv[2], checkpoint_every=int(sys.argv[3]), iterations=10**9)
"""


@pytest.mark.parametrize(
    ("kind", "every", "seen"), [("learning", 1, 1), ("sequences", 3, 20), ("single precision", 1, 50)]
)
def test_killed_and_resumed(kind: str, every: int, seen: int, tmp_path: Path) -> None:
    """A process that would never end is killed after so many checkpoints were seen, wherever it is then."""
    path = tmp_path / "checkpoint"
    command = [sys.executable, "-c", KILLED, kind, str(path), str(every)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as process:
        versions: set[int] = set()
        while len(versions) < seen and process.poll() is None:
            time.sleep(0.001)
            if path.exists():
                versions.add(path.stat().st_mtime_ns)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    done = int(read_file(path, "checkpoint")[0]["done"][0])
    assert done % every == 0
    assert_same(RUNS[kind](resume=path, iterations=done + 10), RUNS[kind](iterations=done + 10))
