"""Learning batch by batch: equal to plain learning where it must be, as good where it can be, refused where not."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import scipy.optimize
import scipy.sparse

import pfn
from pfn import t
from pfn.engines.numpy_engine import NumpyRun
from pfn.engines.program_engine import ProgramRun
from pfn.solve import propagation
from pfn.solve.request import Answer, Request

x, h = pfn.Variable("x", 6), pfn.Variable("h", 3)
W = pfn.Parameter("W", shape=(6, 3))
PLAIN = pfn.Network(pfn.Factorization(x[t], W @ h[t], normalize="columns"))
PARTS = [pfn.Parameter(f"V{lag}", shape=(6, 3)) for lag in range(2)]
ECHO = pfn.Network(pfn.Factorization(x[t], sum(PARTS[lag] @ h[t - lag] for lag in range(2)), normalize="sequences"))


def sequences(seed: int, count: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Sums of three columns of one matrix, mostly zero, with a little noise."""
    generator = np.random.default_rng(seed)
    basis = generator.gamma(0.3, 1, (6, 3)) + np.eye(6, 3)
    basis /= basis.sum(axis=0)
    lengths = generator.integers(5, 25, count)
    hidden = [generator.gamma(1, 1, (3, n)) * (generator.random((3, n)) < 0.4) for n in lengths]
    return basis, [basis @ H + 0.01 * generator.random((6, H.shape[1])) for H in hidden]


def mappings(arrays: list[np.ndarray]) -> list[dict[str, np.ndarray]]:
    return [{"x": array} for array in arrays]


def distance(found: np.ndarray, wanted: np.ndarray) -> float:
    """How far the columns are from those wanted, in the best order."""
    gaps = np.abs(found[:, :, None] - wanted[:, None, :]).sum(axis=0)
    return float(gaps[scipy.optimize.linear_sum_assignment(gaps)].max())


@pytest.mark.parametrize("network", [PLAIN, ECHO])
@pytest.mark.parametrize("method", [pfn.Propagate(), pfn.PAPER, pfn.Propagate(divergence="euclidean"), "substitute"])
def test_one_batch_of_all_data_is_plain_learning(network: pfn.Network, method: Any) -> None:
    check_one_batch(network, method, "numpy")


def check_one_batch(network: pfn.Network, method: Any, engine: str) -> None:
    _, X = sequences(0, 12)
    plain = pfn.learn(network, {x: X}, method=method, iterations=30, engine=engine)
    batched = pfn.learn(network, {x: X}, method=method, engine=engine, batches=pfn.Batches(size=12, first=30))
    for parameter in network.parameters:
        np.testing.assert_array_equal(batched[parameter], plain[parameter])
    assert batched.rmse == pytest.approx(dict(plain.rmse), rel=1e-6)
    assert batched.iterations == 30


def test_one_batch_of_all_data_is_plain_learning_compiled() -> None:
    pytest.importorskip("jax")
    check_one_batch(ECHO, pfn.Propagate(), "jax")


