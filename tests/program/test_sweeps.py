"""Sweeps of programs are the sweeps of the oracle with each pass left out, and those of the older engine.

tests/engines compares them, with all passes, with the oracle on many more networks.
"""

import numpy as np
import pytest

import pfn
from pfn.program.passes import IN_MEMORY, SHARED
from tests import networks
from tests.engines.comparison import assert_close, assert_values, check, check_sequences, random_sequences, sweep
from tests.networks import random_problem
from tests.program.runs import by_programs, by_the_older_engine

PASSES = [*SHARED, *IN_MEMORY]


@pytest.mark.parametrize("leave_out", [(name,) for name in PASSES] + [tuple(PASSES)], ids=" ".join)
@pytest.mark.parametrize("seed", range(4))
def test_passes_change_no_result(seed: int, leave_out: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    by_programs(monkeypatch, leave_out)
    check(random_problem(seed), 12)
    check_sequences(random_sequences(seed), 12)


@pytest.mark.parametrize("leave_out", [(), *((name,) for name in PASSES), tuple(PASSES)], ids=" ".join)
@pytest.mark.parametrize("acceleration", ["momentum", None])
def test_runs_of_both_engines_are_the_same(
    leave_out: tuple[str, ...], acceleration: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many sweeps of networks with lags, masks, several levels; early divergences of the accelerated runs, too."""
    rng = np.random.default_rng(0)
    automaton, X = networks.automaton(networks.W_NONDETERMINISTIC), rng.random((4, 12))
    X[:, 4:] = np.nan
    hierarchy, Y = networks.hierarchy(8, (4, 3), 3, (1, 2)), [rng.random((8, n)) for n in (14, 6)]
    scene = {"x1": networks.tracking_scene()["x1"]}
    questions = (
        (pfn.infer, automaton, {"x": X}),
        (pfn.infer, networks.tracking(), scene),
        (pfn.learn, hierarchy, {"x1": Y}),
    )
    for ask, network, data in questions:
        options = {
            "iterations": 30,
            "tolerance": None,
            "stall": None,
            "method": pfn.Propagate(acceleration=acceleration),
        }
        known = {parameter.name for parameter in network.parameters if not parameter.learn}
        with monkeypatch.context() as patch:
            by_the_older_engine(patch)
            wanted = ask(network, data, **options)
            by_programs(patch, leave_out)
            found = ask(network, data, **options)
        np.testing.assert_allclose(found.history.divergence, wanted.history.divergence, rtol=1e-9)
        for name, values in wanted.values.items():
            if name not in known:
                assert_close(found[name], values, name, 1e-8)


def test_sweeps_of_several_kinds_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters that rest, a release and a ramp: what one program left must not be taken for another's."""
    by_programs(monkeypatch)
    rng = np.random.default_rng(3)
    network = networks.hierarchy(6, (4, 3), 2, (1, 2))
    columns = network.columns(10).variables
    initial = {v.name: rng.uniform(0.1, 1, (v.size, len(columns[v.name]))) for v in network.variables}
    initial |= {p.name: rng.uniform(0.1, 1, p.shape) for p in network.parameters}
    data = {"x1": rng.random((6, 10)), "x2": rng.random((4, len(columns["x2"])))}
    options = {"learn_every": {"W1_1": 2, "W1_2": 2, "W2_1": 3, "W2_2": 3}, "release": {"x2": 4}}
    options |= {"divergence": "kl", "epsilon": 1e-9}
    check(networks.RandomProblem(network, data, initial, options | {"sparseness": {"eq1": 0.2}}), 12)


def test_a_run_goes_on_where_another_engine_left_off(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints are the same for both, with momentum, several sequences and learned parameters."""
    rng = np.random.default_rng(1)
    network, data = networks.hierarchy(6, (3,), 3, (1,)), {"x1": [rng.random((6, n)) for n in (9, 5)]}
    wanted = pfn.learn(network, data, iterations=20, seed=0)
    for first_by_programs in (True, False):
        path = str(tmp_path / f"checkpoint {first_by_programs}")
        for iterations, by_program in ((8, first_by_programs), (20, not first_by_programs)):
            with monkeypatch.context() as patch:
                if by_program:
                    by_programs(patch)
                else:
                    by_the_older_engine(patch)
                resume = {"resume": path} if iterations == 20 else {"checkpoint": path}
                found = pfn.learn(network, data, iterations=iterations, seed=0, **resume)
        assert_values(found, wanted.values, 1e-9)


def test_single_precision_stays_single(monkeypatch: pytest.MonkeyPatch) -> None:
    made = by_programs(monkeypatch)
    problem = random_problem(0)
    sweep(problem.network, problem.data, problem.initial, 3, **problem.options | {"epsilon": 1e-5}, dtype="float32")
    assert made[0]._memory.dtype == np.float32
