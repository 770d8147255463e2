"""How much faster is one sweep of the tracking network (7 equations, T = 26) than plain NumPy?"""

import argparse

import numpy as np

import pfn
from benchmarks.plain_numpy import PlainRun
from benchmarks.side_by_side import alternate, table
from tests.networks import tracking, tracking_scene

SWEEPS = 1000


def main(rounds: int) -> None:
    network, scene = tracking(), {"x1": tracking_scene()["x1"]}

    def plain() -> dict[str, np.ndarray]:
        run = PlainRun(network, scene, 1e-9, seed=0)
        for _ in range(SWEEPS):
            run.sweep()
        return run.values

    def ours(method: pfn.Propagate) -> pfn.Result:
        return pfn.infer(network, scene, iterations=SWEEPS, stall=None, method=method)

    difference = max(
        np.abs(plain()[name] - found).max()
        for name, found in same_start(network, scene).values.items()
        if name in ("x2", "x3", "x4", "x5")
    )
    times = alternate(
        {
            "plain NumPy, plain sweep": plain,
            "pfn, plain sweep": lambda: ours(pfn.Propagate(acceleration=None, start="random")),
            "pfn, sweep with momentum": lambda: ours(pfn.Propagate(start="random")),
        },
        rounds,
    )
    base = times["plain NumPy, plain sweep"]
    rows = {name: (f"{time / SWEEPS * 1e6:.0f}", f"{base / time:.2f}") for name, time in times.items()}
    print(
        table(
            f"One sweep of the tracking network, {SWEEPS} sweeps a run, medians of {rounds}",
            rows,
            ("µs", "times faster"),
        )
    )
    print(f"largest difference of the values after {SWEEPS} plain sweeps from the same start: {difference:.1e}")


def same_start(network: pfn.Network, scene: dict[str, np.ndarray]) -> pfn.Result:
    """Ours from the starting values of the plain run."""
    start = PlainRun(network, scene, 1e-9, seed=0).values
    hidden = {name: values for name, values in start.items() if name not in scene}
    method = pfn.Propagate(acceleration=None)
    return pfn.infer(network, scene, iterations=SWEEPS, stall=None, method=method, initial=hidden)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    main(parser.parse_args().rounds)
