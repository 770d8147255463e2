"""Random hierarchies against an oracle that steps through nested machines without any matrix."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pfn.automata import Hierarchy, StateMachine

# Of a member: the state of its machine, and the configuration inside that state if it refines.
Configuration = tuple[str, Any]
Member = StateMachine | Hierarchy
# A joint state: the state of each level from the top down, None for the zero vector.
Joint = tuple[str | None, ...]
# One transition per level from the top down, None where a level stays off.
Chain = tuple[int | None, ...]


def machine_of(member: Member) -> StateMachine:
    return member.upper if isinstance(member, Hierarchy) else member


def inside(member: Member) -> dict[str, Member]:
    return dict(member.refinements) if isinstance(member, Hierarchy) else {}


def entered(member: Member, state: str) -> Iterator[Configuration]:
    if state not in inside(member):
        yield (state, None)
        return
    lower = inside(member)[state]
    for start in machine_of(lower).start:
        for configuration in entered(lower, start):
            yield (state, configuration)


def every(member: Member, below_top: bool) -> Iterator[Configuration]:
    machine = machine_of(member)
    for state in machine.states:
        if below_top and state == machine.end:
            continue
        if state in inside(member):
            yield from ((state, within) for within in every(inside(member)[state], True))
        else:
            yield (state, None)


def may_finish(member: Member, configuration: Configuration) -> bool:
    state, within = configuration
    leads_out = (state, machine_of(member).end) in machine_of(member).transitions
    return leads_out and (state not in inside(member) or may_finish(inside(member)[state], within))


def moves(member: Member, configuration: Configuration, below_top: bool) -> Iterator[Configuration]:
    state, within = configuration
    machine = machine_of(member)
    if state in inside(member):
        lower = inside(member)[state]
        yield from ((state, next_within) for next_within in moves(lower, within, True))
        if not may_finish(lower, within):
            return
    if state == machine.end and not below_top:
        yield configuration
    for source, target in machine.transitions:
        stays = source == target and state in inside(member)
        if source == state and not stays and not (below_top and target == machine.end):
            yield from entered(member, target) if target != machine.off else [(target, None)]


def joint(hierarchy: Hierarchy, configuration: Configuration) -> Joint:
    """The states of all levels; below a level that is off, every level is off."""
    if configuration[0] == hierarchy.upper.off:
        return (None,) * len(hierarchy.levels)
    names: list[str | None] = []
    inner: Configuration | None = configuration
    for level in reversed(hierarchy.levels):
        name = inner[0] if inner else level.end
        gone = name == level.off or (names and names[-1] is None)
        names.append(None if gone else name)
        inner = inner[1] if inner else None
    return tuple(names)


def steps_of_oracle(hierarchy: Hierarchy) -> set[tuple[Joint, Joint]]:
    configurations = list(every(hierarchy, False))
    if hierarchy.upper.off is not None:
        configurations.append((hierarchy.upper.off, None))
    return {
        (joint(hierarchy, now), joint(hierarchy, later))
        for now in configurations
        for later in moves(hierarchy, now, False)
    }


def steps_of_matrices(hierarchy: Hierarchy) -> set[tuple[Joint, Joint]]:
    """Every choice of one column of each U that agree on the transitions they share, read through W."""
    matrices, depth = hierarchy.matrices, len(hierarchy.levels)
    chains: list[Chain] = [(row,) for row in range(matrices[f"W{depth}"].shape[1])]
    for number in range(depth - 1, 0, -1):
        coupling = matrices["U" if depth == 2 else f"U{number}"]
        rows = matrices[f"W{number + 1}"].shape[1]
        pairs = [(only(column[:rows]), only(column[rows:])) for column in coupling.T]
        chains = [
            (*chain, lower)
            for chain in chains
            for upper, lower in ([(None, None)] if chain[-1] is None else pairs)
            if upper == chain[-1]
        ]
    return {read_step(hierarchy, chain, matrices) for chain in chains}


def only(column: np.ndarray) -> int | None:
    (rows,) = np.nonzero(column)
    assert len(rows) <= 1
    assert (column[rows] == 1).all()
    return int(rows[0]) if len(rows) else None


def read_step(hierarchy: Hierarchy, chain: Chain, matrices: dict[str, np.ndarray]) -> tuple[Joint, Joint]:
    """The joint states before and after one transition per level, from the top down."""
    now: list[str | None] = []
    later: list[str | None] = []
    for number, transition in zip(range(len(chain), 0, -1), chain, strict=True):
        states = (*hierarchy.levels[number - 1].states, None)
        column = np.zeros(2 * len(states) - 2) if transition is None else matrices[f"W{number}"][:, transition]
        for names, half in zip((now, later), np.split(column, 2), strict=True):
            row = only(half)
            names.append(None if row is None else states[row])
    return tuple(now), tuple(later)


@st.composite
def lower_machines(draw: st.DrawFn, prefix: str, end: str, end_is_off: bool) -> StateMachine:
    names = [f"{prefix}{number}" for number in range(draw(st.integers(1, 3)))]
    everywhere = [(a, b) for a in names for b in names]
    inner = draw(st.lists(st.sampled_from(everywhere), unique=True))
    lasts = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    start = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    pairs = [*inner, *((name, end) for name in lasts)]
    return StateMachine([*names, end], pairs, start=start, end=end, off=end if end_is_off else None)


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    ends_are_off = draw(st.tuples(st.booleans(), st.booleans()))
    depth = draw(st.integers(2, 3))
    lowest = [draw(lower_machines(f"{letter}", "rest", ends_are_off[0])) for letter in "pq"]
    members: list[Member] = list(lowest)
    if depth == 3:
        middle = [draw(lower_machines(letter, "idle", ends_are_off[1])) for letter in "mn"]
        members = [refined(draw, machine, lowest) for machine in middle]
    names = [f"A{number}" for number in range(draw(st.integers(1, 4)))]
    off = draw(st.sampled_from([None, "gone"]))
    end = draw(st.sampled_from([None, names[-1]])) if len(names) > 1 else None
    everywhere = [(a, b) for a in (*names, "gone") for b in (*names, "gone") if "gone" not in (a, b) or off]
    pairs = draw(st.lists(st.sampled_from([pair for pair in everywhere if pair != ("gone", "gone")]), unique=True))
    top = StateMachine(names, pairs, off=off, end=end)
    choices = {name: draw(st.sampled_from([None, *members])) for name in names if name != end}
    choices[names[0]] = choices[names[0]] or members[0]
    return Hierarchy(top, {name: member for name, member in choices.items() if member is not None})


def refined(draw: st.DrawFn, machine: StateMachine, lowest: list[StateMachine]) -> Member:
    inner = [name for name in machine.states if name != machine.end]
    choices = {name: draw(st.sampled_from([None, *lowest])) for name in inner}
    chosen = {name: member for name, member in choices.items() if member is not None}
    return Hierarchy(machine, chosen) if chosen else machine


@settings(max_examples=400, deadline=None)
@given(hierarchies())
def test_the_matrices_allow_exactly_the_joint_steps_of_the_nested_machines(hierarchy: Hierarchy) -> None:
    assert steps_of_matrices(hierarchy) == steps_of_oracle(hierarchy)


@settings(max_examples=100, deadline=None)
@given(hierarchies())
def test_every_coupled_column_is_distinct(hierarchy: Hierarchy) -> None:
    for name, matrix in hierarchy.matrices.items():
        if name.startswith("U"):
            assert len({tuple(column) for column in matrix.T}) == matrix.shape[1]
