"""How long does a sweep by a program take, beside one of the older NumPy engine? Processor time, on one thread.

Run it with OMP_NUM_THREADS=1, and once more with NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL" for machines without
AVX-512, on which NumPy has no vector form of log1p.
"""

import argparse
import re
from collections.abc import Iterator
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import pfn
from benchmarks.side_by_side import table
from pfn.engines import Problem, Stretch
from pfn.engines.numpy_engine import NumpyRun
from pfn.engines.program_engine import ProgramRun
from pfn.updates.momentum import steps_after
from tests import networks
from tests.program.runs import problem_of

# Processor seconds of one turn: shorter turns measure the clock and the caches.
TURN_SECONDS = 0.15

NEVER = 1 << 40  # a number of sweeps that is not reached


def machine() -> tuple[Any, ...]:
    """The README's machine: a path of which three slices are seen."""
    path = np.full((4, 10), np.nan)
    path[:, 0] = [1, 0, 0, 0]
    return pfn.infer, networks.automaton(networks.W_DETERMINISTIC), {"x": path}


def cases() -> dict[str, tuple[Any, ...]]:
    """By name what is asked of which network and data."""
    rng = np.random.default_rng(0)
    dense, spectrogram = rng.random((512, 1200)), rng.random((257, 400))
    many = [rng.random((40, n)) for n in rng.integers(5, 40, 60)]
    return {
        "tracking": (pfn.infer, networks.tracking(), {"x1": networks.tracking_scene()["x1"]}),
        "machine": machine(),
        "section 6, 257 × 400": (pfn.learn, networks.hierarchy(257, (50, 30), 6, (1, 6)), {"x1": spectrogram}),
        "dense KL, 512 × 1200, 50": (pfn.learn, networks.plain_nmf(512, 50), {"x": dense}),
        "60 sequences": (pfn.learn, networks.hierarchy(40, (12,), 4, (1,)), {"x1": many}),
    }


class Sweeper:
    """Sweeps of a run one after the other, with what momentum needs to know of them."""

    def __init__(self, run: Any, problem: Problem) -> None:
        self._run, self._accelerated = run, problem.accelerated
        self._steady = {e.name: 0.0 for e in problem.schedule.network.factorizations}
        self._number, self._steps, self._lowest = 0, 0, float("inf")

    def sweep(self) -> None:
        """One more."""
        stretch = Stretch(
            first=self._number,
            count=1,
            sparseness=lambda _: self._steady,
            steps=self._steps,
            lowest=self._lowest,
            measure=NEVER,
        )
        errors = self._run.advance(stretch)[0]
        self._number += 1
        if errors is None:
            self._steps += 1
        else:
            self._steps, self._lowest = steps_after(self._steps, self._lowest, errors.divergence)

    def seconds(self) -> float:
        """Processor seconds of a sweep in one turn."""
        begin, done = process_time(), 0
        while done < 3 or process_time() - begin < TURN_SECONDS:
            self.sweep()
            done += 1
        return (process_time() - begin) / done


def compare(case: tuple[Any, ...], rounds: int, **options: Any) -> Iterator[tuple[str, str]]:
    """The columns of a row: the older engine's time, and the times of programs as shares of it."""
    ask, network, data = case
    for label, acceleration, every in (("plain", None, 1), ("momentum", "momentum", 1), ("every fifth", "momentum", 5)):
        method = pfn.Propagate(acceleration=acceleration)
        problem = problem_of(ask, network, data, method=method, seed=0, **options)
        runs = [NumpyRun(problem), ProgramRun(problem, guard_every=every)]
        sweepers = [Sweeper(run, problem) for run in runs]
        times = [[sweeper.seconds() for sweeper in sweepers] for _ in range(rounds + 1)][1:]
        yield f"{label}, µs", f"{1e6 * median(old for old, _ in times):.1f}"
        yield "ratio", f"{median(new / old for old, new in times):.2f}"


def main() -> None:
    """Print a table for each precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression for the names of cases")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for dtype in ("float64", "float32"):
        rows: dict[str, tuple[str, ...]] = {}
        header: tuple[str, ...] = ()
        for name, case in cases().items():
            if re.search(given.only, name):
                cells = list(compare(case, given.rounds, dtype=dtype))
                header, rows[name] = tuple(label for label, _ in cells), tuple(text for _, text in cells)
        title = f"A sweep in {dtype}: µs of the older engine, and that of programs as a share of it"
        print(table(title, rows, header), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
