"""Syntax of regular expressions: from a pattern to a tree of letters, concatenations, alternations and repeats."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from pfn.errors import DeclarationError

# Groups inside groups: beyond that Python's own stack would be the limit.
DEEPEST = 100

_CONTROL_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}
_SIMPLE_COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@dataclass(frozen=True)
class Letters:
    """One position of the pattern: any one of these letters."""

    letters: tuple[str, ...]


@dataclass(frozen=True)
class Concatenation:
    """The parts, one after another."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Alternation:
    """One of the options."""

    options: tuple[Tree, ...]


@dataclass(frozen=True)
class Repeat:
    """The body from `least` to `most` times, or without bound."""

    body: Tree
    least: int
    most: int | None


Tree: TypeAlias = Letters | Concatenation | Alternation | Repeat


def parse(pattern: str, alphabet: Collection[str] | None = None) -> Tree:
    """The tree of a pattern. Without an alphabet, `.` and `[^...]` are refused and any letter is allowed."""
    if not isinstance(pattern, str):
        raise DeclarationError(
            f"RegularExpression: pattern must be a string, found {type(pattern).__name__}. Write it in quotation marks."
        )
    parser = _Parser(pattern, alphabet)
    tree = parser.choice(depth=0)
    if parser.place < len(pattern):
        raise parser.error("no closing ')' without an opening '('", "Remove it, or write \\) for the letter.")
    return tree


def pattern_error(pattern: str, place: int, expected: str, remedy: str) -> DeclarationError:
    """An error that shows the pattern with a caret under the place."""
    shown = "".join(letter if letter.isprintable() else "·" for letter in pattern)
    found = repr(pattern[place]) if place < len(pattern) else "the end of the pattern"
    return DeclarationError(
        f"RegularExpression: expected {expected}, found {found} at position {place}. {remedy}\n"
        f"    {shown}\n    {' ' * place}^"
    )


