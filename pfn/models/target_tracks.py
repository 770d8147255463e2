"""Tracks of single targets out of the superposition that a tracking network infers.

A flow through pairs (state, position) from slice to slice is sought that adds up to the inferred states, positions and
sensors; its courses are the targets. Where the values of the network are exact and unique, so are its transitions h1
and h3, and any such flow has them: the transitions need not be asked.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.optimize import linprog

import pfn
from pfn.automata.arrays import FloatArray
from pfn.automata.paths import Edge, courses
from pfn.models.targets import CHANGE, Target, TargetModel, TargetStep
from pfn.models.tracking import model_of

BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.intp]

# Share of the largest value that counts as nothing by default: twice the largest error that 10,000 plain sweeps leave
# in the paper's clean scene.
NEGLIGIBLE = 0.02

# Cost of a flow between pairs that differ in strength by 1, against 1 for what is not explained: it breaks ties only.
UNEVEN = 1e-2
# Cost of a change of position: where two targets of equal strength could have swapped places, they stayed.
MOVED = 1e-6

# Methods of linprog with the seconds they get. On cluttered scenes the first is ten times faster, but its last part,
# the crossover, was seen to run on without end on larger programs of this kind.
SOLVERS = (("highs-ipm", 60.0), ("highs-ds", np.inf))


class Margins(NamedTuple):
    """Sums over the pairs (state, position) of every slice: by state, by position and by sensor."""

    states: FloatArray
    positions: FloatArray
    sensors: FloatArray


class Pairs(NamedTuple):
    """The pairs that may be active: the row of x4, the position, and the slice of each."""

    states: IntArray
    positions: IntArray
    times: IntArray


class Arcs(NamedTuple):
    """Arcs from pair to pair of the next slice, by number; the number after the last pair means no target: off."""

    sources: IntArray
    targets: IntArray


class FlowProgram(NamedTuple):
    """The linear program of a flow that is conserved in every pair, and comes close to the margins."""

    system: scipy.sparse.csr_array
    values: FloatArray
    into: scipy.sparse.csr_array
    """Arcs (columns) that lead into each pair (row)."""


def tracks(result: pfn.Result, *, threshold: float = NEGLIGIBLE) -> list[Any]:
    """The targets that an inferred scene is made of: kind, start, end, magnitude, and position in every slice.

    A target has one magnitude all its life, which tells apart those that meet and part again. Targets that do the same
    at the same time are found as one; where the values are a superposition of several possible courses, each appears
    as a target with its share of the magnitude.

    Parameters
    ----------
    result
        Result of a `tracking_network`. One for a list of sequences gives a list of lists.
    threshold
        Share of the largest entry of x4 that counts as nothing; noise needs a larger one.

    Examples
    --------
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
    """The targets of one sequence, by their beginnings."""
    largest = float(margins.states.max(initial=0.0))
    if not largest:
        return []
    flow = joint_flow(model, Margins(*(margin / largest for margin in margins)), threshold)
    found = []
    for course in courses(flow, threshold):
        pairs = [divmod(pair, model.positions) for _, pair in course.nodes]
        owners = [model.owners[state] for state, _ in pairs]
        found.append(
            Target(
                kind=model.kinds[owners[0][0]].name,
                start=course.nodes[0][0],
                positions=tuple(position for _, position in pairs),
                magnitude=course.magnitude * largest,
                states=tuple(state for _, state in owners),
            )
        )
    return sorted(found, key=lambda target: (target.start, target.kind, -target.magnitude))


def joint_flow(model: TargetModel, margins: Margins, threshold: float) -> list[Edge]:
    """The flow whose pairs come closest to the margins; nodes are (slice, state · positions + position)."""
    # The most that each pair can have in each slice, by state, position and slice.
    sensors = np.add.outer(model.emission, np.arange(model.positions))
    most: FloatArray = np.minimum(margins.states[:, None], margins.positions[None])
    most = np.minimum(most, margins.sensors[sensors])

    # The pairs on some course that begins in the first slice or with a birth, and ends likewise.
    forward = [(step.source, step.target, CHANGE in step.moves) for step in model.steps]
    backward = [(target, source, moving) for source, target, moving in forward]
    active = _reached(_reached(most > threshold, forward)[..., ::-1], backward)[..., ::-1]
    if not active.any():
        return []
    pairs, arcs = Pairs(*np.nonzero(active)), _arcs(model, active)
    program = _flow_program(model, margins, pairs, arcs)
    # Magnitudes are kept along a course, but are not known before the flow is: the first flow gives them to the second.
    rough = _solved(program, _preferences(arcs, pairs, most[active]))
    flow = _solved(program, _preferences(arcs, pairs, program.into @ rough))
    nodes = zip(pairs.times.tolist(), (pairs.states * model.positions + pairs.positions).tolist(), strict=True)
    ends = [*nodes, None]
    rows = zip(arcs.sources.tolist(), arcs.targets.tolist(), flow.tolist(), strict=True)
    return [Edge(ends[source], ends[target], value) for source, target, value in rows]


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
    """Arcs from active pairs to those of the next slice, for births and for deaths."""
    off = int(active.sum())
    numbers = np.full(active.shape, -1)  # of the active pairs; −1 elsewhere, where no arc begins or ends
    numbers[active] = np.arange(off)
    first, last = numbers[..., 0], numbers[..., -1]
    ways = [(np.full_like(first, off), first), (last, np.full_like(last, off))]
    ways += [way for step in model.steps for way in _ways(step, numbers, off)]
    sources, targets = (np.concatenate([way[end].ravel() for way in ways]) for end in (0, 1))
    exists = (sources >= 0) & (targets >= 0)
    return Arcs(sources[exists], targets[exists])


def _ways(step: TargetStep, numbers: IntArray, off: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Numbers of the pairs before and after a step, for every position and slice in which it can take place."""
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


def _flow_program(model: TargetModel, margins: Margins, pairs: Pairs, arcs: Arcs) -> FlowProgram:
    """The program, whose unknowns are the flow of each arc, the excess of each margin, and the lack of each margin."""
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
    return FlowProgram(system, known, into)


def _indicator(rows: IntArray, count: int) -> scipy.sparse.csr_array:
    """A matrix (count, rows) with a one in each column, in the given row."""
    return scipy.sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(count, len(rows)))


def _preferences(arcs: Arcs, pairs: Pairs, strengths: FloatArray) -> FloatArray:
    """Costs of the arcs: a target keeps its magnitude, and rather its place. Births and deaths are free."""
    strong, placed = (np.append(values, np.nan) for values in (strengths, pairs.positions))
    uneven, moved = (np.abs(values[arcs.sources] - values[arcs.targets]) for values in (strong, placed))
    costs: FloatArray = np.nan_to_num(UNEVEN * uneven + MOVED * moved)
    return costs


def _solved(program: FlowProgram, preferences: FloatArray) -> FloatArray:
    """The flow of every arc: with the least difference from the margins, and among those flows the preferred one."""
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
