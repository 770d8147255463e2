"""Section 3: one machine, its transitions known or learned, its states observed or hidden."""

from dataclasses import replace

import numpy as np

import pfn
from pfn import plots
from pfn.models import transition_network
from pfn.paper.experiment import Check, Findings, Runs, SeedSpread, Setting, Shown, experiment
from pfn.paper.measures import (
    FloatArray,
    all_found,
    is_walk,
    observed,
    rmse_of_all,
    stacked,
    strongest_share,
    transitions_found,
    used_columns,
)
from pfn.paper.originals import DETERMINISTIC, NONDETERMINISTIC

# Section 3.1, the deterministic machine: its states, and the largest RMSE of an exact factorization.
TURNS = "S1 S2 S3 S4 S1 S2 S3 S4 S1 S2"
EXACT = 1e-4

# Section 3.2, the nondeterministic machine: states observed in part, and throughout.
PARTLY = "? S2 ? S3 S4 ? ? ? ? ?"
WHOLE = "S1 S2 S3 S3 S4 S1 S2 S4 S1 S2"
SPARSE = replace(pfn.PAPER, sparseness=0.1)

# Learning: slices of a training sequence, and sweeps.
LENGTH = 1000
SWEEPS = 300
SINGLE_RUNS = "single runs depend on the start; restarts keep the best"
UNIT_COLUMNS = (
    "with unit column sums alone W can become the identity, which is exact and has learned nothing; "
    "the other runs of this section scale upper and lower halves to equal sums, too"
)


@experiment("transition-matrix", "3.1", "A state diagram as a matrix")
def transition_matrix(setting: Setting) -> Findings:
    """A state diagram with four states and six transitions, the matrix W whose columns are its transitions, each a
    state on top of the next, and the network [x_t; x_t+1] = W h_t, of which four time slices are drawn. For
    S1 S2 S3 S4 S1 S2 S3 S4 S1 S2 the matrix H is printed; only one solution for H is possible.
    """
    network = transition_network(NONDETERMINISTIC)
    yield Shown("The state diagram.", plots.draw(NONDETERMINISTIC))
    yield Shown("Four time slices of the network.", plots.draw(network, slices=4))
    W, printed = NONDETERMINISTIC.matrix(), stacked((4, "1 2 3 4 3 2"), (4, "2 3 4 1 3 4"))
    yield Check("W", "8 × 6, as printed", "{} × {}".format(*W.shape), so=np.array_equal(W, printed))
    X, H = observed(NONDETERMINISTIC, TURNS), stacked((6, "1 2 3 4 1 2 3 4 1"))
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, tolerance=1e-6) for s in setting.seeds(20)]
    yield Shown("The factorization.", plots.equation(results[0], "eq1"))
    apart = SeedSpread.of(np.abs(result["h"] - H).max() for result in results)
    yield Check("distance of H from the printed one", "the only solution", apart, most=1e-4)


@experiment("fully-observed", "3.2", "Fully observed states, known transitions", network="transitions", observed=("x",))
def fully_observed(setting: Setting) -> Findings:
    """The deterministic machine in the states S1 S2 S3 S4 S1 S2 S3 S4 S1 S2. A few hundred iterations were sufficient
    for the RMSE to drop below 1e-4.
    """
    network, X = transition_network(DETERMINISTIC), observed(DETERMINISTIC, TURNS)
    yield Shown("The deterministic state diagram.", plots.draw(DETERMINISTIC))
    yield Shown("The observed X.", plots.image(X, network.variable("x")))
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, tolerance=EXACT) for s in setting.seeds(20)]
    yield Shown("The factorization after inference.", plots.equation(results[0], "eq1"))
    sweeps = SeedSpread.of(result.iterations for result in results)
    yield Check("iterations until the RMSE is below 1e-4", "a few hundred suffice", sweeps, most=3)
    right = Runs.of(np.allclose(result["h"], X[:, :9], atol=1e-3) for result in results)
    yield Check("every transition found", "yes", right)


@experiment("noisy", "3.2", "Noise on the states", network="transitions", observed=("x",))
def noisy(setting: Setting) -> Findings:
    """Noise uniform in [0, 0.1] is added to X: an RMSE of 0.034, and an H that looks like the noiseless one with noise
    added.
    """
    network, clean = transition_network(DETERMINISTIC), observed(DETERMINISTIC, TURNS)
    errors, apart = [], []
    for seed in setting.seeds(20):
        X = clean + np.random.default_rng(seed).uniform(0, 0.1, clean.shape)
        result = pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=seed)
        errors.append(result.rmse["eq1"])
        apart.append(np.abs(result["h"] - clean[:, :9]).max())
    yield Shown("The factorization of the noisy X.", plots.equation(result, "eq1"))
    on_x = SeedSpread.of(error * np.sqrt(8 * 9 / (4 * 10)) for error in errors)
    reason = "it depends on the noise that is drawn; 0.027 on average"
    what = "RMSE, squared errors of X_C over the entries of X"
    yield Check(what, "0.034", on_x, least=0.017, most=0.04, difference=reason)
    reason = "X_C has more entries"
    what = "RMSE over the entries of X_C"
    yield Check(what, "0.034", SeedSpread.of(errors), least=0.013, most=0.03, difference=reason)
    yield Check("largest change of H", "like the noise, up to 0.1", SeedSpread.of(apart), least=0.05, most=0.1)


