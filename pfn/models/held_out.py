"""Text that is not learned from: it says when to stop, and how much of the unigram to mix in."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pfn.errors import DataError, OptionError
from pfn.models.language_model import LanguageModel
from pfn.models.predictions import FloatArray
from pfn.models.text import Sequences, Vocabulary, distinct_sequences
from pfn.solve.checks import check_count, check_number

# Held-out text is taken in stretches all over the text, so that it is of the same kind as the rest: every
# thirtieth stretch of at most a thousand words, of which even a short text has two hundred.
HELD_OUT_EVERY, STRETCH, STRETCHES = 30, 1000, 200

# Its perplexity falls slowly at first and rises slowly after the lowest point: so many sweeps without a new lowest
# one end the learning.
PATIENCE = 3

# The weights of the chain against the unigram that are tried on it.
MIXES = np.linspace(0.5, 0.995, 100)


def word_frequencies(tokens: Sequence[str], vocabulary: Vocabulary) -> FloatArray:
    """The unigram model; every word counts at least once, so that none is held impossible.

    >>> word_frequencies(["a", "b", "a"], Vocabulary(["a", "b"]))
    array([0.25, 0.5 , 0.25])
    """
    counts = np.maximum(np.bincount(vocabulary.encode(tokens), minlength=len(vocabulary)), 1)
    shares: FloatArray = counts / counts.sum()
    return shares


def check_learning(features: object, pull: object, seed: object) -> None:
    """Refuse what cannot be learned with."""
    check_count(features, "features", 1)
    check_number(pull, "pull", 0.0, None)
    check_count(seed, "seed", 0)


def split_text(
    tokens: Sequence[str], vocabulary: Vocabulary, lags: int, *, held_out: Sequence[str] | None = None
) -> tuple[Sequences, Sequences]:
    """The distinct sequences of lags + 1 words to learn from, and those to stop on: `held_out`, or a thirtieth."""
    numbers = vocabulary.encode(tokens)
    if held_out is not None:
        return distinct_sequences(numbers, lags + 1), distinct_sequences(vocabulary.encode(held_out), lags + 1)
    if len(numbers) < STRETCHES:
        raise DataError(
            f"expected a text of at least {STRETCHES} tokens, so that some can be held out, found {len(numbers)}. "
            "Give held_out=tokens of another text."
        )
    stretch = min(STRETCH, len(numbers) // STRETCHES)
    last = np.arange(lags, len(numbers)) // stretch  # the stretch in which a sequence ends
    kept = last % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    return distinct_sequences(numbers, lags + 1, where=~kept), distinct_sequences(numbers, lags + 1, where=kept)


def best_mix(model: LanguageModel, sequences: Sequences) -> tuple[float, float]:
    """The lowest perplexity of these sequences that mixing with the unigram gives, and the weight of the chain."""
    chain = model.probabilities_of_last(sequences)
    unigram = model.unigram[sequences.words[-1]]
    mixed = np.log(np.outer(MIXES, chain) + np.outer(1 - MIXES, unigram)) @ sequences.counts
    best = int(np.argmax(mixed))
    return float(np.exp(-mixed[best] / sequences.counts.sum())), float(MIXES[best])


class Stopping:
    """Keeps the best of the models it is shown, one a sweep, and says when no better one is to be expected."""

    def __init__(self, watched: Sequences, *, patience: int = PATIENCE) -> None:
        self._watched, self._patience = watched, patience
        self._history: list[float] = []
        self._best: LanguageModel | None = None

    def rests(self, model: LanguageModel) -> bool:
        """Look at one more model: whether nothing got better for some sweeps."""
        perplexity, mix = best_mix(model, self._watched)
        if self._best is None or perplexity < min(self._history):
            self._best = replace(model, mix=mix)
        self._history.append(perplexity)
        return len(self._history) - 1 - int(np.argmin(self._history)) >= self._patience

    def best(self) -> LanguageModel:
        """The best model, with the perplexities of all."""
        if self._best is None:
            raise OptionError("learning ended before its first sweep was done: ask for at least one, and let it end.")
        return replace(self._best, history=tuple(self._history))
