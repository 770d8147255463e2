"""What threads share is what one thread does, and BLAS gets its own threads back."""

import gc
import threading
import time
from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t
from pfn.engines import threads
from pfn.engines.threads import BLAS, Threads, spans
from tests.engines import test_large_problems as large
from tests.engines import test_structured as structured
from tests.engines import test_substituted as substituted
from tests.engines.comparison import check, check_sequences, random_sequences
from tests.networks import random_problem


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three threads, for which everything is large enough."""
    monkeypatch.setattr(threads._Blas, "threads", 3)
    for name in ("LARGE", "PASS", "PRODUCT", "ROWS"):
        monkeypatch.setattr(threads, name, 1)


@pytest.mark.parametrize("seed", range(25))
def test_random_networks(seed: int) -> None:
    check(random_problem(seed))
    check_sequences(random_sequences(seed))


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
@pytest.mark.parametrize("sparseness", [0.0, 0.3])
def test_stacked_children_with_hidden_entries(divergence: str, sparseness: float) -> None:
    large.test_large_dense_problems_are_worked_on_in_blocks(divergence, sparseness)


def test_weighted_sequences() -> None:
    large.test_large_weighted_sequences()


@pytest.mark.parametrize("seed", range(10))
def test_substitution(seed: int) -> None:
    substituted.test_moves_are_those_of_loops.hypothesis.inner_test(seed, "kl")


@pytest.mark.parametrize("length", [1, 3, None])
def test_windows(length: int | None) -> None:
    structured.test_a_decay_is_a_matrix_over_all_of_time("numpy", length)
    structured.test_no_decay_reaches_into_another_sequence()


def test_what_decays_gathers_nothing_from_between_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one sequence ends and the next has not begun, there is no equation that could pull."""
    rng = np.random.default_rng(5)
    x, h = pfn.Variable("x", 12), pfn.Variable("h", 3)
    W = pfn.Parameter("W", rng.random((24, 3)))
    network = pfn.Network(pfn.Factorization([x[t], x[t + 2]], W @ pfn.decay(h[t], 0.8, 4)))
    data = {"x": [rng.random((12, length)) for length in (9, 5, 7)]}
    several = pfn.infer(network, data, iterations=10, seed=1, engine="numpy")
    monkeypatch.setattr(threads._Blas, "threads", 1)
    alone = pfn.infer(network, data, iterations=10, seed=1, engine="numpy")
    for found, wanted in zip(several["h"], alone["h"], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_learned_matrix_with_momentum(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The very sweeps of one thread, and of as many threads again."""
    seen: list[Any] = []
    share = Threads.each
    monkeypatch.setattr(Threads, "each", lambda self, *given: (seen.append(self.count), share(self, *given))[1])
    x, h = pfn.Variable("x", 200), pfn.Variable("h", 7)
    network = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", shape=(200, 7)) @ h, normalize="columns"))
    data = {"x": np.random.default_rng(1).gamma(0.5, size=(200, 330))}
    options = {"iterations": 15, "seed": 2, "dtype": dtype, "engine": "numpy"}
    several, again = (pfn.learn(network, data, **options) for _ in range(2))
    assert set(seen) == {3}
    monkeypatch.setattr(threads._Blas, "threads", 1)
    seen.clear()
    alone = pfn.learn(network, data, **options)
    assert set(seen) <= {1}
    for name in ("W", "h"):
        np.testing.assert_array_equal(several[name], again[name])
        np.testing.assert_allclose(several[name], alone[name], rtol=1e-3 if dtype == "float32" else 1e-10)
    assert several.rmse == pytest.approx(alone.rmse, rel=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (7, 40), (40, 7), (33, 33)])
def test_products(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    a, b, out = rng.random((shape[0], 5)), rng.random((5, shape[1])), np.empty(shape)
    Threads([(9, 9, 9)]).dot(a, b, out)
    np.testing.assert_allclose(out, a @ b, rtol=1e-14)
    left = np.empty((5, 5))
    Threads([(9, 9, 9)]).dot(a.T, a, left)
    np.testing.assert_allclose(left, a.T @ a, rtol=1e-13)


@pytest.mark.parametrize("length", range(1, 40, 3))
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_spans_follow_each_other_to_the_end(length: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "ROWS", 8)
    found = spans(length, count)
    assert [place for part in found for place in range(part.start, part.stop)] == list(range(length))
    assert len(found) <= count


def test_what_fails_in_a_thread_is_raised_when_all_have_ended() -> None:
    ended = []

    def work(share: int) -> int:
        if share == 1:
            raise ValueError("share 1")
        time.sleep(0.02)
        ended.append(share)
        return share

    together = Threads([(9, 9, 9)])
    with pytest.raises(ValueError, match="share 1"):
        together.each(work, [0, 1, 2])
    assert sorted(ended) == [0, 2]
    assert together.each(lambda share: share + 1, [0, 1, 2]) == [1, 2, 3]


def test_threads_end_with_their_run() -> None:
    before = {*threading.enumerate()}
    together = Threads([(9, 9, 9)])
    together.each(lambda _: None, [0, 1, 2])
    started = {*threading.enumerate()} - before
    assert len(started) == 2
    del together
    gc.collect()
    for thread in started:
        thread.join(timeout=10)
        assert not thread.is_alive()


class Library:
    """What threadpoolctl says of a BLAS."""

    def __init__(self, num_threads: int) -> None:
        self.num_threads = num_threads

    def set_num_threads(self, count: int) -> None:
        self.num_threads = count


def test_blas_has_one_thread_until_the_last_sweep_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(6)
    monkeypatch.undo()  # the number of threads is the one asked for here
    monkeypatch.setattr(BLAS, "_libraries", [library])
    assert BLAS.threads == 6
    with BLAS:
        assert (library.num_threads, BLAS.threads) == (1, 6)
        with BLAS:
            assert library.num_threads == 1
        assert library.num_threads == 1
    assert library.num_threads == 6
    with pytest.raises(ZeroDivisionError), BLAS:
        _ = 1 / 0
    assert library.num_threads == 6


def test_only_a_large_run_takes_them_and_small_ones_have_one_of_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(4)
    monkeypatch.undo()
    monkeypatch.setattr(BLAS, "_libraries", [library])
    sizes = {
        "tiny": [(10, 10, 10)],
        "small": [(40, 35, 400)],
        "not so small": [(257, 100, 800)],
        "one large, one not": [(10, 10, 10), (1025, 30, 2000)],
        "not so large, but all alike": [(513, 50, 1000)],
        "not so large, not alike": [(512, 200, 622), (50, 160, 622)],
    }
    found = {}
    for name, products in sizes.items():
        run = Threads(products)
        with run:
            found[name] = run.count, library.num_threads
        assert library.num_threads == 4
    assert found == {
        "tiny": (1, 4),  # of which BLAS needs one only
        "small": (1, 1),
        "not so small": (1, 1),
        "one large, one not": (4, 1),
        "not so large, but all alike": (4, 1),
        "not so large, not alike": (1, 4),
    }


def test_shares_have_one_thread_of_blas_outside_of_sweeps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(2)
    monkeypatch.undo()
    monkeypatch.setattr(BLAS, "_libraries", [library])
    assert Threads([(1025, 30, 2000)]).each(lambda _: library.num_threads, [0, 1]) == [1, 1]
    assert library.num_threads == 2
