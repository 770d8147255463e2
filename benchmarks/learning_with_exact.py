"""Does learning with exact inference inside find the six transitions of the paper's machine more reliably than sweeps?

One run alternates the best h for W (least squares, solved exactly) with left updates of W for that h.
"""

import argparse
from time import perf_counter

import numpy as np

import pfn
from benchmarks.learning_transitions import MACHINE, SLICES, learned, transitions_found
from benchmarks.side_by_side import table
from pfn.models import transition_network

SETTLED = 1e-6  # the largest change of an entry of W in a round at which a run ends


def alternated(columns: int, seed: int, updates: int, rounds: int) -> np.ndarray:
    """W after so many rounds of one solve for h and so many left updates of W."""
    network = transition_network(MACHINE, learn_transitions=columns)
    X = MACHINE.encode(MACHINE.sample(SLICES, seed))
    W = pfn.learn(network, {"x": X}, iterations=1, seed=seed, progress=False)["W"]
    for _ in range(rounds):
        before = W
        h = pfn.infer(network, {"x": X}, method=pfn.Exact(structure="soft"), initial={"W": W}, progress=False)["h"]
        W = pfn.learn(network, {"x": X, "h": h}, iterations=updates, initial={"W": W}, stall=None, progress=False)["W"]
        if np.abs(W - before).max() < SETTLED:
            break
    return W


def swept(columns: int, seed: int) -> np.ndarray:
    """W after one run of `pfn.learn`."""
    return np.asarray(learned(columns, seed, restarts=1, iterations=1000)["W"])


def row(matrices: list[np.ndarray], seconds: float) -> tuple[str, ...]:
    found = sum(transitions_found(W) == len(MACHINE.transitions) for W in matrices)
    a_run = seconds / len(matrices)
    return f"{found} of {len(matrices)}", f"{a_run:.1f}", f"{seconds / found:.1f}" if found else "-"


def main(seeds: int, rounds: int) -> None:
    rows = {}
    for columns in (6, 8):
        begin = perf_counter()
        matrices = [swept(columns, seed) for seed in range(seeds)]
        rows[f"R = {columns}, pfn.learn"] = row(matrices, perf_counter() - begin)
        for updates in (10, 100):
            begin = perf_counter()
            matrices = [alternated(columns, seed, updates, rounds) for seed in range(seeds)]
            rows[f"R = {columns}, exact h, then {updates} × W"] = row(matrices, perf_counter() - begin)
    print(
        table(
            f"All six transitions from {SLICES} slices, seeds 0 to {seeds - 1}, one run each, at most {rounds} rounds",
            rows,
            ("found by", "s a run", "s for one that finds them"),
        )
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=50)
    arguments = parser.parse_args()
    main(arguments.seeds, arguments.rounds)
