"""Networks of words, features of words and transitions (section 7): the paper's, and a chain that learns.

In the paper's network a word's features are explained by the transitions before and after it, and nothing ties
them to the word that comes next: repeated averaging makes all words alike (docs/models/language.md). The chain
is directed in time and has to give the next word back.
"""

from typing import NamedTuple

import numpy as np

import pfn
from pfn import t
from pfn.models.language.text import Vocabulary

# Weight of the common features, which pull those of a word, in occurrences of the word: rare words need it, frequent
# ones do not feel it. Measured on text of 200,000 words (benchmarks/language.py).
PULL = 5.0

# Share of the common features that belongs to the word just before, with more than one lag; the older words share the
# rest.
LATEST_SHARE = 0.7


class Lag(NamedTuple):
    """Names that belong to a word of the context: its equation, the word, its features, their parameters."""

    equation: str
    word: str
    features: str
    B: str
    A: str


def lag_names(lags: int) -> list[Lag]:
    """Names for the last word, the one before it, and the further ones.

    >>> lag_names(2)[1]
    Lag(equation='features2', word='y_previous', features='x_previous', B='B2', A='A2')
    """
    older = [("_previous" if lag == 2 else f"_previous{lag - 1}", lag) for lag in range(2, lags + 1)]
    return [Lag("features", "y", "x", "B", "A")] + [
        Lag(f"features{lag}", f"y{suffix}", f"x{suffix}", f"B{lag}", f"A{lag}") for suffix, lag in older
    ]


def language_network(vocabulary: Vocabulary | int, features: int, transitions: int) -> pfn.Network:
    """The paper's network: y holds words, x their features, h the transitions between features.

    It is here to be looked at: learning makes the features of all words equal (see `diagnose_features`).

    Parameters
    ----------
    vocabulary
        Words of the network, or their number.
    features
        Number of features.
    transitions
        Number of transitions between features.

    Examples
    --------
    >>> print(language_network(4319, features=50, transitions=100))
    features: x[t] = B y[t]                 x: 50; y: 4319; B: 50 × 4319 learned; normalize columns
    transitions: [x[t]; x[t+1]] = W h[t]    x: 50; h: 100; W: 100 × 100 learned; normalize subcolumns
    """
    y, x, h = _words("y", vocabulary), pfn.Variable("x", features), pfn.Variable("h", transitions)
    B = pfn.Parameter("B", shape=(x.size, y.size))
    W = pfn.Parameter("W", shape=(2 * x.size, h.size))
    return pfn.Network(
        pfn.Factorization(x[t], B @ y[t], name="features", normalize="columns"),
        pfn.Factorization([x[t], x[t + 1]], W @ h[t], name="transitions", normalize="subcolumns"),
    )


def language_chain(vocabulary: Vocabulary | int, features: int, lags: int = 1, *, pull: float = PULL) -> pfn.Network:
    """The directed chain: y is a word, x its features, x2 the features of the next word, z the next word.

    A column is not a time but a distinct sequence of lags + 1 words (`chain_data`). With two lags the word before y
    is y_previous, with its own features and parameters; then the columns of B and B2 are not normalized: their sums
    say how much of the next word each of the two explains.

    Parameters
    ----------
    vocabulary
        Words of the network, or their number.
    features
        Number of features.
    lags
        Number of words of the context.
    pull
        Weight, in occurrences of a word, of the common features, which are equal and pull every column of B.

    Examples
    --------
    >>> print(language_chain(4319, features=100))
    features: x[t] = B y[t]         x: 100; y: 4319; B: 100 × 4319 learned; normalize columns
    transitions: x2[t] = A x[t]     x2: 100; x: 100; A: 100 × 100 learned; normalize columns
    words: z[t] = V x2[t]           z: 4319; x2: 100; V: 4319 × 100 learned; normalize columns
    """
    if isinstance(lags, bool) or not isinstance(lags, int) or lags < 1:
        raise pfn.DeclarationError(f"language_chain: lags must be a whole number >= 1, found {lags!r}.")
    x2, z = pfn.Variable("x2", features), _words("z", vocabulary)
    contexts, terms = [], []
    for number, names in enumerate(lag_names(lags)):
        x, y = pfn.Variable(names.features, features), _words(names.word, vocabulary)
        share = 1.0 if lags == 1 else LATEST_SHARE if number == 0 else (1 - LATEST_SHARE) / (lags - 1)
        prior = np.full((x.size, y.size), share / x.size)
        B = pfn.Parameter(names.B, shape=(x.size, y.size), prior=prior, prior_weight=pull)
        normalize = "columns" if lags == 1 else None
        contexts.append(pfn.Factorization(x, B @ y, name=names.equation, normalize=normalize))
        terms.append(pfn.Parameter(names.A, shape=(x2.size, x.size)) @ x)
    V = pfn.Parameter("V", shape=(z.size, x2.size))
    return pfn.Network(
        *contexts,
        pfn.Factorization(x2, sum(terms), name="transitions", normalize="columns"),
        pfn.Factorization(z, V @ x2, name="words", normalize="columns"),
    )


def _words(name: str, vocabulary: Vocabulary | int) -> pfn.Variable:
    if isinstance(vocabulary, Vocabulary):
        return pfn.Variable(name, len(vocabulary), vocabulary.words)
    return pfn.Variable(name, vocabulary)
