"""Section 3: one machine, its transitions known, its states observed, partly observed or hidden."""

import numpy as np

import pfn
from pfn import plots
from pfn.models import transition_network
from pfn.paper.experiment import Check, Findings, Runs, Setting, Shown, Spread, experiment
from pfn.paper.measures import is_walk, observed, strongest_share
from pfn.paper.originals import DETERMINISTIC, NONDETERMINISTIC

TURNS = "S1 S2 S3 S4 S1 S2 S3 S4 S1 S2"
PARTLY = "? S2 ? S3 S4 ? ? ? ? ?"
EXACT = 1e-4
DRAWN = "it depends on the noise that is drawn; 0.027 on average"
SPARSE = pfn.Propagate(acceleration=None, epsilon=pfn.PAPER.epsilon, sparseness=0.1)


@experiment(
    "transition-matrix",
    "3.1",
    "A state diagram as a matrix",
    """A state diagram with four states and six transitions, the matrix W whose columns are its transitions, each a
    state on top of the next, and the network [x_t; x_t+1] = W h_t, of which four time slices are drawn.""",
)
def transition_matrix(_setting: Setting) -> Findings:
    yield Shown("The state diagram.", plots.draw(NONDETERMINISTIC))
    yield Shown("Four time slices of the network.", plots.draw(transition_network(NONDETERMINISTIC), slices=4))
    upper = [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 1], [0, 0, 1, 0, 1, 0], [0, 0, 0, 1, 0, 0]]
    lower = [[0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]]
    W = NONDETERMINISTIC.matrix()
    yield Check("W, 8 rows and 6 columns", "as printed", "{} × {}".format(*W.shape), np.array_equal(W, upper + lower))


@experiment(
    "fully-observed",
    "3.2",
    "Fully observed states, known transitions",
    """The deterministic machine in the states S1 S2 S3 S4 S1 S2 S3 S4 S1 S2. A few hundred iterations were sufficient
    for the RMSE to drop below 1e-4.""",
    network="transitions",
)
def fully_observed(setting: Setting) -> Findings:
    network, X = transition_network(DETERMINISTIC), observed(DETERMINISTIC, TURNS)
    yield Shown("The deterministic state diagram.", plots.draw(DETERMINISTIC))
    yield Shown("The observed X.", plots.image(X, network.variable("x")))
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, tolerance=EXACT) for s in setting.seeds(20)]
    yield Shown("The factorization after inference.", plots.equation(results[0], "eq1"))
    sweeps = Spread.of(result.iterations for result in results)
    yield Check("iterations until the RMSE is below 1e-4", "a few hundred suffice", sweeps, sweeps.highest <= 300)
    right = Runs.of(np.allclose(result["h"], X[:, :9], atol=1e-3) for result in results)
    yield Check("every transition found", "yes", right, right.always)


@experiment(
    "noisy",
    "3.2",
    "Noise on the states",
    """Noise uniform in [0, 0.1] is added to X: an RMSE of 0.034, and an H that looks like the noiseless one with noise
    added.""",
    network="transitions",
)
def noisy(setting: Setting) -> Findings:
    network, clean = transition_network(DETERMINISTIC), observed(DETERMINISTIC, TURNS)
    errors, apart = [], []
    for seed in setting.seeds(20):
        X = clean + np.random.default_rng(seed).uniform(0, 0.1, clean.shape)
        result = pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=seed)
        errors.append(result.rmse["eq1"])
        apart.append(np.abs(result["h"] - clean[:, :9]).max())
    yield Shown("The factorization of the noisy X.", plots.equation(result, "eq1"))
    on_x = Spread.of(error * np.sqrt(8 * 9 / (4 * 10)) for error in errors)
    yield Check("RMSE, squared errors of X_C over the entries of X", "0.034", on_x, 0.02 < on_x.median < 0.035, DRAWN)
    on_xc = Spread.of(errors)
    yield Check("RMSE over the entries of X_C", "0.034", on_xc, 0.015 < on_xc.median < 0.026, "X_C has more entries")
    yield Check("largest change of H", "like the noise, up to 0.1", Spread.of(apart), max(apart) < 0.1)


