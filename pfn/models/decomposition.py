"""The superposition that a tracking network infers, taken apart into single targets."""

from typing import Any

import pfn
from pfn.automata.paths import Course, courses
from pfn.models.joint import Margins, joint_flow
from pfn.models.targets import Target, TargetModel
from pfn.models.tracking import model_of

NEGLIGIBLE = 0.02
"""Default threshold: twice the largest error that 10,000 plain sweeps leave in the paper's clean scene."""


def tracks(result: pfn.Result, *, threshold: float = NEGLIGIBLE) -> list[Any]:
    """The targets that an inferred scene is made of: kind, start, end, magnitude, and where in every slice.

    A target has one magnitude all its life, which tells apart those that meet and part again. What is up to
    `threshold` times the largest entry of x4 counts as nothing; noise needs a larger one. A result for a list of
    sequences gives a list of lists. Targets that do the same at the same time are found as one; where the values
    are a superposition of several possible courses, each appears as a target with its share of the magnitude.

    >>> from pfn.models import Target, simulate_targets, tracking_network
    >>> network = tracking_network()
    >>> scene = simulate_targets(network, [Target("B", 2, [7] * 4 + [6] * 3, magnitude=0.5)], length=11)
    >>> (target,) = tracks(pfn.infer(network, scene.observed))
    >>> target.kind, target.start, target.end, round(target.magnitude, 3), target.positions
    ('B', 2, 8, 0.5, (7, 7, 7, 7, 6, 6, 6))
    """
    if not 0 < threshold < 1:
        raise pfn.OptionError(
            f"tracks: threshold must lie between 0 and 1, a share of the largest value, found {threshold!r}."
        )
    model = model_of(result.network)
    seen = result["W1"][-model.sensors :]
    values = [result[name] for name in ("x4", "x2", "u1")]
    if isinstance(values[0], list):
        return [_targets(model, Margins(x4, x2, seen @ u1), threshold) for x4, x2, u1 in zip(*values, strict=True)]
    x4, x2, u1 = values
    return _targets(model, Margins(x4, x2, seen @ u1), threshold)


def _targets(model: TargetModel, margins: Margins, threshold: float) -> list[Target]:
    largest = float(margins.states.max(initial=0.0))
    if not largest:
        return []
    flow = joint_flow(model, Margins(*(margin / largest for margin in margins)), threshold)
    found = [_target(model, course, largest) for course in courses(flow, threshold)]
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
