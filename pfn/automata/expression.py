"""Regular expressions as state machines with emissions: strings in, completed strings out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pfn.automata.basis import stacked_units
from pfn.automata.glushkov import Positions, positions_of
from pfn.automata.machine import StateMachine
from pfn.automata.notebook import expression_html
from pfn.automata.pattern import parse
from pfn.automata.sequences import FloatArray, checked_values
from pfn.errors import DataError, DeclarationError, NoExactSolution, OptionError


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
    """Whether the empty string matches; it has no time slices, so no network can say so."""
    _emitted: tuple[str, ...] = field(compare=False, repr=False)

    def __init__(self, pattern: str, *, alphabet: Iterable[str] | None = None) -> None:
        given = None if alphabet is None else _checked_alphabet(alphabet)
        positions = positions_of(parse(pattern, given))
        if not positions.letters:
            raise DeclarationError(
                f"RegularExpression: a pattern must contain a letter, but {pattern!r} matches nothing but "
                "the empty string, which has no time slices. Add a letter."
            )
        emitted = [letter for letters in positions.letters for letter in letters]
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "alphabet", given or tuple(sorted(set(emitted))))
        object.__setattr__(self, "machine", _machine(positions))
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
        """Whether the whole string matches, by running the machine on it."""
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
        """What a string says of the variables `letters` and `states`; the wildcard is an unknown letter.

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
        self._check_string(string, wildcard)
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
        return expression_html(self.pattern, self.machine._diagram(), self._emitted, self.accepting)

    def _check_string(self, string: str, wildcard: str) -> None:
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


def _checked_alphabet(alphabet: Iterable[str]) -> tuple[str, ...]:
    letters = tuple(alphabet)
    if not letters or len(set(letters)) < len(letters) or any(len(letter) != 1 for letter in letters):
        raise DeclarationError(
            f"RegularExpression: alphabet must consist of different single letters, found {letters!r}. "
            "Write it as alphabet='abc'."
        )
    return letters


def _machine(positions: Positions) -> StateMachine:
    states = [_states_at(positions, (number,)) for number in range(len(positions.letters))]
    return StateMachine(
        [name for names in states for name in names],
        [(source, target) for last, first in positions.follows for source in states[last] for target in states[first]],
        start=_states_at(positions, positions.whole.first),
    )


def _states_at(positions: Positions, numbers: Iterable[int]) -> tuple[str, ...]:
    """The states of these positions, named by letter and position from 1."""
    return tuple(f"{letter}{number + 1}" for number in numbers for letter in positions.letters[number])
