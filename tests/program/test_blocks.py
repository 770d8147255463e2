"""Chains of operations on large arrays, block by block: the same sweeps, in as little memory as the data themselves."""

import tracemalloc
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import pfn
from pfn.engines.program_engine import ProgramRun
from pfn.engines.stretch import Stretch
from tests import networks
from tests.engines.comparison import assert_values
from tests.program.runs import by_programs, problem_of

ROWS, COLUMNS = 300, 1000  # more entries than LARGE_ENTRIES


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
@pytest.mark.parametrize("acceleration", ["momentum", None])
def test_blocks_change_nothing(acceleration: Any, divergence: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that do not divide the number of entries, hidden columns, a network of one and one of two equations."""
    monkeypatch.setattr(import_module("pfn.program.passes.blocks"), "BLOCK_ENTRIES", 7_777)
    rng = np.random.default_rng(0)
    X = rng.random((ROWS, COLUMNS))
    X[:, 5:9] = np.nan
    method = pfn.Propagate(acceleration=acceleration, divergence=divergence)
    for network, name in ((networks.plain_nmf(ROWS, 4), "x"), (networks.hierarchy(ROWS, (3, 2), 2, (1, 1)), "x1")):
        found = []
        for leave_out in ((), ("blocks",)):
            with monkeypatch.context() as patch:
                by_programs(patch, leave_out)
                found.append(pfn.learn(network, {name: X}, method=method, iterations=6, seed=0))
        np.testing.assert_allclose(found[0].history.divergence, found[1].history.divergence, rtol=1e-10)
        assert_values(found[0], found[1].values)


@pytest.mark.parametrize("acceleration", ["momentum", None])
def test_a_sweep_needs_one_array_as_large_as_the_data(acceleration: Any) -> None:
    """Beside the data, which are used where they are: the reconstruction, blocks, factors, and little more."""
    X = np.random.default_rng(0).random((ROWS, COLUMNS))
    method = pfn.Propagate(acceleration=acceleration)
    problem = problem_of(pfn.learn, networks.plain_nmf(ROWS, 4), {"x": X}, method=method, seed=0)
    tracemalloc.start()
    run = ProgramRun(problem)
    for number in range(2):
        run.advance(Stretch(first=number, count=1, sparseness=lambda _: {"eq1": 0.0}, steps=0, lowest=1e9))
    now, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert now < 1.5 * X.nbytes