@experiment("superposition", "3.2", "Two sequences at once, 0.5 and 1.0", network="transitions", observed=("x",))
def superposition(setting: Setting) -> Findings:
    """X is the sum of 0.5 times a sequence that starts in S1 and 1.0 times one that starts in S3. Repeated runs always
    converged to an exact solution (RMSE below 1e-4).
    """
    network = transition_network(DETERMINISTIC)
    X = 0.5 * observed(DETERMINISTIC, TURNS) + 1.0 * observed(DETERMINISTIC, "S3 S4 S1 S2 S3 S4 S1 S2 S3 S4")
    yield Shown("The observed sum.", plots.image(X, network.variable("x")))
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, tolerance=EXACT) for s in setting.seeds(20)]
    yield Shown("The factorization after inference.", plots.equation(results[0], "eq1"))
    yield Check("RMSE", "always below 1e-4", SeedSpread.of(result.rmse["eq1"] for result in results), most=EXACT)
    right = Runs.of(np.allclose(result["h"], X[:, :9], atol=1e-3) for result in results)
    yield Check("H is the sum of both", "yes", right)


def predicted(setting: Setting, known: str, truth: str, *, apart: float, error: float) -> Findings:
    """All states from the known one, after 500 iterations: `apart` from the truth and an RMSE of `error` at most."""
    network, X, wanted = (
        transition_network(DETERMINISTIC),
        observed(DETERMINISTIC, known),
        observed(DETERMINISTIC, truth),
    )
    film = plots.film(network, {"x": X}, ["x"], every=[10, 50], iterations=500, method=pfn.PAPER, seed=setting.seed)
    frames = dict(zip(["given", "after 10", "after 50", "after 500"], film.frames["x"], strict=True))
    yield Shown("X after 0, 10, 50 and 500 iterations.", plots.stack(frames, list(frames), common_scale=True))
    yield Shown("The same as a film.", film)
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, iterations=500) for s in setting.seeds(20)]
    yield Shown("The factorization after 500 iterations.", plots.equation(results[0], "eq1"))
    furthest = SeedSpread.of(np.abs(result["x"] - wanted).max() for result in results)
    yield Check("distance from the one solution at 500 iterations", "effectively reached", furthest, most=apart)
    errors = SeedSpread.of(rmse_of_all(result) for result in results)
    yield Check("RMSE at 500 iterations", "effectively converged", errors, most=error)
    given = known.split().index("S1")
    off = np.abs(frames["after 10"] - wanted).max(axis=0)
    outward = (np.diff(off[given:]) > -1e-3).all() and (np.diff(off[: given + 1]) < 1e-3).all() and np.ptp(off) > 0.5
    text = ", ".join(f"{value:.2g}" for value in off)
    yield Check("errors of slices 1 to 10 after 10 iterations", "less, the nearer to what is known", text, so=outward)


@experiment("predict-from-first", "3.2", "Only the first slice observed", network="transitions", uses=(predicted,))
def predict_from_first(setting: Setting) -> Findings:
    """x1 = S1 is observed, nine slices are hidden. The estimates converge outward in time from the observed slice, one
    slice forward and backward for each iteration, and convergence is effectively reached by 500 iterations; there is
    only one solution, and it is found.
    """
    yield from predicted(setting, "S1 ? ? ? ? ? ? ? ? ?", TURNS, apart=0.03, error=9e-4)


