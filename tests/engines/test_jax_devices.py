"""Several devices and processes give what one gives; precision and meshes are refused where they cannot be had."""

import os
import socket
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import joblib
import numpy as np
import pytest

import pfn
from pfn.engines.run import WORTH_COMPILING
from tests.networks import plain_nmf

jax = pytest.importorskip("jax", reason="jax is not installed")

X = np.random.default_rng(0).random((4, 10))


def ask(*arguments: str, devices: int) -> "subprocess.Popen[str]":
    """The questions of several_devices.py to so many virtual devices, which compute one after the other."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engines.several_devices", *arguments],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def answer(process: "subprocess.Popen[str]") -> str:
    """What it prints at the end."""
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    return printed.splitlines()[-1]


def test_eight_devices_give_what_numpy_gives() -> None:
    assert answer(ask(devices=8)) == "the same on 8 devices of 1 processes"


def two_processes(*cases: str) -> list[str]:
    """What two processes print that talk to each other."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    both = [ask(address, "2", str(number), *cases, devices=2) for number in range(2)]
    return [answer(process) for process in both]


def test_two_processes_that_talk_to_each_other_give_what_numpy_gives() -> None:
    assert two_processes() == ["the same on 4 devices of 2 processes"] * 2


def test_two_processes_must_be_asked_the_same_and_end_together() -> None:
    """Each would wait for the other, or take its data for its own."""
    wanted = {
        "data": "mesh: its processes were given different things. Give all of them the same network, data, starting "
        "values, weights, method, seed and dtype.",
        "options": "mesh: its processes were given different things. Give all of them the same iterations, tolerance, "
        "stall, measure, precision and checkpoint_every, and a callback, a checkpoint and a checkpoint to resume, or "
        "none.",
        "callback": "the callback asked to stop after sweep 4",
        "interrupt": "interrupted by the user after 5 sweeps",
    }
    assert two_processes(*wanted) == [" | ".join(wanted.values())] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "half"}, r"precision must be one of 'full', 'tf32', found 'half'"),
        ({"precision": "tf32"}, r"precision='tf32' needs dtype='float32', found float64"),
        ({"precision": "tf32", "dtype": "float32", "engine": "numpy"}, r"precision='tf32' needs engine='jax'"),
        ({"precision": "tf32", "dtype": "float32"}, r"needs an NVIDIA GPU of the Ampere generation or later, found"),
        ({"mesh": [0, 1]}, r"mesh must be a jax.sharding.Mesh, found \[0, 1\]. Make one with jax.make_mesh"),
        ({"mesh": [0, 1], "method": "substitute"}, r"Substitute has no use for a mesh, .* Leave mesh out"),
    ],
)
def test_what_cannot_be_had_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pfn.OptionError, match=message), jax.default_device(jax.devices("cpu")[0]):
        pfn.learn(plain_nmf(4, 2), {"x": X}, iterations=1, **options)


def test_runs_side_by_side_have_no_mesh_in_common() -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:1]), ("columns",))
    options: Any = {"mesh": mesh, "restarts": 2, "iterations": 2}
    pfn.learn(plain_nmf(4, 2), {"x": X}, **options)
    with (
        joblib.parallel_config("threading", n_jobs=2),
        pytest.raises(pfn.OptionError, match=r"restarts=2 side by side .* joblib with 2 jobs. Give joblib n_jobs=1"),
    ):
        pfn.learn(plain_nmf(4, 2), {"x": X}, **options)


def test_one_device_may_be_a_mesh() -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:1]), ("columns",))
    found, wanted = (pfn.learn(plain_nmf(4, 2), {"x": X}, iterations=5, mesh=m, engine="jax") for m in (mesh, None))
    np.testing.assert_allclose(found["W"], wanted["W"], rtol=1e-12)


def test_auto_leaves_an_accelerator_to_the_first_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pfn.engines.jax_devices.has_accelerator", lambda: True)
    assert choose() == "jax"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(choose).result() == "numpy"


def choose() -> str:
    return pfn.engines.choose_engine("auto", 10 * WORTH_COMPILING)
