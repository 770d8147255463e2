"""How do time and memory of learning grow with the length, the components and the number of sequences?

One learning sweep of convolutive NMF (128 rows, 4 frames); the exponent is the slope between the two largest sizes.
"""

import argparse
import tracemalloc
from collections.abc import Callable
from math import log
from statistics import median
from time import perf_counter

import numpy as np

import pfn
from benchmarks.side_by_side import table
from tests.networks import hierarchy

ROWS, FRAMES = 128, 4
SWEEPS = 5


class Size:
    """One problem: so many slices, components and sequences."""

    def __init__(self, slices: int, components: int, sequences: int = 1) -> None:
        self.network = hierarchy(ROWS, (components,), FRAMES, (1,))
        generator = np.random.default_rng(0)
        arrays = [generator.gamma(0.5, size=(ROWS, slices)) for _ in range(sequences)]
        self.data = {"x1": arrays if sequences > 1 else arrays[0]}

    def learn(self, sweeps: int) -> None:
        """So many sweeps."""
        pfn.learn(self.network, self.data, iterations=sweeps, stall=None, engine="numpy")

    def sweep(self) -> float:
        """Seconds of one sweep, without what happens once."""
        short, long = (self._seconds(sweeps) for sweeps in (1, 1 + SWEEPS))
        return (long - short) / SWEEPS

    def _seconds(self, sweeps: int) -> float:
        begin = perf_counter()
        self.learn(sweeps)
        return perf_counter() - begin

    def peak(self) -> int:
        """The memory that learning takes beside the data."""
        tracemalloc.start()
        self.learn(1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak


def exponent(sizes: list[int], values: list[float]) -> str:
    return f"{log(values[-1] / values[-2]) / log(sizes[-1] / sizes[-2]):.2f}"


def show(title: str, sizes: list[int], make: Callable[[int], Size], rounds: int) -> None:
    problems = [make(size) for size in sizes]
    times: list[list[float]] = [[] for _ in problems]
    for _ in range(rounds):
        for found, problem in zip(times, problems, strict=True):
            found.append(problem.sweep())
    seconds, peaks = [median(found) for found in times], [float(problem.peak()) for problem in problems]
    first_s, first_b = seconds[0], peaks[0]
    rows = {
        f"{size:,}": (f"{1e3 * s:.2f}", f"{s / first_s:.1f}", f"{b / 1e6:.1f}", f"{b / first_b:.1f}")
        for size, s, b in zip(sizes, seconds, peaks, strict=True)
    }
    rows["exponent"] = ("", exponent(sizes, seconds), "", exponent(sizes, peaks))
    print(table(title, rows, ("ms a sweep", "ratio", "MB", "ratio")))


def main(rounds: int) -> None:
    show("Slices (20 components)", [500, 2_000, 8_000, 32_000], lambda n: Size(n, 20), rounds)
    show("Components (2,000 slices)", [10, 40, 160, 640], lambda n: Size(2_000, n), rounds)
    show("Sequences of 100 slices (20 components)", [5, 20, 80, 320], lambda n: Size(100, 20, n), rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    main(parser.parse_args().rounds)