def test_batches_of_many_lengths_share_compiled_programs(tmp_path: Path) -> None:
    loop = pytest.importorskip("pfn.engines.jax_loop", exc_type=ImportError)
    before = loop.advance._cache_size(), loop.statistics._cache_size()
    _, X = sequences(7, 48)
    options = {"batches": pfn.Batches(size=4, first=10, settle=3, sweeps=2), "engine": "jax"}
    path = tmp_path / "checkpoint"
    found = pfn.learn(ECHO, {x: X}, checkpoint=path, callback=lambda batch, _: batch == 8, **options)
    assert found.iterations == 10 + 8 * 5
    # those of the first batch; then of settling, of learning and of its statistics, in two widths at most
    assert loop.advance._cache_size() - before[0] <= 5
    assert loop.statistics._cache_size() - before[1] <= 3
    resumed = pfn.learn(ECHO, {x: X}, resume=path, **options)
    whole = pfn.learn(ECHO, {x: X}, **options)
    np.testing.assert_array_equal(resumed["V0"], whole["V0"])
    plain = pfn.learn(ECHO, {x: X}, **options | {"engine": "numpy"})
    np.testing.assert_allclose(whole["V0"], plain["V0"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", [pfn.Propagate(), pfn.Propagate(divergence="euclidean"), pfn.Substitute()])
def test_many_small_batches_find_what_all_data_at_once_do(method: Any) -> None:
    basis, X = sequences(1, 120)
    found = pfn.learn(PLAIN, mappings(X), method=method, batches=pfn.Batches(size=10, epochs=2))
    whole = pfn.learn(PLAIN, {x: X}, method=method, iterations=300)
    assert distance(whole[W], basis) < 0.1
    assert distance(found[W], basis) < 0.12
    assert found.rmse["eq1"] < 1.15 * whole.rmse["eq1"]  # the parameters of early batches still have a share


def by_hand(X: list[np.ndarray], W: np.ndarray, H: list[np.ndarray], past: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """One left update of x = W h beside statistics of the past, entry by entry (ε left out)."""
    new = np.zeros_like(W)
    for row in range(W.shape[0]):
        for column in range(W.shape[1]):
            above, below = past[0][row, column], past[1][column]
            for values, parents in zip(X, H, strict=True):
                for time in range(values.shape[1]):
                    share = W[row, column] * parents[column, time] / (W[row] @ parents[:, time])
                    above += values[row, time] * share
                    below += parents[column, time]
            new[row, column] = above / below
    return new / new.sum(axis=0)


def test_statistics_are_averages_and_count_in_the_next_update() -> None:
    _, X = sequences(2, 4)
    options: dict[str, Any] = {"method": pfn.PAPER}
    first = pfn.learn(PLAIN, mappings(X[:2]), batches=pfn.Batches(first=5), **options)
    second = pfn.learn(PLAIN, mappings(X[2:]), batches=pfn.Batches(settle=40, sweeps=1), partial=first, **options)
    assert first.memory is not None
    assert second.memory is not None
    share = 2**-0.7
    seen: list[Any] = []
    pfn.infer(  # the second batch settles: the start of batch 1
        PLAIN,
        {x: X[2:]},
        initial={W: first[W]},
        iterations=40,
        callback=lambda sweep, values: seen.append([a.copy() for a in values["h"]]) if sweep == 39 else None,
        **options,
    )
    products, denominators = first.memory.sums["W"]
    assert products.shape == (6, 3)
    # settled values do not depend much on where they started: x = W h has one solution here
    wanted = by_hand(X[2:], first[W], seen[0], ((1 - share) / share * products, (1 - share) / share * denominators))
    np.testing.assert_allclose(second[W], wanted, atol=2e-3)
    assert np.abs(second[W] - first[W]).max() > 1e-2
    assert second.memory.batches == 2


def test_what_was_saved_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    _, X = sequences(3, 30)
    first = pfn.learn(ECHO, mappings(X[:20]), batches=pfn.Batches(size=10))
    first.save(tmp_path / "model.pfn")
    loaded = pfn.load(tmp_path / "model.pfn")
    results = [pfn.learn(ECHO, {x: X[20:]}, partial=one) for one in (first, loaded)]
    for parameter in PARTS:
        np.testing.assert_array_equal(results[0][parameter], results[1][parameter])
    assert results[0].memory is not None
    assert results[0].memory.batches == 3
    assert "V0" in repr(loaded)


def test_a_learned_sparse_parameter_and_a_prior_go_through_batches() -> None:
    _, X = sequences(4, 30)
    pattern = scipy.sparse.csr_array(np.tri(6, 3) + np.eye(6, 3))
    sparse = pfn.Parameter("S", pattern, learn=True)
    network = pfn.Network(pfn.Factorization(x[t], sparse @ h[t], normalize="columns"))
    result = pfn.learn(network, mappings(X), batches=pfn.Batches(size=10))
    assert ((result[sparse].toarray() > 0) <= (pattern.toarray() > 0)).all()
    prior = pfn.Parameter("P", shape=(6, 3), prior=np.full((6, 3), 0.5), prior_weight=1e9)
    network = pfn.Network(pfn.Factorization(x[t], prior @ h[t]))
    np.testing.assert_allclose(pfn.learn(network, mappings(X), batches=pfn.Batches(size=10))[prior], 0.5, rtol=1e-5)


def write(folder: Path, X: list[np.ndarray], kind: str) -> Path:
    folder.mkdir()
    for number, array in enumerate(X):
        path = folder / f"{number:03}.{kind}"
        if kind == "npz":
            np.savez(path, x=array)
        elif kind == "npy":
            np.save(path, array)
        else:
            safetensors.numpy.save_file({"x": np.ascontiguousarray(array)}, path)
    (folder / "README").write_text("not a sequence")
    return folder


@pytest.mark.parametrize("kind", ["npz", "npy", "safetensors"])
def test_a_folder_is_a_list(kind: str, tmp_path: Path) -> None:
    _, X = sequences(5, 12)
    options = {"batches": pfn.Batches(size=5, first=10, epochs=2)}
    wanted = pfn.learn(PLAIN, {x: X}, **options)
    for data in (write(tmp_path / "data", X, kind), sorted((tmp_path / "data").glob(f"*.{kind}")), mappings(X), X):
        found = pfn.learn(PLAIN, data, **options)
        np.testing.assert_array_equal(found[W], wanted[W])
        np.testing.assert_array_equal(found.history["eq1"], wanted.history["eq1"])


class Again:
    """Goes through the same sequences again and again, and counts."""

    def __init__(self, X: list[np.ndarray]) -> None:
        self.X, self.times = X, 0

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        self.times += 1
        return ({"x": array} for array in self.X)


def test_what_can_only_be_read_in_order() -> None:
    _, X = sequences(6, 25)
    data = Again(X)
    options = {"batches": pfn.Batches(size=4, first=10, epochs=2, pool=2)}
    result = pfn.learn(PLAIN, data, **options)
    assert data.times == 2
    assert len(result.history) == 14
    np.testing.assert_array_equal(pfn.learn(PLAIN, Again(X), **options)[W], result[W])
    assert (pfn.learn(PLAIN, Again(X), seed=1, **options)[W] != result[W]).any()
    in_order = pfn.Batches(size=4, first=10, shuffle=False)
    streamed = pfn.learn(PLAIN, iter(mappings(X)), batches=in_order)
    np.testing.assert_array_equal(streamed[W], pfn.learn(PLAIN, {x: X}, batches=in_order)[W])
    with pytest.raises(pfn.OptionError, match=r"epochs=2.*can be gone through once"):
        pfn.learn(PLAIN, iter(mappings(X)), **options)


def test_no_more_sequences_are_held_than_a_pool() -> None:
    _, X = sequences(7, 30)
    read, taken = 0, []

    def generator() -> Iterator[np.ndarray]:
        nonlocal read
        for array in X:
            read += 1
            yield array

    options = pfn.Batches(size=3, first=2, sweeps=1, settle=1, pool=2)
    pfn.learn(PLAIN, generator(), batches=options, callback=lambda *_: taken.append(read))
    assert taken == [min(6 + 3 * number, 30) for number in range(10)]


def test_every_sequence_counts_once_an_epoch() -> None:
    _, X = sequences(8, 23)
    seen: list[float] = []
    X = [np.full((6, 2), number + 1.0) for number in range(23)]
    for data in ({x: X}, iter(X)):
        options = pfn.Batches(size=5, memory=1.0, first=1, sweeps=1, settle=1, pool=3)
        result = pfn.learn(PLAIN, data, batches=options, method=pfn.PAPER)
        assert result.memory is not None
        # with KL, the products of all rows and columns are what there is to explain
        seen.append(float(result.memory.sums["W"].products.sum()) * 5)
    total = sum(array.sum() for array in X)
    np.testing.assert_allclose(seen, total, rtol=1e-3)


def test_errors_history_and_values() -> None:
    _, X = sequences(9, 20)
    result = pfn.learn(PLAIN, {x: X}, batches=pfn.Batches(size=8, first=30, epochs=2))
    assert len(result.history) == 6
    assert result.history.iterations.tolist() == [29, 59, 89, 119, 149, 179]
    assert result.iterations == 180
    assert min(result.history["eq1"][3:]) <= result.rmse["eq1"] <= max(result.history["eq1"][3:])
    assert result.squared_error == pytest.approx(result.rmse["eq1"] ** 2 * 6 * sum(a.shape[1] for a in X))
    assert result.stop == "all 6 batches were done"
    assert pfn.learn(PLAIN, X[:3], batches=pfn.Batches(first=30)).stop == "the one batch there was is done"
    with pytest.raises(pfn.DataError, match=r"h: values of variables are not kept.*initial=\{'W': result\['W'\]\}"):
        result[h]
    assert pfn.infer(PLAIN, {x: X}, initial={"W": result["W"]}).rmse["eq1"] < 0.02


def test_a_callback_sees_parameters_and_may_stop() -> None:
    _, X = sequences(10, 20)
    seen = []

    def callback(batch: int, values: Any) -> bool:
        seen.append(values[W].copy())
        with pytest.raises(pfn.DataError, match="not kept"):
            values["h"]
        return batch == 2

    result = pfn.learn(PLAIN, X, batches=pfn.Batches(size=4, first=5), callback=callback)
    assert result.stop == "the callback asked to stop after batch 2"
    assert len(seen) == 3
    np.testing.assert_array_equal(seen[-1], result[W])


@pytest.mark.parametrize("listed", [True, False])
def test_a_run_that_was_killed_goes_on_where_it_was(listed: bool, tmp_path: Path) -> None:
    _, X = sequences(11, 22)
    options: dict[str, Any] = {"batches": pfn.Batches(size=5, first=5, epochs=2), "checkpoint_every": 1}
    data: Any = X if listed else Again(X)
    wanted = pfn.learn(PLAIN, data, **options)
    path = tmp_path / "run.pfn"

    def killed(batch: int, _: Any) -> None:
        if batch == 7:
            raise MemoryError

    with pytest.raises(MemoryError):
        pfn.learn(PLAIN, data, checkpoint=path, callback=killed, **options)
    found = pfn.learn(PLAIN, data, resume=path, **options)
    np.testing.assert_array_equal(found[W], wanted[W])
    np.testing.assert_array_equal(found.history.divergence, wanted.history.divergence)
    assert found.rmse == wanted.rmse
    pfn.learn(PLAIN, data, checkpoint=path, **options)
    assert pfn.learn(PLAIN, data, resume=path, **options).rmse == wanted.rmse
    with pytest.raises(pfn.FileError, match="belongs to another run"):
        pfn.learn(PLAIN, data, resume=path, batches=pfn.Batches(size=6))


@pytest.mark.parametrize("method", [pfn.Propagate(start="levels"), pfn.Substitute(start="levels")])
def test_levels_are_fitted_once(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, X = sequences(12, 20)
    fitted = []

    def count_calls_of(kind: Any) -> None:
        plain = kind.fit_levels
        monkeypatch.setattr(kind, "fit_levels", lambda run, *given: (fitted.append(run), plain(run, *given)))

    count_calls_of(NumpyRun)
    count_calls_of(ProgramRun)
    pfn.learn(PLAIN, X, method=method, batches=pfn.Batches(size=5, first=5, sweeps=1, settle=1))
    assert len(fitted) == 1


def test_every_batch_draws_its_own_start_and_every_epoch_its_own_order(monkeypatch: pytest.MonkeyPatch) -> None:
    X = [np.full((6, 2), number + 1.0) for number in range(12)]
    plain, draws, orders = propagation.run, [], []

    def noted(request: Request, method: pfn.Propagate) -> Answer:
        draws.append(request.generator().random())
        orders.append(tuple(float(array[0, 0]) for array in request.observations.arrays["x"]))
        return plain(request, method)

    monkeypatch.setattr(propagation, "run", noted)
    pfn.learn(PLAIN, X, batches=pfn.Batches(size=4, epochs=2, first=1, sweeps=1, settle=0))
    assert len(set(draws)) == len(draws) == 6
    assert orders[:3] != orders[3:]
    assert sorted(sum(orders[3:], ())) == list(range(1, 13))


def test_shares_of_batches() -> None:
    assert pfn.Batches(memory=1.0, offset=3.0).share(2) == 0.2
    assert pfn.Batches(memory=0.5, offset=7.0).share(2) == pytest.approx(1 / 3)
    assert pfn.Batches(memory=0.5, offset=7.0).share(0) == 1.0


def test_interrupted_after_a_batch() -> None:
    _, X = sequences(13, 20)

    def callback(batch: int, _: Any) -> None:
        if batch == 1:
            signal.raise_signal(signal.SIGINT)

    result = pfn.learn(PLAIN, X, batches=pfn.Batches(size=4, first=5), callback=callback)
    assert result.interrupted
    assert result.stop == "interrupted by the user after batch 1"
    assert result.memory is not None
    assert result.memory.batches == 2


def test_interrupted_in_the_first_batch(tmp_path: Path) -> None:
    _, X = sequences(14, 20)

    def items() -> Iterator[np.ndarray]:
        signal.raise_signal(signal.SIGINT)
        yield from X

    result = pfn.learn(PLAIN, items(), batches=pfn.Batches(size=4, first=5))
    assert result.stop == "interrupted by the user in batch 0, which is left out"
    assert result[W].shape == (6, 3)
    assert np.isnan(result.rmse["eq1"])
    result.save(tmp_path / "model.pfn")
    back = pfn.load(tmp_path / "model.pfn")
    np.testing.assert_array_equal(back[W], result[W])
    whole = [pfn.learn(PLAIN, X, batches=pfn.Batches(size=10, first=5), partial=one) for one in (result, back)]
    np.testing.assert_array_equal(whole[0][W], whole[1][W])
    assert whole[1].memory is not None
    assert whole[1].memory.batches == 2


def test_statistics_of_a_damaged_file_are_refused(tmp_path: Path) -> None:
    _, X = sequences(15, 5)
    path = tmp_path / "model.pfn"
    pfn.learn(PLAIN, X, batches=pfn.Batches(first=2)).save(path)
    content = path.read_bytes()
    for wanted, found in ((b"products/W", b"products/V"), (b"denominators/W", b"denominators/V")):
        path.write_bytes(content.replace(wanted, found))
        with pytest.raises(pfn.FileError, match="the file is damaged"):
            pfn.load(path)


def test_progress_without_a_known_end(capsys: pytest.CaptureFixture[str]) -> None:
    _, X = sequences(16, 5)
    pfn.learn(PLAIN, iter(X), batches=pfn.Batches(size=2, first=2), progress=True)
    assert "batches" in capsys.readouterr().err
