"""Tracking scenes with a known answer: sensor images of targets, listed or random."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

import pfn
from pfn.automata.arrays import FloatArray
from pfn.models.targets import Target, TargetKind, TargetModel, whole_number
from pfn.models.tracking import model_of
from pfn.solve.checks import check_number

# Returns of a random target to its second state, at most: lives as long as those of the paper's scene.
MOST_REPETITIONS = 3

# Range of the magnitudes of random targets: the paper's 0.6 to 1, and some weaker ones.
WEAKEST = 0.3
STRONGEST = 1.0


@dataclass(frozen=True, eq=False)
class Scene:
    """A simulated scene: `observed` goes into `pfn.infer`; `truth` has x1 … x5 without noise."""

    targets: tuple[Target, ...]
    observed: dict[str, FloatArray]
    truth: dict[str, FloatArray]


def simulate_targets(
    network: pfn.Network,
    targets: Iterable[Target] | int,
    *,
    length: int,
    seed: int | np.random.Generator = 0,
    noise: float = 0.0,
) -> Scene:
    """The sensor image of targets, listed or random.

    Random targets are born after the first slice and gone before the last; kinds, lives, positions and
    magnitudes (0.3 to 1) are uniform.

    Parameters
    ----------
    network
        A `tracking_network`.
    targets
        Targets of the scene, or the number of random ones.
    length
        Number of slices.
    seed
        Seed or generator of the random numbers.
    noise
        Largest noise: it is uniform from 0 on, and added to the observed x1 only.

    Examples
    --------
    >>> from pfn.models import Target, tracking_network
    >>> scene = simulate_targets(tracking_network(), [Target("A", 2, [3] * 5)], length=9)
    >>> scene.observed["x1"].argmax(axis=0).tolist()
    [0, 0, 5, 3, 7, 4, 6, 0, 0]
    """
    model = model_of(network)
    if whole_number(length, "simulate_targets: length", pfn.OptionError) < 1:
        raise pfn.OptionError("simulate_targets: length must be at least 1 slice, found 0.")
    check_number(noise, "simulate_targets: noise", 0.0, None)
    for_targets, for_noise = np.random.default_rng(seed).spawn(2)
    if isinstance(targets, Iterable):
        placed = tuple(placed_target(model, target, length) for target in targets)
    else:
        count = whole_number(targets, "simulate_targets: the number of targets", pfn.OptionError)
        placed = tuple(_random_target(model, length, for_targets) for _ in range(count))
    truth = superposition(model, placed, length)
    observed = truth["x1"] + for_noise.uniform(0.0, noise, truth["x1"].shape)
    return Scene(placed, {"x1": observed}, truth)


def superposition(model: TargetModel, targets: Iterable[Target], length: int) -> dict[str, FloatArray]:
    """The values of x1 … x5: the sums over the targets."""
    sizes = (model.sensors, model.positions, model.pattern_size, len(model.emission), len(model.kinds))
    values = [np.zeros((size, length)) for size in sizes]
    kinds = {kind.name: number for number, kind in enumerate(model.kinds)}
    for target in targets:
        for time, (state, position) in enumerate(zip(target.states, target.positions, strict=True), target.start):
            kind = kinds[target.kind]
            row = model.kinds[kind].emission[state]
            components = (row + position, position, row, model.row(kind, state), kind)
            for value, component in zip(values, components, strict=True):
                value[component, time] += target.magnitude
    return {f"x{number}": value for number, value in enumerate(values, 1)}


def placed_target(model: TargetModel, target: Target, length: int) -> Target:
    """The target with its states filled in, if it fits into a scene of this length."""
    if not isinstance(target, Target):
        raise pfn.DataError(f"simulate_targets: targets must be Targets, found {target!r}.")
    kind = next((kind for kind in model.kinds if kind.name == target.kind), None)
    if kind is None:
        names = ", ".join(kind.name for kind in model.kinds)
        raise pfn.DataError(f"{target}: the network has the kinds {names}. Name one of them.")
    if target.end >= length:
        raise pfn.DataError(
            f"{target}: it is alive until slice {target.end}, but the last of {length} slices is {length - 1}. Give a "
            "larger length, or fewer positions: a target may be cut off at the last slice."
        )
    if max(target.positions) >= model.positions:
        raise pfn.DataError(
            f"{target}: position {max(target.positions)} is outside the network's positions 0 to {model.positions - 1}."
        )
    _check_life(kind, target, length)
    states = target.states or kind.states(len(target.positions))
    for slot, (before, after) in enumerate(zip(target.positions, target.positions[1:], strict=False)):
        reach = 1 if kind.repeats(states[slot]) else 0
        if abs(after - before) > reach:
            raise pfn.DataError(
                f"{target}: between slices {target.start + slot} and {target.start + slot + 1} its position goes from "
                f"{before} to {after}, but it may only change by one, when the last state goes back to the second."
            )
    return replace(target, states=states)


def _check_life(kind: TargetKind, target: Target, length: int) -> None:
    """Refuse birth in another state than the first and death after another than the last, inside the scene."""
    count, life = len(kind.emission), len(target.positions)
    first = target.states[0] if target.states else 0
    if first and (target.start or first >= count):
        raise pfn.DataError(
            f"{target}: a target begins in state 0 of its {count} states, found {first}. Only one that is alive in "
            "slice 0 already may be in a later state."
        )
    states = kind.states(life, first)
    if target.states not in ((), states) or len(states) < life:
        raise pfn.DataError(
            f"{target}: kind {kind.name} runs through the states {states}, found "
            f"{target.states or f'{life} slices'}. Leave states out to have them filled in."
        )
    if states[-1] != count - 1 and target.end < length - 1:
        lives = f"{count}, {2 * count - 1}, {3 * count - 2}, …" if count > 1 else "1"
        raise pfn.DataError(
            f"{target}: a target may end after its last state {count - 1} only, found it ending in {states[-1]}. "
            f"Kind {kind.name} lives {lives} slices; only the last slice of the scene cuts it off."
        )


def _random_target(model: TargetModel, length: int, rng: np.random.Generator) -> Target:
    """A target of a random kind, with a life inside the scene."""
    kinds = [kind for kind in model.kinds if len(kind.emission) <= length - 2]
    if not kinds:
        shortest = min(len(kind.emission) for kind in model.kinds)
        raise pfn.OptionError(
            f"simulate_targets: random targets need length >= {shortest + 2} here, a slice before and one after "
            f"their life, found {length}."
        )
    kind = kinds[rng.integers(len(kinds))]
    count = len(kind.emission)
    room = (length - 2 - count) // (count - 1) if count > 1 else 0
    life = count + int(rng.integers(min(MOST_REPETITIONS, room) + 1)) * (count - 1)
    states = kind.states(life)
    positions = [int(rng.integers(model.positions))]
    for state in states[:-1]:
        reach = 1 if kind.repeats(state) else 0
        steps = [p for p in range(positions[-1] - reach, positions[-1] + reach + 1) if 0 <= p < model.positions]
        positions.append(steps[rng.integers(len(steps))])
    start = int(rng.integers(1, length - life))
    return Target(kind.name, start, tuple(positions), float(rng.uniform(WEAKEST, STRONGEST)), states)