@experiment("predict-from-fourth", "3.2", "Only the fourth slice observed", network="transitions", uses=(predicted,))
def predict_from_fourth(setting: Setting) -> Findings:
    """x4 = S1 is observed, all other slices are hidden. The estimates spread outward, backward and forward in time;
    convergence is effectively reached by 500 iterations.
    """
    yield from predicted(setting, "? ? ? S1 ? ? ? ? ? ?", "S2 S3 S4 S1 S2 S3 S4 S1 S2 S3", apart=1e-3, error=9.5e-6)


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
    apart = SeedSpread.of(np.abs(result["h"] - H).max() for result in results)
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
    errors = SeedSpread.of(rmse_of_all(result) for result in results)
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
    apart = SeedSpread.of(np.abs(result["x"] - truth).max() for result in results)
    yield Check("distance from the one solution", "always found", apart, most=1e-5)
    yield Check("RMSE", "always exact", SeedSpread.of(rmse_of_all(result) for result in results), most=2e-7)


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
    yield Check("RMSE", "a solution", SeedSpread.of(rmse_of_all(result) for result in results), most=6.5e-5)
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
    yield Check("RMSE of those", "exact", SeedSpread.of(rmse_of_all(result) for result in walks), most=3e-7)
    distinct = len({tuple(result["x"].argmax(axis=0)) for result in walks})
    yield Check("distinct sequences", "a random sampling", distinct, least=3 if setting.quick else 14)
    yield Check("RMSE without sparseness", "exact", SeedSpread.of(rmse_of_all(result) for result in mixed), most=1e-6)
    strongest = SeedSpread.of(strongest_share(result["x"]).max() for result in mixed)
    yield Check("largest share of one state in any slice, without", "superpositions", strongest, most=0.8)


def training_sequence(draw: np.random.Generator) -> FloatArray:
    """A random walk through the nondeterministic machine."""
    return NONDETERMINISTIC.encode(NONDETERMINISTIC.sample(LENGTH, draw))


def mixture(draw: np.random.Generator) -> FloatArray:
    """Three walks at once."""
    first, second, third = (training_sequence(draw) for _ in range(3))
    return 0.5 * first + 1.0 * second + 1.5 * third


def beginning(result: pfn.Result, slices: int = 10) -> pfn.Result:
    """The learned W on the first slices only, few enough to be looked at."""
    network = transition_network(NONDETERMINISTIC, learn_transitions=result["W"].shape[1], normalize="balanced")
    return pfn.infer(network, {"x": result["x"][:, :slices]}, initial={"W": result["W"]})


def exact(result: pfn.Result) -> bool:
    """True if the RMSE is below 1e-4."""
    return result.rmse["eq1"] < 1e-4


def learned(setting: Setting, *, columns: int, claim: str, restarts: int) -> Findings:
    """W with that many columns, from single runs and from the best of several."""
    network = transition_network(NONDETERMINISTIC, learn_transitions=columns)
    single, best = [], []
    for seed in setting.seeds(20, quick=20):
        X = training_sequence(np.random.default_rng(seed))
        single.append(pfn.learn(network, {"x": X}, seed=seed, iterations=SWEEPS))
    for seed in setting.seeds(4, quick=2):
        X = training_sequence(np.random.default_rng(seed))
        best.append(pfn.learn(network, {"x": X}, seed=seed, iterations=SWEEPS, restarts=restarts))
    yield Shown("W learned, on the first ten slices.", plots.equation(beginning(best[0]), "eq1"))
    right = Runs.of(exact(result) and all_found(NONDETERMINISTIC, result["W"]) for result in single)
    reason = "" if right.always else SINGLE_RUNS
    yield Check("exact in a single run, all six", claim, right, least=1 if columns == 6 else 8, difference=reason)
    right = Runs.of(exact(result) and all_found(NONDETERMINISTIC, result["W"]) for result in best)
    yield Check(f"exact in the best of {restarts} runs, all six", claim, right)
    alone = Runs.of(None not in transitions_found(NONDETERMINISTIC, result["W"]) for result in best)
    yield Check("every column is a transition", "yes", alone)
    counts = SeedSpread.of(used_columns(result["W"]).shape[1] for result in best)
    yield Check("columns that are not zero", "6" if columns == 6 else "8, some duplicates", counts, least=columns)


@experiment(
    "learn-six",
    "3.2",
    "Learning six transitions with six columns",
    network="transitions",
    observed=("x",),
    uses=(training_sequence, learned),
)
def learn_six(setting: Setting) -> Findings:
    """W with 6 columns of unit sums, learned from one sequence of 1000 slices, has the 6 correct transitions, but it
    can sometimes take a few runs to find an exact factorization.
    """
    yield from learned(setting, columns=6, claim="sometimes a few runs", restarts=40)


@experiment(
    "learn-eight",
    "3.2",
    "Learning six transitions with eight columns",
    network="transitions",
    observed=("x",),
    uses=(training_sequence, learned),
)
def learn_eight(setting: Setting) -> Findings:
    """With 8 columns the algorithm always converged to an exact factorization; the transitions are correct, and some
    columns are duplicates.
    """
    yield from learned(setting, columns=8, claim="always", restarts=12)


