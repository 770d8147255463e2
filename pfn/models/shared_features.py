"""The chain with one set of features for both roles: what a word has as context, it has as the next word too."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.models.held_out import Stopping, check_learning, split_text, word_frequencies
from pfn.models.language import PULL
from pfn.models.language_model import LanguageModel, emission_of
from pfn.models.predictions import FloatArray
from pfn.models.text import Sequences, Vocabulary
from pfn.updates import normalize
from pfn.updates.maps import sampled_statistics

# Tied features move more slowly than those of the chain, and with rests in between.
PATIENCE = 10


class Tied(NamedTuple):
    """The features B of words and the transitions A between them; V follows from B."""

    B: FloatArray
    A: FloatArray


def learn_shared_features(
    tokens: Sequence[str],
    vocabulary: Vocabulary,
    features: int,
    *,
    held_out: Sequence[str] | None = None,
    pull: float = PULL,
    sweeps: int = 200,
    seed: int = 0,
) -> LanguageModel:
    """The chain with lag 1 in which V is B turned round by the frequencies of the words: V = diag(u) Bᵀ / (B u).

    It predicts a little worse than `learn_chain`, but similar words have similar features: both what precedes and
    what follows a word shapes them. The options are those of `learn_chain`.

    >>> tokens = ("the cat sees a dog . the dog sees a cat . " * 40).split()
    >>> model = learn_shared_features(tokens, Vocabulary.of(tokens), features=6)
    >>> [word for word, _ in model.nearest("cat", top=1)]
    ['dog']
    """
    check_learning(features, pull, seed)
    unigram = word_frequencies(tokens, vocabulary)
    learned, watched = split_text(tokens, vocabulary, 1, held_out=held_out)
    stopping = Stopping(watched, patience=PATIENCE)
    tied = _start(unigram, features, np.random.default_rng(seed))
    for _ in range(sweeps):
        tied = _sweep(tied, unigram, learned, pull)
        model = LanguageModel(vocabulary, (tied.B,), (tied.A,), emission_of(tied.B, unigram), unigram)
        if stopping.rests(model):
            break
    return stopping.best()


def _start(unigram: FloatArray, features: int, generator: np.random.Generator) -> Tied:
    """Nearly equal features that move on in a circle half of the time: staying the same would be a trap here."""
    B = generator.uniform(0.5, 1.5, (features, unigram.size))
    A = 0.5 * np.roll(np.eye(features), 1, axis=0) + 0.5 / features
    return Tied(_normalized(B), A)


def _sweep(tied: Tied, unigram: FloatArray, bigrams: Sequences, pull: float) -> Tied:
    """One multiplicative update of A, and one of B from both roles, for counts ≈ V A B with columns counted as often.

    R is needed at the bigrams that occur only: where the count is zero, so is the ratio of count and R.
    """
    B, A = tied
    V, H = emission_of(B, unigram), A @ B
    before, after = bigrams.words
    R = np.empty(before.size)
    sampled_statistics(V, H.T, after, before, R)
    ratios = sp.csr_array((bigrams.counts / R, (after, before)), shape=(unigram.size, unigram.size))
    field = (ratios.T @ V).T
    as_context, as_next = B * (A.T @ field), V * (ratios @ H.T)
    occurrences = as_context + as_next.T
    mean = occurrences.sum(axis=1, keepdims=True) / occurrences.sum()
    return Tied(_normalized(occurrences + pull * mean), _normalized(A * (field @ B.T)))


def _normalized(matrix: FloatArray) -> FloatArray:
    normalize([matrix], "columns", [slice(None)])
    return matrix
