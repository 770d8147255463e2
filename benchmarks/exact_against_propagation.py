"""How much sooner, and how much closer, does exact inference get than propagation?

The paper's problems and random tracking scenes of growing size. The error is the largest one of any entry that has
one value in all exact solutions. Growth is the exponent of the unknowns with which the time grows between scenes.

    python -m benchmarks.exact_against_propagation [--largest 160] [--sweeps 1000]
"""

import argparse
from collections.abc import Callable, Iterator
from math import log
from time import process_time
from typing import NamedTuple

import numpy as np

import pfn
from benchmarks.side_by_side import table
from pfn.models import simulate_targets, tracking_network
from tests import networks

SCENES = ((3, 15, 26), (10, 50, 100), (40, 50, 300), (160, 50, 3000))  # targets, positions, time slices
WINDOW = {160: 200}  # solved in windows of so many slices


class Problem(NamedTuple):
    """A question, and how exact inference answers it."""

    name: str
    network: pfn.Network
    data: dict[str, np.ndarray]
    exact: pfn.Exact


class Run(NamedTuple):
    """How long it took, and how far it was off."""

    seconds: float
    error: float


def main(largest: int, sweeps: int) -> None:
    rows = {}
    before: dict[str, tuple[float, float]] = {}
    for problem in problems(largest):
        truth = pfn.infer(problem.network, problem.data, method=problem.exact)
        unknowns = sum(truth[v].size for v in problem.network.variables)
        for name, ask in contestants(problem, sweeps).items():
            run = measured(ask, truth)
            scene = problem.name.endswith("targets")
            growth = "" if not scene or name not in before else exponent(before[name], (unknowns, run.seconds))
            if scene:
                before[name] = (unknowns, run.seconds)
            rows[f"{problem.name}, {name}"] = (f"{unknowns:,}", f"{run.seconds:.3f}", f"{run.error:.1e}", growth)
            print(f"{problem.name}, {name}: {run.seconds:.3f} s, error {run.error:.1e}", flush=True)
    print(table("Exact inference against propagation", rows, ("unknowns", "seconds", "largest error", "growth")))


def problems(largest: int) -> Iterator[Problem]:
    eye = np.eye(6)
    X = np.full((4, 10), np.nan)
    X[:, 0] = eye[:4, 0]
    yield Problem("section 3, x1 observed", networks.automaton(networks.W_DETERMINISTIC), {"x": X}, pfn.Exact())
    gaps = np.full((4, 10), np.nan)
    for column, state in ((1, 1), (3, 2), (4, 3), (9, 1)):
        gaps[:, column] = eye[:4, state]
    yield Problem("section 3, gaps", networks.automaton(networks.W_NONDETERMINISTIC), {"x": gaps}, pfn.Exact())
    seen = np.full((6, 10), np.nan)
    seen[:, 1], seen[:, 6] = eye[:, 1], eye[:, 3]
    yield Problem("section 4", networks.regular_expression(), {"x2": seen}, pfn.Exact())
    yield Problem("section 5", networks.tracking(), {"x1": networks.tracking_scene()["x1"]}, pfn.Exact())
    for count, positions, length in (scene for scene in SCENES if scene[0] <= largest):
        network = tracking_network(positions)
        scene = simulate_targets(network, count, length=length, seed=count)
        yield Problem(f"{count} targets", network, scene.observed, pfn.Exact(window=WINDOW.get(count)))


def contestants(problem: Problem, sweeps: int) -> dict[str, Callable[[], pfn.Result]]:
    def propagate(engine: str) -> pfn.Result:
        return pfn.infer(problem.network, problem.data, iterations=sweeps, tolerance=1e-6, engine=engine)

    runs = {"exact": lambda: pfn.infer(problem.network, problem.data, method=problem.exact)}
    runs["propagate"] = lambda: propagate("numpy")
    try:
        propagate("jax")
    except pfn.OptionError:
        return runs
    return runs | {"propagate, jax": lambda: propagate("jax")}


def measured(ask: Callable[[], pfn.Result], truth: pfn.Result) -> Run:
    begin = process_time()
    result = ask()
    seconds = process_time() - begin
    errors = [np.abs(result[v] - truth[v])[truth.unique[v]].max(initial=0.0) for v in truth.network.variables]
    return Run(seconds, float(max(errors)))


def exponent(before: tuple[float, float], now: tuple[float, float]) -> str:
    return f"{log(now[1] / before[1]) / log(now[0] / before[0]):.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=160, help="most targets")
    parser.add_argument("--sweeps", type=int, default=1000)
    arguments = parser.parse_args()
    main(arguments.largest, arguments.sweeps)
