"""Regular expressions as state machines with emissions: strings in, completed strings out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pfn.automata.arrays import FloatArray, checked_values, stacked_units
from pfn.automata.diagram import HTML_HEADER, role_and_targets
from pfn.automata.machine import StateMachine
from pfn.automata.pattern import Alternation, Concatenation, Letters, Repeat, Tree, parse
from pfn.errors import DataError, DeclarationError, NoExactSolution, OptionError
from pfn.network.tables import html_table

# Limits that stop patterns such as ((a{99}){99}){99} before they fill the memory.
MOST_STATES = 10_000
MOST_TRANSITIONS = 1_000_000


class UnknownLetterError(DataError, NoExactSolution):
    """A string with a letter that is not in the alphabet: it cannot be encoded, and it cannot match."""


@dataclass(frozen=True, init=False)
class RegularExpression:
    """A pattern compiled to a machine with one state for each position and each letter that may stand there.

    Known are letters, `|`, groups, `*`, `+`, `?`, counts `{2}`, `{2,}`, `{,3}`, `{2,3}`, classes `[abc]`
    and `[a-d]`, escapes with a backslash, and, with a given alphabet, `.` and `[^ab]`. The alphabet is the
    pattern's letters in order, unless given. In a network, `letters[t] = emission @ states[t]` and
    `[states[t], states[t + 1]] = machine.matrix() @ transitions[t]`. A pattern of one position has no
    transitions: its matrix has no columns.

    >>> expression = RegularExpression("a+b")
    >>> expression.machine.transition_labels
    ('a1→a1', 'a1→b2')
    >>> expression.initial, expression.accepting
    (('a1',), ('b2',))
    >>> expression.matches("aab"), expression.matches("ba")
    (True, False)
    """

    pattern: str
    alphabet: tuple[str, ...]
    machine: StateMachine = field(compare=False, repr=False)
    """States named by letter and position, its start states the initial ones."""
    accepting: tuple[str, ...] = field(compare=False, repr=False)
    """The states in which a string may end."""
    accepts_empty: bool = field(compare=False, repr=False)
    """True if the empty string matches; it has no time slices, so no network can say so."""
    _emitted: tuple[str, ...] = field(compare=False, repr=False)

    def __init__(self, pattern: str, *, alphabet: Iterable[str] | None = None) -> None:
        given = None if alphabet is None else tuple(alphabet)
        if given is not None and (not given or len(set(given)) < len(given) or any(len(one) != 1 for one in given)):
            raise DeclarationError(
                f"RegularExpression: alphabet must consist of different single letters, found {given!r}. "
                "Write it as alphabet='abc'."
            )
        positions = positions_of(parse(pattern, given))
        if not positions.letters:
            raise DeclarationError(
                f"RegularExpression: a pattern must contain a letter, but {pattern!r} matches nothing but "
                "the empty string, which has no time slices. Add a letter."
            )
        emitted = [letter for letters in positions.letters for letter in letters]
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "alphabet", given or tuple(sorted(set(emitted))))
        states = [_states_at(positions, (number,)) for number in range(len(positions.letters))]
        machine = StateMachine(
            [name for names in states for name in names],
            [
                (one, next_one)
                for last, first in positions.follows
                for one in states[last]
                for next_one in states[first]
            ],
            start=_states_at(positions, positions.whole.first),
        )
        object.__setattr__(self, "machine", machine)
        object.__setattr__(self, "accepting", _states_at(positions, positions.whole.last))
        object.__setattr__(self, "accepts_empty", positions.whole.empty)
        object.__setattr__(self, "_emitted", tuple(emitted))

    @property
    def initial(self) -> tuple[str, ...]:
        """The states in which a string may begin."""
        return self.machine.start

    @property
    def emission(self) -> FloatArray:
        """The emission matrix (letters, states): a 1 where the state emits the letter."""
        rows = {letter: row for row, letter in enumerate(self.alphabet)}
        matrix: FloatArray = stacked_units((len(rows), [rows[letter] for letter in self._emitted])).toarray()
        return matrix

    def matches(self, string: str) -> bool:
        """True if the whole string matches, by a run of the machine on it."""
        if not string:
            return self.accepts_empty
        following: dict[str, set[str]] = {state: set() for state in self.machine.states}
        for source, target in self.machine.transitions:
            following[source].add(target)
        emitted = dict(zip(self.machine.states, self._emitted, strict=True))
        reached: set[str] = set()
        for place, letter in enumerate(string):
            candidates = set().union(*(following[state] for state in reached)) if place else set(self.initial)
            reached = {state for state in candidates if emitted[state] == letter}
        return not reached.isdisjoint(self.accepting)

    def observe(self, string: str, *, wildcard: str = "?") -> dict[str, FloatArray]:
        """Observations of the variables `letters` and `states` for a string; the wildcard is an unknown letter.

        Letters are one-hot columns, NaN for unknown ones. States are hidden, except that entries of the
        first that are not initial and of the last that are not accepting are 0. Superpose strings of equal
        length by adding their arrays.

        >>> observed = RegularExpression("ab").observe("a?")
        >>> observed["letters"]
        array([[ 1., nan],
               [ 0., nan]])
        >>> observed["states"]
        array([[nan,  0.],
               [ 0., nan]])
        """
        if len(wildcard) != 1 or wildcard in self.alphabet:
            raise OptionError(
                "observe: wildcard must be one character that is not in the alphabet "
                f"{''.join(self.alphabet)!r}, found {wildcard!r}. Choose another with wildcard=."
            )
        if not string:
            raise DataError(
                "observe: the string must have at least one letter, found the empty string, which has no "
                "time slices. Ask expression.accepts_empty whether it matches."
            )
        for place, letter in enumerate(string):
            if letter != wildcard and letter not in self.alphabet:
                raise UnknownLetterError(
                    f"observe: the letters of a string must be in the alphabet {''.join(self.alphabet)!r} "
                    f"of the pattern {self.pattern!r}, found {letter!r} at position {place}. Nothing with "
                    "this letter matches; to let it be encoded, give RegularExpression an alphabet= that "
                    f"has it, or write {wildcard!r} for an unknown letter."
                )
        letters = np.zeros((len(self.alphabet), len(string)))
        for column, letter in enumerate(string):
            if letter == wildcard:
                letters[:, column] = np.nan
            else:
                letters[self.alphabet.index(letter), column] = 1.0
        states = np.full((len(self.machine.states), len(string)), np.nan)
        states[[name not in self.initial for name in self.machine.states], 0] = 0.0
        states[[name not in self.accepting for name in self.machine.states], -1] = 0.0
        return {"letters": letters, "states": states}

    def complete(
        self,
        letters: npt.ArrayLike | None = None,
        *,
        states: npt.ArrayLike | None = None,
        wildcard: str = "?",
    ) -> str:
        """The string that inferred values of `letters` or of `states` spell.

        A column says a letter if that letter has more than half of its sum; otherwise it says the wildcard.

        >>> RegularExpression("ab|cb").complete([[0.9, 0.0], [0.0, 1.0], [0.1, 0.0]])
        'ab'
        """
        if (letters is None) == (states is None):
            raise OptionError(
                "complete: expected the values of one variable, found both letters and states or none. "
                "Give one of them."
            )
        if letters is None:
            values = self.emission @ checked_values("complete", np.asarray(states), len(self.machine.states))
        else:
            values = checked_values("complete", letters, len(self.alphabet))
        clear = values > values.sum(axis=0) / 2
        return "".join(self.alphabet[int(column.argmax())] if column.any() else wildcard for column in clear.T)

    def _repr_html_(self) -> str:
        diagram, rows = self.machine._diagram(), []
        for name, letter in zip(diagram.states, self._emitted, strict=True):
            role, targets = role_and_targets(diagram, name)
            ends = "end" if name in self.accepting else ""
            rows.append((name, letter, ", ".join(filter(None, (role, ends))), targets))
        table = html_table(("state", "emits", *HTML_HEADER[1:]), rows)
        return f"<p>RegularExpression <code>{escape(self.pattern)}</code>: {len(rows)} states</p>{table}"


def _states_at(positions: Positions, numbers: Iterable[int]) -> tuple[str, ...]:
    """The states of some positions, named by letter and position from 1."""
    return tuple(f"{letter}{number + 1}" for number in numbers for letter in positions.letters[number])


class Fragment(NamedTuple):
    """A part of the pattern as seen from outside: whether it may be empty, the positions where it begins and ends."""

    empty: bool
    first: tuple[int, ...]
    last: tuple[int, ...]


NOTHING = Fragment(True, (), ())


@dataclass
class Positions:
    """Positions of a pattern in Glushkov's construction: one for every letter it writes, counts written out."""

    letters: list[tuple[str, ...]] = field(default_factory=list)
    follows: dict[tuple[int, int], None] = field(default_factory=dict)
    whole: Fragment = NOTHING
    states: int = 0
    transitions: int = 0


