"""Moves on substituted networks: none raises the cost, and each is what slow loops find."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import kl_div

import pfn
from pfn import t
from pfn.engines.stretch import Stretch
from pfn.engines.substituted import SubstitutedRun
from tests.engines.comparison import random_sequences
from tests.networks import RandomProblem, random_problem
from tests.substitution_oracle import Oracle, dense, engine_of

DIVERGENCES = ("kl", "euclidean")
SEEDS = st.integers(0, 10_000)
SWEEP = Stretch(first=0, count=1, sparseness=lambda _: {}, steps=0, lowest=np.inf)


def kept(problem: RandomProblem, seed: int) -> list[str]:
    """A fifth of the variables stay, so that some are child and parent at once."""
    generator = np.random.default_rng(seed)
    return [variable.name for variable in problem.network.variables if generator.random() < 0.2]


def run_of(problem: RandomProblem, seed: int, divergence: str, acceleration: Any = None) -> SubstitutedRun:
    method = pfn.Substitute(keep=kept(problem, seed), divergence=divergence, acceleration=acceleration)
    options = {name: problem.options[name] for name in ("learn", "weights")}
    return engine_of(problem.network, problem.data, method, initial=problem.initial, **options)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, divergence=st.sampled_from(DIVERGENCES))
def test_no_move_raises_the_cost(seed: int, divergence: str) -> None:
    problem = random_problem(seed, any_weights=True)
    with np.errstate(all="ignore"):
        run = run_of(problem, seed, divergence)
        for move in run.moves:  # given parameters need not have the sums that are asked for, so the first may
            run.update(move)
        for move in run.moves * 3:
            before = run.objective()
            run.update(move)
            # The cost is a sum of terms that may be as large as the data, which are around 1.
            assert run.objective() <= before + 1e-12 * (1 + before), move


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, divergence=st.sampled_from(DIVERGENCES))
def test_no_sweep_raises_the_cost(seed: int, divergence: str) -> None:
    """Sweeps update the upper levels with what rests below them, which bounds the cost."""
    problem = random_problem(seed, any_weights=True)
    with np.errstate(all="ignore"):
        run = run_of(problem, seed, divergence)
        run.advance(SWEEP)
        for _ in range(4):
            before = run.objective()
            run.advance(SWEEP)
            assert run.objective() <= before + 1e-12 * (1 + before)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, divergence=st.sampled_from(DIVERGENCES))
def test_with_momentum_no_point_ahead_costs_more_than_the_one_before(seed: int, divergence: str) -> None:
    problem = random_problem(seed, any_weights=True)
    with np.errstate(all="ignore"):
        run = run_of(problem, seed, divergence, "momentum")
        assume(all(move.degree == 1 for move in run.moves))  # of normalized ones, tied along a path, nothing is known
        run.advance(SWEEP)
        run.advance(SWEEP)
        for _ in range(20):
            before = run.cost_ahead
            run.advance(SWEEP)
            assert run.cost_ahead <= before + 1e-12 * (1 + before)
            assert run.objective() <= run.cost_ahead + 1e-12 * (1 + run.cost_ahead)


def test_momentum_is_the_recipe_of_one_hidden_variable() -> None:
    """x̂ from the change since z, back to x where the cost of x̂ is above that of x̂ before, then an update."""
    rng = np.random.default_rng(16)
    W, X, h = rng.gamma(0.3, 1, (8, 5)), rng.gamma(0.5, 1, (8, 12)), rng.random((5, 12))
    z, ahead, steps, taken_back = h, np.inf, 0, 0

    def cost(h: np.ndarray) -> float:
        return float(kl_div(X + 1e-9, W @ h + 1e-9).sum())

    x, hidden = pfn.Variable("x", 8), pfn.Variable("h", 5)
    network = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", W) @ hidden))
    sweeps = 100
    found = pfn.infer(network, {x: X}, method="substitute", initial={hidden: h}, iterations=sweeps)
    for _ in range(sweeps):
        change = np.clip(4 * steps / (2 * steps + 6) * (h / np.maximum(z, 1e-18) - 1), -0.3, 1)
        y = np.maximum(h * (1 + change), np.maximum(0.95 * np.minimum(h, 0.003), 1e-18))
        steps, back = steps + 1, cost(y) > ahead
        if back:
            y, steps, taken_back = h, 1, taken_back + 1
        z, ahead = (h + y) / 2, cost(y)
        h = y * (W.T @ ((X + 1e-9) / (W @ y + 1e-9)) + 1e-9) / (W.sum(axis=0)[:, None] + 1e-9)
    assert taken_back
    np.testing.assert_allclose(found[hidden], h, rtol=1e-6, atol=1e-9)


def test_a_saved_run_with_momentum_goes_on_with_the_same_bits() -> None:
    """Also where the next point ahead costs more than the values now, but less than the point ahead before."""
    x, h, g = pfn.Variable("x", 12), pfn.Variable("h", 6), pfn.Variable("g", 3)
    W, V = pfn.Parameter("W", shape=(12, 6)), pfn.Parameter("V", shape=(6, 3))
    network = pfn.Network(pfn.Factorization(x, W @ h, normalize="columns"), pfn.Factorization(h, V @ g))
    data = {x: np.random.default_rng(0).random((12, 60))}
    whole, between = engine_of(network, data, pfn.Substitute()), 0
    for _ in range(60):
        resumed = engine_of(network, data, pfn.Substitute())
        resumed.load_state(whole.save_state())
        now, ahead = whole.objective(), whole.cost_ahead
        for run in (whole, resumed):
            run.advance(SWEEP)
        between += now < whole.cost_ahead <= ahead
        for name in ("g", "h"):
            np.testing.assert_array_equal(resumed.variable(name), whole.variable(name))
        np.testing.assert_array_equal(resumed.parameter("W"), whole.parameter("W"))
    assert between > 0


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, divergence=st.sampled_from(DIVERGENCES))
def test_no_move_raises_the_cost_of_several_sequences(seed: int, divergence: str) -> None:
    problem = random_sequences(seed)
    with np.errstate(all="ignore"):
        run = run_of(problem, seed, divergence)
        for move in run.moves:
            run.update(move)
        for move in run.moves * 2:
            before = run.objective()
            run.update(move)
            assert run.objective() <= before + 1e-12 * (1 + before), move


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, divergence=st.sampled_from(DIVERGENCES))
def test_the_cost_is_that_of_loops(seed: int, divergence: str) -> None:
    problem = random_problem(seed, any_weights=True)
    run = run_of(problem, seed, divergence)
    oracle, values = oracle_of(problem, run)
    assert run.errors().divergence == pytest.approx(oracle.objective(values, divergence), rel=1e-9, abs=1e-12)


def oracle_of(problem: RandomProblem, run: SubstitutedRun) -> tuple[Oracle, dict[str, np.ndarray]]:
    network = problem.network
    oracle = Oracle(network, problem.data, dict(run.plan.definitions), problem.options["weights"])
    values = {v.name: run.variable(v.name)[0] for v in network.variables}
    return oracle, values | {p.name: run.parameter(p.name) for p in network.parameters}


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, divergence=st.sampled_from(DIVERGENCES))
def test_moves_are_those_of_loops(seed: int, divergence: str) -> None:
    problem = random_problem(seed, any_weights=True)
    with np.errstate(all="ignore"):
        run = run_of(problem, seed, divergence)
        for move in run.moves:
            target = problem.network[move.targets[0]]
            if len(move.targets) == 1 and is_plain(problem.network, run, target, move.degree):
                oracle, values = oracle_of(problem, run)
                numerator, denominator = oracle.slopes(values, target.name, divergence)
                expected = dense(values[target.name]) * (numerator + 1e-9) / (denominator + 1e-9)
                run.update(move)
                found = dense(oracle_of(problem, run)[1][target.name])
                same = np.isclose(found, expected, rtol=1e-8, atol=1e-13) | ~updated(oracle, values, target)
                assert same.all(), (move, found, expected)
            else:
                run.update(move)


def is_plain(network: pfn.Network, run: SubstitutedRun, target: object, degree: int) -> bool:
    """Whether the usual multiplicative formula is the whole update."""
    if isinstance(target, pfn.Parameter):
        normalized = any(e.normalize for e in network.factorizations if target in e.parameters)
        return not (normalized or target.prior_weight or degree > 1 or target.sparse)
    child = any(piece.variable == target for e in network.factorizations for piece in e.children)
    return not child or target.name in dict(run.plan.definitions)


def updated(oracle: Oracle, values: dict[str, np.ndarray], target: object) -> np.ndarray:
    """The entries that the move may change: not observed, not eliminated, touched by some equation."""
    if isinstance(target, pfn.Parameter):
        return np.ones(target.shape, dtype=bool)
    marked = {name: np.array(dense(value)) for name, value in values.items()}
    marked[target.name][...] = -1.0
    settled, _ = oracle.settle(marked)
    free = settled[target.name] == -1.0
    if target.name in oracle.data:
        free &= np.isnan(oracle.data[target.name])
    return free & ~np.isnan(values[target.name])


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("seed", [4, 7, 21])
def test_numerator_and_denominator_give_the_gradient(seed: int, divergence: str) -> None:
    """Finite differences of the loops' cost; d − n for Kullback-Leibler, twice that for squares."""
    problem = random_problem(seed, any_weights=True)
    run = run_of(problem, seed, divergence)
    oracle, values = oracle_of(problem, run)
    moves = [move for move in run.moves if move.action == "right update"]
    plain = [move for move in moves if is_plain(problem.network, run, problem.network[move.targets[0]], 1)]
    assert plain
    for move in plain:
        name = move.targets[0]
        run.rise(move)
        rate = (run.risen[name].denominator - run.risen[name].numerator) * (1 if divergence == "kl" else 2)
        for place in np.argwhere(updated(oracle, values, problem.network[name]))[:6]:
            expected = difference(oracle, values, name, tuple(place), divergence)
            assert rate[tuple(place)] == pytest.approx(expected, rel=1e-4, abs=1e-6)


