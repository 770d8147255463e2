"""How good next-word predictions are, whatever model makes them: perplexity and accuracy."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pfn.models.text import IntArray, Sequences

FloatArray = npt.NDArray[np.floating]

# How many sequences are scored at a time: their full distributions fit in some 20 MB with a vocabulary of 5,000.
BLOCK = 512


class Score(NamedTuple):
    """How well next words were predicted: top1 and top10 are the shares ranked first, and among the first ten."""

    perplexity: float
    top1: float
    top10: float
    predicted: int

    def __str__(self) -> str:
        return (
            f"perplexity {self.perplexity:.1f}, right word first {self.top1:.1%}, among the first ten "
            f"{self.top10:.1%} of {self.predicted:,} words"
        )


def score_predictions(probabilities: Callable[[IntArray], FloatArray], sequences: Sequences) -> Score:
    """Score the prediction of every sequence's last word from the words before it.

    `probabilities` takes the distinct contexts (words, contexts), the oldest word first, and gives the
    distributions of the next word (vocabulary, contexts), whose columns sum to 1. Among equally likely words the
    order is taken to be random.

    >>> even = lambda contexts: np.full((4, contexts.shape[1]), 0.25)
    >>> sequences = Sequences(np.array([[0, 1], [1, 3]]), np.array([2, 1]))
    >>> print(score_predictions(even, sequences))
    perplexity 4.0, right word first 25.0%, among the first ten 100.0% of 3 words
    """
    words, counts = sequences
    total = int(counts.sum())
    logarithm, top1, top10 = 0.0, 0.0, 0.0
    for start in range(0, counts.size, BLOCK):
        block = slice(start, start + BLOCK)
        contexts, own = np.unique(words[:-1, block], axis=1, return_inverse=True)
        found = probabilities(contexts)[:, own.ravel()]
        chosen = found[words[-1, block], np.arange(found.shape[1])]
        better, equal = (found > chosen).sum(axis=0), (found == chosen).sum(axis=0)
        with np.errstate(divide="ignore"):  # a word held impossible makes the perplexity infinite
            logarithm += float(counts[block] @ np.log(chosen))
        top1 += float(counts[block] @ np.clip((1 - better) / equal, 0, 1))
        top10 += float(counts[block] @ np.clip((10 - better) / equal, 0, 1))
    return Score(float(np.exp(-logarithm / total)), top1 / total, top10 / total, total)