def positions_of(tree: Tree) -> Positions:
    """Positions in the order of the pattern, the pairs that may follow each other, and the whole pattern."""
    positions = Positions()
    positions.whole = _place(tree, positions)
    return positions


def _place(tree: Tree, positions: Positions) -> Fragment:
    """Add the positions of a tree, and the pairs within it that may follow each other."""
    match tree:
        case Letters(letters):
            positions.states += len(letters)
            _check_size("states (letters and class members, counts written out)", positions.states, MOST_STATES)
            positions.letters.append(letters)
            number = len(positions.letters) - 1
            return Fragment(False, (number,), (number,))
        case Concatenation(parts):
            return _chain([_place(part, positions) for part in parts], positions)
        case Alternation(options):
            fragments = [_place(option, positions) for option in options]
            return Fragment(
                any(option.empty for option in fragments),
                tuple(number for option in fragments for number in option.first),
                tuple(number for option in fragments for number in option.last),
            )
        case Repeat():
            return _repeated(tree, positions)


def _chain(parts: list[Fragment], positions: Positions) -> Fragment:
    """Parts one after the other: each end of one may be followed by each beginning of the next."""
    whole = NOTHING
    for part in parts:
        _link(whole.last, part.first, positions)
        whole = Fragment(
            whole.empty and part.empty,
            whole.first + part.first if whole.empty else whole.first,
            whole.last + part.last if part.empty else part.last,
        )
    return whole


