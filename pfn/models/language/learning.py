"""Learning models of language from text: stopping on held-out text, the chain, and its form with shared features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import pfn
from pfn.models.language.model import FloatArray, LanguageModel, emission_of
from pfn.models.language.text import Vocabulary, WordSequences, distinct_sequences, one_hot
from pfn.models.language.word_networks import LATEST_SHARE, PULL, lag_names, language_chain
from pfn.solve.checks import check_count, check_number

# Held-out text is taken in stretches all over the text, so that it is of the same kind as the rest: every thirtieth
# stretch of at most a thousand words, of which even a short text has two hundred.
HELD_OUT_EVERY = 30
STRETCH = 1000
STRETCHES = 200

# Sweeps without a new lowest perplexity of held-out text that end the learning: it falls slowly at first and rises
# slowly after the lowest point. Shared features move more slowly than those of the chain, and with rests in between.
PATIENCE = 3
SHARED_PATIENCE = 10

# The weights of the chain against the unigram that are tried on held-out text.
MIXES = np.linspace(0.5, 0.995, 100)

# Numbers of a product computed at a time: 8 MB, whatever the number of bigrams.
CHUNK = 1 << 20


class ChainData(NamedTuple):
    """Data of a text for `pfn.learn`: the words of every distinct sequence, and weights, the counts of each."""

    observed: dict[str, Any]
    weights: dict[str, FloatArray]


class SharedFeatures(NamedTuple):
    """The features B of words and the transitions A between them; V follows from B."""

    B: FloatArray
    A: FloatArray


def word_frequencies(tokens: Sequence[str], vocabulary: Vocabulary) -> FloatArray:
    """The unigram model; every word counts at least once, so that none is held impossible.

    Parameters
    ----------
    tokens
        The text.
    vocabulary
        Words in whose order the frequencies are given.

    Examples
    --------
    >>> word_frequencies(["a", "b", "a"], Vocabulary(["a", "b"]))
    array([0.25, 0.5 , 0.25])
    """
    counts = np.maximum(np.bincount(vocabulary.encode(tokens), minlength=len(vocabulary)), 1)
    shares: FloatArray = counts / counts.sum()
    return shares


def chain_data(tokens: Sequence[str], vocabulary: Vocabulary, lags: int = 1) -> ChainData:
    """Data and weights for `pfn.learn` on a `language_chain`: a column for every distinct sequence of lags + 1 words.

    Parameters
    ----------
    tokens
        The text.
    vocabulary
        Words of the network.
    lags
        Number of words of the context.

    Examples
    --------
    >>> observed, weights = chain_data("a b a b a".split(), Vocabulary("ab", unknown=None))
    >>> print(observed["y"].toarray(), observed["z"].toarray(), weights["words"])
    [[1. 0.]
     [0. 1.]] [[0. 1.]
     [1. 0.]] [2. 2.]
    """
    check_count(lags, "lags", 1)
    return _chain_data(distinct_sequences(vocabulary.encode(tokens), lags + 1), len(vocabulary))


def _chain_data(sequences: WordSequences, size: int) -> ChainData:
    """One-hot words and counts of distinct sequences, by the names of a `language_chain`."""
    *contexts, following = sequences.words
    names = lag_names(len(contexts))
    observed = {lag.word: one_hot(words, size) for lag, words in zip(names, reversed(contexts), strict=True)}
    equations = [*(lag.equation for lag in names), "transitions", "words"]
    return ChainData(
        observed | {"z": one_hot(following, size)}, dict.fromkeys(equations, sequences.counts.astype(float))
    )


def chain_start(data: ChainData, unigram: FloatArray, features: int, *, seed: int = 0) -> dict[str, FloatArray]:
    """Starting values: every feature makes words about as likely as they are, and mostly stays itself.

    B needs none: it becomes the mean of x over the occurrences of each word in the first sweep. With more lags the
    features of older words start smaller, because these words say less about the next.

    Parameters
    ----------
    data
        Data of the chain, as of `chain_data`.
    unigram
        Frequencies of the words, as of `word_frequencies`.
    features
        Number of features.
    seed
        Seed of the random numbers.
    """
    generator = np.random.default_rng(seed)
    V = unigram[:, None] * generator.uniform(0.5, 1.5, (unigram.size, features))
    A = np.eye(features) + 0.5 / features
    latest, *older = lag_names(len(data.observed) - 1)
    start = {"V": V / V.sum(axis=0)} | {lag.A: A / A.sum(axis=0) for lag in (latest, *older)}
    largest = 2 / features * (1 - LATEST_SHARE) / LATEST_SHARE / max(len(older), 1)
    shape = (features, data.observed["z"].shape[1])
    return start | {lag.features: generator.random(shape, dtype=np.float32) * np.float32(largest) for lag in older}


def chain_method(features: int) -> pfn.Propagate:
    """The method that learns a chain: plain sweeps, the columns of x and x2 starting with sums about 1.

    Momentum saves a third of the sweeps and ends at the same perplexity, but doubles the memory for x and x2.

    Parameters
    ----------
    features
        Number of features of the chain.
    """
    return pfn.Propagate(acceleration=None, initial_scale=2 / features)


def chain_model(values: Mapping[str, Any], vocabulary: Vocabulary, unigram: FloatArray) -> LanguageModel:
    """The model with the values of a learned `language_chain`.

    Parameters
    ----------
    values
        Values by name, such as `result.values`.
    vocabulary
        Words of the network.
    unigram
        Frequencies of the words, as of `word_frequencies`.
    """
    lags = sum(name == "B" or name[1:].isdigit() for name in values if name.startswith("B"))
    missing = [name for lag in lag_names(max(lags, 1)) for name in (lag.B, lag.A, "V") if name not in values]
    if missing:
        raise pfn.DataError(
            f"chain_model: expected the values of a learned language_chain, found no {missing[0]} among "
            f"{', '.join(values) or 'nothing'}. Give result.values."
        )
    names = lag_names(lags)
    B, A = tuple(values[lag.B] for lag in names), tuple(values[lag.A] for lag in names)
    return LanguageModel(vocabulary, B, A, values["V"], unigram)


def learn_chain(
    tokens: Sequence[str],
    vocabulary: Vocabulary,
    features: int,
    *,
    lags: int = 1,
    held_out: Sequence[str] | None = None,
    pull: float = PULL,
    sweeps: int = 60,
    seed: int = 0,
    dtype: str = "float32",
    progress: bool | None = None,
) -> LanguageModel:
    """The chain learned from a text: `pfn.learn` on `language_chain`, stopped when held-out text gets worse.

    Parameters
    ----------
    tokens
        The text.
    vocabulary
        Words of the network.
    features
        Number of features.
    lags
        Number of words of the context.
    held_out
        Text to stop on, which also decides on the weight of the unigram; None: a thirtieth of the tokens in stretches.
    pull
        Weight of the common features, in occurrences of a word.
    sweeps
        Sweeps at most.
    seed
        Seed of the random numbers.
    dtype
        Precision. Single precision is as good here, and halves the memory: x and x2 have a column for every distinct
        sequence.
    progress
        Show a bar on the terminal; None: where standard error is one.

    Examples
    --------
    >>> tokens = ("the cat sees a dog . the dog sees a cat . " * 40).split()
    >>> model = learn_chain(tokens, Vocabulary.of(tokens), features=4, progress=False)
    >>> [word for word, _ in model.predict(["sees"], top=1)]
    ['a']
    """
    check_learning(features, pull, seed)
    network = language_chain(vocabulary, features, lags, pull=pull)
    unigram = word_frequencies(tokens, vocabulary)
    learned, watched = split_text(tokens, vocabulary, lags, held_out=held_out)
    data = _chain_data(learned, len(vocabulary))
    stopping = Stopping(watched)
    pfn.learn(
        network,
        data.observed,
        weights=data.weights,
        initial=chain_start(data, unigram, features, seed=seed),
        method=chain_method(features),
        iterations=sweeps,
        seed=seed,
        dtype=dtype,
        progress=progress,
        callback=lambda _sweep, values: stopping.rests(chain_model(values, vocabulary, unigram)),
    )
    return stopping.best()


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
    """The chain with lag 1 and one set of features for both roles of a word, as context and as next word.

    V is B turned round by the frequencies u of the words: V = diag(u) Bᵀ / (B u). The chain predicts a little worse
    than that of `learn_chain`, but similar words have similar features: both what precedes and what follows a word
    shapes them.

    Parameters
    ----------
    tokens
        The text.
    vocabulary
        Words of the network.
    features
        Number of features.
    held_out
        Text to stop on, which also decides on the weight of the unigram; None: a thirtieth of the tokens in stretches.
    pull
        Weight of the common features, in occurrences of a word.
    sweeps
        Sweeps at most.
    seed
        Seed of the random numbers.

    Examples
    --------
    >>> tokens = ("the cat sees a dog . the dog sees a cat . " * 40).split()
    >>> model = learn_shared_features(tokens, Vocabulary.of(tokens), features=6)
    >>> [word for word, _ in model.nearest("cat", top=1)]
    ['dog']
    """
    check_learning(features, pull, seed)
    unigram = word_frequencies(tokens, vocabulary)
    learned, watched = split_text(tokens, vocabulary, 1, held_out=held_out)
    stopping = Stopping(watched, patience=SHARED_PATIENCE)
    # Nearly equal features that move on in a circle half of the time: staying the same would be a trap here.
    B = np.random.default_rng(seed).uniform(0.5, 1.5, (features, unigram.size))
    shared = SharedFeatures(_normalized(B), 0.5 * np.roll(np.eye(features), 1, axis=0) + 0.5 / features)
    for _ in range(sweeps):
        shared = sweep_shared(shared, unigram, learned, pull)
        model = LanguageModel(vocabulary, (shared.B,), (shared.A,), emission_of(shared.B, unigram), unigram)
        if stopping.rests(model):
            break
    return stopping.best()


def sweep_shared(shared: SharedFeatures, unigram: FloatArray, bigrams: WordSequences, pull: float) -> SharedFeatures:
    """One multiplicative update of A, and one of B from both roles, for counts ≈ V A B with columns counted as often.

    R = V A B is needed at the bigrams that occur only: where the count is zero, so is the ratio of count and R.
    """
    B, A = shared
    V, H = emission_of(B, unigram), A @ B
    before, after = bigrams.words
    R = np.empty(before.size)
    chunk = max(1, CHUNK // len(A))
    for start in range(0, R.size, chunk):
        part = slice(start, start + chunk)
        np.einsum("ck,ck->c", V[after[part]], H.T[before[part]], out=R[part])
    ratios = sp.csr_array((bigrams.counts / R, (after, before)), shape=(unigram.size, unigram.size))
    field = (ratios.T @ V).T
    as_context, as_next = B * (A.T @ field), V * (ratios @ H.T)
    occurrences = as_context + as_next.T
    mean = occurrences.sum(axis=1, keepdims=True) / occurrences.sum()
    return SharedFeatures(_normalized(occurrences + pull * mean), _normalized(A * (field @ B.T)))


def _normalized(matrix: FloatArray) -> FloatArray:
    """The matrix with columns that sum to 1; columns of zeros stay zero."""
    sums = matrix.sum(axis=0)
    some = sums >= np.finfo(sums.dtype).tiny  # the reciprocal of a smaller number overflows
    unit: FloatArray = matrix * np.divide(1.0, sums, out=np.zeros_like(sums), where=some)
    return unit


def check_learning(features: object, pull: object, seed: object) -> None:
    """Refuse options that no learning takes."""
    check_count(features, "features", 1)
    check_number(pull, "pull", 0.0, None)
    check_count(seed, "seed", 0)


def split_text(
    tokens: Sequence[str], vocabulary: Vocabulary, lags: int, *, held_out: Sequence[str] | None = None
) -> tuple[WordSequences, WordSequences]:
    """The distinct sequences of lags + 1 words to learn from, and those to stop on: `held_out`, or a thirtieth."""
    numbers = vocabulary.encode(tokens)
    if held_out is not None:
        return distinct_sequences(numbers, lags + 1), distinct_sequences(vocabulary.encode(held_out), lags + 1)
    if len(numbers) < STRETCHES:
        raise pfn.DataError(
            f"expected a text of at least {STRETCHES} tokens, so that some can be held out, found {len(numbers)}. "
            "Give held_out=tokens of another text."
        )
    stretch = min(STRETCH, len(numbers) // STRETCHES)
    last = np.arange(lags, len(numbers)) // stretch  # the stretch in which a sequence ends
    kept = last % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    return distinct_sequences(numbers, lags + 1, where=~kept), distinct_sequences(numbers, lags + 1, where=kept)


def best_mix(model: LanguageModel, sequences: WordSequences) -> tuple[float, float]:
    """The lowest perplexity that mixing with the unigram gives, and the weight of the chain there."""
    chain = model.probabilities_of_last(sequences)
    unigram = model.unigram[sequences.words[-1]]
    mixed = np.log(np.outer(MIXES, chain) + np.outer(1 - MIXES, unigram)) @ sequences.counts
    best = int(np.argmax(mixed))
    return float(np.exp(-mixed[best] / sequences.counts.sum())), float(MIXES[best])


class Stopping:
    """Early stopping: the best of the models of all sweeps so far, and whether a better one is to be expected."""

    def __init__(self, watched: WordSequences, *, patience: int = PATIENCE) -> None:
        self._watched, self._patience = watched, patience
        self._history: list[float] = []
        self._best: LanguageModel | None = None

    def rests(self, model: LanguageModel) -> bool:
        """Take one more model; true once the perplexity has not got better for `patience` sweeps."""
        perplexity, mix = best_mix(model, self._watched)
        if self._best is None or perplexity < min(self._history):
            self._best = replace(model, mix=mix)
        self._history.append(perplexity)
        return len(self._history) - 1 - int(np.argmin(self._history)) >= self._patience

    def best(self) -> LanguageModel:
        """The best model, with the perplexities of all."""
        if self._best is None:
            raise pfn.OptionError(
                "learning ended before its first sweep was done: ask for at least one, and let it end."
            )
        return replace(self._best, history=tuple(self._history))
