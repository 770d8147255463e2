"""A machine as the refinement of a state: where it is entered, where it can be left, how it moves."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from pfn.automata.diagram import listed
from pfn.automata.machine import StateMachine
from pfn.errors import DeclarationError


class Step(NamedTuple):
    """One transition of a level. With `stays`, a refining state is kept while its refinement moves on."""

    source: str
    target: str
    stays: bool = False


@dataclass(frozen=True)
class Refinement:
    """A machine below the top: `idle` is its end state, in which it rests, `inner` its steps in between."""

    machine: StateMachine
    idle: str
    entries: tuple[str, ...]
    lasts: tuple[str, ...]
    inner: tuple[Step, ...]


def refinement(state: str, machine: StateMachine, refining: Collection[str]) -> Refinement:
    """The machine as the refinement of that state; those of its own states in `refining` refine further."""
    idle = _checked_idle(state, machine)
    steps = declared_steps(machine, refining)
    inner = [step for step in steps if idle not in step[:2]]
    return Refinement(
        machine,
        idle,
        entries=_checked_entries(state, machine, idle),
        lasts=_checked_lasts(state, machine, idle),
        inner=tuple(dict.fromkeys((*inner, *staying(refining)))),
    )


def declared_steps(machine: StateMachine, refining: Collection[str]) -> dict[Step, str]:
    """The machine's own transitions with their labels; a self-loop of a refining state is a stay."""
    steps = [
        Step(source, target, stays=source == target and source in refining) for source, target in machine.transitions
    ]
    repeated = [f"{step.source}→{step.target}" for step, count in Counter(steps).items() if count > 1]
    if repeated:
        raise DeclarationError(
            f"Hierarchy: the machines of a hierarchy must have each transition once, but {listed(repeated)} "
            "run in parallel. Leave one of each in, or put a state between."
        )
    return dict(zip(steps, machine.transition_labels, strict=True))


def staying(refining: Collection[str]) -> list[Step]:
    """The self-loops that refining states have whether they are drawn or not."""
    return [Step(name, name, stays=True) for name in refining]


def _checked_idle(state: str, machine: StateMachine) -> str:
    if machine.end is None:
        raise DeclarationError(
            f"Hierarchy: the machine that {state!r} refines into (states {listed(machine.states)}) needs an "
            "end state, in which it rests, but has none. Declare it with StateMachine(..., end=...)."
        )
    if machine.off not in (None, machine.end):
        raise DeclarationError(
            f"Hierarchy: the machine that {state!r} refines into rests in its end state {machine.end!r}, "
            f"but has {machine.off!r} as off state besides. Drop off=, or make the two the same."
        )
    return machine.end


def _checked_entries(state: str, machine: StateMachine, idle: str) -> tuple[str, ...]:
    drawn = tuple(target for source, target in machine.transitions if source == idle != target)
    entries = machine.start or drawn
    if not entries or idle in entries:
        raise DeclarationError(
            f"Hierarchy: the machine that {state!r} refines into must start in a state other than its end "
            f"state {idle!r}, found start={machine.start!r}. Declare it with StateMachine(..., start=...)."
        )
    extra = [target for target in drawn if target not in entries]
    if extra:
        raise DeclarationError(
            f"Hierarchy: the machine that {state!r} refines into starts in {listed(entries)}, but its end "
            f"state {idle!r} also leads to {listed(extra)}. Name all of them in start=, or remove those "
            "transitions."
        )
    return entries


def _checked_lasts(state: str, machine: StateMachine, idle: str) -> tuple[str, ...]:
    lasts = tuple(source for source, target in machine.transitions if target == idle != source)
    if not lasts:
        raise DeclarationError(
            f"Hierarchy: the machine that {state!r} refines into must be able to finish, but no transition "
            f"leads to its end state {idle!r}. Add one from each state in which it may finish."
        )
    return lasts
