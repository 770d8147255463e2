"""How many random scenes in noise does exact inference track within limits, and how many could be, knowing the tracks?

Scenes whose clean image has several explanations are left out. The limits: the share of x4 outside the true states, and
the relative error of every magnitude; targets are at least 1.5 times as strong as the noise.
"""

import argparse
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import nnls

import pfn
from benchmarks.side_by_side import table
from pfn.models import Scene, simulate_targets, tracking_network

SIZES = {3: (15, 26), 5: (20, 40)}  # by number of targets: positions, slices


class Limits(NamedTuple):
    """The weight that was tried out, and how much may be wrong."""

    weight: float
    outside: float
    magnitude: float


LIMITS = {0.06: Limits(0.1, 0.005, 0.03), 0.2: Limits(0.25, 0.01, 0.08), 0.4: Limits(0.5, 0.03, 0.16)}


def drawn(network: pfn.Network, count: int, noise: float, seed: int) -> Scene:
    """Random targets, none too weak."""
    length, rng = SIZES[count][1], np.random.default_rng(seed)
    targets = simulate_targets(network, count, length=length, seed=seed).targets
    strong = [replace(target, magnitude=rng.uniform(max(1.5 * noise, 0.3), 1.0)) for target in targets]
    return simulate_targets(network, strong, length=length, noise=noise, seed=seed + 1000)


def images(network: pfn.Network, scene: Scene, name: str) -> np.ndarray:
    """What every target alone contributes to a variable, at magnitude 1, a column each."""
    length = scene.truth["x1"].shape[1]
    alone = [simulate_targets(network, [replace(target, magnitude=1.0)], length=length) for target in scene.targets]
    return np.column_stack([one.truth[name].ravel() for one in alone])


def within(network: pfn.Network, scene: Scene, x4: np.ndarray, limits: Limits) -> bool:
    found = np.linalg.lstsq(images(network, scene, "x4"), x4.ravel(), rcond=None)[0]
    true = np.array([target.magnitude for target in scene.targets])
    outside = x4[scene.truth["x4"] == 0].sum() / x4.sum()
    return bool(outside <= limits.outside and (np.abs(found - true) <= limits.magnitude * true).all())


def with_known_tracks(network: pfn.Network, scene: Scene) -> np.ndarray:
    """x4 with the magnitudes, and a background, that explain the observations best."""
    seen = images(network, scene, "x1")
    magnitudes = nnls(np.column_stack([seen, np.ones(len(seen))]), scene.observed["x1"].ravel())[0][:-1]
    return np.asarray((images(network, scene, "x4") @ magnitudes).reshape(scene.truth["x4"].shape))


class Outcome(NamedTuple):
    """Whether a scene was tracked within the limits: knowing the tracks, with the weight given, with "auto"."""

    told: bool
    given: bool
    auto: bool
    seconds: float


def outcome(count: int, noise: float, seed: int) -> Outcome | None:
    """None if the clean image has several explanations."""
    network, limits = tracking_network(SIZES[count][0]), LIMITS[noise]
    scene = drawn(network, count, noise, seed)
    clean = pfn.infer(network, {"x1": scene.truth["x1"]}, method="exact")
    if not all(clean.unique[f"x{k}"].all() for k in range(2, 6)):
        return None
    begin = perf_counter()
    found = []
    for weight in (limits.weight, "auto"):
        method = pfn.Exact(noise={"x1": "l2"}, penalty={"x4": weight}, background=["x1"], debias=True)
        found.append(pfn.infer(network, scene.observed, method=method)["x4"])
    seconds = (perf_counter() - begin) / len(found)
    judged = (within(network, scene, x4, limits) for x4 in (with_known_tracks(network, scene), *found))
    return Outcome(*judged, seconds)


def row(outcomes: list[Outcome]) -> tuple[str, ...]:
    achievable = [one for one in outcomes if one.told]
    counts = (len(outcomes), len(achievable), sum(one.given for one in achievable), sum(one.auto for one in achievable))
    seconds = [one.seconds for one in outcomes]
    return *map(str, counts), f"{np.mean(seconds):.1f} ({max(seconds):.1f})"


def main(first: int, seeds: int, jobs: int) -> None:
    cases = [(count, noise, seed) for count in SIZES for noise in LIMITS for seed in range(first, first + seeds)]
    outcomes = Parallel(n_jobs=jobs)(delayed(outcome)(*case) for case in cases)
    rows = {}
    for count in SIZES:
        for noise in LIMITS:
            pairs = zip(cases, outcomes, strict=True)
            rows[f"{count} targets, noise {noise}"] = row([o for c, o in pairs if c[:2] == (count, noise) and o])
    rows["all"] = row([one for one in outcomes if one])
    heads = ("scenes", "tracks known", "of these weight given", "weight 'auto'", "s a scene (most)")
    print(table(f"Scenes tracked within the limits, seeds {first} to {first + seeds - 1}", rows, heads))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1, help="scenes at a time")
    arguments = parser.parse_args()
    main(arguments.first, arguments.seeds, arguments.jobs)
