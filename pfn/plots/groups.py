"""The states of a machine; the machines of a hierarchy, level by level, and what its diagram leaves implicit."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pfn.automata import Hierarchy, StateMachine


def state_names(machine: StateMachine) -> list[str]:
    """Every state, the off state last."""
    return [*machine.states, *([] if machine.off is None else [machine.off])]


class Group(NamedTuple):
    """A machine, and the states of the level above that refine into it (none for the uppermost machine)."""

    member: StateMachine | Hierarchy
    refined: tuple[str, ...]

    @property
    def machine(self) -> StateMachine:
        """The machine of this level."""
        return self.member.upper if isinstance(self.member, Hierarchy) else self.member


def groups_by_level(hierarchy: Hierarchy) -> Iterator[list[Group]]:
    """The machines of each level from the top down; equal ones are one."""
    groups = [Group(hierarchy, ())]
    while groups:
        yield groups
        states: dict[StateMachine | Hierarchy, list[str]] = {}
        for group in groups:
            if isinstance(group.member, Hierarchy):
                for state, member in group.member.refinements:
                    states.setdefault(member, []).append(state)
        groups = [Group(member, tuple(names)) for member, names in states.items()]


def level_transitions(groups: Sequence[Group], full: StateMachine) -> list[tuple[str, str, str, bool]]:
    """The transitions of a level with their labels; the last says whether the diagram leaves it implicit."""
    drawn = {pair for group in groups for pair in group.machine.transitions}
    labelled = zip(full.transitions, full.transition_labels, strict=True)
    return [(*pair, label, pair not in drawn) for pair, label in labelled]
