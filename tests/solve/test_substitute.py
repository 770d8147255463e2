"""`method=pfn.Substitute(…)` as users meet it: values, options, refusals."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from pfn.engines import fixed
from pfn.engines.substituted import UPPER_ROUNDS
from pfn.models import Vocabulary, chain_data, language_chain
from pfn.updates import DIVERGENCES, left_update, right_update
from tests.networks import W_DETERMINISTIC, automaton, hierarchy, plain_nmf
from tests.solve.cases import assert_same, chain, dense, numbers, parts_based, states, tower
from tests.substitution_oracle import engine_of

PLAIN = pfn.Substitute(acceleration=None)
TOWERS = hierarchy(6, (4, 3, 2), 2, (1, 2, 4))


def rises(result):
    """The largest relative rise of the divergence from one sweep to the next."""
    return max(after / before - 1 for before, after in pairwise(result.history.divergence))


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_plain_nmf_is_the_usual_multiplicative_updates(divergence):
    X = numbers(5, 8)
    method = pfn.Substitute(divergence=divergence, acceleration=None)
    initial = {"W": numbers(5, 2, seed=1), "h": numbers(2, 8, seed=2)}
    W, H = initial["W"], initial["h"]
    for _ in range(7):
        W = left_update(X, W, H, DIVERGENCES[divergence])  # the left update comes first
        H = right_update(X, W, H, DIVERGENCES[divergence])
    result = pfn.learn(plain_nmf(5, 2), {"x": X}, method=method, iterations=7, initial=initial)
    np.testing.assert_allclose(result["W"], W, rtol=1e-10)
    np.testing.assert_allclose(result["h"], H, rtol=1e-10)


def lagged(H, lag):
    """Columns moved to the right, zeros before the first."""
    return np.hstack([np.zeros((H.shape[0], lag)), H])[:, : H.shape[1]]


def three_levels():
    x, u, v, w = (pfn.Variable(name, size) for name, size in (("x", 5), ("u", 4), ("v", 3), ("w", 2)))
    A, B, C, D = (pfn.Parameter(n, shape=s) for n, s in (("A", (5, 4)), ("B", (5, 4)), ("C", (4, 3)), ("D", (3, 2))))
    return pfn.Network(
        pfn.Factorization(x, A @ u + B @ u[t - 2]),
        pfn.Factorization(u, C @ v + C @ v[t - 1]),
        pfn.Factorization(v, D @ w[t - 1]),
    )


def test_three_levels_with_lags_are_products_written_out():
    """The moves by hand: [A B], then C, then D, then w; each sees the new values of those before it."""
    X, epsilon = numbers(5, 9), 1e-9
    start = {n: numbers(*s, seed=k) for k, (n, s) in enumerate([("A", (5, 4)), ("B", (5, 4)), ("C", (4, 3))], 1)}
    start |= {"D": numbers(3, 2, seed=4), "w": numbers(2, 8, seed=5)}
    A, B, C, D = (start[name] for name in "ABCD")
    w = np.hstack([start["w"], np.zeros((2, 1))])  # w[t-1] at t = 8 is the last that counts

    def up(field, lag):
        return np.hstack([field[:, lag:], np.zeros((field.shape[0], lag))])

    def levels():
        v = D @ lagged(w, 1)
        u = C @ (v + lagged(v, 1))
        return u, v, A @ u + B @ lagged(u, 2)

    def factor(numerator, denominator):
        return (numerator + epsilon) / (denominator + epsilon)

    def fields():
        u, v, R = levels()
        rise = [(X + epsilon) / (R + epsilon), np.ones_like(X)]
        in_u = [A.T @ f + up(B.T @ f, 2) for f in rise]
        in_v = [C.T @ f + up(C.T @ f, 1) for f in in_u]
        return u, v, rise, in_u, in_v

    u, v, rise, *_ = fields()
    new = [matrix * factor(*(f @ parent.T for f in rise)) for matrix, parent in ((A, u), (B, lagged(u, 2)))]
    A, B = new
    _, v, _, in_u, _ = fields()
    C = C * factor(*(f @ (v + lagged(v, 1)).T for f in in_u))
    *_, in_v = fields()
    D = D * factor(*(f @ lagged(w, 1).T for f in in_v))
    *_, in_v = fields()
    w = w * factor(*(up(D.T @ f, 1) for f in in_v))
    u, v, R = levels()
    run = engine_of(three_levels(), {"x": X}, PLAIN, initial=start)
    for move in run.moves:
        run.update(move)
    for name, value in {"A": A, "B": B, "C": C, "D": D}.items():
        np.testing.assert_allclose(run.parameter(name), value, rtol=1e-7, err_msg=name)
    for name, value in {"w": w[:, :8], "u": u, "v": v}.items():
        np.testing.assert_allclose(run.variable(name)[0], value, rtol=1e-7, err_msg=name)
    rmse = run.errors().rmse
    assert rmse["eq1"] == pytest.approx(np.sqrt(np.mean((X - R) ** 2)))
    assert rmse["eq2"] == rmse["eq3"] == 0


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_a_sweep_updates_the_upper_level_with_what_rests_below_it(divergence):
    """x = W h, h = V g by hand: W; then V and g, twice, from numerator n and denominator d of h as it was."""
    X, epsilon, kind = numbers(5, 9), 1e-9, DIVERGENCES[divergence]
    W, V, g = numbers(5, 4, seed=1), numbers(4, 3, seed=2), numbers(3, 9, seed=3)
    start = {"W": W, "V": V, "g": g}
    W = left_update(X, W, V @ g, kind)
    h, R = V @ g, W @ V @ g
    n, d = W.T @ kind.numerator_field(X, R, epsilon), W.T @ (np.ones_like(X) if divergence == "kl" else R)

    def fields():
        return (n * h / (V @ g), d) if divergence == "kl" else (n, d * (V @ g) / h)

    for _ in range(UPPER_ROUNDS):
        V = V * np.divide(*(f @ g.T + epsilon for f in fields()))
        g = g * np.divide(*(V.T @ f + epsilon for f in fields()))
    x, hidden, top = pfn.Variable("x", 5), pfn.Variable("h", 4), pfn.Variable("g", 3)
    network = pfn.Network(
        pfn.Factorization(x, pfn.Parameter("W", shape=(5, 4)) @ hidden),
        pfn.Factorization(hidden, pfn.Parameter("V", shape=(4, 3)) @ top),
    )
    method = pfn.Substitute(divergence=divergence, acceleration=None)
    result = pfn.learn(network, {"x": X}, method=method, iterations=1, initial=start)
    for name, value in {"W": W, "V": V, "g": g, "h": V @ g}.items():
        np.testing.assert_allclose(result[name], value, rtol=1e-8, err_msg=name)


def test_the_language_chain_is_expectation_maximisation():
    """The oracle goes through the bigrams one by one: V, then A and B from what V says of the next features."""
    tokens, vocabulary = list("abcabacabbac"), Vocabulary("abc", unknown=None)
    generator = np.random.default_rng(3)
    B, A, V = (generator.random(shape) for shape in ((2, 3), (2, 2), (3, 2)))
    B, A, V = (matrix / matrix.sum(axis=0) for matrix in (B, A, V))
    start, bigrams = {"B": B, "A": A, "V": V}, list(pairwise(vocabulary.encode(tokens)))
    new = np.zeros_like(V)
    for y, z in bigrams:
        x2 = A @ B[:, y]
        new[z] += V[z] * x2 / (V[z] @ x2)
    V = new / new.sum(axis=0)
    posteriors = [V[z] * (A @ B[:, y]) / (V[z] @ A @ B[:, y]) for y, z in bigrams]
    for _ in range(UPPER_ROUNDS):
        for name in "AB":
            new = np.zeros_like(A if name == "A" else B)
            for (y, _), x2 in zip(bigrams, posteriors, strict=True):
                joint = (x2 / (A @ B[:, y]))[:, None] * A * B[:, y]  # features of the next word and of this one
                if name == "A":
                    new += joint
                else:
                    new[:, y] += joint.sum(axis=0)
            new += 0.5 / 2 if name == "B" else 0  # the pull to equal features
            A, B = (new / new.sum(axis=0), B) if name == "A" else (A, new / new.sum(axis=0))
    data = chain_data(tokens, vocabulary)
    options = {"weights": data.weights, "initial": start, "method": PLAIN, "iterations": 1}
    result = pfn.learn(language_chain(vocabulary, 2, pull=0.5), data.observed, **options)
    for name, expected in {"V": V, "A": A, "B": B}.items():
        np.testing.assert_allclose(result[name], expected, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("acceleration", ["momentum", None])
def test_sparse_observations_stay_sparse(monkeypatch, acceleration):
    tokens, vocabulary = list("abcabacabbacab"), Vocabulary("abc", unknown=None)
    data = chain_data(tokens, vocabulary)
    method = pfn.Substitute(acceleration=acceleration)
    results = []
    for most in (fixed.DENSE_ENTRIES, 0):
        monkeypatch.setattr(fixed, "DENSE_ENTRIES", most)
        options = {"weights": data.weights, "method": method, "iterations": 8}
        results.append(pfn.learn(language_chain(vocabulary, 2, pull=0.0), data.observed, **options))
    for name in ("B", "A", "V", "x", "x2"):
        # A dense zero counts as ε = 1e-9, a sparse one as nothing.
        np.testing.assert_allclose(results[0][name], results[1][name], atol=1e-6, err_msg=name)
    np.testing.assert_allclose(results[0].history["words"], results[1].history["words"], rtol=1e-6)
    assert rises(results[1]) <= 1e-12


def test_eliminated_variables_are_reported_as_what_they_are():
    result = pfn.learn(TOWERS, {"x1": numbers(6, 20)}, method="substitute", iterations=30)
    W = [result[f"W3_{k}"] for k in (1, 2)]
    np.testing.assert_allclose(result["x3"], W[0] @ result["x4"] + W[1] @ lagged(result["x4"], 4), rtol=1e-12)
    assert result.rmse["eq2"] == result.rmse["eq3"] == 0 < result.rmse["eq1"]
    assert rises(result) <= 0


@pytest.mark.parametrize("acceleration", ["momentum", None])
@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
@pytest.mark.parametrize("keep", [(), ("x2",), ("x2", "x3")])
def test_the_divergence_never_rises_and_with_momentum_hardly_ever(divergence, acceleration, keep):
    method = pfn.Substitute(keep=keep, divergence=divergence, acceleration=acceleration)
    result = pfn.learn(TOWERS, {"x1": numbers(6, 20)}, method=method, iterations=150)
    assert rises(result) <= (1e-3 if acceleration else 1e-12)
    kept = {"x2": "eq2", "x3": "eq3"}
    assert {name for name, error in result.rmse.items() if error} == {"eq1", *(kept[name] for name in keep)}


def test_hidden_entries_at_the_bottom_are_in_no_term_of_the_cost():
    truth = numbers(6, 2, seed=1) @ numbers(2, 40, seed=2)
    rank = np.random.default_rng(0).random(truth.shape).argsort(axis=0)
    X = np.where(rank < 2, np.nan, truth)  # four of six components seen, two of which would do
    result = pfn.learn(plain_nmf(6, 2), {"x": X}, method="substitute", iterations=1500)
    np.testing.assert_allclose(result["x"], truth, atol=1e-3)
    np.testing.assert_array_equal(result["x"][rank >= 2], X[rank >= 2])
    assert result.rmse["eq1"] == pytest.approx(np.sqrt(result.squared_error / (rank >= 2).sum()))


def test_observed_entries_of_a_variable_between_are_held_and_flow_down():
    A, C = np.array([[1.0, 2.0]]), np.eye(2)
    x, h, g = pfn.Variable("x", 1), pfn.Variable("h", 2), pfn.Variable("g", 2)
    network = pfn.Network(
        pfn.Factorization(x, pfn.Parameter("A", A) @ h), pfn.Factorization(h, pfn.Parameter("C", C) @ g)
    )
    result = pfn.infer(
        network, {x: np.array([[5.0]]), h: np.array([[1.0], [np.nan]])}, method="substitute", iterations=300
    )
    np.testing.assert_allclose(result[h], [[1], [2]], rtol=1e-4)
    np.testing.assert_allclose(result[g], [[1], [2]], rtol=1e-4)


def test_inference_leaves_parameters_and_finds_all_levels():
    network = tower()
    truth = np.array([[1.0, 0.0, 2.0], [0.5, 3.0, 0.0]])
    result = pfn.infer(network, {"x": truth, "y": np.ones((3, 2)) @ truth}, method="substitute", iterations=500)
    for name in ("h", "top"):
        np.testing.assert_allclose(result[name], truth, atol=1e-6)
    assert result["A"] is network["A"].value


def test_a_machine_that_cannot_be_eliminated_is_solved_too():
    """x is the child of two slices: it stays, as a child and, where hidden, a free variable."""
    result = pfn.infer(automaton(W_DETERMINISTIC), {"x": states(1, 0, 0, 0)}, method="substitute", iterations=3000)
    np.testing.assert_allclose(result["x"], states(1, 2, 3, 4), atol=0.05)


def test_known_and_learned_parameters_mix_and_may_be_sparse():
    result = pfn.learn(chain(), {"y": numbers(4, 12)}, method="substitute", iterations=50)
    zero = dense(chain()["P"].value) == 0
    assert scipy.sparse.issparse(result["P"])
    assert not dense(result["P"])[zero].any()
    np.testing.assert_allclose(result["V"].sum(axis=0), 1)
    V = result["V"]
    np.testing.assert_allclose(result["x"], V @ result["h"] + V @ lagged(result["h"], 2))


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_equal_sequences_are_one_that_counts_twice(divergence):
    X = numbers(4, 12)
    method = pfn.Substitute(divergence=divergence, acceleration=None)
    start = {"Q": numbers(4, 3, seed=1), "V": numbers(3, 2, seed=2)}
    H = numbers(2, 12, seed=3)
    two = pfn.learn(chain(), {"y": [X, X]}, method=method, iterations=9, initial=start | {"h": [H, H]})
    weights = {"eq1": np.full(12, 2.0)}
    one = pfn.learn(chain(), {"y": X}, method=method, iterations=9, initial=start | {"h": H}, weights=weights)
    for name in ("P", "Q", "V"):
        np.testing.assert_allclose(dense(two[name]), dense(one[name]), rtol=1e-8, err_msg=name)
    for name in ("x", "h"):
        np.testing.assert_allclose(two[name][0], one[name], rtol=1e-8, err_msg=name)
        np.testing.assert_array_equal(two[name][0], two[name][1])
    assert two.rmse["eq1"] == pytest.approx(one.rmse["eq1"])


def test_sequences_of_different_lengths_do_not_see_each_other():
    known = {p.name: numbers(*p.shape, seed=k) for k, p in enumerate(TOWERS.parameters)}
    pieces = [numbers(6, 9), numbers(6, 14, seed=1)]
    start = [numbers(2, 9, seed=2), numbers(2, 14, seed=3)]
    options = {"method": PLAIN, "iterations": 6}
    both = pfn.infer(TOWERS, {"x1": pieces}, initial=known | {"x4": start}, **options)
    for number, (piece, h) in enumerate(zip(pieces, start, strict=True)):
        alone = pfn.infer(TOWERS, {"x1": piece}, initial=known | {"x4": h}, **options)
        for name in ("x2", "x3", "x4"):
            np.testing.assert_allclose(both[name][number], alone[name], rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("keep", [(), ("h",)])
@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_slices_of_two_sequences_are_never_stacked(divergence, keep):
    """Where one sequence ends and the next begins, [h_t; y_{t+1}] would belong to both: the equation does not hold."""
    x, y, h, g = (pfn.Variable(name, 2) for name in "xyhg")
    W, V = pfn.Parameter("W", numbers(2, 2)), pfn.Parameter("V", numbers(4, 2, seed=1))
    network = pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization([h[t], y[t + 1]], V @ g))
    pieces = {"x": [numbers(2, n, seed=n) for n in (3, 5)], "y": [numbers(2, n, seed=n + 9) for n in (3, 5)]}
    start = {"h": [numbers(2, n, seed=n + 1) for n in (3, 5)], "g": [numbers(2, n - 1, seed=n + 2) for n in (3, 5)]}
    method = pfn.Substitute(divergence=divergence, keep=keep, acceleration=None)
    both = pfn.infer(network, pieces, initial=start, method=method, iterations=9)
    alone = []
    for number in range(2):
        data, initial = ({name: arrays[number] for name, arrays in each.items()} for each in (pieces, start))
        alone.append(pfn.infer(network, data, initial=initial, method=method, iterations=9))
    for name in "hg":
        for number, one in enumerate(alone):
            np.testing.assert_allclose(both[name][number], one[name], rtol=1e-9, err_msg=name)
    assert both.squared_error == pytest.approx(sum(one.squared_error for one in alone))
    assert both.history.divergence[-1] == pytest.approx(sum(one.history.divergence[-1] for one in alone))


def test_float32_follows_float64():
    X = numbers(6, 20)
    one, other = (pfn.learn(TOWERS, {"x1": X}, method=PLAIN, iterations=20, dtype=d) for d in ("float32", "float64"))
    assert all(one[name].dtype == np.float32 for name in ("x1", "x2", "x4", "W1_1"))
    for name in ("x2", "x4", "W2_1"):
        np.testing.assert_allclose(one[name], other[name], rtol=2e-3, err_msg=name)


@pytest.mark.parametrize("method", [pfn.Substitute(), PLAIN, pfn.Substitute(keep=["x"], start="levels")])
def test_a_resumed_run_is_the_whole_run(tmp_path, method):
    options = {"method": method, "seed": 3}
    data, file = {"y": [numbers(4, 12), numbers(4, 5, seed=1)]}, tmp_path / "checkpoint"
    whole = pfn.learn(chain(), data, iterations=24, **options)
    pfn.learn(chain(), data, iterations=11, checkpoint=file, **options)
    assert_same(pfn.learn(chain(), data, iterations=24, resume=file, **options), whole)


def test_a_start_by_levels_begins_lower():
    X = numbers(6, 30)
    first = [
        pfn.learn(TOWERS, {"x1": X}, method=pfn.Substitute(start=start), iterations=1).history.divergence[0]
        for start in ("levels", "random")
    ]
    assert first[0] < 0.8 * first[1]


def test_common_options():
    data, seen = {"x1": numbers(6, 20)}, []
    best = pfn.learn(TOWERS, data, method="substitute", iterations=15, restarts=3)
    plain = pfn.learn(TOWERS, data, method="substitute", iterations=15)
    assert best.squared_error <= plain.squared_error
    assert_same(plain, pfn.learn(TOWERS, data, method=pfn.Substitute(), iterations=15))
    stopped = pfn.learn(TOWERS, data, method="substitute", callback=lambda i, v: seen.append(v["x2"].shape) or i == 4)
    assert (stopped.iterations, seen) == (5, [(4, 20)] * 5)
    assert "stall" not in stopped.stop
    assert "changed by less than 0.9" in pfn.learn(TOWERS, data, method="substitute", stall=0.9).stop
    assert "tolerance" in pfn.learn(TOWERS, data, method="substitute", tolerance=10.0).stop
    assert plain.settings["method"].startswith("Substitute(keep=()")


def test_starting_values_of_eliminated_variables_do_not_matter():
    data = {"x1": numbers(6, 20)}
    one, other = (
        pfn.learn(TOWERS, data, method="substitute", iterations=5, initial={"x2": np.full((4, 20), value)})
        for value in (1.0, 7.0)
    )
    assert_same(one, other)


def test_what_nothing_is_known_of_stays_as_it_starts():
    W = pfn.Parameter("W", [[1.0, 0.0], [2.0, 1.0]])
    x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
    network = pfn.Network(pfn.Factorization(x, W @ h))
    given = pfn.infer(network, {h: np.ones((2, 3))}, method="substitute", iterations=3)
    np.testing.assert_array_equal(given[x], W.value @ np.ones((2, 3)))
    start = numbers(2, 3)
    drawn = pfn.infer(network, {x: np.full((2, 3), np.nan)}, method="substitute", iterations=3, initial={h: start})
    np.testing.assert_allclose(drawn[h], start, rtol=1e-12)
    np.testing.assert_allclose(drawn[x], W.value @ start, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": "x2"}, "keep must be a list of variables, found 'x2'"),
        ({"divergence": "is"}, "divergence must be one of 'kl', 'euclidean', found 'is'"),
        ({"acceleration": "fast"}, "acceleration must be one of 'momentum', None"),
        ({"start": "zero"}, "start must be one of"),
        ({"epsilon": 0}, "epsilon must be greater than 0"),
        ({"initial_scale": -1}, "initial_scale must be a number >= 0, found -1"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(pfn.OptionError, match=message):
        pfn.Substitute(**options)


@pytest.mark.parametrize(
    ("keep", "message"),
    [(["x9"], "Substitute: keep: the network has nothing called x9"), (["W1_1"], "keep takes variables, found W1_1")],
)
def test_names_that_the_network_does_not_have(keep, message):
    with pytest.raises(pfn.OptionError, match=message):
        pfn.learn(TOWERS, {"x1": numbers(6, 20)}, method=pfn.Substitute(keep=keep))


def test_cycles_through_time_are_refused():
    x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
    W, V = pfn.Parameter("W", np.eye(2)), pfn.Parameter("V", np.eye(2))
    network = pfn.Network(pfn.Factorization(x, W @ h), pfn.Factorization(h, V @ x[t - 1]))
    assert "substitute" not in network.methods
    with pytest.raises(pfn.OptionError, match="cycle through time"):
        pfn.infer(network, {x: numbers(2, 5)}, method="substitute")


def test_numbers_that_are_too_large_are_refused():
    with pytest.raises(pfn.NumericalError, match="eq1"):
        pfn.learn(parts_based(), {"x": np.full((4, 3), 1e38)}, method="substitute", dtype="float32")


def test_it_runs_on_numpy_only(monkeypatch):
    monkeypatch.setattr("pfn.solve.options.is_installed", lambda _engine: True)
    with pytest.raises(pfn.OptionError, match="runs on NumPy only, found engine='jax'"):
        pfn.learn(TOWERS, {"x1": numbers(6, 20)}, method="substitute", engine="jax")
