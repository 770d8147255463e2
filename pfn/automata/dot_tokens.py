"""Words of a Graphviz DOT text, each with the place where it stands."""

import re
from typing import NamedTuple

from pfn.errors import DeclarationError

_WORDS = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)
      | (?P<mark>->|--|[{}\[\];,=:+])
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<plain>-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?![^\W\d])|[^\W\d]\w*)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


class Token(NamedTuple):
    """A word: `kind` is mark, quoted, plain or end; `text` is what it says, without quotes."""

    kind: str
    text: str
    place: int


def tokenize(source: str) -> list[Token]:
    """The words of the text in order, closed by one of the kind `end`."""
    tokens, place = [], 0
    while place < len(source):
        match = _WORDS.match(source, place)
        if match is None:
            raise dot_error(source, place, "a name, a bracket or an arrow", _unreadable(source[place]))
        kind = str(match.lastgroup)
        if kind != "skip":
            tokens.append(Token(kind, _meaning(kind, match.group()), place))
        place = match.end()
    return [*tokens, Token("end", "the end of the text", len(source))]


def dot_error(source: str, place: int, expected: str, remedy: str) -> DeclarationError:
    """The error that shows the line of the text with a caret under the place."""
    number = source.count("\n", 0, place) + 1
    begin = source.rfind("\n", 0, place) + 1
    line = source[begin:].split("\n", 1)[0].replace("\t", " ")
    found = repr(source[place : place + 10].split("\n")[0]) if place < len(source) else "the end of the text"
    return DeclarationError(
        f"StateMachine.from_dot: line {number}: expected {expected}, found {found}. {remedy}\n"
        f"    {line}\n    {' ' * (place - begin)}^"
    )


def _meaning(kind: str, text: str) -> str:
    if kind != "quoted":
        return text
    return text[1:-1].replace("\\\n", "").replace('\\"', '"')


def _unreadable(letter: str) -> str:
    if letter == '"':
        return "Close the quotation mark."
    if letter == "<":
        return "HTML labels are not read: write the text in quotation marks."
    return "Put names with other characters in quotation marks."
