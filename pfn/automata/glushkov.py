"""Glushkov's construction: a pattern's tree to positions and who may follow whom, nothing silent."""

from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from pfn.automata.pattern import Choice, Letters, Repeat, Sequence, Tree
from pfn.errors import DeclarationError

MOST_STATES = 10_000
MOST_TRANSITIONS = 1_000_000
"""Limits that stop patterns such as ((a{99}){99}){99} before they fill the memory."""


class Fragment(NamedTuple):
    """What the outside needs to know of a part: may it be empty, where it begins, where it ends."""

    empty: bool
    first: tuple[int, ...]
    last: tuple[int, ...]


NOTHING = Fragment(True, (), ())


@dataclass
class Positions:
    """The positions of a pattern, one for every letter it writes, counts written out."""

    letters: list[tuple[str, ...]] = field(default_factory=list)
    follows: dict[tuple[int, int], None] = field(default_factory=dict)
    whole: Fragment = NOTHING
    states: int = 0
    transitions: int = 0


def positions_of(tree: Tree) -> Positions:
    """Positions in the order of the pattern, the pairs that may follow each other, and the whole."""
    positions = Positions()
    positions.whole = _place(tree, positions)
    return positions


def _place(tree: Tree, positions: Positions) -> Fragment:
    match tree:
        case Letters(letters):
            return _letter(letters, positions)
        case Sequence(parts):
            return _chain([_place(part, positions) for part in parts], positions)
        case Choice(options):
            return _either([_place(option, positions) for option in options])
        case Repeat():
            return _repeated(tree, positions)


def _letter(letters: tuple[str, ...], positions: Positions) -> Fragment:
    positions.states += len(letters)
    _check_size("states (letters and class members, counts written out)", positions.states, MOST_STATES)
    positions.letters.append(letters)
    number = len(positions.letters) - 1
    return Fragment(False, (number,), (number,))


def _chain(parts: list[Fragment], positions: Positions) -> Fragment:
    whole = NOTHING
    for part in parts:
        _link(whole.last, part.first, positions)
        whole = Fragment(
            whole.empty and part.empty,
            whole.first + part.first if whole.empty else whole.first,
            whole.last + part.last if part.empty else part.last,
        )
    return whole


def _either(options: list[Fragment]) -> Fragment:
    return Fragment(
        any(option.empty for option in options),
        tuple(number for option in options for number in option.first),
        tuple(number for option in options for number in option.last),
    )


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
    for pair in product(lasts, firsts):
        if pair not in positions.follows:
            positions.follows[pair] = None
            positions.transitions += len(positions.letters[pair[0]]) * len(positions.letters[pair[1]])
            _check_size("transitions", positions.transitions, MOST_TRANSITIONS)


def _check_size(what: str, found: int, most: int) -> None:
    if found > most:
        raise DeclarationError(
            f"RegularExpression: a pattern may have up to {most} {what}, found more. Lower its counts, or "
            "use smaller classes."
        )
