"""The same questions to several devices and to NumPy; `python -m tests.engines.several_devices` asks them.

JAX makes its devices once in a process, hence a program of its own. With an address, a number of processes and its
own number, it is one of several processes that learn together; with the name of a case after them, that go wrong.
"""

import signal
import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import pfn
from pfn import t
from tests import networks
from tests.engines.test_jax import compare


def ask(question: Callable[..., pfn.Result], *arguments: Any, **options: Any) -> None:
    mesh = jax.make_mesh((jax.device_count(),), ("columns",))
    found = question(*arguments, iterations=15, mesh=mesh, **options)
    wanted = question(*arguments, iterations=15, engine="numpy", **options)
    assert found.settings["engine"] == "jax"
    compare(found, wanted)


def learning_from_lists() -> None:
    """Sequences, gaps and lags that reach from device to device, with momentum."""
    X = np.random.default_rng(0).random((6, 60))
    X[:, 30:33] = np.nan
    ask(pfn.learn, networks.hierarchy(6, (4, 3), 3, (1, 4)), {"x1": [X[:, :20], X[:, 20:24], X[:, 24:]]})


def tracking() -> None:
    """Small equations with known parameters, which are worked on as one."""
    scene = networks.tracking_scene()["x1"]
    ask(pfn.infer, networks.tracking(), {"x1": scene}, method=pfn.Propagate(acceleration=None))


def decaying() -> None:
    """A window without end sees the columns of all devices before."""
    x, h = pfn.Variable("x", 4), pfn.Variable("h", 3)
    network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", shape=(4, 3)) @ pfn.decay(h[t], 0.9)))
    ask(pfn.learn, network, {x: np.random.default_rng(1).random((4, 40))})


def differing(case: str, number: int) -> str:
    """What becomes of a run if one process is asked something else than the other, or wants to end it."""
    mesh = jax.make_mesh((jax.device_count(),), ("columns",))
    X = np.random.default_rng(0).random((6, 60))
    options: dict[str, Any] = {"iterations": 40}
    if case == "data" and number:
        X[3, 7] += 1e-9
    if case == "options" and number:
        options["tolerance"] = 1e-6
    if case == "callback":
        options["callback"] = lambda sweep, _values: number == 0 and sweep >= 4
    if case == "interrupt":
        options["callback"] = lambda sweep, _values: number == 1 and sweep == 4 and signal.raise_signal(signal.SIGINT)
    try:
        return pfn.learn(networks.plain_nmf(6, 3), {"x": X}, mesh=mesh, **options).stop
    except pfn.OptionError as error:
        return str(error)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        address, processes, number = sys.argv[1:4]
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(address, int(processes), int(number))
        if len(sys.argv) > 4:
            print(" | ".join(differing(case, int(number)) for case in sys.argv[4:]))
            sys.exit()
        learning_from_lists()
    else:
        learning_from_lists()
        tracking()
        decaying()
    print(f"the same on {jax.device_count()} devices of {jax.process_count()} processes")
