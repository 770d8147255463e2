"""Section 3: one machine, its transitions known, its states observed, or one of them."""

import numpy as np

import pfn
from pfn import plots
from pfn.models import transition_network
from pfn.paper.experiment import Check, Findings, Runs, Setting, Shown, Spread, experiment
from pfn.paper.measures import observed, rmse_of_all, stacked
from pfn.paper.originals import DETERMINISTIC, NONDETERMINISTIC

TURNS = "S1 S2 S3 S4 S1 S2 S3 S4 S1 S2"
EXACT = 1e-4


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
    apart = Spread.of(np.abs(result["h"] - H).max() for result in results)
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
    sweeps = Spread.of(result.iterations for result in results)
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
    on_x = Spread.of(error * np.sqrt(8 * 9 / (4 * 10)) for error in errors)
    reason = "it depends on the noise that is drawn; 0.027 on average"
    what = "RMSE, squared errors of X_C over the entries of X"
    yield Check(what, "0.034", on_x, least=0.017, most=0.04, difference=reason)
    reason = "X_C has more entries"
    what = "RMSE over the entries of X_C"
    yield Check(what, "0.034", Spread.of(errors), least=0.013, most=0.03, difference=reason)
    yield Check("largest change of H", "like the noise, up to 0.1", Spread.of(apart), least=0.05, most=0.1)


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
    yield Check("RMSE", "always below 1e-4", Spread.of(result.rmse["eq1"] for result in results), most=EXACT)
    right = Runs.of(np.allclose(result["h"], X[:, :9], atol=1e-3) for result in results)
    yield Check("H is the sum of both", "yes", right)


def predicted(setting: Setting, known: str, truth: str, *, apart: float, error: float) -> Findings:
    """All states from the one that is known, to be right to so much and at such an RMSE after 500 iterations."""
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
    furthest = Spread.of(np.abs(result["x"] - wanted).max() for result in results)
    yield Check("distance from the one solution at 500 iterations", "effectively reached", furthest, most=apart)
    errors = Spread.of(rmse_of_all(result) for result in results)
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