@experiment(
    "superposition",
    "3.2",
    "Two sequences at once, 0.5 and 1.0",
    """X is the sum of 0.5 times a sequence that starts in S1 and 1.0 times one that starts in S3. Repeated runs always
    converged to an exact solution (RMSE below 1e-4).""",
    network="transitions",
)
def superposition(setting: Setting) -> Findings:
    network = transition_network(DETERMINISTIC)
    X = 0.5 * observed(DETERMINISTIC, TURNS) + 1.0 * observed(DETERMINISTIC, "S3 S4 S1 S2 S3 S4 S1 S2 S3 S4")
    yield Shown("The observed sum.", plots.image(X, network.variable("x")))
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, tolerance=EXACT) for s in setting.seeds(20)]
    yield Shown("The factorization after inference.", plots.equation(results[0], "eq1"))
    exact = Runs.of(result.rmse["eq1"] < EXACT for result in results)
    yield Check("exact solution", "always", exact, exact.always)
    right = Runs.of(np.allclose(result["h"], X[:, :9], atol=1e-3) for result in results)
    yield Check("H is the sum of both", "yes", right, right.always)


@experiment(
    "predict-from-first",
    "3.2",
    "Only the first slice observed",
    """x1 = S1 is observed, nine slices are hidden. The estimates spread from the observed slice, and convergence is
    effectively reached by 500 iterations; there is only one solution, and it is found.""",
    network="transitions",
)
def predict_from_first(setting: Setting) -> Findings:
    network, X = transition_network(DETERMINISTIC), observed(DETERMINISTIC, "S1 ? ? ? ? ? ? ? ? ?")
    film = plots.film(network, {"x": X}, ["x"], every=[10, 50], iterations=500, method=pfn.PAPER, seed=setting.seed)
    frames = dict(zip(["given", "after 10", "after 50", "after 500"], film.frames["x"], strict=True))
    yield Shown("X after 0, 10, 50 and 500 iterations.", plots.stack(frames, list(frames), common_scale=True))
    yield Shown("The same as a film.", film)
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, iterations=500) for s in setting.seeds(20)]
    yield Shown("Given, and after 500 iterations.", plots.before_and_after({"x": X}, results[0], ["x"]))
    yield Shown("The factorization after 500 iterations.", plots.equation(results[0], "eq1"))
    truth = observed(DETERMINISTIC, TURNS)
    right = Runs.of(np.allclose(result["x"], truth, atol=0.03) for result in results)
    yield Check("the one solution at 500 iterations", "effectively reached", right, right.always)
    errors = Spread.of(result.rmse["eq1"] for result in results)
    yield Check("RMSE at 500 iterations", "effectively converged", errors, errors.highest < 1e-3)


@experiment(
    "predict-from-fourth",
    "3.2",
    "Only the fourth slice observed",
    """x4 = S1 is observed, all other slices are hidden. The estimates spread outward, backward and forward in time;
    convergence is effectively reached by 500 iterations.""",
    network="transitions",
)
def predict_from_fourth(setting: Setting) -> Findings:
    network, X = transition_network(DETERMINISTIC), observed(DETERMINISTIC, "? ? ? S1 ? ? ? ? ? ?")
    film = plots.film(network, {"x": X}, ["x"], every=[10, 50], iterations=500, method=pfn.PAPER, seed=setting.seed)
    frames = dict(zip(["given", "after 10", "after 50", "after 500"], film.frames["x"], strict=True))
    yield Shown("X after 0, 10, 50 and 500 iterations.", plots.stack(frames, list(frames), common_scale=True))
    yield Shown("The same as a film.", film)
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, iterations=500) for s in setting.seeds(20)]
    truth = observed(DETERMINISTIC, "S2 S3 S4 S1 S2 S3 S4 S1 S2 S3")
    right = Runs.of(np.allclose(result["x"], truth, atol=1e-3) for result in results)
    yield Check("the one solution at 500 iterations", "effectively reached", right, right.always)
    errors = Spread.of(result.rmse["eq1"] for result in results)
    yield Check("RMSE at 500 iterations", "effectively converged", errors, errors.highest < 1e-5)


