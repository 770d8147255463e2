"""Section 3, continued: learning the transitions from training data, 1000 slices long."""

import numpy as np

import pfn
from pfn import plots
from pfn.models import transition_network
from pfn.paper.experiment import Check, Findings, Runs, Setting, Shown, Spread, experiment
from pfn.paper.measures import FloatArray, columns_used, transitions_found
from pfn.paper.originals import NONDETERMINISTIC

LENGTH, SWEEPS = 1000, 300
SINGLE_RUNS = "single runs depend on the start; restarts keep the best"


def training_sequence(draw: np.random.Generator) -> FloatArray:
    """A random walk through the nondeterministic machine."""
    return NONDETERMINISTIC.encode(NONDETERMINISTIC.sample(LENGTH, draw))


def mixture(draw: np.random.Generator) -> FloatArray:
    """Three walks at once."""
    first, second, third = (training_sequence(draw) for _ in range(3))
    return 0.5 * first + 1.0 * second + 1.5 * third


def beginning(result: pfn.Result, slices: int = 10) -> pfn.Result:
    """What was learned, on the first slices only: what can be looked at."""
    network = transition_network(NONDETERMINISTIC, learn_transitions=result["W"].shape[1], normalize="balanced")
    return pfn.infer(network, {"x": result["x"][:, :slices]}, initial={"W": result["W"]})


def learned(setting: Setting, *, columns: int, claim: str, restarts: int) -> Findings:
    """W with so many columns, from single runs and from the best of several."""
    network = transition_network(NONDETERMINISTIC, learn_transitions=columns)
    single, best = [], []
    for seed in setting.seeds(20, quick=20):
        X = training_sequence(np.random.default_rng(seed))
        single.append(pfn.learn(network, {"x": X}, seed=seed, iterations=SWEEPS))
    for seed in setting.seeds(4):
        X = training_sequence(np.random.default_rng(seed))
        best.append(pfn.learn(network, {"x": X}, seed=seed, iterations=SWEEPS, restarts=restarts))
    yield Shown("W learned, on the first ten slices.", plots.equation(beginning(best[0]), "eq1"))
    exact = Runs.of(r.rmse["eq1"] < 1e-4 and transitions_found(NONDETERMINISTIC, r["W"]) == 6 for r in single)
    yield Check("exact in a single run", claim, exact, exact.successes > 0, "" if exact.always else SINGLE_RUNS)
    exact = Runs.of(r.rmse["eq1"] < 1e-4 and transitions_found(NONDETERMINISTIC, r["W"]) == 6 for r in best)
    yield Check(f"exact in the best of {restarts} runs, all six transitions", claim, exact, exact.always)
    if columns > 6:
        duplicates = Runs.of(columns_used(r["W"]) == columns for r in best)
        yield Check("all columns used, so some are duplicates", "yes", duplicates, duplicates.always)


@experiment(
    "learn-six",
    "3.2",
    "Learning six transitions with six columns",
    """W with 6 columns, learned from one sequence of 1000 slices, has the 6 correct transitions, but it can sometimes
    take a few runs to find an exact factorization.""",
    network="transitions",
    uses=(training_sequence, learned),
)
def learn_six(setting: Setting) -> Findings:
    yield from learned(setting, columns=6, claim="sometimes a few runs", restarts=25)


@experiment(
    "learn-eight",
    "3.2",
    "Learning six transitions with eight columns",
    """With 8 columns the algorithm always converged to an exact factorization; the transitions are correct, and some
    columns are duplicates.""",
    network="transitions",
    uses=(training_sequence, learned),
)
def learn_eight(setting: Setting) -> Findings:
    yield from learned(setting, columns=8, claim="always", restarts=12)


