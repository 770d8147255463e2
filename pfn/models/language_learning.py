"""Learning the chain from text: what `pfn.learn` is given, and the model it gives."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import pfn
from pfn.models.held_out import Stopping, check_learning, split_text, word_frequencies
from pfn.models.language import LATEST_SHARE, PULL, lag_names, language_chain
from pfn.models.language_model import LanguageModel
from pfn.models.predictions import FloatArray
from pfn.models.text import Sequences, Vocabulary, distinct_sequences, one_hot
from pfn.solve.checks import check_count


class ChainData(NamedTuple):
    """What `pfn.learn` needs of a text: the words of every distinct sequence, and how often each occurs."""

    observed: dict[str, Any]
    weights: dict[str, FloatArray]


def chain_data(tokens: Sequence[str], vocabulary: Vocabulary, lags: int = 1) -> ChainData:
    """Data and weights for `pfn.learn` on a `language_chain`: a column for every distinct sequence of lags + 1 words.

    >>> observed, weights = chain_data("a b a b a".split(), Vocabulary("ab", unknown=None))
    >>> print(observed["y"].toarray(), observed["z"].toarray(), weights["words"])
    [[1. 0.]
     [0. 1.]] [[0. 1.]
     [1. 0.]] [2. 2.]
    """
    check_count(lags, "lags", 1)
    return _chain_data(distinct_sequences(vocabulary.encode(tokens), lags + 1), len(vocabulary))


def _chain_data(sequences: Sequences, size: int) -> ChainData:
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
    """How a chain with so many features is learned: plain sweeps, the columns of x and x2 starting with sums about 1.

    Momentum saves a third of the sweeps and ends at the same perplexity, but doubles the memory for x and x2.
    """
    return pfn.Propagate(acceleration=None, initial_scale=2 / features)


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

    The held-out text, without `held_out` a thirtieth of the tokens in stretches, also decides how much of the
    unigram is mixed in. `pull` is the weight of the common features, in occurrences of a word. Single precision is as
    good here, and halves the memory: x and x2 have a column for every distinct sequence.

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


def chain_model(values: Mapping[str, Any], vocabulary: Vocabulary, unigram: FloatArray) -> LanguageModel:
    """The model with the values of a learned `language_chain`, such as `result.values`."""
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
