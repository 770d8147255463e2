"""How much sooner, and how much closer, does exact inference get than propagation?

The paper's problems and random tracking scenes of growing size. The error is the largest one of any state, by what the
problem was made from, where all exact solutions agree. Propagation, on both engines, makes as many sweeps as bring its
error below a goal, or as many as there is time for. Growth is the exponent of the unknowns with which the seconds (of
propagation: those of a sweep) grow from one scene to the next. Seconds are those of the processor, without what is
compiled: use OMP_NUM_THREADS=1.

    python -m benchmarks.exact_against_propagation [--largest 160] [--sweeps 5000] [--goal 1e-3]
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from math import log
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import pfn
from benchmarks.side_by_side import table
from pfn.models import simulate_targets, tracking_network
from tests import networks

SCENES = ((3, 15, 26), (10, 50, 100), (40, 50, 300), (160, 50, 3000))  # targets, positions, time slices
WINDOW = {160: 200}  # solved in windows of so many slices
UNKNOWNS = 2e9  # times sweeps, at most: two minutes for the largest scene
LOOK = 1.05  # the error is looked at after this many times as many sweeps


class Problem(NamedTuple):
    """A question, the states it was made from, and how exact inference answers it."""

    name: str
    network: pfn.Network
    data: dict[str, np.ndarray]
    truth: Mapping[str, np.ndarray]
    exact: pfn.Exact = pfn.Exact()

    def propagate(self, sweeps: int, engine: str, callback: Any = None) -> pfn.Result:
        """The answer of propagation after so many sweeps."""
        return pfn.infer(self.network, self.data, iterations=sweeps, stall=None, engine=engine, callback=callback)


class Run(NamedTuple):
    """How long it took, and how far it was off; sweeps: 0 if it made none."""

    seconds: float
    error: float
    sweeps: int = 0

    @property
    def unit(self) -> float:
        """The seconds whose growth is of interest: those of a sweep, or all."""
        return self.seconds / max(self.sweeps, 1)


def main(largest: int, sweeps: int, goal: float) -> None:
    rows: dict[str, tuple[str, ...]] = {}
    before: dict[str, tuple[float, float]] = {}
    for problem in problems(largest):
        unknowns, runs = measured(problem, sweeps, goal)
        for name, run in runs.items():
            growth = ""
            if problem.name.endswith("targets"):
                growth = exponent(before[name], (unknowns, run.unit)) if name in before else ""
                before[name] = (unknowns, run.unit)
            ratio = f"{run.seconds / runs['exact'].seconds:.2f}"
            cells = (f"{unknowns:,}", str(run.sweeps or ""), f"{run.seconds:.3f}", ratio, f"{run.error:.1e}", growth)
            rows[f"{problem.name}, {name}"] = cells
            print(f"{problem.name}, {name}: {run.seconds:.3f} s, error {run.error:.1e}", flush=True)
    header = ("unknowns", "sweeps", "seconds", "ratio", "largest error", "growth")
    print(table(f"Exact inference against propagation (to an error of {goal:g})", rows, header))


def problems(largest: int) -> Iterator[Problem]:
    for name, moves, walk, seen in (
        ("section 3, x1 observed", networks.W_DETERMINISTIC, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1], [0]),
        ("section 3, gaps", networks.W_NONDETERMINISTIC, [0, 1, 2, 2, 3, 0, 1, 3, 0, 1], [1, 3, 4, 9]),
    ):
        X = np.eye(4)[:, walk]
        yield Problem(name, networks.automaton(moves), {"x": only(X, seen)}, {"x": X})
    first, second = np.eye(3)[:, [2, 2, 0, 1, 0, 1, 2, 0, 1, 2]], np.eye(6)[:, [0, 1, 2, 2, 2, 2, 3, 4, 4, 5]]
    data = {"x2": only(second, [1, 6])}
    yield Problem("section 4", networks.regular_expression(), data, {"x1": first, "x2": second})
    truth = networks.tracking_scene()
    yield Problem("section 5", networks.tracking(), {"x1": truth["x1"]}, truth)
    for count, positions, length in (scene for scene in SCENES if scene[0] <= largest):
        network = tracking_network(positions)
        scene = simulate_targets(network, count, length=length, seed=count)
        method = pfn.Exact(window=WINDOW.get(count))
        yield Problem(f"{count} targets", network, scene.observed, scene.truth, method)


def only(X: np.ndarray, columns: list[int]) -> np.ndarray:
    """The array with all other columns hidden."""
    return np.where(np.isin(np.arange(X.shape[1]), columns), X, np.nan)


def measured(problem: Problem, sweeps: int, goal: float) -> tuple[int, dict[str, Run]]:
    """The number of unknowns, and the run of every contestant."""
    exact, seconds = clocked(lambda: pfn.infer(problem.network, problem.data, method=problem.exact))
    assert exact.unique is not None
    unknowns = sum(exact[v].size for v in problem.network.variables)

    def error(values: Any) -> float:
        each = (np.abs(values[x] - true)[exact.unique[x]] for x, true in problem.truth.items())
        return max(float(errors.max(initial=0.0)) for errors in each)

    runs = {"exact": Run(seconds, error(exact))}
    enough = sweeps_to(goal, problem, error, min(sweeps, int(UNKNOWNS / unknowns)))
    for engine in ("numpy", "jax"):
        try:
            problem.propagate(1, engine)  # compiles
        except pfn.OptionError:
            print(f"{engine} is not installed: left out")
            continue
        result, seconds = clocked(lambda engine=engine: problem.propagate(enough, engine))
        runs[f"propagate, {engine}"] = Run(seconds, error(result), enough)
    return unknowns, runs


def sweeps_to(goal: float, problem: Problem, error: Callable[[Any], float], most: int) -> int:
    """After how many sweeps the error is below the goal, or the most there may be."""
    mark = [1.0]

    def reached(sweep: int, values: Any) -> bool:
        if sweep + 1 < mark[0]:
            return False
        mark[0] = LOOK * (sweep + 1)
        return error(values) <= goal

    return problem.propagate(most, "numpy", reached).iterations


def clocked(ask: Callable[[], pfn.Result]) -> tuple[pfn.Result, float]:
    begin = process_time()
    result = ask()
    return result, process_time() - begin


def exponent(before: tuple[float, float], now: tuple[float, float]) -> str:
    return f"{log(now[1] / before[1]) / log(now[0] / before[0]):.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=160, help="most targets")
    parser.add_argument("--sweeps", type=int, default=5000, help="most sweeps; fewer where there are many unknowns")
    parser.add_argument("--goal", type=float, default=1e-3, help="the error that propagation is to reach")
    arguments = parser.parse_args()
    main(arguments.largest, arguments.sweeps, arguments.goal)
