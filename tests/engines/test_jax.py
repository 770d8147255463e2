"""The JAX engine gives what the NumPy engine gives, with every option."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from pfn.engines.jax_devices import has_accelerator
from tests import networks
from tests.engines.comparison import assert_errors, assert_values, random_sequences

jax = pytest.importorskip("jax", reason="jax is not installed")

# Compiling takes a second or two, so these are few; together they have some of everything (the last test).
SEEDS = (2, 3, 5, 8, 9, 10, 13, 18, 20, 27, 31, 33, 36, 38)
LISTS = (2, 3, 5, 6)
ENGINES = ("numpy", "jax")


def ask(problem: networks.RandomProblem, engine: str, iterations: int = 25, measure: int = 1) -> pfn.Result:
    options = problem.options | {"acceleration": None}
    question = pfn.learn if options.pop("learn") else pfn.infer
    weights = options.pop("weights")
    return question(
        problem.network,
        problem.data,
        iterations=iterations,
        initial=problem.initial,
        weights=weights,
        method=pfn.Propagate(**options),
        engine=engine,
        measure=measure,
        stall=None,
    )


def compare(found: pfn.Result, wanted: pfn.Result) -> None:
    """The same values and errors, to the last digits but three."""
    dense = {name: v.toarray() if scipy.sparse.issparse(v) else v for name, v in wanted.values.items()}
    assert_values(found, dense)
    assert_errors(found, wanted.rmse)
    np.testing.assert_allclose(found.history.divergence, wanted.history.divergence, rtol=1e-9, atol=1e-12)
    assert (found.iterations, found.stop) == (wanted.iterations, wanted.stop)


def both(question: Callable[..., pfn.Result], *arguments: Any, **options: Any) -> None:
    wanted, found = (question(*arguments, engine=engine, **options) for engine in ENGINES)
    assert found.settings["engine"] == "jax"
    compare(found, wanted)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks(seed: int) -> None:
    problem = networks.random_problem(seed)
    compare(ask(problem, "jax"), ask(problem, "numpy"))


@pytest.mark.parametrize("seed", LISTS)
def test_random_lists_of_sequences(seed: int) -> None:
    problem = random_sequences(seed)
    compare(ask(problem, "jax"), ask(problem, "numpy"))


@pytest.mark.parametrize("seed", SEEDS)
def test_updates_from_the_same_ratios(seed: int) -> None:
    problem = random_sequences(seed, joint=True) if seed % 2 else networks.random_joint_problem(seed)
    compare(ask(problem, "jax"), ask(problem, "numpy"))


@pytest.mark.parametrize("seed", [3, 5, 10])
@pytest.mark.parametrize("draw", [networks.random_problem, networks.random_joint_problem])
def test_errors_after_some_sweeps_only(draw: Callable[[int], networks.RandomProblem], seed: int) -> None:
    """Then W S of observed children is not kept from sweep to sweep."""
    found, wanted = (ask(draw(seed), engine, iterations=23, measure=5) for engine in ("jax", "numpy"))
    assert len(found.history.iterations) == 5
    compare(found, wanted)


@pytest.mark.parametrize("acceleration", [None, "momentum"])
def test_rows_that_are_wide(acceleration: Any) -> None:
    """Of more than 64 KiB, and with padding: errors are added up in another way."""
    X = np.random.default_rng(1).random((3, 9001))
    method = pfn.Propagate(start="random", acceleration=acceleration)
    for lags, weights in ((1, np.linspace(0, 2, 9001)), (2, np.full(9001, 1.5))):
        network = networks.hierarchy(3, (2,), lags, (1,))
        both(pfn.learn, network, {"x1": X}, iterations=12, method=method, weights={"eq1": weights})


@pytest.mark.parametrize("acceleration", [None, "momentum"])
def test_the_tracker(acceleration: Any) -> None:
    X = networks.tracking_scene()["x1"]
    X[:, 24] = np.nan
    both(pfn.infer, networks.tracking(), {"x1": X}, iterations=25, method=pfn.Propagate(acceleration=acceleration))


def test_the_regular_expression_with_all_copies_that_grows_sparse() -> None:
    X = np.full((3, 8), np.nan)
    X[:, 1], X[:, 6] = np.eye(3)[1], np.eye(3)[2]
    method = pfn.Propagate(averaging="all", sparseness=pfn.ramp(0.0, 0.1, start=5, stop=20))
    both(pfn.infer, networks.regular_expression(), {"x1": X}, iterations=25, method=method)


@pytest.mark.parametrize("start", ["random", "levels"])
def test_the_hierarchy(start: Any) -> None:
    network = networks.hierarchy(6, (4, 3, 3), 3, (1, 2, 4))
    X = np.random.default_rng(4).random((6, 20))
    method = pfn.Propagate(start=start, sparseness={"eq2": 0.1})
    both(pfn.learn, network, {"x1": X}, iterations=15, method=method)


@pytest.mark.parametrize("acceleration", [None, "momentum"])
def test_sweeps_as_accelerators_do_them(acceleration: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at a time, and the odd one before; errors from the sums of rows."""
    for place in ("jax_engine", "jax_loop", "jax_sweep"):
        monkeypatch.setattr(f"pfn.engines.{place}.has_accelerator", lambda: True)
    network = networks.hierarchy(6, (4, 3), 3, (1, 2))
    X = np.random.default_rng(4).random((6, 20))
    both(pfn.learn, network, {"x1": X}, iterations=15, method=pfn.Propagate(acceleration=acceleration))