def difference(oracle: Oracle, values: dict, name: str, place: tuple[int, ...], divergence: str) -> float:
    step, costs = 1e-6, []
    for sign in (1, -1):
        moved = np.array(values[name])
        moved[place] += sign * step
        costs.append(oracle.objective({**values, name: moved}, divergence))
    return (costs[0] - costs[1]) / (2 * step)


@pytest.mark.parametrize("pull", [0.0, 0.7])
@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_matrix_tied_to_itself_on_other_levels(divergence: str, levels: int, pull: float) -> None:
    """x = W h1 = W W h2 = …: the cost is no longer linear in W, and still does not rise."""
    generator = np.random.default_rng(levels)
    W = pfn.Parameter("W", shape=(3, 3), prior=generator.random((3, 3)), prior_weight=pull)
    h = [pfn.Variable(f"h{level}", 3) for level in range(levels + 1)]
    network = pfn.Network(*(pfn.Factorization(h[k], W @ h[k + 1] + W @ h[k + 1][t - 1]) for k in range(levels)))
    run = engine_of(network, {"h0": generator.random((3, 20))}, pfn.Substitute(divergence=divergence))
    assert [move.degree for move in run.moves] == [levels, 1]
    costs = [run.objective()]
    for move in run.moves * 30:
        run.update(move)
        costs.append(run.objective())
        assert costs[-1] <= costs[-2] + 1e-12 * costs[-2], move
    assert costs[-1] < 0.85 * costs[2]


