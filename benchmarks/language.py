"""How well do the paper's language network, the chain and n-gram models predict the next word?

Learns from the first nine tenths of a text and is judged on the last tenth, which decides nothing.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

import numpy as np

import pfn
from benchmarks.kneser_ney import AddOneBigram, KneserNey, Unigram
from benchmarks.side_by_side import table
from pfn.models import (
    LanguageModel,
    Vocabulary,
    diagnose_features,
    language_network,
    learn_chain,
    learn_shared_features,
    model_of_network,
    word_frequencies,
    word_tokens,
)
from pfn.models.language.model import Score, score_predictions
from pfn.models.language.text import distinct_sequences

DATA = Path(__file__).parents[2] / "shared" / "data"
HEADER = ("perplexity", "top 1, %", "top 10, %", "seconds")
Row = tuple[str, ...]


def shakespeare() -> list[str]:
    return word_tokens((DATA / "text-shakespeare" / "train.txt").read_text("utf-8"))


def wikitext2() -> list[str]:
    lines = (DATA / "text-wikitext2" / "valid.txt").read_text("utf-8").splitlines()
    return [token for line in lines for token in [*line.split(), "<eos>"]]


TEXTS = {"shakespeare": shakespeare, "wikitext2": wikitext2}


class Bench:
    """One text, its two parts, and the rows of its table."""

    def __init__(self, tokens: list[str]) -> None:
        cut = int(len(tokens) * 0.9)
        self.learned, self.judged = tokens[:cut], tokens[cut:]
        self.vocabulary = Vocabulary.of(self.learned, minimum_count=3)
        self.numbers = [self.vocabulary.encode(part) for part in (self.learned, self.judged)]
        self.rows: dict[str, Row] = {}

    def count(self, name: str, make: Callable[[], object], order: int) -> object:
        """Make a model with `probabilities` and add its row."""
        begin = perf_counter()
        model = make()
        seconds = perf_counter() - begin
        found = score_predictions(model.probabilities, distinct_sequences(self.numbers[1], order))
        self.rows[name] = row(found, f"{seconds:.0f}")
        print(name, *self.rows[name], flush=True)
        return model

    def n_grams(self) -> KneserNey:
        """The baselines; the trigram model is given back."""
        numbers, size = self.numbers[0], len(self.vocabulary)
        self.count("unigram", lambda: Unigram(numbers, size), 2)
        self.count("bigram, add one", lambda: AddOneBigram(numbers, size), 2)
        self.count("bigram, Kneser-Ney", lambda: KneserNey(numbers, size, 2), 2)
        return self.count("trigram, Kneser-Ney", lambda: KneserNey(numbers, size, 3), 3)

    def chain(self, features: int, lags: int, seed: int = 0) -> LanguageModel:
        """The directed chain."""
        name = f"chain, K = {features}, {lags} lag{'s' * (lags > 1)}, seed {seed}"
        return self.count(
            name,
            lambda: learn_chain(self.learned, self.vocabulary, features, lags=lags, seed=seed, progress=False),
            lags + 1,
        )

    def shared(self, features: int, seed: int = 0) -> LanguageModel:
        """The chain with one set of features."""
        name = f"shared features, K = {features}, seed {seed}"
        return self.count(name, lambda: learn_shared_features(self.learned, self.vocabulary, features, seed=seed), 2)

    def paper(self, features: int, transitions: int, sweeps: int) -> None:
        """The paper's network from random values, and the same from good features."""
        self._paper(f"the paper's network, K = {features}, R = {transitions}", features, transitions, sweeps)
        good = learn_shared_features(self.learned, self.vocabulary, features)
        print("good features:", diagnose_features(good.features[0], good.unigram))
        B = good.features[0]
        start = {"B": B, "x": B[:, self.numbers[0]].astype(np.float32)}
        self._paper("the same, started from shared features", features, transitions, sweeps, start)

    def _paper(self, name: str, features: int, transitions: int, sweeps: int, start: dict | None = None) -> None:
        unigram = word_frequencies(self.learned, self.vocabulary)

        def learn() -> LanguageModel:
            network = language_network(self.vocabulary, features, transitions)
            data = {"y": self.vocabulary.one_hot(self.learned)}
            result = pfn.learn(
                network, data, iterations=sweeps, stall=None, initial=start, dtype="float32", progress=False
            )
            print(f"after {sweeps} sweeps:", diagnose_features(result["B"], unigram), flush=True)
            return model_of_network(result, self.vocabulary, unigram)

        self.count(name, learn, 2)

    def half_and_half(self, one: LanguageModel, other: KneserNey) -> None:
        """The mean of two models."""

        class Mixed:
            def probabilities(self, contexts: np.ndarray) -> np.ndarray:
                return (one.probabilities(contexts) + other.probabilities(contexts)) / 2

        self.count("chain with two lags and trigram, half and half", Mixed, 3)


def row(found: Score, seconds: str) -> Row:
    return f"{found.perplexity:.1f}", f"{found.top1 * 100:.1f}", f"{found.top10 * 100:.1f}", seconds


def main(text: str, *, quick: bool, seeds: int) -> None:
    tokens = TEXTS[text]()
    bench = Bench(tokens[:30_000] if quick else tokens)
    small, large, sweeps = (20, 40, 5) if quick else (100, 200, 30)
    trigram = bench.n_grams()
    for seed in range(seeds):
        bench.chain(small, 1, seed)
        bench.chain(large, 1, seed)
        chain = bench.chain(large, 2, seed)
        bench.shared(small, seed)
    bench.half_and_half(chain, trigram)
    print(f"most memory so far: {getrusage(RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    bench.paper(small // 2, small, sweeps)
    parts = f"{len(bench.learned):,} tokens learned, {len(bench.judged):,} judged, {len(bench.vocabulary):,} words"
    print(table(f"{text}: {parts}", bench.rows, HEADER))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", choices=TEXTS, nargs="?", default="shakespeare")
    parser.add_argument("--quick", action="store_true", help="30,000 tokens and few features, in a minute")
    parser.add_argument("--seeds", type=int, default=1)
    chosen = parser.parse_args()
    main(chosen.text, quick=chosen.quick, seeds=chosen.seeds)