@experiment(
    "nondeterministic",
    "3.2",
    "Fully observed states of the nondeterministic machine",
    """S1 S2 S3 S3 S4 S1 S2 S4 S1 S2, all observed: the inferred transitions are the correct factorization.""",
    network="transitions",
)
def nondeterministic(setting: Setting) -> Findings:
    network = transition_network(NONDETERMINISTIC)
    X = observed(NONDETERMINISTIC, "S1 S2 S3 S3 S4 S1 S2 S4 S1 S2")
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, tolerance=1e-6) for s in setting.seeds(20)]
    yield Shown("The factorization after inference.", plots.equation(results[0], "eq1"))
    H = np.eye(6)[:, [0, 1, 4, 2, 3, 0, 5, 3, 0]]  # t1 t2 t5 t3 t4 t1 t6 t4 t1
    right = Runs.of(np.allclose(result["h"], H, atol=1e-3) for result in results)
    yield Check("every transition found", "the correct factorization", right, right.always)


@experiment(
    "partly-observed",
    "3.2",
    "Some slices observed, several solutions",
    """(?, S2, ?, S3, S4, ?, ?, ?, ?, ?): repeated runs always converged to an exact solution, a different one each
    time. Slices 1, 3, 6, 7 are single states; 8, 9, 10 are superpositions, with equal column sums.""",
    network="transitions",
)
def partly_observed(setting: Setting) -> Findings:
    network, X = transition_network(NONDETERMINISTIC), observed(NONDETERMINISTIC, PARTLY)
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, iterations=500) for s in setting.seeds(20)]
    yield Shown("Before and after inference.", plots.before_and_after({"x": X}, results[0], ["x"]))
    yield Shown("The factorization.", plots.equation(results[0], "eq1"))
    exact = Runs.of(result.rmse["eq1"] < EXACT for result in results)
    yield Check("exact solution", "always", exact, exact.always)
    first = observed(NONDETERMINISTIC, "S1 S2 S3 S3 S4 S1 S2")
    single = Runs.of(np.allclose(result["x"][:, :7], first, atol=1e-4) for result in results)
    yield Check("slices 1, 3, 6, 7 are single states", "yes", single, single.always)
    mixed = Runs.of((strongest_share(result["x"][:, 7:]) < 0.99).all() for result in results)
    yield Check("slices 8, 9, 10 are superpositions", "yes", mixed, mixed.always)
    sums = Runs.of(np.allclose(result["x"].sum(axis=0), 1, atol=1e-4) for result in results)
    yield Check("equal column sums", "yes", sums, sums.always)
    apart = float(np.ptp([result["x"][2, 7] for result in results]))
    yield Check("the runs differ: range of the share of S3 in slice 8", "different each time", apart, apart > 0.01)


@experiment(
    "one-solution",
    "3.2",
    "One more slice observed, one solution",
    """(?, S2, ?, S3, S4, ?, ?, ?, ?, S2): now there is only one configuration of hidden states, and repeated runs
    always converged to it.""",
    network="transitions",
)
def one_solution(setting: Setting) -> Findings:
    network, X = transition_network(NONDETERMINISTIC), observed(NONDETERMINISTIC, "? S2 ? S3 S4 ? ? ? ? S2")
    results = [pfn.infer(network, {"x": X}, method=pfn.PAPER, seed=s, iterations=500) for s in setting.seeds(20)]
    yield Shown("Before and after inference.", plots.before_and_after({"x": X}, results[0], ["x"]))
    yield Shown("The factorization.", plots.equation(results[0], "eq1"))
    truth = observed(NONDETERMINISTIC, "S1 S2 S3 S3 S4 S1 S2 S4 S1 S2")
    right = Runs.of(np.allclose(result["x"], truth, atol=1e-4) for result in results)
    yield Check("the correct solution", "always", right, right.always)


