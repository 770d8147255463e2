"""The levels of a hierarchy of state machines: which transitions they have, and which of them occur together.

Below the top a level holds the states of all machines that the level above refines into, and one idle state
in which it rests while the state above does not refine. What may occur together follows from two rules:

- while a refining state stays, its refinement makes one of its own steps;
- when a state is left for another, the level below goes from where the one can be left (the last states of
  its refinement, or idle) to where the other is entered (the start states of its refinement, or idle).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pfn.automata.diagram import default_label, listed
from pfn.automata.machine import StateMachine
from pfn.automata.refinement import Refinement, Step, declared_steps, staying
from pfn.errors import DeclarationError


@dataclass(frozen=True)
class Level:
    """The states of a level and its steps with their labels, in the order of their columns."""

    states: tuple[str, ...]
    steps: Mapping[Step, str]
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


class Coupling(NamedTuple):
    """A step of one level and a step of the level below that may occur with it (None: below stays off)."""

    upper: Step
    lower: Step | None


def top_level(machine: StateMachine, refining: Collection[str]) -> Level:
    """The uppermost level: the machine's transitions, then self-loops of refining states and of its end."""
    loops = [] if machine.end in (None, machine.off) else [Step(str(machine.end), str(machine.end))]
    steps = _labelled(declared_steps(machine, refining), [*staying(refining), *loops])
    return Level(machine.states, steps, machine.off, machine.start, machine.end)


def level_below(
    above: Level, refined: Mapping[str, Refinement], refining: Collection[str]
) -> tuple[Level, list[Coupling]]:
    """The level that `refined` (upper state → refinement) puts below a level, and how the two are coupled.

    `refining` are those states of the new level that refine further.
    """
    parts = list(dict.fromkeys(refined.values()))
    idle, idle_is_off = parts[0].idle, parts[0].machine.off is not None
    states = tuple(dict.fromkeys(state for part in parts for state in part.machine.states))
    off = idle if idle_is_off else _checked_off(above.off, states)
    couplings = _couplings(above, refined, idle, off)

    declared: dict[Step, str] = {}
    for part in parts:
        declared |= declared_steps(part.machine, refining)
    entering = [Step(idle, entry) for part in parts for entry in part.entries]
    resting = [] if idle_is_off else [Step(idle, idle)]
    coupled = [coupling.lower for coupling in couplings if coupling.lower is not None]
    steps = _labelled(declared, [*staying(refining), *entering, *resting, *coupled])
    return Level(states, steps, off, (), idle), couplings


def _labelled(declared: dict[Step, str], implied: Iterable[Step]) -> dict[Step, str]:
    """The declared steps, then the implied ones; a refining state that restarts in place is marked."""
    steps = dict(declared)
    for step in implied:
        again = " again" if not step.stays and step._replace(stays=True) in steps else ""
        steps.setdefault(step, default_label(step.source, step.target) + again)
    return steps


def _couplings(above: Level, refined: Mapping[str, Refinement], idle: str, off: str | None) -> list[Coupling]:
    left_from = dict.fromkeys(above.states, (idle,)) | {name: part.lasts for name, part in refined.items()}
    entered_at = dict.fromkeys(above.states, (idle,)) | {name: part.entries for name, part in refined.items()}
    if above.off is not None and off is not None:
        left_from[above.off] = entered_at[above.off] = (off,)

    def together_with(upper: Step) -> Iterable[Step]:
        if upper.stays:
            return refined[upper.source].inner
        return [Step(source, target) for source in left_from[upper.source] for target in entered_at[upper.target]]

    return [
        Coupling(upper, None if off == lower.source == lower.target else lower)
        for upper in above.steps
        for lower in together_with(upper)
    ]


def _checked_off(off: str | None, states: tuple[str, ...]) -> str | None:
    if off in states:
        raise DeclarationError(
            f"Hierarchy: the off state {off!r} of an upper machine is off on every level below, where it "
            f"must not be a state's name, but a lower machine has the states {listed(states)}. Rename one "
            "of the two."
        )
    return off
