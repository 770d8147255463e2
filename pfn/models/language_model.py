"""A learned language model: what comes next, how good that is, and what it has learned, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import pfn
from pfn.models.predictions import FloatArray, Score, score_predictions
from pfn.models.text import IntArray, Sequences, Vocabulary, distinct_sequences
from pfn.solve.checks import check_count


class Transition(NamedTuple):
    """A strong transition between features: words that have the one, words that the other makes likely next."""

    share: float  # of all steps of the text
    before: list[str]
    after: list[str]


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """The chain x = B y, x2 = A x, z = V x2 with its values, mixed with the unigram model.

    - `features`, `transitions`: B and A, one for the last word and one for every further lag; `emission`: V;
    - `unigram`: the frequencies of the words; `mix`: the weight of the chain against them;
    - `history`: the perplexity of held-out text along the sweeps, where the model was learned with some.
    """

    vocabulary: Vocabulary
    features: tuple[FloatArray, ...]
    transitions: tuple[FloatArray, ...]
    emission: FloatArray
    unigram: FloatArray
    mix: float = 1.0
    history: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        words, size = len(self.vocabulary), np.shape(self.emission)[-1]
        wanted = {"emission": (words, size), "unigram": (words,)}
        found = {"emission": np.shape(self.emission), "unigram": np.shape(self.unigram)}
        for lag, (B, A) in enumerate(zip(self.features, self.transitions, strict=True), 1):
            wanted |= {f"features of lag {lag}": (size, words), f"transitions of lag {lag}": (size, size)}
            found |= {f"features of lag {lag}": np.shape(B), f"transitions of lag {lag}": np.shape(A)}
        for name, shape in wanted.items():
            if found[name] != shape:
                raise pfn.DataError(
                    f"LanguageModel: {name} must have the shape {shape} for {words} words and {size} features, found "
                    f"{found[name]}."
                )

    @property
    def lags(self) -> int:
        """How many words of the context count."""
        return len(self.features)

    def __repr__(self) -> str:
        size, lags = self.emission.shape[1], f"{self.lags} lag{'s' * (self.lags > 1)}"
        return f"LanguageModel({len(self.vocabulary)} words, {size} features, {lags}, mix {self.mix:.2f})"

    def next_features(self, contexts: IntArray) -> FloatArray:
        """x2 with columns that sum to 1 for contexts (words, contexts), the oldest word first.

        A column is zero where all words of the context have no features.
        """
        lags = zip(self.transitions, self.features, contexts[::-1], strict=False)  # a context may be shorter
        x2: FloatArray = np.sum([A @ B[:, words] for A, B, words in lags], axis=0)
        sums = x2.sum(axis=0)
        unit: FloatArray = np.divide(x2, sums, out=np.zeros_like(x2), where=sums > 0)
        return unit

    def probabilities(self, contexts: IntArray) -> FloatArray:
        """The distributions of the next word (vocabulary, contexts)."""
        x2 = self.next_features(contexts)
        chain = np.where(x2.any(axis=0), self.mix, 0.0)  # a context without features leaves the unigram model
        found: FloatArray = self.emission @ (x2 * chain) + np.outer(self.unigram, 1 - chain)
        return found

    def probabilities_of_last(self, sequences: Sequences) -> FloatArray:
        """The chain's own probability, without the unigram, of the last word of each sequence."""
        x2 = self.next_features(sequences.words[:-1])
        found: FloatArray = np.einsum("ck,kc->c", self.emission[sequences.words[-1]], x2)
        return found

    def predict(self, context: Sequence[str], *, top: int = 10) -> list[tuple[str, float]]:
        """The most likely next words with their probabilities; of the context the last `lags` words count."""
        check_count(top, "top", 1)
        words = self.vocabulary.encode(context)[-self.lags :]
        found = self.probabilities(words[:, None])[:, 0] if words.size else self.unigram
        return [(self.vocabulary.words[i], float(found[i])) for i in np.argsort(-found, kind="stable")[:top]]

    def score(self, tokens: Sequence[str]) -> Score:
        """Perplexity and accuracy on a text; every token with a full context before it is predicted."""
        sequences = distinct_sequences(self.vocabulary.encode(tokens), self.lags + 1)
        return score_predictions(self.probabilities, sequences)

    def nearest(self, word: str, *, top: int = 10, among: int | None = None) -> list[tuple[str, float]]:
        """The words with the most similar features, with the cosine of the angle between them.

        The features are those of words as context, with lag 1; `among` leaves only so many most frequent words.
        """
        check_count(top, "top", 1)
        if word not in self.vocabulary:
            raise pfn.DataError(f"nearest: {word!r} is not in the vocabulary of {len(self.vocabulary)} words.")
        number = self.vocabulary.number(word)
        B = self.features[0]
        lengths = np.linalg.norm(B, axis=0)
        unit = np.divide(B, lengths, out=np.zeros_like(B), where=lengths > 0)
        others = [i for i in np.argsort(-self.unigram, kind="stable")[:among].tolist() if i != number]
        cosines = unit[:, number] @ unit[:, others]
        order = np.argsort(-cosines, kind="stable")[:top]
        return [(self.vocabulary.words[others[i]], float(cosines[i])) for i in order]

    def strongest_transitions(self, *, top: int = 10, words: int = 5) -> list[Transition]:
        """The steps from feature to feature that the text takes most often, with lag 1, in words."""
        owners = self.features[0] * self.unigram
        flow = self.transitions[0] * owners.sum(axis=1)
        order = np.argsort(-flow, axis=None, kind="stable")[:top]
        return [
            Transition(float(flow[after, before]), self._leading(owners[before], words), self._made(after, words))
            for after, before in zip(*np.unravel_index(order, flow.shape), strict=True)
        ]

    def _made(self, feature: int, count: int) -> list[str]:
        return self._leading(self.emission[:, feature], count)

    def _leading(self, strengths: FloatArray, count: int) -> list[str]:
        return self.vocabulary.decode(np.argsort(-strengths, kind="stable")[:count])


def emission_of(features: FloatArray, unigram: FloatArray) -> FloatArray:
    """V for given B: how likely each word is to have brought a feature about, from the frequencies by Bayes' rule.

    A right update of the word vector from the unigram is the product with it; Bᵀ itself would favour no
    frequent word over a rare one.

    >>> emission_of(np.array([[1.0, 0.5], [0.0, 0.5]]), np.array([0.5, 0.5])).round(3)
    array([[0.667, 0.   ],
           [0.333, 1.   ]])
    """
    owners = features * unigram
    sums = owners.sum(axis=1, keepdims=True)
    found: FloatArray = np.divide(owners, sums, out=np.zeros_like(owners), where=sums > 0).T
    return found


def model_of_network(result: pfn.Result, vocabulary: Vocabulary, unigram: FloatArray) -> LanguageModel:
    """What the paper's network, learned, predicts: `result` comes from `learn` on a `language_network`.

    For each word, its features are observed, the transition and the features after it are inferred, and the next
    word is read out by one right update from the unigram.
    """
    B, W = result["B"], result["W"]
    now, later, h = pfn.Variable("now", B.shape[0]), pfn.Variable("later", B.shape[0]), pfn.Variable("h", W.shape[1])
    step = pfn.Network(pfn.Factorization([now, later], pfn.Parameter("W", W) @ h))
    found = pfn.infer(step, {now: B, later: np.full_like(B, np.nan)}, iterations=100, progress=False)
    identity = np.eye(B.shape[0])
    return LanguageModel(vocabulary, (found[later],), (identity,), emission_of(B, unigram), unigram)
