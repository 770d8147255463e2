"""engine="auto": by size, by what is installed, by the device."""

from contextlib import nullcontext

import joblib
import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn.engines import choose_engine
from pfn.engines.run import WORTH_COMPILING
from tests.networks import plain_nmf

LARGE, SMALL = 10 * WORTH_COMPILING, WORTH_COMPILING / 10


@pytest.fixture(params=[True, False], ids=["accelerator", "processor"])
def accelerator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    pytest.importorskip("jax", reason="jax is not installed")
    monkeypatch.setattr("pfn.engines.jax_devices.has_accelerator", lambda: request.param)
    return bool(request.param)


def test_an_engine_by_name_is_that_engine() -> None:
    assert [choose_engine(name, size) for name in ("numpy", "jax") for size in (LARGE, SMALL)] == [
        "numpy",
        "numpy",
        "jax",
        "jax",
    ]


def test_large_runs_go_to_the_accelerator(accelerator: bool) -> None:
    assert choose_engine("auto", LARGE) == ("jax" if accelerator else "numpy")
    assert choose_engine("auto", SMALL) == "numpy"


def test_without_jax_everything_goes_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pfn.engines.run.find_spec", lambda _name: None)
    assert choose_engine("auto", LARGE) == "numpy"


def test_the_size_is_that_of_the_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """5 products × 4 × 3 entries × 10 columns × the sweeps asked for; sparse data stay with NumPy."""
    found: list[float] = []

    def note(_engine: str, size: float, *, alone: bool) -> str:
        assert alone
        found.append(size)
        return "numpy"

    monkeypatch.setattr("pfn.solve.options.choose_engine", note)
    X = np.ones((4, 10))
    for data in (X, scipy.sparse.csr_array(X)):
        pfn.learn(plain_nmf(4, 3), {"x": data}, iterations=2)
    assert found == [5 * 4 * 3 * 10 * 2, 0]


@pytest.mark.parametrize(("jobs", "restarts", "alone"), [(None, 3, True), (1, 3, True), (2, 1, True), (2, 3, False)])
def test_restarts_are_alone_unless_joblib_runs_them_side_by_side(
    jobs: int | None, restarts: int, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[bool] = []

    def note(_engine: str, _size: float, *, alone: bool) -> str:
        found.append(alone)
        return "numpy"

    monkeypatch.setattr("pfn.solve.options.choose_engine", note)
    with joblib.parallel_config("threading", n_jobs=jobs) if jobs else nullcontext():
        pfn.learn(plain_nmf(4, 3), {"x": np.ones((4, 10))}, restarts=restarts, iterations=2)
    assert found == [alone]
