"""Hierarchies of state machines (section 4.1): states that refine into machines one level below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from pfn.automata.basis import stacked_units
from pfn.automata.diagram import listed
from pfn.automata.levels import Coupling, Level, level_below, top_level
from pfn.automata.machine import StateMachine
from pfn.automata.notebook import hierarchy_html
from pfn.automata.refinement import refinement
from pfn.automata.sequences import FloatArray
from pfn.errors import DeclarationError

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
        levels, couplings = zip(*_built(upper, refinements), strict=True)
        coupled = [_labels(pairs, *ends) for pairs, ends in zip(couplings[1:], pairwise(levels), strict=True)]
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
            bases[name] = _coupling_matrix(pairs, above, below)
        return bases

    def _repr_html_(self) -> str:
        return hierarchy_html([level._diagram() for level in self.levels], self.couplings)


def _coupling_matrix(pairs: LabelPairs, above: StateMachine, below: StateMachine) -> FloatArray:
    upper = {label: row for row, label in enumerate(above.transition_labels)}
    lower: dict[str | None, int] = {label: row for row, label in enumerate(below.transition_labels)}
    basis: FloatArray = stacked_units(
        (len(upper), [upper[label] for label, _ in pairs]),
        (len(lower), [lower.get(label) for _, label in pairs]),
    ).toarray()
    return basis


def _built(
    upper: StateMachine, refinements: Mapping[str, StateMachine | Hierarchy]
) -> Iterator[tuple[Level, list[Coupling]]]:
    """The levels from the top down, each with its coupling to the level above (none for the top)."""
    level, couplings = top_level(upper, tuple(refinements)), list[Coupling]()
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


def _machine(member: StateMachine | Hierarchy) -> StateMachine:
    return member.upper if isinstance(member, Hierarchy) else member


def _refinements(member: StateMachine | Hierarchy) -> dict[str, StateMachine | Hierarchy]:
    return dict(member.refinements) if isinstance(member, Hierarchy) else {}


def _labels(couplings: list[Coupling], above: Level, below: Level) -> LabelPairs:
    return tuple((above.steps[upper], None if lower is None else below.steps[lower]) for upper, lower in couplings)


def _check_declaration(upper: StateMachine, refinements: Mapping[str, StateMachine | Hierarchy]) -> None:
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
        _check_refining(state, upper)
        if not isinstance(member, StateMachine | Hierarchy):
            raise DeclarationError(
                f"Hierarchy: {state!r} must refine into a StateMachine or a Hierarchy, found "
                f"{type(member).__name__}. Build one with StateMachine(states, transitions, start=..., "
                "end=...)."
            )


def _check_refining(state: str, upper: StateMachine) -> None:
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
