"""Hierarchies of state machines (section 4.1): states that refine into machines one level below.

Below the top a level holds the states of all machines that the level above refines into, and one idle state
in which it rests while the state above does not refine. Which transitions of two levels may occur together follows
from two rules:

- while a refining state stays, its refinement makes one of its own steps;
- when a state is left for another, the level below goes from where the one can be left (the last states of
  its refinement, or idle) to where the other is entered (the start states of its refinement, or idle).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from pfn.automata.arrays import FloatArray, stacked_units
from pfn.automata.diagram import default_label, diagram_html, listed
from pfn.automata.machine import StateMachine
from pfn.errors import DeclarationError
from pfn.network.tables import html_table

LabelPairs: TypeAlias = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, init=False)
class Hierarchy:
    """An upper machine, some of whose states refine into machines (or further hierarchies) one level below.

    A lower machine has `start` states and an `end` state, in which it rests while no refining state is
    active; its transitions to the end state finish it. Equal machines share one set of rows. What a diagram
    leaves implicit is added: the self-loops of refining states and of end states, the ways into and between
    refinements. To repeat a refinement, let the lower machine loop: a self-loop of a refining state only
    lets it stay. An off state of the upper machine is off on all levels; a lower machine whose end is its
    off state rests in the zero vector.

    >>> lower = StateMachine(["d", "e", "end"], [("d", "e"), ("e", "end")], start="d", end="end")
    >>> upper = StateMachine(["a", "S"], [("a", "S"), ("S", "a")])
    >>> hierarchy = Hierarchy(upper, {"S": lower})
    >>> hierarchy.couplings["U"]
    (('a→S', 'end→d'), ('S→a', 'e→end'), ('S→S', 'd→e'))
    >>> {name: matrix.shape for name, matrix in hierarchy.matrices.items()}
    {'W1': (6, 4), 'W2': (4, 3), 'U': (7, 3)}
    """

    upper: StateMachine
    refinements: tuple[tuple[str, StateMachine | Hierarchy], ...]
    levels: tuple[StateMachine, ...] = field(compare=False, repr=False)
    """The machine of each level with all implied transitions, the lowest (level 1) first."""
    _coupled: tuple[LabelPairs, ...] = field(compare=False, repr=False)

    def __init__(self, upper: StateMachine, refinements: Mapping[str, StateMachine | Hierarchy]) -> None:
        _check_declaration(upper, refinements)
        levels, couplings = zip(*_levels(upper, refinements), strict=True)
        coupled = []
        for (above, below), pairs in zip(pairwise(levels), couplings[1:], strict=True):
            labels = ((above.steps[up], None if low is None else below.steps[low]) for up, low in pairs)
            coupled.append(tuple(labels))
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "refinements", tuple(refinements.items()))
        object.__setattr__(self, "levels", tuple(level.machine() for level in reversed(levels)))
        object.__setattr__(self, "_coupled", tuple(reversed(coupled)))

    @property
    def couplings(self) -> dict[str, LabelPairs]:
        """For each U the transitions that may occur together, (upper label, lower label), a pair per column.

        The lower label is None where the level below is off and stays off.
        """
        if len(self._coupled) == 1:
            return {"U": self._coupled[0]}
        return {f"U{number}": pairs for number, pairs in enumerate(self._coupled, start=1)}

    @property
    def matrices(self) -> dict[str, FloatArray]:
        """W1, W2, … of the levels from the lowest up, and U of two levels or U1, U2, … of more.

        Uk couples the transitions of level k + 1 (its upper rows) with those of level k.
        """
        bases = {f"W{number}": level.matrix() for number, level in enumerate(self.levels, start=1)}
        for (name, pairs), (below, above) in zip(self.couplings.items(), pairwise(self.levels), strict=True):
            upper = {label: row for row, label in enumerate(above.transition_labels)}
            lower: dict[str | None, int] = {label: row for row, label in enumerate(below.transition_labels)}
            bases[name] = stacked_units(
                (len(upper), [upper[label] for label, _ in pairs]),
                (len(lower), [lower.get(label) for _, label in pairs]),
            ).toarray()
        return bases

    def _repr_html_(self) -> str:
        levels = [diagram_html(level._diagram(), f"level {number}") for number, level in enumerate(self.levels, 1)]
        tables = [
            f"<p>{name} couples</p>{html_table(('above', 'below'), [(up, down or 'off') for up, down in pairs])}"
            for name, pairs in self.couplings.items()
        ]
        return f"<p>Hierarchy of {len(levels)} levels</p>{''.join(reversed(levels))}{''.join(tables)}"


class LevelStep(NamedTuple):
    """One transition of a level. With `stays`, a refining state is kept while its refinement moves on."""

    source: str
    target: str
    stays: bool = False


@dataclass(frozen=True)
class HierarchyLevel:
    """The states of a level and its steps with their labels, in the order of their columns."""

    states: tuple[str, ...]
    steps: Mapping[LevelStep, str]
    off: str | None
    start: tuple[str, ...]
    end: str | None

    def machine(self) -> StateMachine:
        """The level as a state machine with every implied transition."""
        return StateMachine(
            self.states,
            [(step.source, step.target) for step in self.steps],
            off=self.off,
            start=self.start,
            end=self.end,
            labels=self.steps.values(),
        )


class StepPair(NamedTuple):
    """A step of one level and a step of the level below that may occur with it (None: below stays off)."""

    upper: LevelStep
    lower: LevelStep | None


@dataclass(frozen=True)
class Refinement:
    """A machine below the top: `idle` is its end state, in which it rests, `inner` its steps in between."""

    machine: StateMachine
    idle: str
    entries: tuple[str, ...]
    lasts: tuple[str, ...]
    inner: tuple[LevelStep, ...]


def _levels(
    upper: StateMachine, refinements: Mapping[str, StateMachine | Hierarchy]
) -> Iterator[tuple[HierarchyLevel, list[StepPair]]]:
    """The levels from the top down, each with its coupling to the level above (none for the top)."""
    # The top: its own transitions, then self-loops of refining states and of its end.
    loops = [] if upper.end in (None, upper.off) else [LevelStep(str(upper.end), str(upper.end))]
    steps = _labelled(declared_steps(upper, refinements), [*staying(refinements), *loops])
    level, couplings = HierarchyLevel(upper.states, steps, upper.off, upper.start, upper.end), list[StepPair]()
    yield level, couplings
    while refinements:
        _check_common_level(refinements)
        refined = {
            state: refinement(state, _machine(member), tuple(_refinements(member)))
            for state, member in refinements.items()
        }
        refinements = {
            state: deeper for member in refinements.values() for state, deeper in _refinements(member).items()
        }
        level, couplings = level_below(level, refined, tuple(refinements))
        yield level, couplings


def level_below(
    above: HierarchyLevel, refined: Mapping[str, Refinement], refining: Collection[str]
) -> tuple[HierarchyLevel, list[StepPair]]:
    """The level that `refined` (upper state → refinement) puts below a level, and the coupling of the two.

    `refining` are those states of the new level that refine further.
    """
    parts = list(dict.fromkeys(refined.values()))
    idle, idle_is_off = parts[0].idle, parts[0].machine.off is not None
    states = tuple(dict.fromkeys(state for part in parts for state in part.machine.states))
    off = idle if idle_is_off else above.off
    if not idle_is_off and off in states:
        raise DeclarationError(
            f"Hierarchy: the off state {off!r} of an upper machine is off on every level below, where it "
            f"must not be a state's name, but a lower machine has the states {listed(states)}. Rename one "
            "of the two."
        )

    left_from = dict.fromkeys(above.states, (idle,)) | {name: part.lasts for name, part in refined.items()}
    entered_at = dict.fromkeys(above.states, (idle,)) | {name: part.entries for name, part in refined.items()}
    if above.off is not None and off is not None:
        left_from[above.off] = entered_at[above.off] = (off,)
    couplings: list[StepPair] = []
    for upper in above.steps:
        sources, targets = left_from[upper.source], entered_at[upper.target]
        moves = (LevelStep(source, target) for source in sources for target in targets)
        lowers = refined[upper.source].inner if upper.stays else moves
        couplings += [StepPair(upper, None if off == low.source == low.target else low) for low in lowers]

    declared: dict[LevelStep, str] = {}
    for part in parts:
        declared |= declared_steps(part.machine, refining)
    entering = [LevelStep(idle, entry) for part in parts for entry in part.entries]
    resting = [] if idle_is_off else [LevelStep(idle, idle)]
    coupled = [coupling.lower for coupling in couplings if coupling.lower is not None]
    steps = _labelled(declared, [*staying(refining), *entering, *resting, *coupled])
    return HierarchyLevel(states, steps, off, (), idle), couplings


def _labelled(declared: dict[LevelStep, str], implied: Iterable[LevelStep]) -> dict[LevelStep, str]:
    """The declared steps, then the implied ones; a refining state that restarts in place is marked."""
    steps = dict(declared)
    for step in implied:
        again = " again" if not step.stays and step._replace(stays=True) in steps else ""
        steps.setdefault(step, default_label(step.source, step.target) + again)
    return steps


def refinement(state: str, machine: StateMachine, refining: Collection[str]) -> Refinement:
    """The machine as the refinement of a state; those of its own states in `refining` refine further."""
    refines = f"the machine that {state!r} refines into"
    idle = machine.end
    if idle is None:
        raise DeclarationError(
            f"Hierarchy: {refines} (states {listed(machine.states)}) needs an "
            "end state, in which it rests, but has none. Declare it with StateMachine(..., end=...)."
        )
    if machine.off not in (None, idle):
        raise DeclarationError(
            f"Hierarchy: {refines} rests in its end state {idle!r}, "
            f"but has {machine.off!r} as off state besides. Drop off=, or make the two the same."
        )
    inner = [step for step in declared_steps(machine, refining) if idle not in step[:2]]
    drawn = tuple(target for source, target in machine.transitions if source == idle != target)
    entries = machine.start or drawn
    if not entries or idle in entries:
        raise DeclarationError(
            f"Hierarchy: {refines} must start in a state other than its end "
            f"state {idle!r}, found start={machine.start!r}. Declare it with StateMachine(..., start=...)."
        )
    extra = [target for target in drawn if target not in entries]
    if extra:
        raise DeclarationError(
            f"Hierarchy: {refines} starts in {listed(entries)}, but its end "
            f"state {idle!r} also leads to {listed(extra)}. Name all of them in start=, or remove those "
            "transitions."
        )
    lasts = tuple(source for source, target in machine.transitions if target == idle != source)
    if not lasts:
        raise DeclarationError(
            f"Hierarchy: {refines} must be able to finish, but no transition "
            f"leads to its end state {idle!r}. Add one from each state in which it may finish."
        )
    return Refinement(machine, idle, entries, lasts, tuple(dict.fromkeys((*inner, *staying(refining)))))


def declared_steps(machine: StateMachine, refining: Collection[str]) -> dict[LevelStep, str]:
    """The machine's own transitions with their labels; a self-loop of a refining state is a stay."""
    steps = [
        LevelStep(source, target, stays=source == target and source in refining)
        for source, target in machine.transitions
    ]
    repeated = [f"{step.source}→{step.target}" for step, count in Counter(steps).items() if count > 1]
    if repeated:
        raise DeclarationError(
            f"Hierarchy: the machines of a hierarchy must have each transition once, but {listed(repeated)} "
            "run in parallel. Leave one of each in, or put a state between."
        )
    return dict(zip(steps, machine.transition_labels, strict=True))