def test_the_example_of_section_2_2() -> None:
    network, rng = networks.section_2_2(), np.random.default_rng(6)
    data = {name: rng.random((network.variable(name).size, 7)) for name in ("x1", "x2", "x4")}
    both(pfn.learn, network, data, iterations=10, method=pfn.Propagate(start="levels"))


def parts() -> tuple[pfn.Network, np.ndarray]:
    """A learned level on a learned level, and data that some of it explains."""
    x, h, g = pfn.Variable("x", 6), pfn.Variable("h", 4), pfn.Variable("g", 3)
    network = pfn.Network(
        pfn.Factorization(x, pfn.Parameter("W", shape=(6, 4)) @ h + pfn.Parameter("V", shape=(6, 4)) @ h[t - 1]),
        pfn.Factorization(h, pfn.Parameter("U", shape=(4, 3)) @ g, normalize="columns"),
    )
    return network, np.random.default_rng(0).random((6, 15))


def test_rhythms_of_learning_with_momentum_and_release() -> None:
    network, X = parts()
    method = pfn.Propagate(learn_every={"W": 2, "U": 3}, release={"x": 9})
    both(pfn.learn, network, {"x": X}, iterations=14, method=method)


def test_large_sparse_parameters() -> None:
    """Known and learned ones, with rows of one entry and rows of many."""
    rng = np.random.default_rng(11)
    lower = rng.uniform(0.1, 1, (120, 110)) * (rng.random((120, 110)) < 0.02)
    lower[3], lower[:, 5] = rng.uniform(0.1, 1, 110), 0.5
    start = scipy.sparse.csr_array(rng.uniform(0.1, 1, (110, 80)) * (rng.random((110, 80)) < 0.02))
    x, h, v = pfn.Variable("x", 120), pfn.Variable("h", 110), pfn.Variable("v", 80)
    A, B = pfn.Parameter("A", scipy.sparse.csr_array(lower)), pfn.Parameter("B", start, learn=True)
    network = pfn.Network(pfn.Factorization(x, A @ h), pfn.Factorization(h, B @ v, normalize="columns"))
    both(pfn.learn, network, {"x": rng.random((120, 90))}, iterations=6)


def test_single_precision_ends_at_the_same_error() -> None:
    network = networks.hierarchy(20, (5, 4), 2, (1, 2))
    X = np.random.default_rng(2).random((20, 60))
    single, double = (
        pfn.learn(network, {"x1": X}, iterations=300, engine="jax", dtype=dtype) for dtype in ("float32", "float64")
    )
    assert all(np.asarray(values).dtype == np.float32 for values in single.values.values())
    assert single.rmse["eq1"] == pytest.approx(double.rmse["eq1"], rel=0.02)


@pytest.mark.parametrize(
    "options", [{"tolerance": 1e-4}, {"stall": 1e-2}, {"callback": lambda _sweep, values: values["h"].min() < 1e-9}]
)
def test_runs_end_where_they_would(options: dict[str, Any]) -> None:
    X = np.full((4, 10), np.nan)
    X[:, 0] = [1, 0, 0, 0]
    both(pfn.infer, networks.automaton(networks.W_DETERMINISTIC), {"x": X}, iterations=1000, **options)


def test_restarts() -> None:
    network, X = parts()
    both(pfn.learn, network, {"x": X}, iterations=14, restarts=3)


@pytest.mark.parametrize(("first", "second"), [("jax", "jax"), ("jax", "numpy"), ("numpy", "jax")])
def test_a_run_is_resumed_by_either_engine(first: str, second: str, tmp_path: Path) -> None:
    network, X = parts()
    question = {"method": pfn.Propagate(sparseness=pfn.ramp(0.0, 0.2, start=2, stop=12)), "iterations": 14}
    path = tmp_path / "checkpoint"
    pfn.learn(network, {"x": X}, **(question | {"iterations": 7}), engine=first, checkpoint=path)
    wanted = pfn.learn(network, {"x": X}, **question, engine="numpy")
    compare(pfn.learn(network, {"x": X}, **question, engine=second, resume=path), wanted)


def test_checkpoints_are_written_on_time(tmp_path: Path) -> None:
    network, X = parts()
    path = tmp_path / "checkpoint"
    both(pfn.learn, network, {"x": X}, iterations=14, checkpoint=path, checkpoint_every=4)


def test_values_too_large_are_refused() -> None:
    network, X = parts()
    with pytest.raises(pfn.NumericalError, match=r"eq1: .* the values became"), settings_unchanged():
        pfn.learn(network, {"x": X * 1e38}, iterations=50, engine="jax", dtype="float32")


