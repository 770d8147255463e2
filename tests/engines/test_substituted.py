"""Moves on substituted networks: none raises the cost, and each is what slow loops find."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pfn
from pfn import t
from pfn.engines.stretch import Stretch
from pfn.engines.substituted import SubstitutedRun
from tests.engines.comparison import random_sequences
from tests.networks import RandomProblem, random_problem
from tests.substitution_oracle import Oracle, dense, engine_of

DIVERGENCES = ("kl", "euclidean")
SEEDS = st.integers(0, 10_000)
SWEEP = Stretch(first=0, count=1, sparseness=lambda _: {}, steps=0, past=())


def kept(problem: RandomProblem, seed: int) -> list[str]:
    """A fifth of the variables stay, so that some are child and parent at once."""
    generator = np.random.default_rng(seed)
    return [variable.name for variable in problem.network.variables if generator.random() < 0.2]


def run_of(problem: RandomProblem, seed: int, divergence: str) -> SubstitutedRun:
    method = pfn.Substitute(keep=kept(problem, seed), divergence=divergence, acceleration=None)
    options = {name: problem.options[name] for name in ("learn", "weights")}
    return engine_of(problem.network, problem.data, method, initial=problem.initial, **options)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, divergence=st.sampled_from(DIVERGENCES))
def test_no_move_raises_the_cost(seed: int, divergence: str) -> None:
    problem = random_problem(seed)
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
    problem = random_problem(seed)
    with np.errstate(all="ignore"):
        run = run_of(problem, seed, divergence)
        run.advance(SWEEP)
        for _ in range(4):
            before = run.objective()
            run.advance(SWEEP)
            assert run.objective() <= before + 1e-12 * (1 + before)


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
    problem = random_problem(seed)
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
    problem = random_problem(seed)
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
    problem = random_problem(seed)
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
        problem = random_problem(seed)
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
            problem = random_problem(seed)
            method = pfn.Substitute(keep=kept(problem, seed))
            ask = pfn.learn if problem.options["learn"] else pfn.infer
            ask(problem.network, problem.data, method=method, iterations=3, initial=problem.initial)
