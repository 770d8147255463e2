"""Section 7: the language model, for which the paper has no results."""

from math import log

import numpy as np

import pfn
from pfn import plots
from pfn.models import (
    Vocabulary,
    diagnose_features,
    language_chain,
    language_network,
    learn_chain,
    model_of_network,
    word_frequencies,
)
from pfn.paper.experiment import Check, Findings, SeedSpread, Setting, Shown, experiment

KINDS = {
    "who": "anna ben carla david emma frank",
    "does": "sees hears follows loves finds",
    "which": "the a this every",
    "how": "small old black lazy quiet",
    "what": "cat dog bird horse mouse fish",
}


def sentences(count: int, seed: int) -> list[str]:
    """Random sentences: who does which (how) what."""
    draw = np.random.default_rng(seed)
    tokens = []
    for _ in range(count):
        kinds = ["who", "does", "which", *["how"] * int(draw.random() < 0.5), "what"]
        tokens += [str(draw.choice(KINDS[kind].split())) for kind in kinds] + ["."]
    return tokens


def entropies() -> tuple[float, float]:
    """Entropies of the sentences, in nats a token: of single words, and of the next word given those before."""
    often = {"who": 1.0, "does": 1.0, "which": 1.0, "how": 0.5, "what": 1.0}  # in a sentence, which ends with a dot
    tokens = sum(often.values()) + 1
    choice = {kind: log(len(words.split())) for kind, words in KINDS.items()}
    alone = log(tokens) / tokens + sum(n / tokens * (choice[kind] + log(tokens / n)) for kind, n in often.items())
    return alone, (sum(n * choice[kind] for kind, n in often.items()) + log(2)) / tokens


@experiment(
    "language",
    "7",
    "Word features, and why they collapse",
    network="language",
    uses=(sentences, entropies),
    in_paper=False,
)
def language(setting: Setting) -> Findings:
    """A network for text: x_t = B y_t are the features of a word, [x_t; x_t+1] = W h_t their transitions. Preliminary
    results suggested that further constraints might be needed for meaningful solutions.
    """
    yield Shown("A chain that learns.", plots.draw(language_chain(27, 8), observed=["y", "z"]))
    bits, paper, chain, unigram = [], [], [], []
    for seed in setting.seeds(5):
        text, judged = sentences(2000, seed), sentences(500, seed + 1000)
        vocabulary = Vocabulary.of(text)
        frequencies = word_frequencies(text, vocabulary)
        network, data = language_network(vocabulary, 8, 16), {"y": vocabulary.one_hot(text)}
        result = pfn.learn(network, data, iterations=30, seed=seed)
        model = learn_chain(text, vocabulary, 8, seed=seed, progress=False)
        bits.append(diagnose_features(result["B"], frequencies).information)
        paper.append(model_of_network(result, vocabulary, frequencies).score(judged).perplexity)
        chain.append(model.score(judged).perplexity)
        unigram.append(float(np.exp(-np.mean(np.log(frequencies[vocabulary.encode(judged)])))))
    alone, given = np.exp(entropies())
    yield Check("bits that a feature says about the word", "", SeedSpread.of(bits), most=0.001)
    what = f"perplexity of the unigram model; of the source, {alone:.2f}"
    yield Check(what, "", SeedSpread.of(unigram), least=0.97 * alone, most=1.03 * alone)
    ratio = SeedSpread.of(np.divide(paper, unigram))
    yield Check("perplexity of the paper's network over that: no better", "", ratio, least=0.99, most=1.02)
    what = f"perplexity of the chain; of the source, {given:.2f}"
    yield Check(what, "", SeedSpread.of(chain), least=0.97 * given, most=1.1 * given)
