"""Text: tokens, a vocabulary with unknown words, one-hot matrices, distinct sequences of words with counts."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import pfn
from pfn.solve.checks import check_count

IntArray = npt.NDArray[np.intp]

# Letters, with single apostrophes between them; or digits; or any other character that is not space.
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|\S")


def word_tokens(text: str) -> list[str]:
    """The words, numbers and punctuation marks of a text, in lower case.

    A word is a run of letters with single apostrophes inside; a number is a run of digits; every other character
    that is not space stands for itself. Line ends are not tokens.

    Parameters
    ----------
    text
        The text.

    Examples
    --------
    >>> word_tokens("We'll have corn at our own price. Is't a verdict?")
    ["we'll", 'have', 'corn', 'at', 'our', 'own', 'price', '.', "is't", 'a', 'verdict', '?']
    """
    return _WORD.findall(text.lower())


def character_tokens(text: str) -> list[str]:
    """The characters of a text as they are, spaces and line ends included.

    Parameters
    ----------
    text
        The text.

    Examples
    --------
    >>> character_tokens("To be")
    ['T', 'o', ' ', 'b', 'e']
    """
    return list(text)


@dataclass(frozen=True, init=False, repr=False)
class Vocabulary:
    """Words and their numbers; other words become the unknown word, which has the number 0.

    With `unknown=None` there is no unknown word, and a word that is not in the vocabulary is refused.

    >>> vocabulary = Vocabulary(["to", "be"])
    >>> vocabulary.words
    ('<unk>', 'to', 'be')
    >>> vocabulary.encode(["to", "be", "or"])
    array([1, 2, 0])
    >>> vocabulary.decode([1, 2, 0])
    ['to', 'be', '<unk>']
    """

    words: tuple[str, ...]
    unknown: str | None
    _numbers: dict[str, int] = field(compare=False)

    def __init__(self, words: Iterable[str], *, unknown: str | None = "<unk>") -> None:
        first = () if unknown is None else (unknown,)
        listed = tuple(chain(first, (word for word in words if word != unknown)))
        numbers = {word: number for number, word in enumerate(listed)}
        for place, word in enumerate(listed):
            if not isinstance(word, str):
                raise pfn.DataError(f"Vocabulary: words must be strings, found {word!r} at place {place}.")
            if numbers[word] != place:
                raise pfn.DataError(f"Vocabulary: {word!r} is listed twice. Give every word once.")
        if not listed:
            raise pfn.DataError("Vocabulary: there are no words. Give at least one, or an unknown word.")
        for name, value in {"words": listed, "unknown": unknown, "_numbers": numbers}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, tokens: Iterable[str], *, minimum_count: int = 1, unknown: str | None = "<unk>") -> "Vocabulary":
        """The words that occur at least `minimum_count` times, the most frequent first.

        >>> Vocabulary.of("a rose is a rose is a rose".split(), minimum_count=3)
        Vocabulary(3 words: <unk> a rose)
        """
        check_count(minimum_count, "Vocabulary: minimum_count", 1)
        counts = Counter(_as_tokens(tokens)).most_common()
        return cls((word for word, count in counts if count >= minimum_count), unknown=unknown)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._numbers

    def __repr__(self) -> str:
        shown = " ".join(self.words[:8]) + (" …" if len(self) > 8 else "")
        return f"Vocabulary({len(self)} words: {shown})"

    def number(self, word: str) -> int:
        """The number of a word, or that of the unknown word."""
        found = self._numbers.get(word, None if self.unknown is None else 0)
        if found is None:
            raise pfn.DataError(
                f"{word!r} is not among the {len(self)} words of the vocabulary, which has no unknown word. "
                "Give Vocabulary an unknown='<unk>', or build it from text that has the word."
            )
        return found

    def encode(self, tokens: Iterable[str]) -> IntArray:
        """The numbers of tokens."""
        return np.array([self.number(token) for token in _as_tokens(tokens)], dtype=np.intp)

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """The words that have these numbers."""
        found = [int(number) for number in numbers]
        for place, number in enumerate(found):
            if not 0 <= number < len(self):
                raise pfn.DataError(
                    f"Vocabulary.decode: expected numbers from 0 to {len(self) - 1}, found {number} at place {place}."
                )
        return [self.words[number] for number in found]

    def one_hot(self, tokens: Iterable[str]) -> sp.csc_array:
        """A sparse matrix (words, tokens) with a single 1 in every column.

        >>> Vocabulary(["to", "be"]).one_hot(["be", "to"]).toarray()
        array([[0., 0.],
               [0., 1.],
               [1., 0.]])
        """
        return one_hot(self.encode(tokens), len(self))


def _as_tokens(tokens: Iterable[str]) -> Iterable[str]:
    """The tokens; refuse a text that was not taken apart."""
    if isinstance(tokens, str):
        raise pfn.DataError(
            f"expected a list of tokens, found the text {tokens[:20]!r}. "
            "Take it apart with word_tokens(text), character_tokens(text) or text.split()."
        )
    return tokens


def one_hot(numbers: Any, size: int) -> sp.csc_array:
    """A sparse matrix (size, numbers) with a single 1 in every column."""
    columns = np.arange(len(numbers) + 1)
    return sp.csc_array((np.ones(len(numbers)), np.asarray(numbers), columns), shape=(size, len(numbers)))


class WordSequences(NamedTuple):
    """Distinct sequences of words: their numbers (length, sequences), the oldest word first, and their counts."""

    words: IntArray
    counts: npt.NDArray[np.int64]


def distinct_sequences(numbers: IntArray, length: int, *, where: npt.NDArray[np.bool_] | None = None) -> WordSequences:
    """The distinct runs of `length` words in a text given by word numbers; length 2 gives its bigrams.

    `where`: for each of the runs, in the order of the text, whether it counts.

    >>> words, counts = distinct_sequences(np.array([1, 2, 1, 2, 3]), 2)
    >>> words
    array([[1, 2, 2],
           [2, 1, 3]])
    >>> counts
    array([2, 1, 1])
    """
    if len(numbers) < length:
        raise pfn.DataError(f"expected a text of at least {length} tokens, found {len(numbers)}.")
    runs = np.lib.stride_tricks.sliding_window_view(numbers, length)
    runs = runs if where is None else runs[where]
    order = np.lexsort(runs.T[::-1])
    ordered = runs[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    starts = np.flatnonzero(new)
    return WordSequences(np.ascontiguousarray(ordered[starts].T), np.diff(np.append(starts, len(ordered))))