def test_the_users_settings_stay() -> None:
    network, X = parts()
    with settings_unchanged():
        result = pfn.learn(network, {"x": X}, iterations=3, engine="jax")
    assert result["h"].dtype == np.float64
    assert jax.numpy.zeros(1).dtype == np.float32


STRICT = {
    "jax_numpy_rank_promotion": "raise",
    "jax_numpy_dtype_promotion": "strict",
    "jax_debug_nans": True,
    "jax_transfer_guard": "disallow",
}


@pytest.mark.parametrize("setting", STRICT)
def test_strict_settings_of_the_user_do_not_reach_in(setting: str) -> None:
    network, X = parts()
    known = pfn.Network(pfn.Factorization(network.variable("x"), pfn.Parameter("W", X[:, :4]) @ network.variable("h")))
    before = getattr(jax.config, setting)
    jax.config.update(setting, STRICT[setting])
    try:
        method = pfn.Propagate(acceleration=None)
        pfn.learn(network, {"x": X}, method=method, measure=3, iterations=7, engine="jax")
        hidden = np.where(X < 0.5, np.nan, X)
        pfn.infer(known, {"x": hidden}, method="consensus", iterations=3, engine="jax")
    finally:
        jax.config.update(setting, before)


@contextmanager
def settings_unchanged() -> Iterator[None]:
    before = dict(jax.config.values)
    try:
        yield
    finally:
        assert dict(jax.config.values) == before


@contextmanager
def compilations() -> Iterator[list[str]]:
    """The names of the programs that are compiled meanwhile."""
    found: list[str] = []

    def note(event: str, _seconds: float, **_more: Any) -> None:
        if event.endswith("backend_compile_duration"):
            found.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(note)


def test_other_numbers_of_about_the_same_length_are_not_compiled_again() -> None:
    def machine(seed: int) -> pfn.Network:
        W = np.random.default_rng(seed).random((6, 4))
        x, h = pfn.Variable("x", 3), pfn.Variable("h", 4)
        return pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", W) @ h))

    def run(seed: int, length: int, **options: Any) -> None:
        X = np.random.default_rng(seed).random((3, length))
        X[0, seed] = np.nan
        both(pfn.infer, machine(seed), {"x": X}, iterations=20, **options)

    with compilations() as first:
        run(0, 33)
    with compilations() as again:
        run(1, 35)
        run(2, 38, tolerance=0.01)
        run(3, 34, weights={"eq1": np.arange(33.0)})
    with compilations() as longer:
        run(0, 45)
    another = has_accelerator()  # there sweeps that look for no end between them have a program of their own
    assert (len(first), len(again), len(longer)) == (1, another, 1)


def test_large_sparse_observations_are_refused() -> None:
    X = scipy.sparse.random_array((3000, 2000), density=1e-4, rng=np.random.default_rng(0))
    with pytest.raises(pfn.OptionError, match=r"x: engine='jax' makes observations dense, .* 3000 × 2000"):
        pfn.learn(networks.plain_nmf(3000, 2), {"x": X}, engine="jax")
    assert pfn.learn(networks.plain_nmf(3000, 2), {"x": X}, iterations=1).settings["engine"] == "numpy"


def test_the_networks_above_cover_what_they_should() -> None:
    problems = [networks.random_problem(seed) for seed in SEEDS] + [random_sequences(seed) for seed in LISTS]
    options = [problem.options for problem in problems]
    equations = [e for problem in problems for e in problem.network.factorizations]
    parameters = [p for problem in problems for p in problem.network.parameters]
    counts = {
        "learning": sum(chosen["learn"] for chosen in options),
        "inference": sum(not chosen["learn"] for chosen in options),
        "pooled": sum(chosen["averaging"] == "pooled" for chosen in options),
        "mean of the updated": sum(chosen["averaging"] == "updated" for chosen in options),
        "all copies": sum(chosen["averaging"] == "all" for chosen in options),
        "euclidean": sum(chosen["divergence"] == "euclidean" for chosen in options),
        "sparseness": sum(bool(chosen["sparseness"]) for chosen in options),
        "released": sum(bool(chosen["release"]) for chosen in options),
        "rarely learned": sum(bool(chosen["learn_every"]) for chosen in options),
        "weighted": sum(bool(chosen["weights"]) for chosen in options),
        "stacked": sum(len(e.children) > 1 for e in equations),
        "lagged parents": sum(any(p.lag < 0 for p in e.parents) for e in equations),
        "later children": sum(any(c.lag > 0 for c in e.children) for e in equations),
        "tied": sum(
            len(p.network.parameters) < sum(len(e.parameters) for e in p.network.factorizations) for p in problems
        ),
        "sparse": sum(p.sparse for p in parameters),
        "priors": sum(p.prior is not None for p in parameters),
    }
    counts |= {
        kind: sum(e.normalize == kind for e in equations) for kind in ("columns", "subcolumns", "balanced", "sequences")
    }
    assert min(counts.values()) >= 1, counts