def normalized(kind: str, *, tied: bool = False, pull: float = 0.0) -> pfn.Network:
    """Two levels; W may be tied to the level above, or pulled."""
    x, h, g = pfn.Variable("x", 4), pfn.Variable("h", 4), pfn.Variable("g", 4)
    stacked = kind in ("subcolumns", "balanced")
    shape = (8, 4) if stacked else (4, 4)
    W = pfn.Parameter("W", shape=shape, prior=np.linspace(0, 0.5, shape[0] * 4).reshape(shape), prior_weight=pull)
    U, V = pfn.Parameter("U", shape=shape), W if tied else pfn.Parameter("V", shape=(4, 4))
    upper = kind if not stacked else "columns"
    return pfn.Network(
        pfn.Factorization([x[t], x[t + 1]] if stacked else x, W @ h + U @ h[t - 1], normalize=kind),
        pfn.Factorization(h, V @ g, normalize=upper),
    )


NORMALIZED = {kind: {"kind": kind} for kind in ("columns", "subcolumns", "balanced", "sequences")}
NORMALIZED |= {f"{kind}, pulled": {"kind": kind, "pull": 0.8} for kind in NORMALIZED}
NORMALIZED["columns, tied"] = {"kind": "columns", "tied": True}


@pytest.mark.parametrize("case", NORMALIZED)
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_normalized_updates_keep_their_sums_and_do_not_raise_the_cost(divergence: str, case: str) -> None:
    network = normalized(**NORMALIZED[case])
    data = {"x": np.random.default_rng(5).random((4, 15))}
    run = engine_of(network, data, pfn.Substitute(divergence=divergence))
    for move in run.moves * 25:
        before = run.objective()
        run.update(move)
        fallback = (
            case == "columns, tied" and divergence == "euclidean"
        )  # is normalized afterwards: docs/substitution.md
        assert fallback or run.objective() <= before + 1e-12 * before, move
    W, U = run.parameter("W"), run.parameter("U")
    parts = {"columns": [W], "subcolumns": [2 * W[:4], 2 * W[4:]], "sequences": [np.vstack([W, U])]}
    if NORMALIZED[case]["kind"] == "balanced":
        np.testing.assert_allclose(W[:4].sum(axis=0), W[4:].sum(axis=0))
    for part in parts.get(NORMALIZED[case]["kind"], []):
        np.testing.assert_allclose(part.sum(axis=0), 1)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_random_problems_have_every_kind_of_move(divergence: str) -> None:
    """A change of the generator must not quietly stop testing something."""
    found: dict[str, int] = dict.fromkeys(["eliminated", "kept child", "normalized", "pulled"], 0)
    for seed in range(150):
        problem = random_problem(seed, any_weights=True)
        run = run_of(problem, seed, divergence)
        found["eliminated"] += bool(run.plan.definitions)
        for move in run.moves:
            target = problem.network[move.targets[0]]
            if isinstance(target, pfn.Parameter):
                found["pulled"] += bool(target.prior_weight)
                found["normalized"] += any(
                    e.normalize for e in problem.network.factorizations if target in e.parameters
                )
            else:
                found["kept child"] += not is_plain(problem.network, run, target, 1)
    assert min(found.values()) >= 40, found


