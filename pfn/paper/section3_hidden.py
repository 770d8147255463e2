"""Section 3, continued: hidden states of the nondeterministic machine, where several solutions are possible."""

from dataclasses import replace

import numpy as np

import pfn
from pfn import plots
from pfn.models import transition_network
from pfn.paper.experiment import Check, Findings, Runs, Setting, Shown, Spread, experiment
from pfn.paper.measures import is_walk, observed, rmse_of_all, stacked, strongest_share
from pfn.paper.originals import NONDETERMINISTIC

PARTLY = "? S2 ? S3 S4 ? ? ? ? ?"
WHOLE = "S1 S2 S3 S3 S4 S1 S2 S4 S1 S2"
SPARSE = replace(pfn.PAPER, sparseness=0.1)


@experiment(
    "nondeterministic",
    "3.2",
    "Fully observed states of the nondeterministic machine",
    network="transitions",
    observed=("x",),
)
def nondeterministic(setting: Setting) -> Findings:
    """S1 S2 S3 S3 S4 S1 S2 S4 S1 S2, all observed: the inferred transitions are the correct factorization."""
    network, X = transition_network(NONDETERMINISTIC), observed(NONDETERMINISTIC, WHOLE)
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, tolerance=1e-6) for s in setting.seeds(20)]
    yield Shown("The observed X.", plots.image(X, network.variable("x")))
    yield Shown("The factorization after inference.", plots.equation(results[0], "eq1"))
    H = stacked((6, "1 2 5 3 4 1 6 4 1"))
    apart = Spread.of(np.abs(result["h"] - H).max() for result in results)
    yield Check("distance from t1 t2 t5 t3 t4 t1 t6 t4 t1", "the correct factorization", apart, most=1e-4)


@experiment("partly-observed", "3.2", "Some slices observed, several solutions", network="transitions")
def partly_observed(setting: Setting) -> Findings:
    """(?, S2, ?, S3, S4, ?, ?, ?, ?, ?): repeated runs always converged to an exact solution, a different one each
    time. Slices 1, 3, 6, 7 are single states; 8, 9, 10 are superpositions, with equal column sums. x8 can be any
    combination of S3 and S4.
    """
    network, X = transition_network(NONDETERMINISTIC), observed(NONDETERMINISTIC, PARTLY)
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, iterations=500) for s in setting.seeds(20)]
    yield Shown("Before and after inference.", plots.before_and_after({"x": X}, results[0], ["x"]))
    yield Shown("The factorization.", plots.equation(results[0], "eq1"))
    errors = Spread.of(rmse_of_all(result) for result in results)
    yield Check("RMSE", "always an exact solution", errors, most=2.5e-7)
    first = observed(NONDETERMINISTIC, "S1 S2 S3 S3 S4 S1 S2")
    single = Runs.of(np.allclose(result["x"][:, :7], first, atol=1e-5) for result in results)
    yield Check("slices 1, 3, 6, 7 are single states", "yes", single)
    mixed = Runs.of((strongest_share(result["x"][:, 7:]) < 0.99).all() for result in results)
    yield Check("slices 8, 9, 10 are superpositions", "yes", mixed, least=0.9 * mixed.runs)
    sums = Runs.of(np.allclose(result["x"].sum(axis=0), 1, atol=1e-5) for result in results)
    yield Check("equal column sums", "yes", sums)
    both = Runs.of(np.allclose(result["x"][:2, 7], 0, atol=1e-5) for result in results)
    yield Check("x8 has only S3 and S4", "yes", both)
    apart = float(np.diff(np.sort([result["x"][2, 7] for result in results])).min())
    yield Check("least distance between the x8 of two runs", "different each time", apart, least=1e-6)


@experiment("one-solution", "3.2", "One more slice observed, one solution", network="transitions")
def one_solution(setting: Setting) -> Findings:
    """(?, S2, ?, S3, S4, ?, ?, ?, ?, S2): now there is only one configuration of hidden states, and repeated runs
    always converged to it.
    """
    network, X = transition_network(NONDETERMINISTIC), observed(NONDETERMINISTIC, "? S2 ? S3 S4 ? ? ? ? S2")
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, iterations=500) for s in setting.seeds(20)]
    yield Shown("Before and after inference.", plots.before_and_after({"x": X}, results[0], ["x"]))
    yield Shown("The factorization.", plots.equation(results[0], "eq1"))
    truth = observed(NONDETERMINISTIC, WHOLE)
    apart = Spread.of(np.abs(result["x"] - truth).max() for result in results)
    yield Check("distance from the one solution", "always found", apart, most=1e-5)
    yield Check("RMSE", "always exact", Spread.of(rmse_of_all(result) for result in results), most=2e-7)


