"""Names as the paper's symbols: x1 is an x with a 1 below, or above where an index takes the place below."""

import re
from html import escape
from typing import NamedTuple

_NAME = re.compile(r"(?P<word>[^\W\d_]+)_?(?P<rest>\w*)", re.ASCII)
_WORDS = re.compile(r"[a-z\d][a-z\d ]*", re.ASCII | re.IGNORECASE)


class Notation(NamedTuple):
    """A word with marks above and below, as formula for matplotlib and as HTML for Graphviz."""

    word: str
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    def math(self) -> str:
        """The symbol in matplotlib's mathtext; a word that is no plain name stays text."""
        marks = _mark("^", self.above) + _mark("_", self.below)
        if _WORDS.fullmatch(self.word):
            return f"${_letters(self.word)}{marks}$"
        return plain(self.word) + (f"${marks}$" if marks else "")

    def html(self) -> str:
        """The symbol in Graphviz' HTML-like labels."""
        above, below = (escape(",".join(marks)) for marks in (self.above, self.below))
        return escape(self.word) + (f"<SUP>{above}</SUP>" if above else "") + (f"<SUB>{below}</SUB>" if below else "")


def symbol(name: str, index: str = "") -> Notation:
    """A name as a symbol: its last number goes below, or above where an index takes the place below.

    >>> symbol("x1").math(), symbol("x1", "t").math(), symbol("W1_0").math(), symbol("event", "2").html()
    ('$x_{1}$', '$x^{1}_{t}$', '$W^{1}_{0}$', 'event<SUB>2</SUB>')
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return Notation(name, (), (index,) if index else ())
    parts = tuple(filter(None, found["rest"].split("_")))
    return Notation(found["word"], parts, (index,)) if index else Notation(found["word"], parts[:-1], parts[-1:])


def plain(text: str) -> str:
    """Text escaped, so that matplotlib reads no formula in it."""
    return text.replace("$", r"\$") + (" " if text.endswith("\\") else "")  # a formula may follow


def _letters(word: str) -> str:
    spaced = word.replace(" ", r"\ ")
    return word if len(word) == 1 else rf"\mathrm{{{spaced}}}"


def _mark(mark: str, parts: tuple[str, ...]) -> str:
    return f"{mark}{{{','.join(_letters(part) if part.isalpha() else part for part in parts)}}}" if parts else ""
