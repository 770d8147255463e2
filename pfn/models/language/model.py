"""Models of language: what comes next and how likely it is, scores on a text, features and transitions in words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import pfn
from pfn.models.language.text import IntArray, Vocabulary, WordSequences, distinct_sequences
from pfn.solve.checks import check_count

FloatArray = npt.NDArray[np.floating]

# Sequences scored at a time: their full distributions fit in some 20 MB with a vocabulary of 5,000.
BLOCK = 512

# Bits: features that say less about the word are as good as none; learned ones say some bits.
COLLAPSED_BELOW = 0.1


class Score(NamedTuple):
    """Quality of predictions of next words; top1 and top10 are the shares ranked first, and among the first ten."""

    perplexity: float
    top1: float
    top10: float
    predicted: int

    def __str__(self) -> str:
        return (
            f"perplexity {self.perplexity:.1f}, right word first {self.top1:.1%}, among the first ten "
            f"{self.top10:.1%} of {self.predicted:,} words"
        )


def score_predictions(probabilities: Callable[[IntArray], FloatArray], sequences: WordSequences) -> Score:
    """Score the prediction of every sequence's last word from the words before it.

    Equally likely words count as ranked in random order.

    Parameters
    ----------
    probabilities
        Function of the distinct contexts (words, contexts), the oldest word first, that gives the distributions of the
        next word (vocabulary, contexts), whose columns sum to 1.
    sequences
        Distinct sequences of words with their counts.

    Examples
    --------
    >>> even = lambda contexts: np.full((4, contexts.shape[1]), 0.25)
    >>> sequences = WordSequences(np.array([[0, 1], [1, 3]]), np.array([2, 1]))
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


class FeatureTransition(NamedTuple):
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
        """Number of words of the context that count."""
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

    def probabilities_of_last(self, sequences: WordSequences) -> FloatArray:
        """Probabilities of the last word of each sequence by the chain alone, without the unigram."""
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

        The features are those of words as context, with lag 1; `among`: number of most frequent words to choose from.
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

    def strongest_transitions(self, *, top: int = 10, words: int = 5) -> list[FeatureTransition]:
        """The steps from feature to feature that the text takes most often, with lag 1, in words."""
        owners = self.features[0] * self.unigram
        flow = self.transitions[0] * owners.sum(axis=1)
        order = np.argsort(-flow, axis=None, kind="stable")[:top]
        return [
            FeatureTransition(
                float(flow[after, before]),
                self._leading(owners[before], words),
                self._leading(self.emission[:, after], words),
            )
            for after, before in zip(*np.unravel_index(order, flow.shape), strict=True)
        ]

    def _leading(self, strengths: FloatArray, count: int) -> list[str]:
        """The words with the greatest strengths."""
        return self.vocabulary.decode(np.argsort(-strengths, kind="stable")[:count])


def emission_of(features: FloatArray, unigram: FloatArray) -> FloatArray:
    """V for given B: the probability that a feature comes from each word, from the frequencies by Bayes' rule.

    One right update of the word vector, from the unigram, is the product with this V; Bᵀ itself would favour no
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
    """The predictions of the paper's network, as a model.

    For each word, its features are observed, the transition and the features after it are inferred, and the next
    word is read out by one right update from the unigram.

    Parameters
    ----------
    result
        Result of `pfn.learn` on a `language_network`.
    vocabulary
        Words of the network.
    unigram
        Frequencies of the words, as of `word_frequencies`.
    """
    B, W = result["B"], result["W"]
    now, later, h = pfn.Variable("now", B.shape[0]), pfn.Variable("later", B.shape[0]), pfn.Variable("h", W.shape[1])
    step = pfn.Network(pfn.Factorization([now, later], pfn.Parameter("W", W) @ h))
    found = pfn.infer(step, {now: B, later: np.full_like(B, np.nan)}, iterations=100, progress=False)
    identity = np.eye(B.shape[0])
    return LanguageModel(vocabulary, (found[later],), (identity,), emission_of(B, unigram), unigram)


class FeatureDiagnosis(NamedTuple):
    """Difference between the features of words.

    - `mean_cosine`: of the angle between the features of two words drawn by frequency; 1 means all are alike;
    - `information`: mutual information of a word and a feature drawn from those of the word, in bits.
    """

    mean_cosine: float
    information: float

    @property
    def collapsed(self) -> bool:
        """True if the features say nothing about the words."""
        return self.information < COLLAPSED_BELOW

    def __str__(self) -> str:
        verdict = "the features have collapsed" if self.collapsed else "the features tell words apart"
        return f"{verdict}: mean cosine {self.mean_cosine:.3f}, {self.information:.3f} bits about the word"


def diagnose_features(features: npt.ArrayLike, frequencies: npt.ArrayLike | None = None) -> FeatureDiagnosis:
    """Difference between the features of words, to see whether they have collapsed.

    Words without features count for nothing.

    Parameters
    ----------
    features
        B (features, words).
    frequencies
        Frequency of each word; None: all words count alike.

    Examples
    --------
    >>> print(diagnose_features([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]))
    the features have collapsed: mean cosine 1.000, 0.000 bits about the word
    >>> print(diagnose_features(np.eye(4)))
    the features tell words apart: mean cosine 0.250, 2.000 bits about the word
    """
    B = np.asarray(features, dtype=float)
    weights = np.ones(B.shape[1]) if frequencies is None else np.asarray(frequencies, dtype=float)
    if B.ndim != 2 or weights.shape != B.shape[1:]:
        raise pfn.DataError(
            f"diagnose_features: expected features (features, words) and a frequency per word, found the shapes "
            f"{B.shape} and {weights.shape}."
        )
    weights = np.where(B.any(axis=0), weights, 0.0)
    if not weights.any():
        raise pfn.DataError("diagnose_features: no word has features and a frequency above 0.")
    share = weights / weights.sum()

    # The mean of all cosines is the squared length of the mean unit vector.
    lengths = np.linalg.norm(B, axis=0)
    mean = np.divide(share, lengths, out=np.zeros_like(share), where=lengths > 0) @ B.T

    # Mutual information: the mean logarithm of p(feature | word) / p(feature).
    sums = B.sum(axis=0)
    own = np.divide(B, sums, out=np.zeros_like(B), where=sums > 0)
    common = (own @ share)[:, None]
    ratios = np.divide(own, common, out=np.ones_like(own), where=own > 0)
    return FeatureDiagnosis(float(mean @ mean), float(np.sum(own * np.log2(ratios) @ share)))
