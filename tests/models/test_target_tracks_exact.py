"""Random scenes with 1 to 40 targets, inferred exactly: every target that is certain is found as it was."""

from itertools import pairwise

import pytest

import pfn
from pfn.models import simulate_targets, tracking_network, tracks
from pfn.models.tracking import model_of
from tests.models.scenes import recovered

SCENES = [
    *((count, 15, 40, seed) for count in (1, 2, 3) for seed in range(4)),
    *((count, 30, 90, seed) for count in (5, 8, 12) for seed in range(3)),
    *((count, 50, 300, seed) for count in (20, 40) for seed in range(2)),
]


def certain_targets(model, scene, unique):
    """The targets of which every state, position and transition is the same in all solutions."""
    steps = [(step.source, step.target) for step in model.steps]
    names = [kind.name for kind in model.kinds]
    for target in scene.targets:
        rows = [model.row(names.index(target.kind), state) for state in target.states]
        moves = [steps.index(pair) for pair in pairwise([None, *rows, None])]
        lived = range(target.start, target.end + 1)
        if (
            unique["x4"][rows, lived].all()
            and unique["x2"][target.positions, lived].all()
            and unique["h3"][moves, range(target.start - 1, target.end + 1)].all()
        ):
            yield target


@pytest.mark.parametrize("count", sorted({scene[0] for scene in SCENES}))
def test_targets_that_are_certain_are_found(count):
    certain = lost = total = 0
    for _, positions, length, seed in (scene for scene in SCENES if scene[0] == count):
        network = tracking_network(positions)
        scene = simulate_targets(network, count, length=length, seed=seed)
        result = pfn.infer(network, scene.observed, method="exact")
        determined = list(certain_targets(model_of(network), scene, result.unique))
        found = tracks(result)
        total += count
        certain += len(determined)
        lost += sum(not recovered(target, found, 1e-5) for target in determined)
    assert certain >= 0.4 * total
    assert lost <= 0.01 * certain
