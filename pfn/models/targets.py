"""Targets of a tracking scene (section 5): their kinds, lives and moves, and the model of all of them.

Everything counts from 0: slices, states of a kind, positions, rows of the pattern.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from numbers import Real
from operator import index
from typing import NamedTuple

import pfn
from pfn.automata import StateMachine

# Moves of a position between two slices, the components of h2. OFF is also the state of no target.
STAY = "stay"
CHANGE = "change"
ON = "on"
OFF = "off"


@dataclass(frozen=True)
class TargetKind:
    """A kind of target: for each of its states, the row of the pattern in which it is seen.

    The states run in a chain from the first to the last; the last may end, or go back to the second, and
    only then the position may change by one. So n states live n, 2n − 1, 3n − 2, … slices. Of two states the
    second repeats; a single state has no second, and lives for one slice.

    >>> TargetKind("A").states(9)
    (0, 1, 2, 3, 4, 1, 2, 3, 4)
    """

    name: str
    emission: tuple[int, ...] = (2, 0, 4, 1, 3)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise pfn.DeclarationError(f"TargetKind: its name must be a non-empty string, found {self.name!r}.")
        rows = whole_numbers(self.emission, f"TargetKind {self.name}: its emitted rows", pfn.DeclarationError)
        if not rows:
            raise pfn.DeclarationError(
                f"TargetKind {self.name}: emission must have a row for each state, found none. Give at least one."
            )
        object.__setattr__(self, "emission", rows)

    def states(self, length: int, first: int = 0) -> tuple[int, ...]:
        """The states of `length` slices, from the state `first` on; fewer where a target must have ended."""
        states = [first]
        while len(states) < length and (state := self.following(states[-1])) is not None:
            states.append(state)
        return tuple(states[:length])

    def following(self, state: int) -> int | None:
        """The state after this one if the target lives on; None if it cannot."""
        if state + 1 < len(self.emission):
            return state + 1
        return 1 if len(self.emission) > 1 else None

    def repeats(self, state: int) -> bool:
        """True if the target, should it live on, goes back to its second state, where its position may change."""
        return state == len(self.emission) - 1 > 0


@dataclass(frozen=True)
class Target:
    """One target: its kind's name, its first slice, its position and state in every slice, its magnitude.

    Without `states` it begins in its kind's first state. Its row in x1 is its position plus the emitted row.

    >>> target = Target("A", 3, [9, 9, 9, 9, 9, 10, 10, 10, 10], magnitude=0.8)
    >>> target.start, target.end
    (3, 11)
    """

    kind: str
    start: int
    positions: tuple[int, ...]
    magnitude: float = 1.0
    states: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str):
            raise pfn.DataError(f"Target: its kind must be the name of one, found {self.kind!r}. Write kind.name.")
        if not isinstance(self.magnitude, Real) or not (isfinite(self.magnitude) and self.magnitude > 0):
            raise pfn.DataError(f"{self}: its magnitude must be a positive number, found {self.magnitude!r}.")
        checked = {
            "start": whole_number(self.start, f"{self}: its first slice", pfn.DataError),
            "positions": whole_numbers(self.positions, f"{self}: its positions", pfn.DataError),
            "states": whole_numbers(self.states, f"{self}: its states", pfn.DataError),
            "magnitude": float(self.magnitude),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)
        if not self.positions or len(self.states) not in (0, len(self.positions)):
            raise pfn.DataError(
                f"{self}: one position, and one state if states are given, is needed for every slice of its life, "
                f"found {len(self.positions)} positions and {len(self.states)} states."
            )

    @property
    def end(self) -> int:
        """The last slice in which it is alive."""
        return self.start + len(self.positions) - 1

    def __str__(self) -> str:
        return f"target {self.kind} from slice {self.start}"


class TargetStep(NamedTuple):
    """A transition of the target state: rows of x4 before and after, None where there is no target."""

    source: int | None
    target: int | None
    moves: tuple[str, ...]
    """Moves that the position may make at the same time."""


@dataclass(frozen=True)
class TargetModel:
    """The positions, the size of the pattern and the kinds, from which all matrices of the tracking network follow."""

    positions: int
    pattern_size: int
    kinds: tuple[TargetKind, ...]

    def __post_init__(self) -> None:
        for name in ("positions", "pattern_size"):
            size = whole_number(getattr(self, name), f"tracking_network: {name}", pfn.DeclarationError)
            if size < 1:
                raise pfn.DeclarationError(f"tracking_network: {name} must be at least 1, found {size}.")
        if not self.kinds:
            raise pfn.DeclarationError("tracking_network: kinds must have at least one TargetKind, found none.")
        for kind in self.kinds:
            if not isinstance(kind, TargetKind):
                raise pfn.DeclarationError(
                    f"tracking_network: kinds must be TargetKinds, found {kind!r}. "
                    "Write TargetKind('A', emission=(2, 0))."
                )
            if max(kind.emission) >= self.pattern_size:
                raise pfn.DeclarationError(
                    f"tracking_network: kind {kind.name} emits row {max(kind.emission)}, but a pattern of size "
                    f"{self.pattern_size} has the rows 0 to {self.pattern_size - 1}. Count rows from 0, or give a "
                    "larger pattern_size."
                )
        for names, what in (([kind.name for kind in self.kinds], "kinds"), (self.state_names, "states")):
            repeated = [name for name, count in Counter(names).items() if count > 1]
            if repeated:
                raise pfn.DeclarationError(
                    f"tracking_network: {what} must have different names, but {', '.join(repeated)} appears twice. "
                    "Rename a kind."
                )

    @property
    def sensors(self) -> int:
        """Number of rows of the observation, which has room for the pattern at every position."""
        return self.positions + self.pattern_size - 1

    @cached_property
    def emission(self) -> tuple[int, ...]:
        """The emitted row of every state of every kind, in the order of x4."""
        return tuple(row for kind in self.kinds for row in kind.emission)

    @property
    def state_names(self) -> list[str]:
        """The labels of x4: kind and number of the state."""
        return [f"{kind.name}{state}" for kind in self.kinds for state in range(len(kind.emission))]

    @cached_property
    def owners(self) -> tuple[tuple[int, int], ...]:
        """For every state in the order of x4: the number of its kind, and its number within the kind."""
        return tuple((number, s) for number, kind in enumerate(self.kinds) for s in range(len(kind.emission)))

    def row(self, kind: int, state: int) -> int:
        """The row of x4 of a state of a kind."""
        return self.owners.index((kind, state))

    @cached_property
    def steps(self) -> tuple[TargetStep, ...]:
        """The transitions of all kinds, in the order of h3 (paper, equation for W6)."""
        found: list[TargetStep] = []
        for number, kind in enumerate(self.kinds):
            first, count = self.row(number, 0), len(kind.emission)
            last = first + count - 1
            found += [TargetStep(state, state + 1, (STAY,)) for state in range(first, last)]
            found.append(TargetStep(last, None, (OFF,)))
            found += [TargetStep(last, first + 1, (CHANGE, STAY))] if count > 1 else []
            found.append(TargetStep(None, first, (ON,)))
        return tuple(found)

    @property
    def state_machine(self) -> StateMachine:
        """The state machine of the targets, whose matrix is W6."""
        names: dict[int | None, str] = {**dict(enumerate(self.state_names)), None: OFF}
        pairs = [(names[step.source], names[step.target]) for step in self.steps]
        return StateMachine(self.state_names, pairs, off=OFF)

    @cached_property
    def position_moves(self) -> tuple[tuple[str, int | None, int | None], ...]:
        """Moves of positions (a component of h2), with the places before and after, in the order of h1."""
        everywhere = range(self.positions)
        return (
            *((STAY, place, place) for place in everywhere),
            *((CHANGE, place, place + 1) for place in everywhere[:-1]),
            *((CHANGE, place + 1, place) for place in everywhere[:-1]),
            *((ON, None, place) for place in everywhere),
            *((OFF, place, None) for place in everywhere),
        )

    @property
    def position_machine(self) -> StateMachine:
        """The state machine of the positions, whose matrix is W2."""
        places = [str(place) for place in range(self.positions)]
        names: dict[int | None, str] = {**dict(enumerate(places)), None: OFF}
        pairs = [(names[source], names[target]) for _, source, target in self.position_moves]
        return StateMachine(places, pairs, off=OFF)


def whole_number(value: object, what: str, error: type[pfn.PfnError]) -> int:
    """The value as an int; refuse anything but a whole number from 0 on, with the given error."""
    try:
        number = index(value)  # type: ignore[arg-type]  # the TypeError is the check
    except TypeError:
        raise error(f"{what} must be a whole number, found {value!r}. Give an int.") from None
    if number < 0:
        raise error(f"{what} must not be negative, found {number}. Everything counts from 0.")
    return number


def whole_numbers(values: Iterable[object], what: str, error: type[pfn.PfnError]) -> tuple[int, ...]:
    """The values as ints; refuse anything but a list of whole numbers from 0 on, with the given error."""
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise error(f"{what} must be a list of whole numbers, found {values!r}. Write [3, 3, 4].")
    return tuple(whole_number(value, what, error) for value in values)
