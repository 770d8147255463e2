"""Programs on JAX give what programs on NumPy give, and what the oracle does."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pfn
from pfn.engines import Problem, fixed
from pfn.engines.program_engine import ProgramRun
from pfn.engines.stretch import MOST_SWEEPS, Stretch
from pfn.formulas import coefficients
from pfn.program import store
from pfn.updates.momentum import steps_after, strength
from tests import networks
from tests.engines import test_structured as structured
from tests.engines.comparison import check, check_sequences, random_sequences
from tests.engines.test_sparse_observations import sparse_values
from tests.program.runs import by_programs, by_programs_on_jax, problem_of

jax = pytest.importorskip("jax", reason="jax is not installed")

from pfn.engines.jax_devices import numbers  # noqa: E402
from pfn.engines.jax_engine import JaxRun  # noqa: E402
from pfn.engines.program_jax import FIRST_SWEEPS, Control, JaxProgramRun, StretchPilot, make_program_run  # noqa: E402
from pfn.program.passes import COMPILED, SHARED  # noqa: E402
from tests.engines.test_jax import compilations, parts  # noqa: E402

# Compiling takes about a second, so these are few.
SEEDS = (2, 5, 8, 13, 20, 33)
LISTS = (2, 5, 6)


def on_both(
    monkeypatch: pytest.MonkeyPatch, question: Callable[..., pfn.Result], *arguments: Any, **options: Any
) -> pfn.Result:
    """The result of programs on JAX, which is that of programs on NumPy."""
    with monkeypatch.context() as patch:
        on_numpy, on_jax = by_programs(patch), by_programs_on_jax(patch)
        wanted, found = (question(*arguments, engine=engine, **options) for engine in ("numpy", "jax"))
        assert len(on_numpy) == len(on_jax) > 0
    np.testing.assert_allclose(found.history.divergence, wanted.history.divergence, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(found.history.iterations, wanted.history.iterations)
    assert (found.iterations, found.stop) == (wanted.iterations, wanted.stop)
    for name, value in wanted.values.items():
        pairs = zip(*(v if isinstance(v, list) else [v] for v in (found[name], value)), strict=True)
        for one, other in pairs:
            dense = [x.toarray() if sp.issparse(x) else x for x in (one, other)]
            np.testing.assert_allclose(*dense, rtol=1e-11, atol=1e-13, err_msg=name)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_a_single_sequence(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = by_programs_on_jax(monkeypatch, oracle=True)
    check(networks.random_problem(seed))
    assert made


@pytest.mark.parametrize("seed", LISTS)
def test_lists_of_sequences(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    by_programs_on_jax(monkeypatch, oracle=True)
    check_sequences(random_sequences(seed))


@pytest.mark.parametrize("seed", LISTS)
def test_updates_from_the_same_ratios(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    by_programs_on_jax(monkeypatch, oracle=True)
    check(networks.random_joint_problem(seed))


@pytest.mark.parametrize("leave_out", [(name,) for name in (*SHARED, *COMPILED)] + [(*SHARED, *COMPILED)], ids=" ".join)
def test_passes_change_no_result(leave_out: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    by_programs_on_jax(monkeypatch, leave_out, oracle=True)
    check(networks.random_problem(3), 12)


@pytest.mark.parametrize("acceleration", ["momentum", None])
@pytest.mark.parametrize("measure", [1, 4])
def test_the_tracker(acceleration: Any, measure: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small equations over lagged slices, more sweeps than one call, column 24 unseen."""
    X = networks.tracking_scene()["x1"]
    X[:, 24] = np.nan
    options = {"iterations": 30, "measure": measure, "method": pfn.Propagate(acceleration=acceleration)}
    on_both(monkeypatch, pfn.infer, networks.tracking(), {"x1": X}, **options, tolerance=None)


