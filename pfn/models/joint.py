"""Which state goes with which position: a flow through pairs of both that adds up to what was inferred of each."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.optimize import linprog

import pfn
from pfn.automata.paths import Edge
from pfn.models.scenes import FloatArray
from pfn.models.targets import CHANGE, Step, TargetModel

BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.intp]

TIE_BREAK = 1e-3
"""Cost of a flow between unequally strong pairs, against 1 for what stays unexplained: it only breaks ties."""


class Margins(NamedTuple):
    """What is known of the pairs (state, position) of every slice: sums by state, by position and by sensor."""

    states: FloatArray
    positions: FloatArray
    sensors: FloatArray


class Arcs(NamedTuple):
    """Flows from pair to pair of the next slice, by number; the number after the last is no target: off."""

    sources: IntArray
    targets: IntArray


def joint_flow(model: TargetModel, margins: Margins, threshold: float) -> list[Edge]:
    """The flow whose pairs come closest to the margins; nodes are (slice, state · positions + position)."""
    most = _most(model, margins)
    active = _connected(model, most > threshold)
    places = np.argwhere(active)
    arcs = _arcs(model, active)
    values = _closest_flow(model, margins, places, arcs, most[active])
    nodes = [(time, state * model.positions + position) for state, position, time in places.tolist()]
    ends = [*nodes, None]
    rows = zip(arcs.sources.tolist(), arcs.targets.tolist(), values.tolist(), strict=True)
    return [Edge(ends[source], ends[target], value) for source, target, value in rows if value > threshold]


def _most(model: TargetModel, margins: Margins) -> FloatArray:
    """The most that each pair can have in each slice, by state, position and slice."""
    sensors = np.add.outer(model.emission, np.arange(model.positions))
    most: FloatArray = np.minimum(margins.states[:, None], margins.positions[None])
    return np.minimum(most, margins.sensors[sensors])


def _connected(model: TargetModel, active: BoolArray) -> BoolArray:
    """The active pairs on some course that begins in the first slice or with a birth, and ends in kind."""
    forward = [(s.source, s.target, CHANGE in s.moves) for s in model.steps]
    backward = [(target, source, moving) for source, target, moving in forward]
    return _reached(_reached(active, forward)[..., ::-1], backward)[..., ::-1]


def _reached(active: BoolArray, steps: list[tuple[int | None, int | None, bool]]) -> BoolArray:
    """The active pairs to which steps lead, from the first slice or from off."""
    reached = active.copy()
    for time in range(1, active.shape[2]):
        came = np.zeros(active.shape[:2], bool)
        for source, target, moving in steps:
            if target is None:
                continue
            before = reached[source, :, time - 1] if source is not None else np.ones(active.shape[1], bool)
            came[target] |= before
            if moving:
                came[target, 1:] |= before[:-1]
                came[target, :-1] |= before[1:]
        reached[:, :, time] &= came
    return reached


def _arcs(model: TargetModel, active: BoolArray) -> Arcs:
    """Every way from an active pair to one of the next slice, every birth and every death."""
    off = int(active.sum())
    numbers = np.full(active.shape, -1)
    numbers[active] = np.arange(off)
    pieces = [piece for step in model.steps for piece in _ways(step, numbers, off)]
    pieces += _ways_to_and_from_off(numbers[..., 0], numbers[..., -1], off)
    sources, targets = (np.concatenate([np.ravel(piece[end]) for piece in pieces]) for end in (0, 1))
    exists = (sources >= 0) & (targets >= 0)
    return Arcs(sources[exists], targets[exists])


def _ways_to_and_from_off(born: IntArray, dying: IntArray, off: int) -> list[tuple[IntArray, IntArray]]:
    return [(np.full_like(born, off), born), (dying, np.full_like(dying, off))]


def _ways(step: Step, numbers: IntArray, off: int) -> Iterator[tuple[IntArray, IntArray]]:
    """The numbers of the pairs before and after this step, wherever and whenever it takes place."""
    before, after = numbers[..., :-1], numbers[..., 1:]
    if step.source is None:
        yield np.full_like(after[step.target], off), after[step.target]
    elif step.target is None:
        yield before[step.source], np.full_like(before[step.source], off)
    else:
        yield before[step.source], after[step.target]
        if CHANGE in step.moves:
            yield before[step.source, :-1], after[step.target, 1:]
            yield before[step.source, 1:], after[step.target, :-1]


def _closest_flow(model: TargetModel, margins: Margins, places: IntArray, arcs: Arcs, most: FloatArray) -> FloatArray:
    """The linear program: least summed difference from the margins, and then most even flow."""
    count, flows = len(places), len(arcs.sources)
    into, out = (
        scipy.sparse.csr_array((np.ones(flows), (ends, np.arange(flows))), shape=(count + 1, flows))[:count]
        for ends in (arcs.targets, arcs.sources)
    )
    totals, values = _totals(model, margins, places)
    slack = scipy.sparse.eye_array(len(values))
    system = scipy.sparse.block_array([[totals @ into, slack, -slack], [into - out, None, None]], format="csr")
    strengths = np.append(most, np.nan)
    uneven = np.abs(strengths[arcs.sources] - strengths[arcs.targets])
    costs = np.concatenate([TIE_BREAK * np.nan_to_num(uneven), np.ones(2 * len(values))])
    answer = linprog(costs, A_eq=system, b_eq=np.concatenate([values, np.zeros(count)]))
    if answer.x is None:
        raise pfn.NumericalError(f"tracks: {answer.message}")
    return answer.x[:flows]


def _totals(model: TargetModel, margins: Margins, places: IntArray) -> tuple[scipy.sparse.csr_array, FloatArray]:
    """Which pairs add up to which entry of the margins, and those entries: only where there are pairs."""
    states, positions, times = places.T
    components = (states, positions, np.array(model.emission)[states] + positions)
    matrices, values = [], []
    for component, margin in zip(components, margins, strict=True):
        entries, rows = np.unique(component * margin.shape[1] + times, return_inverse=True)
        shape = (len(entries), len(places))
        matrices.append(scipy.sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=shape))
        values.append(margin.ravel()[entries])
    return scipy.sparse.vstack(matrices, format="csr"), np.concatenate(values)