def test_nothing_is_warned_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(20):
            problem = random_problem(seed, any_weights=True)
            method = pfn.Substitute(keep=kept(problem, seed))
            ask = pfn.learn if problem.options["learn"] else pfn.infer
            ask(problem.network, problem.data, method=method, iterations=3, initial=problem.initial)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_pull_ends_at_the_minimum_of_the_objective(divergence: str) -> None:
    """One number w with x = w h: the divergence plus κ (Euclidean: 2κ) times that of w from its prior."""
    x, h, prior, pull = 3.0, 0.7, 2.0, 0.4
    child, parent = pfn.Variable("x", 1), pfn.Variable("h", 1)
    W = pfn.Parameter("W", shape=(1, 1), prior=np.array([[prior]]), prior_weight=pull)
    network = pfn.Network(pfn.Factorization(child, W @ parent))
    data = {"x": np.array([[x]]), "h": np.array([[h]])}
    run = engine_of(network, data, pfn.Substitute(divergence=divergence))

    def objective(w: float) -> float:
        if divergence == "kl":
            return float(kl_div(x, w * h) + pull * kl_div(prior, w))
        return float((x - w * h) ** 2 + 2 * pull * kl_div(prior, w))

    for _ in range(100):
        run.update(run.moves[0])
    found = float(run.parameter("W")[0, 0])
    assert run.objective() == pytest.approx(objective(found), rel=1e-6)
    assert found == pytest.approx(minimize_scalar(objective, bounds=(0.1, 10), method="bounded").x, rel=1e-4)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_a_matrix_that_a_sequence_has_twice_counts_twice_in_its_sums(divergence: str) -> None:
    x, h = pfn.Variable("x", 4), pfn.Variable("h", 3)
    W, U = pfn.Parameter("W", shape=(4, 3)), pfn.Parameter("U", shape=(4, 3))
    network = pfn.Network(pfn.Factorization(x, W @ h + W @ h[t - 1] + U @ h[t - 2], normalize="sequences"))
    run = engine_of(network, {"x": np.random.default_rng(0).random((4, 15))}, pfn.Substitute(divergence=divergence))
    for move in run.moves * 10:
        before = run.objective()
        run.update(move)
        assert run.objective() <= before + 1e-12 * before, move
    np.testing.assert_allclose(2 * run.parameter("W").sum(axis=0) + run.parameter("U").sum(axis=0), 1)