@experiment(
    "learn-sparse",
    "3.2",
    "Unneeded columns fade",
    """8 columns, sparseness 0.1, upper and lower halves of a column scaled to equal sums that may become zero: the
    learned W has the 6 required columns and two of zeros, with a small approximation error. The nonzero columns no
    longer sum to 1; they can be normalized afterwards.""",
    network="transitions",
    uses=(training_sequence,),
)
def learn_sparse(setting: Setting) -> Findings:
    network = transition_network(NONDETERMINISTIC, learn_transitions=8, normalize="balanced")
    results = []
    for seed in setting.seeds(4):
        X = training_sequence(np.random.default_rng(seed))
        method = pfn.Propagate(sparseness=0.1)
        results.append(pfn.learn(network, {"x": X}, method=method, seed=seed, iterations=SWEEPS, restarts=12))
    yield Shown("W learned, on the first ten slices.", plots.equation(beginning(results[0]), "eq1"))
    six = Runs.of(transitions_found(NONDETERMINISTIC, result["W"]) == 6 for result in results)
    yield Check("the six transitions in the best of 12 runs", "yes", six, six.always)
    used = Runs.of(columns_used(result["W"]) == 6 for result in results)
    yield Check("two columns are zero", "yes", used, used.always)
    errors = Spread.of(result.rmse["eq1"] for result in results)
    yield Check("RMSE", "a small approximation error", errors, 1e-4 < errors.median < 0.02)
    W = results[0]["W"]
    sums = W.sum(axis=0)
    unit = np.divide(W, sums, out=np.zeros_like(W), where=sums > 1e-6 * sums.sum())
    apart = float(np.abs(np.sort(unit.sum(axis=0)) - [0, 0, 1, 1, 1, 1, 1, 1]).max())
    yield Check("columns normalized afterwards: sums differ from 1 by at most", "possible", apart, apart < 1e-9)
    yield Shown(
        "The nonzero columns normalized afterwards.", plots.image(unit, "W", labels=NONDETERMINISTIC.row_labels)
    )


@experiment(
    "learn-mixture",
    "3.2",
    "Learning from a mixture of three sequences",
    """X is 0.5, 1.0 and 1.5 times three independent sequences. With 8 columns the algorithm converges to an exact
    factorization, and the underlying transitions are learned.""",
    network="transitions",
    uses=(training_sequence, mixture),
)
def learn_mixture(setting: Setting) -> Findings:
    network, results = transition_network(NONDETERMINISTIC, learn_transitions=8), []
    for seed in setting.seeds(10):
        X = mixture(np.random.default_rng(seed))
        results.append(pfn.learn(network, {"x": X}, seed=seed))
    yield Shown("The first ten slices of X.", plots.image(X[:, :10], network.variable("x")))
    yield Shown("W learned, on the first ten slices.", plots.equation(beginning(results[-1]), "eq1"))
    six = Runs.of(transitions_found(NONDETERMINISTIC, result["W"]) == 6 for result in results)
    yield Check("all six transitions in one run", "yes", six, six.always)
    errors = Spread.of(result.rmse["eq1"] for result in results)
    yield Check("RMSE", "exact", errors, errors.highest < 1e-4)


@experiment(
    "learn-noisy-mixture",
    "3.2",
    "Learning from a noisy mixture",
    """The same with noise uniform in [0, 0.1]: the factorization is approximate, and the transitions are still
    recovered in W, although with a small error.""",
    network="transitions",
    uses=(training_sequence, mixture),
)
def learn_noisy_mixture(setting: Setting) -> Findings:
    network, results = transition_network(NONDETERMINISTIC, learn_transitions=8), []
    for seed in setting.seeds(10):
        draw = np.random.default_rng(seed)
        X = mixture(draw) + draw.uniform(0, 0.1, (4, LENGTH))
        results.append(pfn.learn(network, {"x": X}, seed=seed, iterations=3000))
    yield Shown("The first ten slices of X.", plots.image(X[:, :10], network.variable("x")))
    yield Shown("W learned, on the first ten slices.", plots.equation(beginning(results[-1]), "eq1"))
    six = Runs.of(transitions_found(NONDETERMINISTIC, result["W"]) == 6 for result in results)
    yield Check("all six transitions in one run", "yes, with a small error", six, six.always)
    errors = Spread.of(result.rmse["eq1"] for result in results)
    yield Check("RMSE", "approximate", errors, 0.01 < errors.median < 0.02)
