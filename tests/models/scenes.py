"""Tracking scenes: the paper's, several solutions of one, and which targets they determine."""

from itertools import pairwise

import numpy as np

from pfn.models import Target
from pfn.models.tracking import model_of
from tests.models.exact_oracle import exact_values

# The paper's figure of its targets is lost: these satisfy every sentence about them. Everything counts from 0.
PAPER_TARGETS = (
    Target("A", 2, (3,) * 5, magnitude=1.0),
    Target("A", 3, (9,) * 5 + (10,) * 4, magnitude=0.8),
    Target("B", 15, (7,) * 4 + (6,) * 6, magnitude=0.6),
)
PAPER_LENGTH = 26


def recovered(target, found, tolerance=1e-3):
    """Whether a target with this kind, start, end and magnitude was found."""
    return any(
        (other.kind, other.start, other.end) == (target.kind, target.start, target.end)
        and abs(other.magnitude - target.magnitude) < tolerance * target.magnitude
        for other in found
    )


def several_solutions(network, scene, count=3):
    """Solutions that lie in different directions, as far as the observation leaves any."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        costs = {name: rng.uniform(-1, 1, scene.truth[name].shape) for name in ("x2", "x4")}
        yield exact_values(network, scene.observed, costs)


def determined(network, scene, solutions):
    """The targets whose states, positions and transitions are the same in all solutions."""
    model = model_of(network)
    steps = [(step.source, step.target) for step in model.steps]
    same = {name: np.ptp([s[name] for s in solutions], axis=0) < 1e-6 for name in ("x2", "x4", "h3")}
    for target in scene.targets:
        kind = [kind.name for kind in model.kinds].index(target.kind)
        rows = [model.row(kind, state) for state in target.states]
        lived = range(target.start, target.end + 1)
        moves = [steps.index(pair) for pair in pairwise([None, *rows, None])]
        if (
            same["x4"][rows, lived].all()
            and same["x2"][target.positions, lived].all()
            and same["h3"][moves, range(target.start - 1, target.end + 1)].all()
        ):
            yield target


def true_values(network, scene):
    """What `tracks` looks at, made from the targets: x4, x2, and u1, which row is where."""
    model = model_of(network)
    emitted = {kind.name: kind.emission for kind in model.kinds}
    u1 = np.zeros((model.pattern_size, model.positions, scene.truth["x4"].shape[1]))
    for target in scene.targets:
        rows = [emitted[target.kind][state] for state in target.states]
        u1[rows, target.positions, range(target.start, target.end + 1)] += target.magnitude
    return {"x4": scene.truth["x4"], "x2": scene.truth["x2"], "u1": u1.reshape(network["u1"].size, -1)}


def blurred(values, error, seed=0):
    """The values with a relative error and an absolute one, both up to this."""
    rng = np.random.default_rng(seed)
    return {
        name: value * rng.uniform(1 - error, 1 + error, value.shape) + rng.uniform(0, error, value.shape)
        for name, value in values.items()
    }
