"""How often does learning from random starts find all six transitions of the paper's machine, alone and with restarts?

From slices of the data, as by default, single runs find them: see convergence.py.
"""

import argparse
from time import perf_counter

import joblib
import numpy as np

import pfn
from benchmarks.side_by_side import table
from pfn.automata import StateMachine
from pfn.models import transition_network

SLICES = 1000
MACHINE = StateMachine(
    ["S1", "S2", "S3", "S4"],
    [("S1", "S2"), ("S2", "S3"), ("S3", "S4"), ("S4", "S1"), ("S3", "S3"), ("S2", "S4")],
)
TOLERANCE = 0.05  # how far an entry of a normalized column may be from 0 or 1; wrong columns are halves


def transitions_found(W: np.ndarray) -> int:
    """How many of the machine's transitions are among the columns, each half scaled to sum to 1."""
    halves = W.reshape(2, len(MACHINE.states), -1)
    scaled = (halves / halves.sum(axis=1, keepdims=True)).reshape(W.shape)
    distances = np.abs(scaled[:, :, None] - MACHINE.matrix()[:, None, :]).max(axis=0)
    return int((distances.min(axis=0) < TOLERANCE).sum())


def learned(columns: int, seed: int, restarts: int, iterations: int) -> pfn.Result:
    """The best of these runs on a sequence of its own."""
    network = transition_network(MACHINE, learn_transitions=columns)
    X = MACHINE.encode(MACHINE.sample(SLICES, seed))
    options = {"method": pfn.Propagate(start="random"), "restarts": restarts, "progress": False}
    return pfn.learn(network, {"x": X}, iterations=iterations, seed=seed, **options)


def row(columns: int, restarts: int, seeds: int, iterations: int) -> tuple[str, ...]:
    begin = perf_counter()
    results = [learned(columns, seed, restarts, iterations) for seed in range(seeds)]
    errors: dict[bool, list[float]] = {True: [], False: []}
    for result in results:
        errors[transitions_found(result["W"]) == len(MACHINE.transitions)].append(result.rmse["eq1"])
    return (
        f"{len(errors[True])} of {seeds}",
        f"{max(errors[True]):.1e}" if errors[True] else "-",
        f"{min(errors[False]):.1e}" if errors[False] else "-",
        f"{(perf_counter() - begin) / seeds:.1f}",
    )


def main(seeds: int, restarts: int, iterations: int) -> None:
    with joblib.parallel_config(backend="loky", n_jobs=2):
        rows = {
            f"R = {columns}, {'one run' if runs == 1 else f'best of {runs}'}": row(columns, runs, seeds, iterations)
            for columns in (6, 8)
            for runs in dict.fromkeys((1, restarts))
        }
    print(
        table(
            f"All six transitions from {SLICES} slices, {iterations} sweeps a run, seeds 0 to {seeds - 1}",
            rows,
            ("found by", "their largest RMSE", "smallest of the others", "s a seed"),
        )
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--restarts", type=int, default=25)
    parser.add_argument("--iterations", type=int, default=1000)
    arguments = parser.parse_args()
    main(arguments.seeds, arguments.restarts, arguments.iterations)