class _Parser:
    """Recursive descent through a pattern; `place` is the next character."""

    def __init__(self, pattern: str, alphabet: Collection[str] | None) -> None:
        self.pattern = pattern
        self.alphabet = alphabet
        self.place = 0

    def error(self, expected: str, remedy: str, place: int | None = None) -> DeclarationError:
        return pattern_error(self.pattern, self.place if place is None else place, expected, remedy)

    @property
    def next(self) -> str:
        return self.pattern[self.place : self.place + 1]

    def take(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.place)
        self.place += len(text) * found
        return found

    def choice(self, depth: int) -> Tree:
        """Read alternatives: a|b."""
        options = [self.sequence(depth)]
        while self.take("|"):
            options.append(self.sequence(depth))
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def sequence(self, depth: int) -> Tree:
        """Read parts up to the next | or )."""
        parts = []
        while self.next not in ("", "|", ")"):
            parts.append(self.repeated(depth))
        return Concatenation(tuple(parts))

    def repeated(self, depth: int) -> Tree:
        """Read a part with its repetition, if it has one."""
        body = self.atom(depth)
        counts = self.counts()
        if counts is None:
            return body
        if self.next and self.next in "*+?{":
            raise self.error(
                "one repetition at a time",
                "Put the repeated part in a group, as in (a*)?, or escape the letter with \\.",
            )
        return Repeat(body, *counts)

    def counts(self) -> tuple[int, int | None] | None:
        """Read *, +, ? or counts in braces; None if there is none of them."""
        if self.next in _SIMPLE_COUNTS:
            self.place += 1
            return _SIMPLE_COUNTS[self.pattern[self.place - 1]]
        opening = self.place
        if not self.take("{"):
            return None
        least, most = self.bounds()
        if most is not None and most < least:
            raise self.error(f"counts in rising order, not {least} to {most}", f"Write {{{most},{least}}}.", opening)
        return least, most

    def bounds(self) -> tuple[int, int | None]:
        """Read the counts in braces, and the closing brace."""
        remedy = "Write {2}, {2,}, {,3} or {2,3}, or \\{ for the letter."
        least = self.number()
        most = least
        if self.take(","):
            most = self.number()
        elif least is None:
            raise self.error("a count", remedy)
        if not self.take("}"):
            raise self.error("'}' after the count", remedy)
        return least or 0, most

    def number(self) -> int | None:
        """Read digits, if there are any."""
        begin = self.place
        while self.next and self.next in "0123456789":
            self.place += 1
        return int(self.pattern[begin : self.place]) if self.place > begin else None

    def atom(self, depth: int) -> Tree:
        """Read a group, a class, a dot or a letter."""
        begin = self.place
        if self.take("("):
            return self.group(begin, depth)
        if self.take("["):
            return Letters(self.letter_class(begin))
        if self.take("."):
            return Letters(self.given_alphabet(begin, "'.'"))
        return Letters((self.known(self.letter(), begin),))

    def group(self, opening: int, depth: int) -> Tree:
        """Read a group after its opening parenthesis."""
        if depth == DEEPEST:
            raise self.error(f"at most {DEEPEST} groups inside each other", "Write the pattern flatter.", opening)
        if self.next == "?" and not self.take("?:"):
            raise self.error("a plain group", "Only (...) and (?:...) are known, no other (?...).")
        inside = self.choice(depth + 1)
        if not self.take(")"):
            raise self.error("')'", f"Close the group that begins at position {opening}.")
        return inside

    def letter(self) -> str:
        """Read a letter outside of classes."""
        letter = self.next
        if letter in ("*", "+", "?", "{"):
            raise self.error(f"something to repeat before {letter!r}", f"Write \\{letter} for the letter.")
        if letter in ("^", "$"):
            raise self.error(
                "no anchor", f"Patterns match whole strings: remove it, or write \\{letter} for the letter."
            )
        if letter in ("]", "}"):
            raise self.error(f"no closing {letter!r} without an opening one", f"Write \\{letter} for the letter.")
        self.place += 1
        return self.escaped() if letter == "\\" else letter

    def escaped(self) -> str:
        """Read the letter after a backslash."""
        letter = self.next
        if not letter or (letter.isalnum() and letter not in _CONTROL_LETTERS):
            raise self.error(
                "a sign, n, t or r after the backslash",
                "Write \\\\ for a backslash, and a class such as [0-9] for kinds of letters.",
            )
        self.place += 1
        return _CONTROL_LETTERS.get(letter, letter)

    def letter_class(self, opening: int) -> tuple[str, ...]:
        """Read a class after its opening bracket."""
        excluded = self.take("^")
        letters: dict[str, None] = {}
        while not self.take("]"):
            letters |= dict.fromkeys(self.class_item(opening))
        if not excluded:
            return self.some(tuple(letters), opening)
        alphabet = self.given_alphabet(opening, "a class [^...]")
        return self.some(tuple(letter for letter in alphabet if letter not in letters), opening)

    def class_item(self, opening: int) -> tuple[str, ...]:
        """Read a letter of a class, or a range of letters."""
        begin = self.place
        first = self.class_letter(opening)
        if self.next != "-" or self.pattern[self.place + 1 : self.place + 2] in ("]", ""):
            return (self.known(first, begin),)
        self.place += 1
        last = self.class_letter(opening)
        if last < first:
            raise self.error(
                f"a range from a lower to a higher letter, not {first}-{last}",
                f"Write {last}-{first}.",
                begin,
            )
        span = (chr(code) for code in range(ord(first), ord(last) + 1))
        return tuple(letter for letter in span if self.alphabet is None or letter in self.alphabet)

    def class_letter(self, opening: int) -> str:
        """Read a letter inside a class."""
        if not self.next:
            raise self.error("']'", f"Close the class that begins at position {opening}.")
        letter = self.next
        self.place += 1
        return self.escaped() if letter == "\\" else letter

    def some(self, letters: tuple[str, ...], opening: int) -> tuple[str, ...]:
        """The letters of a class; refuse an empty class."""
        if not letters:
            raise self.error(
                "a class with at least one letter of the alphabet",
                "Name a letter in it; write \\] for the letter ']'.",
                opening,
            )
        return letters

    def known(self, letter: str, begin: int) -> str:
        """The letter; refuse one that is not in the given alphabet."""
        if self.alphabet is not None and letter not in self.alphabet:
            raise self.error(
                f"a letter of the given alphabet {''.join(self.alphabet)!r}",
                "Add the letter to alphabet=.",
                begin,
            )
        return letter

    def given_alphabet(self, begin: int, what: str) -> tuple[str, ...]:
        """The given alphabet; refuse a pattern that needs one and has none."""
        if self.alphabet is None:
            raise self.error(
                f"a given alphabet for {what} to choose from",
                "Write RegularExpression(pattern, alphabet=...), or list the letters in a class.",
                begin,
            )
        return tuple(self.alphabet)