def staying(refining: Collection[str]) -> list[LevelStep]:
    """The self-loops of refining states, which they have whether they are drawn or not."""
    return [LevelStep(name, name, stays=True) for name in refining]


def _machine(member: StateMachine | Hierarchy) -> StateMachine:
    return member.upper if isinstance(member, Hierarchy) else member


def _refinements(member: StateMachine | Hierarchy) -> dict[str, StateMachine | Hierarchy]:
    return dict(member.refinements) if isinstance(member, Hierarchy) else {}


def _check_declaration(upper: StateMachine, refinements: Mapping[str, StateMachine | Hierarchy]) -> None:
    """Refuse an upper machine or refinements of the wrong kind, and states that cannot refine."""
    if not isinstance(upper, StateMachine):
        raise DeclarationError(
            f"Hierarchy: upper must be a StateMachine, found {type(upper).__name__}. For three levels, make "
            "the lower machine a Hierarchy."
        )
    if not refinements:
        raise DeclarationError(
            f"Hierarchy: at least one of the states {listed(upper.states)} must refine, but refinements is "
            "empty. Give refinements={state: machine}, or use the StateMachine alone."
        )
    for state, member in refinements.items():
        if state not in upper.states:
            raise DeclarationError(
                f"Hierarchy: refinements names {state!r}, but the states of the upper machine that can refine "
                f"are {listed(name for name in upper.states if name != upper.end)}. Name one of them."
            )
        if state == upper.end:
            raise DeclarationError(
                f"Hierarchy: {state!r} is the end state of its machine and cannot refine. Refine another state, "
                "or declare another end."
            )
        if not isinstance(member, StateMachine | Hierarchy):
            raise DeclarationError(
                f"Hierarchy: {state!r} must refine into a StateMachine or a Hierarchy, found "
                f"{type(member).__name__}. Build one with StateMachine(states, transitions, start=..., "
                "end=...)."
            )


def _check_common_level(refinements: Mapping[str, StateMachine | Hierarchy]) -> None:
    """Refuse a level whose machines cannot share one variable: states that clash, idle states that differ."""
    owners: dict[str, tuple[str, StateMachine | Hierarchy]] = {}
    first_state, first = next((state, _machine(member)) for state, member in refinements.items())
    for state, member in refinements.items():
        machine = _machine(member)
        if (machine.end, machine.off) != (first.end, first.off):
            raise DeclarationError(
                "Hierarchy: the machines of one level rest in one common end state, but the one that "
                f"{first_state!r} refines into has end={first.end!r}, off={first.off!r} and the one that "
                f"{state!r} refines into has end={machine.end!r}, off={machine.off!r}. Give them the same."
            )
        for name in machine.states:
            owner_state, owner = owners.setdefault(name, (state, member))
            if owner != member and name != machine.end:
                raise DeclarationError(
                    f"Hierarchy: {owner_state!r} and {state!r} refine into different machines that both "
                    f"have a state {name!r}, but the states of one level need different names. Rename one "
                    "of them."
                )