@experiment(
    "learn-sparse", "3.2", "Unneeded columns fade", network="transitions", observed=("x",), uses=(training_sequence,)
)
def learn_sparse(setting: Setting) -> Findings:
    """8 columns, sparseness 0.1, upper and lower halves of a column scaled to equal sums that may become zero: the
    learned W has the 6 required columns and two of zeros, with a small approximation error. The nonzero columns no
    longer sum to 1; they can be normalized afterwards.
    """
    network = transition_network(NONDETERMINISTIC, learn_transitions=8, normalize="balanced")
    results, method = [], pfn.Propagate(sparseness=0.1)
    for seed in setting.seeds(4):
        X = training_sequence(np.random.default_rng(seed))
        results.append(pfn.learn(network, {"x": X}, method=method, seed=seed, iterations=SWEEPS, restarts=12))
    yield Shown("W learned, on the first ten slices.", plots.equation(beginning(results[0]), "eq1"))
    yield Check("RMSE", "a small error", SeedSpread.of(r.rmse["eq1"] for r in results), least=0.01, most=0.017)
    matrices = [result["W"][:, result["W"].sum(axis=0) > 1e-6 * result["W"].sum()] for result in results]
    yield Check("columns that are not zero", "6 of 8", SeedSpread.of(W.shape[1] for W in matrices), least=6, most=6)
    halves = SeedSpread.of(np.abs(W[:4].sum(axis=0) / W[4:].sum(axis=0) - 1).max() for W in matrices)
    yield Check("upper over lower halves of a column, away from 1", "equal", halves, most=1e-6)
    sums = Runs.of((np.abs(W.sum(axis=0) - 1) > 0.05).all() for W in matrices)
    yield Check("no column sums to 1", "no longer", sums)
    found = [sorted(map(str, transitions_found(NONDETERMINISTIC, W))) for W in matrices]
    yield Check("normalized, they are the six transitions, to 0.05", "yes", Runs.of(f == list("012345") for f in found))
    unit = matrices[0] / matrices[0].sum(axis=0)
    yield Shown("Normalized afterwards.", plots.image(unit, labels=NONDETERMINISTIC.row_labels))


@experiment(
    "learn-mixture",
    "3.2",
    "Learning from a mixture of three sequences",
    network="transitions",
    observed=("x",),
    uses=(training_sequence, mixture),
)
def learn_mixture(setting: Setting) -> Findings:
    """X is 0.5, 1.0 and 1.5 times three independent sequences. With 8 columns the algorithm converges to an exact
    factorization, and the underlying transitions are learned.
    """
    network = transition_network(NONDETERMINISTIC, learn_transitions=8)
    printed = transition_network(NONDETERMINISTIC, learn_transitions=8, normalize="columns")
    results, unit = [], []
    for seed in setting.seeds(10, quick=6):
        X = mixture(np.random.default_rng(seed))
        results.append(pfn.learn(network, {"x": X}, seed=seed))
        unit.append(pfn.learn(printed, {"x": X}, seed=seed))
    yield Shown("The first ten slices of X.", plots.image(X[:, :10], network.variable("x")))
    yield Shown("W learned, on the first ten slices.", plots.equation(beginning(results[-1]), "eq1"))
    yield Check("all six in one run", "yes", Runs.of(all_found(NONDETERMINISTIC, r["W"]) for r in results))
    yield Check("RMSE", "exact", SeedSpread.of(result.rmse["eq1"] for result in results), most=1e-4)
    six = Runs.of(exact(result) and all_found(NONDETERMINISTIC, result["W"]) for result in unit)
    what = "with unit column sums, as printed: exact runs that have learned all six"
    yield Check(what, "all", six, least=six.runs / 3, difference=UNIT_COLUMNS)


@experiment(
    "learn-noisy-mixture",
    "3.2",
    "Learning from a noisy mixture",
    network="transitions",
    observed=("x",),
    uses=(training_sequence, mixture),
)
def learn_noisy_mixture(setting: Setting) -> Findings:
    """The same with noise uniform in [0, 0.1]: the factorization is approximate, and the transitions are still
    recovered in W, although with a small error.
    """
    network, results = transition_network(NONDETERMINISTIC, learn_transitions=8), []
    for seed in setting.seeds(10):
        draw = np.random.default_rng(seed)
        X = mixture(draw) + draw.uniform(0, 0.1, (4, LENGTH))
        results.append(pfn.learn(network, {"x": X}, seed=seed, iterations=3000))
    yield Shown("The first ten slices of X.", plots.image(X[:, :10], network.variable("x")))
    yield Shown("W learned, on the first ten slices.", plots.equation(beginning(results[-1]), "eq1"))
    six = Runs.of(all_found(NONDETERMINISTIC, result["W"]) for result in results)
    yield Check("all six in one run, to 0.05", "yes, with a small error", six)
    errors = SeedSpread.of(result.rmse["eq1"] for result in results)
    yield Check("RMSE", "approximate", errors, least=0.015, most=0.022)
