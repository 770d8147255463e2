"""Section 7: the language model, for which the paper has no results."""

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
from pfn.paper.experiment import Check, Findings, Setting, Shown, Spread, experiment

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


@experiment(
    "language",
    "7",
    "Word features, and why they collapse",
    """A network for text: x_t = B y_t are the features of a word, [x_t; x_t+1] = W h_t their transitions. The paper
    has no results for it; preliminary ones suggested that further constraints might be needed for meaningful
    solutions.""",
    network="language",
    uses=(sentences,),
    in_paper=False,
)
def language(setting: Setting) -> Findings:
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
    yield Check("bits that a feature says about the word", "", Spread.of(bits), max(bits) < 0.1)
    yield Check("perplexity of the unigram model", "", Spread.of(unigram), True)
    alike = np.allclose(paper, unigram, rtol=0.02)
    yield Check("perplexity of the paper's network: no better", "", Spread.of(paper), bool(alike))
    better = all(np.array(chain) < 0.5 * np.array(unigram))
    yield Check("perplexity of the chain", "", Spread.of(chain), bool(better))