@pytest.mark.parametrize("every", [1, 5])
def test_momentum_that_looks_after_every_sweep_or_seldom(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NumPy, where errors are measured after other sweeps than those at which momentum looks."""
    path = np.full((4, 10), np.nan)
    path[:, 0] = [1, 0, 0, 0]
    found = []
    for kind in (ProgramRun, JaxProgramRun):
        made = partial(kind, guard_every=every)
        monkeypatch.setattr("pfn.solve.propagation.make_run", lambda _engine, problem, made=made: made(problem))
        options = {"iterations": 60, "tolerance": None, "measure": 10, "seed": 0}
        found.append(pfn.infer(networks.automaton(networks.W_NONDETERMINISTIC), {"x": path}, **options))
    np.testing.assert_allclose(found[0]["h"], found[1]["h"], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(found[0].history.divergence, found[1].history.divergence, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("every", [1, 2])
def test_the_strength_of_momentum_on_the_device(every: int) -> None:
    """It begins anew where the divergence has risen, but for a change of the sparseness, as on the host."""
    divergences = [9.0, 5.0, 6.0, 4.0, 4.1, 3.0, 3.5, np.nan, 2.0]
    pilot = StretchPilot(("eq1",), accelerated=True, always_errors=False, always_divergence=every == 1)
    due, changed = np.zeros((2, MOST_SWEEPS), bool)
    due[every - 1 :: every] = changed[6] = True
    with numbers("full"):
        control = Control(
            count=np.int32(len(divergences)),
            steps=np.int64(3),
            lowest=np.float64(np.inf),
            inputs={},
            changed=changed,
            errors_due=np.zeros(MOST_SWEEPS, bool),
            divergence_due=due,
            entries=np.ones(1),
            tolerance=np.float64(-np.inf),
        )
        progress, steps, lowest = pilot.begin(jax.device_put(control)), 3, np.inf
        for number, divergence in enumerate(divergences):
            assert pilot.goes_on(control, progress)
            gain = pilot.inputs(control, progress)["gain"]
            assert float(gain) == pytest.approx(coefficients(strength(steps))[0])
            results = {"divergence": divergence, "squares eq1": np.nan}
            progress = pilot.after(jax.device_put(control), progress, results)
            if due[number]:
                steps, lowest = steps_after(steps, lowest, divergence, changed[number])
            else:
                steps += 1
            np.testing.assert_equal((int(progress.steps), float(progress.lowest)), (steps, lowest))
        assert not pilot.goes_on(control, progress)


def test_rhythms_ramps_and_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps of several kinds take turns in one stretch."""
    network, X = parts()
    options = {"learn_every": {"W": 2, "U": 3}, "release": {"x": 9}}
    method = pfn.Propagate(**options, sparseness=pfn.ramp(0.0, 0.2, start=2, stop=12))
    on_both(monkeypatch, pfn.learn, network, {"x": X}, iterations=20, method=method)


def test_the_end_of_a_ramp_is_a_change_of_sparseness() -> None:
    """The first sweep without sparseness is of another kind, and its divergence rises for that alone."""
    network, X = parts()
    problem = problem_of(
        pfn.learn, network, {"x": X}, method=pfn.Propagate(sparseness=pfn.ramp(0.2, 0.0, start=0, stop=2))
    )
    thetas = [{"eq1": theta, "eq2": theta} for theta in (0.2, 0.1, 0.0, 0.0)]
    stretch = Stretch(first=0, count=4, sparseness=thetas.__getitem__, steps=0, lowest=np.inf)
    run = JaxProgramRun(problem)
    found = [run._control(stretch, first, count).changed[:count].tolist() for first, count in ((0, 2), (2, 2))]
    assert found == [[False, True], [True, False]]


def test_the_start_by_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    network = networks.hierarchy(6, (4, 3, 3), 3, (1, 2, 4))
    X = np.random.default_rng(4).random((6, 20))
    method = pfn.Propagate(start="levels", sparseness={"eq2": 0.1})
    on_both(monkeypatch, pfn.learn, network, {"x1": X}, iterations=15, method=method)


@pytest.mark.parametrize("measure", [1, 5])
def test_runs_end_on_the_device_where_they_would(measure: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tolerance is met within a stretch, after a sweep whose errors are measured."""
    network, X = parts()
    options = {"method": pfn.Propagate(acceleration=None), "tolerance": 0.165, "measure": measure}
    result = on_both(monkeypatch, pfn.learn, network, {"x": X}, iterations=400, seed=0, **options)
    assert FIRST_SWEEPS < result.iterations < 400


def test_values_too_large_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    by_programs_on_jax(monkeypatch)
    network, X = parts()
    with pytest.raises(pfn.NumericalError, match=r"eq1: .* the values became"):
        pfn.learn(network, {"x": X * 1e38}, iterations=50, engine="jax", dtype="float32")


@pytest.mark.parametrize("method", ["kl", "euclidean", "momentum"])
def test_windows_over_the_past(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, y, Y = structured.two_decays()
    options = {"method": structured.METHODS[method], "iterations": 20, "tolerance": None, "seed": 3}
    on_both(monkeypatch, pfn.learn, network, {y: Y}, **options)


def test_sparse_data_are_never_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "DENSE_ENTRIES", 0)
    monkeypatch.setattr(fixed, "DENSE_ENTRIES", 0)
    X = [sp.csr_array(sparse_values(number, 12, length)) for number, length in enumerate((9, 14))]
    on_both(monkeypatch, pfn.learn, networks.plain_nmf(12, 3), {"x": X}, iterations=8, seed=0)


def test_sparse_parameters_known_and_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    lower = rng.uniform(0.1, 1, (120, 110)) * (rng.random((120, 110)) < 0.02)
    start = sp.csr_array(rng.uniform(0.1, 1, (110, 80)) * (rng.random((110, 80)) < 0.02))
    x, h, v = pfn.Variable("x", 120), pfn.Variable("h", 110), pfn.Variable("v", 80)
    A, B = pfn.Parameter("A", sp.csr_array(lower)), pfn.Parameter("B", start, learn=True)
    network = pfn.Network(pfn.Factorization(x, A @ h), pfn.Factorization(h, B @ v, normalize="columns"))
    on_both(monkeypatch, pfn.learn, network, {"x": rng.random((120, 90))}, iterations=6, seed=0)


def test_a_run_goes_on_where_the_older_engine_left_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, X = parts()
    data, options = {"x": [X, X[:, :7]]}, {"seed": 0, "engine": "jax"}
    wanted = pfn.learn(network, data, iterations=20, **options)
    for first_by_programs in (True, False):
        path = tmp_path / f"checkpoint {first_by_programs}"
        for iterations, by_program in ((8, first_by_programs), (20, not first_by_programs)):
            with monkeypatch.context() as patch:
                if by_program:
                    by_programs_on_jax(patch)
                resume = {"resume": path} if iterations == 20 else {"checkpoint": path}
                found = pfn.learn(network, data, iterations=iterations, **options, **resume)
        for name in ("W", "V", "U"):
            np.testing.assert_allclose(found[name], wanted[name], rtol=1e-9)


def test_statistics_for_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches hand the sums of left updates on."""
    network, X = parts()
    options = {"seed": 0, "batches": pfn.Batches(first=4)}
    first = on_both(monkeypatch, pfn.learn, network, {"x": [X, X[:, ::-1]]}, **options)
    on_both(monkeypatch, pfn.learn, network, {"x": X + 1}, **options | {"partial": first})


def test_single_precision_stays_single(monkeypatch: pytest.MonkeyPatch) -> None:
    made = by_programs_on_jax(monkeypatch)
    network, X = parts()
    single, double = (
        pfn.learn(network, {"x": X}, iterations=200, engine="jax", dtype=dtype, seed=0)
        for dtype in ("float32", "float64")
    )
    assert single["W"].dtype == np.float32
    assert {array.dtype for array in made[0]._state.values()} == {np.dtype("float32")}
    assert single.rmse["eq1"] == pytest.approx(double.rmse["eq1"], rel=0.02)


def test_runs_of_one_kind_share_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other data and other known parameters of the same shapes are other arguments."""
    by_programs_on_jax(monkeypatch)

    def run(seed: int) -> None:
        rng = np.random.default_rng(seed)
        x, h = pfn.Variable("x", 3), pfn.Variable("h", 4)
        network = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", rng.random((3, 4))) @ h))
        pfn.infer(network, {"x": rng.random((3, 33))}, iterations=20, engine="jax")

    with compilations() as first:
        run(0)
    with compilations() as again:
        run(1)
    assert (len(again), len(first) > 0) == (0, True)


def test_what_is_not_served_is_refused_or_left_to_the_older_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    network, X = parts()
    caught: list[Problem] = []
    monkeypatch.setattr(
        "pfn.solve.propagation.make_run", lambda _engine, problem: caught.append(problem) or JaxRun(problem)
    )
    pfn.learn(network, {"x": X}, iterations=1, engine="jax", mesh=jax.make_mesh((1,), ("columns",)))
    with pytest.raises(NotImplementedError, match="several devices"):
        JaxProgramRun(caught[0])
    assert isinstance(make_program_run(caught[0]), JaxRun)
