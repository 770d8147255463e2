"""How long do a sweep and the first call of a program on JAX take, beside those of the older JAX engine?

Run it on one core, without threads that wait for work; where other programs run, the clock of the processor is the
one that tells:

    XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python -m benchmarks.program_on_jax --clock processor
"""

import argparse
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import median
from time import perf_counter, process_time
from typing import Any

import jax
import numpy as np

import pfn
from benchmarks.program import cases, problem_of
from benchmarks.side_by_side import table
from pfn.engines import Problem, Stretch
from pfn.engines.jax_engine import JaxRun
from pfn.engines.program_jax import JaxProgramRun
from pfn.engines.stretch import MOST_SWEEPS
from pfn.updates.momentum import steps_after

# A number of sweeps that is not reached, of 32 bits.
NEVER = 1 << 30

# Seconds of one turn: shorter turns measure the clock and the call.
TURN_SECONDS = 0.2

CLOCKS: dict[str, Callable[[], float]] = {"wall": perf_counter, "processor": process_time}


def chain(length: int) -> tuple[Any, ...]:
    """Equations above each other, each with a known matrix and one row of it below."""
    rng = np.random.default_rng(0)
    variables = [pfn.Variable(f"x{i}", 6) for i in range(length + 1)]
    equations = [
        pfn.Factorization(below, pfn.Parameter(f"W{i}", rng.random((6, 6))) @ above)
        for i, (below, above) in enumerate(pairwise(variables))
    ]
    return pfn.infer, pfn.Network(*equations), {"x0": rng.random((6, 30))}


class Sweeper:
    """Stretches of sweeps of a run one after the other, with what momentum needs to know of them."""

    def __init__(self, run: Any, problem: Problem, measure: int, clock: Callable[[], float]) -> None:
        self._run, self._measure, self._clock = run, measure, clock
        self._steady = {e.name: 0.0 for e in problem.schedule.network.factorizations}
        self._number, self._steps, self._lowest, self._count = 0, 0, float("inf"), 4

    def stretch(self) -> float:
        """Seconds of a sweep in one stretch, which the next one is planned by."""
        stretch = Stretch(
            first=self._number,
            count=self._count,
            sparseness=lambda _: self._steady,
            steps=self._steps,
            lowest=self._lowest,
            measure=self._measure,
        )
        begin = self._clock()
        found = self._run.advance(stretch)
        seconds = (self._clock() - begin) / len(found)
        for errors in found:
            if errors is None:
                self._steps += 1
            else:
                self._steps, self._lowest = steps_after(self._steps, self._lowest, errors.divergence)
        self._number += len(found)
        self._count = max(4, min(MOST_SWEEPS, int(TURN_SECONDS / max(seconds, 1e-6))))
        return seconds


# By label the acceleration, after how many sweeps momentum looks at the divergence, and after how many errors are
# wanted.
KINDS: dict[str, tuple[Any, int, int]] = {
    "plain": (None, 1, NEVER),
    "momentum": ("momentum", 1, NEVER),
    "every fifth": ("momentum", 5, NEVER),
}


def compare(case: tuple[Any, ...], rounds: int, clock: str, **options: Any) -> Iterator[tuple[str, str]]:
    """The columns of a row: times of the older engine, those of programs as shares of them, and first calls."""
    ask, network, data = case
    for label, (acceleration, every, measure) in KINDS.items():
        method = pfn.Propagate(acceleration=acceleration)
        problem = problem_of(ask, network, data, method=method, seed=0, **options)
        sweepers, first = [], []
        makers: tuple[Callable[[], Any], ...] = (
            lambda problem=problem: JaxRun(problem),
            lambda problem=problem, every=every: JaxProgramRun(problem, guard_every=every),
        )
        for make in makers:
            jax.clear_caches()
            begin = CLOCKS[clock]()
            sweepers.append(Sweeper(make(), problem, measure, CLOCKS[clock]))
            sweepers[-1].stretch()
            first.append(CLOCKS[clock]() - begin)
        times = [[sweeper.stretch() for sweeper in sweepers] for _ in range(rounds + 2)][2:]
        yield f"{label}, µs", f"{1e6 * median(old for old, _ in times):.1f}"
        yield "ratio", f"{median(new / old for old, new in times):.2f}"
        yield "first call, s", f"{first[0]:.2f} → {first[1]:.2f}"


def main() -> None:
    """Print a table for each precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression for the names of cases")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--dtypes", nargs="*", default=["float64", "float32"])
    given = parser.parse_args()
    for dtype in given.dtypes:
        rows: dict[str, tuple[str, ...]] = {}
        header: tuple[str, ...] = ()
        for name, case in {**cases(), "chain of 60": chain(60)}.items():
            if re.search(given.only, name):
                cells = list(compare(case, given.rounds, given.clock, dtype=dtype))
                header, rows[name] = tuple(label for label, _ in cells), tuple(text for _, text in cells)
        title = f"A sweep in {dtype}: µs of the older engine, and that of programs as a share of it"
        print(table(title, rows, header), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
