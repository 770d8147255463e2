"""Random text from a known source: classes of words that follow each other with known probabilities."""

import numpy as np

CLASSES, WORDS = 6, 8  # of a class


class Grammar:
    """The next class depends on the last one, the word on its class; rare words are an eighth as frequent."""

    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)
        self.follows = self.generator.dirichlet(np.full(CLASSES, 0.3), CLASSES).T  # [next class, class]
        self.within = 1 / np.arange(1, WORDS + 1)
        self.within /= self.within.sum()
        self.words = [f"{kind}{number}" for kind in "abcdef" for number in range(WORDS)]

    def text(self, length):
        state, tokens = 0, []
        for _ in range(length):
            tokens.append(f"{'abcdef'[state]}{self.generator.choice(WORDS, p=self.within)}")
            state = self.generator.choice(CLASSES, p=self.follows[:, state])
        return tokens

    def perplexity(self, tokens):
        """Of the source itself: no model can do better on average."""
        kinds = ["abcdef".index(token[0]) for token in tokens]
        chances = [
            self.follows[kinds[i + 1], kinds[i]] * self.within[int(tokens[i + 1][1:])] for i in range(len(tokens) - 1)
        ]
        return float(np.exp(-np.mean(np.log(chances))))


def echo(length, seed):
    """Text in which every word repeats the one before the last, except for a new one every now and then."""
    generator = np.random.default_rng(seed)
    tokens = ["w0", "w1"]
    while len(tokens) < length:
        fresh = generator.random() < 0.1
        tokens.append(f"w{generator.integers(12)}" if fresh else tokens[-2])
    return tokens
