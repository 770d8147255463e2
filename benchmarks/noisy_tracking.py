"""How many random scenes in noise does exact inference track within limits, and how many could be, knowing the tracks?

Scenes whose clean image has several explanations are left out. The limits: the share of x4 outside the true states, and
the relative error of every magnitude; targets are at least 1.5 times as strong as the noise.
"""

import argparse
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
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


def row(count: int, noise: float, seeds: range) -> tuple[str, ...]:
    network, limits = tracking_network(SIZES[count][0]), LIMITS[noise]
    scenes = [drawn(network, count, noise, seed) for seed in seeds]
    clean = [pfn.infer(network, {"x1": scene.truth["x1"]}, method="exact") for scene in scenes]
    certain = [all(one.unique[f"x{k}"].all() for k in range(2, 6)) for one in clean]
    scenes = [scene for scene, sure in zip(scenes, certain, strict=True) if sure]
    told = [sum(within(network, scene, with_known_tracks(network, scene), limits) for scene in scenes)]
    begin = perf_counter()
    for weight in (limits.weight, "auto"):
        method = pfn.Exact(noise={"x1": "l2"}, penalty={"x4": weight}, background=["x1"], debias=True)
        results = [pfn.infer(network, scene.observed, method=method) for scene in scenes]
        told.append(
            sum(within(network, *pair, limits) for pair in zip(scenes, (r["x4"] for r in results), strict=True))
        )
    seconds = (perf_counter() - begin) / (2 * len(scenes))
    return str(len(scenes)), *map(str, told), f"{seconds:.1f}"


def main(first: int, seeds: int) -> None:
    chosen = range(first, first + seeds)
    rows = {f"{count} targets, noise {noise}": row(count, noise, chosen) for count in SIZES for noise in LIMITS}
    heads = ("scenes", "tracks known", "weight given", "weight 'auto'", "s a scene")
    print(table(f"Scenes tracked within the limits, seeds {first} to {first + seeds - 1}", rows, heads))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    main(arguments.first, arguments.seeds)