@experiment(
    "sparse",
    "3.2",
    "Several solutions, sparse updates",
    """(?, S2, ?, S3, S4, ?, ?, ?, ?, ?) with sparseness 0.1: repeated runs produce distinct solutions with a single
    active state in every slice.""",
    network="transitions",
)
def sparse(setting: Setting) -> Findings:
    network, X = transition_network(NONDETERMINISTIC), observed(NONDETERMINISTIC, PARTLY)
    results = [pfn.infer(network, {"x": X}, method=SPARSE, seed=s, iterations=500) for s in setting.seeds(20, quick=12)]
    yield Shown("Before and after inference.", plots.before_and_after({"x": X}, results[0], ["x"]))
    yield Shown("The factorization.", plots.equation(results[0], "eq1"))
    walks = Runs.of(is_walk(NONDETERMINISTIC, result["x"]) for result in results)
    yield Check("one active state in every slice", "yes", walks, walks.always)
    distinct = len({tuple(result["x"].argmax(axis=0)) for result in results})
    yield Check("distinct solutions", "several", distinct, distinct > 1)


@experiment(
    "low-sparseness",
    "3.2",
    "Lower sparseness",
    """For sparseness values much lower than 0.1, a superposition of states can still occur, but most of the weight
    tends to be concentrated in a single state for each slice.""",
    network="transitions",
)
def low_sparseness(setting: Setting) -> Findings:
    network, X = transition_network(NONDETERMINISTIC), observed(NONDETERMINISTIC, PARTLY)
    shares: dict[float, list[float]] = {0.0: [], 0.005: [], 0.01: [], 0.02: []}
    for theta, found in shares.items():
        method = pfn.Propagate(acceleration=None, epsilon=pfn.PAPER.epsilon, sparseness=theta)
        for seed in setting.seeds(20):
            result = pfn.infer(network, {"x": X}, method=method, seed=seed, iterations=500)
            found.append(float(strongest_share(result["x"][:, 7:]).mean()))
    for theta, found in list(shares.items())[1:]:
        higher = np.median(found) > np.median(shares[0.0])
        yield Check(
            f"share of the strongest state in slices 8 to 10 at {theta}", "most", Spread.of(found), bool(higher)
        )
    low = Runs.of(share < 0.99 for share in shares[0.005])
    yield Check("superpositions at 0.005", "can still occur", low, low.successes > 0)


@experiment(
    "all-hidden",
    "3.2",
    "Everything hidden",
    """All variables hidden, X starts uniform in [0, 1], sparseness 0.1: runs end in exact factorizations that are
    random samples of the transition model. Without sparseness the factorization is also exact, but a superposition of
    many states.""",
    network="transitions",
)
def all_hidden(setting: Setting) -> Findings:
    network, hidden = transition_network(NONDETERMINISTIC), np.full((4, 10), np.nan)
    sampled, mixed = [], []
    for seed in setting.seeds(20):
        start = {"x": np.random.default_rng(seed).random((4, 10))}
        sampled.append(pfn.infer(network, {"x": hidden}, method=SPARSE, seed=seed, initial=start, iterations=600))
        mixed.append(pfn.infer(network, {"x": hidden}, method=pfn.PAPER, seed=seed, initial=start, iterations=2000))
    yield Shown("X after convergence of one run.", plots.image(sampled[0], "x"))
    yield Shown("The factorization.", plots.equation(sampled[0], "eq1"))
    exact = Runs.of(result.rmse["eq1"] < EXACT for result in sampled)
    yield Check("exact factorization", "yes", exact, exact.always)
    walks = Runs.of(is_walk(NONDETERMINISTIC, result["x"]) for result in sampled)
    yield Check("a valid sequence of single states", "yes", walks, walks.always)
    distinct = len({tuple(result["x"].argmax(axis=0)) for result in sampled})
    yield Check("distinct sequences", "a random sampling", distinct, distinct > len(sampled) // 2)
    exact = Runs.of(result.rmse["eq1"] < 1e-3 for result in mixed)
    yield Check("without sparseness: exact factorization", "yes", exact, exact.always)
    many = Runs.of((strongest_share(result["x"]) < 0.95).all() for result in mixed)
    yield Check("without sparseness: superpositions in every slice", "yes", many, many.always)
