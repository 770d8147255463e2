"""What share of the targets in random scenes does `tracks` recover, and how many does the image determine at all?"""

import argparse
from time import perf_counter

import numpy as np

import pfn
from benchmarks.side_by_side import table
from pfn.models import Scene, simulate_targets, tracking_network, tracks
from tests.models.exact_oracle import result_of
from tests.models.scenes import blurred, determined, recovered, several_solutions, true_values

ERRORS = (0.0, 1e-4, 1e-3)


def drawn(seed: int) -> tuple[pfn.Network, Scene]:
    """A scene with 1 to 40 targets, 10 to 50 positions, 40 to 300 slices."""
    rng = np.random.default_rng(seed)
    network = tracking_network(int(rng.integers(10, 51)))
    return network, simulate_targets(network, int(rng.integers(1, 41)), length=int(rng.integers(40, 301)), seed=seed)


def main(scenes: int, solved: int) -> None:
    print(f"From the true values of {scenes} scenes: kind, start, end and magnitude (to 1e-5 + 5 errors) are right")
    rows = {f"errors up to {error:g}": with_true_values(scenes, error) for error in ERRORS}
    print(table("", rows, ("targets", "recovered", "ms a scene")))
    print(f"\nFrom an exact solution of {solved} images; determined is what three different solutions agree on")
    print(table("", {"solved by HiGHS": with_solutions(solved)}, ("targets", "determined", "of these recovered")))


def with_true_values(scenes: int, error: float) -> tuple[str, ...]:
    total = found = 0
    seconds = 0.0
    for seed in range(scenes):
        network, scene = drawn(seed)
        result = result_of(network, blurred(true_values(network, scene), error, seed))
        begin = perf_counter()
        targets = tracks(result)
        seconds += perf_counter() - begin
        total += len(scene.targets)
        found += sum(recovered(target, targets, 1e-5 + 5 * error) for target in scene.targets)
    return str(total), str(found), f"{1000 * seconds / scenes:.0f}"


def with_solutions(scenes: int) -> tuple[str, ...]:
    total = certain = found = 0
    for seed in range(scenes):
        network, scene = drawn(seed)
        try:
            solutions = list(several_solutions(network, scene))
        except AssertionError as stuck:  # HiGHS does not come to an end on every image
            print(f"scene {seed}: {stuck}")
            continue
        targets = tracks(result_of(network, solutions[0]))
        clear = list(determined(network, scene, solutions))
        total, certain = total + len(scene.targets), certain + len(clear)
        found += sum(recovered(target, targets) for target in clear)
    return str(total), str(certain), str(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=200, help="of which the true values are given")
    parser.add_argument("--solved", type=int, default=20, help="which are solved from the image, some seconds each")
    options = parser.parse_args()
    main(options.scenes, options.solved)