def _repeated(tree: Repeat, positions: Positions) -> Fragment:
    """`least` copies, then optional ones inside each other, or the last copy in a loop."""
    if tree.most == 0:
        return NOTHING
    copy = _place(tree.body, positions)
    if not copy.first:
        return copy
    needed = tree.least or 1
    copies = [copy] + [_place(tree.body, positions) for _ in range((tree.most or needed) - 1)]
    if tree.most is None:
        _link(copies[-1].last, copies[-1].first, positions)
    optional = NOTHING
    for part in reversed(copies[needed:]):
        optional = _chain([part, optional], positions)._replace(empty=True)
    whole = _chain([*copies[:needed], optional], positions)
    return whole if tree.least else whole._replace(empty=True)


def _link(lasts: tuple[int, ...], firsts: tuple[int, ...], positions: Positions) -> None:
    """Let each of the first positions follow each of the last ones."""
    for pair in product(lasts, firsts):
        if pair not in positions.follows:
            positions.follows[pair] = None
            positions.transitions += len(positions.letters[pair[0]]) * len(positions.letters[pair[1]])
            _check_size("transitions", positions.transitions, MOST_TRANSITIONS)


def _check_size(what: str, found: int, most: int) -> None:
    """Refuse a pattern that has grown too large."""
    if found > most:
        raise DeclarationError(
            f"RegularExpression: a pattern may have up to {most} {what}, found more. Lower its counts, or "
            "use smaller classes."
        )