@experiment("sparse", "3.2", "Several solutions, sparse updates", network="transitions")
def sparse(setting: Setting) -> Findings:
    """(?, S2, ?, S3, S4, ?, ?, ?, ?, ?) with sparseness 0.1: repeated runs produce distinct solutions with a single
    active state in every slice.
    """
    network, X = transition_network(NONDETERMINISTIC), observed(NONDETERMINISTIC, PARTLY)
    results = [pfn.infer(network, {"x": X}, method=SPARSE, seed=s, iterations=500) for s in setting.seeds(20, quick=12)]
    yield Shown("Before and after inference.", plots.before_and_after({"x": X}, results[0], ["x"]))
    yield Shown("The factorization.", plots.equation(results[0], "eq1"))
    yield Check("one active state in every slice", "yes", Runs.of(is_walk(NONDETERMINISTIC, r["x"]) for r in results))
    yield Check("RMSE", "a solution", Spread.of(rmse_of_all(result) for result in results), most=6.5e-5)
    distinct = len({tuple(result["x"].argmax(axis=0)) for result in results})
    yield Check("distinct solutions", "several", distinct, least=2)


@experiment("low-sparseness", "3.2", "Lower sparseness", network="transitions")
def low_sparseness(setting: Setting) -> Findings:
    """For sparseness values much lower than 0.1, a superposition of states can still occur, but most of the weight
    tends to be concentrated in a single state for each slice.
    """
    network, X = transition_network(NONDETERMINISTIC), observed(NONDETERMINISTIC, PARTLY)
    shares: dict[float, list[float]] = {0.0: [], 0.005: [], 0.01: [], 0.02: []}
    for theta, found in shares.items():
        method = replace(pfn.PAPER, sparseness=theta)
        for seed in setting.seeds(20, quick=20):
            result = pfn.infer(network, {"x": X}, method=method, seed=seed, iterations=500)
            found.append(float(strongest_share(result["x"][:, 7:]).mean()))
    for theta, found in list(shares.items())[1:]:
        most = Runs.of(share > 0.6 for share in found)
        yield Check(f"most of slices 8 to 10 in one state at {theta}", "tends to", most, least=0.6 * most.runs)
    medians = [float(np.median(found)) for found in shares.values()]
    text = ", ".join(f"{median:.3f}" for median in medians)
    grows = (np.diff(medians) > -1e-6).all()
    yield Check("median share of the strongest state at 0, 0.005, 0.01, 0.02", "more and more", text, so=grows)
    low = Runs.of(share < 0.99 for share in shares[0.005])
    yield Check("superpositions at 0.005", "can still occur", low, least=1)


@experiment("all-hidden", "3.2", "Everything hidden", network="transitions")
def all_hidden(setting: Setting) -> Findings:
    """All variables hidden, X starts uniform in [0, 1], sparseness 0.1: runs end in exact factorizations that are
    random samples of the transition model. Without sparseness the factorization is also exact, but a superposition of
    many states.
    """
    network, hidden = transition_network(NONDETERMINISTIC), np.full((4, 10), np.nan)
    starts, sampled, mixed = [], [], []
    for seed in setting.seeds(20, quick=6):
        start = {"x": np.random.default_rng(seed).random((4, 10))}
        starts.append(start)
        sampled.append(pfn.infer(network, {"x": hidden}, method=SPARSE, seed=seed, initial=start, iterations=2000))
        mixed.append(pfn.infer(network, {"x": hidden}, method=pfn.PAPER, seed=seed, initial=start, iterations=2000))
    yield Shown("The random X at the start of one run.", plots.image(starts[0]["x"], network.variable("x")))
    yield Shown("X after convergence.", plots.image(sampled[0], "x"))
    yield Shown("The factorization.", plots.equation(sampled[0], "eq1"))
    walks = [result for result in sampled if is_walk(NONDETERMINISTIC, result["x"])]
    single, least = Runs(len(walks), len(sampled)), 4 if setting.quick else 17
    reason = "" if single.always else "about one run in forty stays a superposition"
    yield Check("a valid sequence of single states", "yes", single, least=least, difference=reason)
    yield Check("RMSE of those", "exact", Spread.of(rmse_of_all(result) for result in walks), most=3e-7)
    distinct = len({tuple(result["x"].argmax(axis=0)) for result in walks})
    yield Check("distinct sequences", "a random sampling", distinct, least=3 if setting.quick else 14)
    yield Check("RMSE without sparseness", "exact", Spread.of(rmse_of_all(result) for result in mixed), most=1e-6)
    strongest = Spread.of(strongest_share(result["x"]).max() for result in mixed)
    yield Check("largest share of one state in any slice, without", "superpositions", strongest, most=0.8)
