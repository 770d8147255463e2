"""The superposition that a tracking network infers, taken apart into single targets."""

from typing import Any

import numpy as np

import pfn
from pfn.automata.paths import Course, courses
from pfn.models.joint import Margins, joint_flow
from pfn.models.targets import Target, TargetModel
from pfn.models.tracking import model_of


def tracks(result: pfn.Result, *, threshold: float = 0.02) -> Any:
    """The single targets of an inferred scene.

    ...
    """
    model = model_of(result.network)
    margins = Margins(result["x4"], result["x2"], sensors(model, result["u1"]))
    return targets_of(model, margins, threshold)


def sensors(model, u1):
    rows = u1.reshape(model.pattern_size, model.positions, -1)
    seen = np.zeros((model.sensors, u1.shape[1]))
    for row, values in enumerate(rows):
        seen[row : row + model.positions] += values
    return seen


def targets_of(model: TargetModel, margins: Margins, threshold: float) -> list[Target]:
    scale = margins.states.max(initial=0.0)
    if not scale:
        return []
    flow = joint_flow(model, Margins(*(margin / scale for margin in margins)), threshold)
    found = [_target(model, course, scale) for course in courses(flow, threshold)]
    return sorted(found, key=lambda target: (target.start, target.kind, -target.magnitude))


def _target(model: TargetModel, course: Course, scale: float) -> Target:
    pairs = [divmod(pair, model.positions) for _, pair in course.nodes]
    owners = [model.owners[state] for state, _ in pairs]
    return Target(
        kind=model.kinds[owners[0][0]].name,
        start=course.nodes[0][0],
        positions=tuple(position for _, position in pairs),
        magnitude=course.magnitude * scale,
        states=tuple(state for _, state in owners),
    )
