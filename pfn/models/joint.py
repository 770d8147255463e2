"""Which state goes with which position: a flow through pairs of both that adds up to what was inferred of each.

Where the values of the network are exact and unique, so are its transitions h1 and h3: any such flow has them. The
flow is therefore found from the states, positions and sensors alone, and the transitions need not be asked.
"""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.optimize import linprog

import pfn
from pfn.automata.paths import Edge
from pfn.automata.sequences import FloatArray
from pfn.models.targets import CHANGE, Step, TargetModel

BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.intp]

UNEVEN = 1e-2
"""Cost of flowing between pairs that differ in strength by 1, against 1 for what is not explained: breaks ties only."""

MOVED = 1e-6
"""Cost of a change of position: where two targets of the same strength could have swapped places, they stayed."""

SOLVERS = (("highs-ipm", 60.0), ("highs-ds", np.inf))
"""Methods of linprog with the seconds they get. On cluttered scenes the first is ten times faster, but its last
part, the crossover, was seen to run on without end on larger programs of this kind."""


class Margins(NamedTuple):
    """What is known of the pairs (state, position) of every slice: sums by state, by position and by sensor."""

    states: FloatArray
    positions: FloatArray
    sensors: FloatArray


class Pairs(NamedTuple):
    """The pairs that may be active: the row of x4, the position, and the slice of each."""

    states: IntArray
    positions: IntArray
    times: IntArray


class Arcs(NamedTuple):
    """Ways from pair to pair of the next slice, by number; the number after the last pair is no target: off."""

    sources: IntArray
    targets: IntArray


class Program(NamedTuple):
    """The linear program: a flow that is conserved in every pair, and comes close to the margins."""

    system: scipy.sparse.csr_array
    values: FloatArray
    into: scipy.sparse.csr_array
    """Which arcs lead into which pair."""


def joint_flow(model: TargetModel, margins: Margins, threshold: float) -> list[Edge]:
    """The flow whose pairs come closest to the margins; nodes are (slice, state · positions + position)."""
    most = _most(model, margins)
    active = _connected(model, most > threshold)
    if not active.any():
        return []
    pairs, arcs = Pairs(*np.nonzero(active)), _arcs(model, active)
    program = _program(model, margins, pairs, arcs)
    rough = _solved(program, _preferences(arcs, pairs, most[active]))
    flow = _solved(program, _preferences(arcs, pairs, program.into @ rough))
    nodes = zip(pairs.times.tolist(), (pairs.states * model.positions + pairs.positions).tolist(), strict=True)
    ends = [*nodes, None]
    rows = zip(arcs.sources.tolist(), arcs.targets.tolist(), flow.tolist(), strict=True)
    return [Edge(ends[source], ends[target], value) for source, target, value in rows]


def _most(model: TargetModel, margins: Margins) -> FloatArray:
    """The most that each pair can have in each slice, by state, position and slice."""
    sensors = np.add.outer(model.emission, np.arange(model.positions))
    most: FloatArray = np.minimum(margins.states[:, None], margins.positions[None])
    return np.minimum(most, margins.sensors[sensors])


def _connected(model: TargetModel, active: BoolArray) -> BoolArray:
    """The active pairs on some course that begins in the first slice or with a birth, and ends likewise."""
    forward = [(step.source, step.target, CHANGE in step.moves) for step in model.steps]
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
            before = True if source is None else reached[source, :, time - 1]
            came[target] |= before
            if moving:
                came[target, 1:] |= reached[source, :-1, time - 1]
                came[target, :-1] |= reached[source, 1:, time - 1]
        reached[:, :, time] &= came
    return reached


def _arcs(model: TargetModel, active: BoolArray) -> Arcs:
    """Every way from an active pair to one of the next slice, every birth and every death."""
    off = int(active.sum())
    numbers = np.full(active.shape, -1)
    numbers[active] = np.arange(off)
    first, last = numbers[..., 0], numbers[..., -1]
    ways = [(np.full_like(first, off), first), (last, np.full_like(last, off))]
    ways += [way for step in model.steps for way in _ways(step, numbers, off)]
    sources, targets = (np.concatenate([way[end].ravel() for way in ways]) for end in (0, 1))
    exists = (sources >= 0) & (targets >= 0)
    return Arcs(sources[exists], targets[exists])


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


def _program(model: TargetModel, margins: Margins, pairs: Pairs, arcs: Arcs) -> Program:
    """Unknowns are the flow of each arc, then what each margin has too much, then what it has too little."""
    count = len(pairs.states)
    into, out = (_indicator(ends, count + 1)[:count] for ends in (arcs.targets, arcs.sources))
    sensors = np.array(model.emission)[pairs.states] + pairs.positions
    totals, values = [], []
    for component, margin in zip((pairs.states, pairs.positions, sensors), margins, strict=True):
        entries, rows = np.unique(component * margin.shape[1] + pairs.times, return_inverse=True)
        totals.append(_indicator(rows, len(entries)))
        values.append(margin.ravel()[entries])
    known = np.concatenate([*values, np.zeros(count)])
    difference = scipy.sparse.eye_array(len(known) - count)
    sums = scipy.sparse.vstack(totals) @ into
    system = scipy.sparse.block_array([[sums, difference, -difference], [into - out, None, None]], format="csr")
    return Program(system, known, into)


def _indicator(rows: IntArray, count: int) -> scipy.sparse.csr_array:
    """A matrix with a one in each column, in these rows."""
    return scipy.sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(count, len(rows)))


def _preferences(arcs: Arcs, pairs: Pairs, strengths: FloatArray) -> FloatArray:
    """What each arc costs: a target keeps its magnitude, and rather its place. Births and deaths are free."""
    strong, placed = (np.append(values, np.nan) for values in (strengths, pairs.positions))
    uneven, moved = (np.abs(values[arcs.sources] - values[arcs.targets]) for values in (strong, placed))
    costs: FloatArray = np.nan_to_num(UNEVEN * uneven + MOVED * moved)
    return costs


def _solved(program: Program, preferences: FloatArray) -> FloatArray:
    """The flow of every arc: the least difference from the margins, and among those the preferred one."""
    costs = np.ones(program.system.shape[1])
    costs[: len(preferences)] = preferences
    message = ""
    for method, seconds in SOLVERS:
        options = {"time_limit": seconds}
        answer = linprog(costs, A_eq=program.system, b_eq=program.values, method=method, options=options)
        if answer.status == 0:
            flow: FloatArray = answer.x[: len(preferences)]
            return flow
        message = answer.message
    raise pfn.NumericalError(f"tracks: the flow through states and positions was not found. HiGHS says: {message}")
