"""When a run ends, and what it says about that."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pfn
from benchmarks import settling
from tests.networks import hierarchy, plain_nmf, regular_expression
from tests.solve.cases import MACHINE, PLAIN, assert_same, chain, numbers, parts_based, states

ONE = states(1, *[0] * 9)
NOISY = {"x": numbers()}


def test_iterations() -> None:
    result = pfn.infer(MACHINE, {"x": ONE}, iterations=7)
    assert (result.iterations, result.stop) == (7, "all 7 sweeps were done")
    assert not result.interrupted
    np.testing.assert_array_equal(result.history.iterations, np.arange(7))


def test_numbers_of_numpy_are_numbers() -> None:
    options: dict[str, Any] = {"iterations": np.int64(400), "tolerance": np.float32(1e-3), "seed": np.uint8(3)}
    result = pfn.infer(MACHINE, {"x": ONE}, stall=np.float64(0), **options)
    assert result.stop == "the RMSE of every equation is below the tolerance 0.001"


@pytest.mark.parametrize("method", [pfn.Propagate(), PLAIN], ids=["momentum", "plain"])
def test_tolerance_is_for_every_equation(method: pfn.Propagate) -> None:
    network, x2 = regular_expression(), states(0, 2, 0, 0, 0, 0, 4, 0, 0, 0, of=6)
    result = pfn.infer(network, {"x2": x2}, method=method, iterations=3000, tolerance=1e-3)
    worst = np.max([result.history[equation.name] for equation in network.factorizations], axis=0)
    assert (worst[:-1] >= 1e-3).all()
    assert worst[-1] < 1e-3
    assert result.stop == "the RMSE of every equation is below the tolerance 0.001"


def test_without_stall_all_sweeps_are_done() -> None:
    assert pfn.infer(MACHINE, {"x": states(1, 2, 3)}, iterations=300, stall=None).iterations == 300


def test_the_paper_makes_all_its_sweeps() -> None:
    result = pfn.infer(MACHINE, {"x": states(1, 2, 3)}, method=pfn.PAPER)
    assert result.stop == "all 1000 sweeps were done"


def first_stall(divergence: Any, stall: float) -> int:
    """How many sweeps the definition asks for: the first of those looked at since whose half little has changed."""
    looks, number = {2**k for k in range(4, 13)}, 100.0
    while number < len(divergence):
        looks.add(int(number))
        number *= 1.25
    for done in sorted(look for look in looks if look >= 100):
        window = divergence[done // 2 - 1 : done]
        if window.max() - window.min() < stall * window[-1]:
            return done
    raise AssertionError("it never stalls")


@pytest.mark.parametrize("stall", [1e-2, 1e-3, 1e-6])
@pytest.mark.parametrize("seed", range(3))
def test_stall(stall: float, seed: int) -> None:
    options = {"seed": seed, "iterations": 5000, "method": pfn.Propagate(acceleration=None)}
    result = pfn.learn(parts_based(), NOISY, stall=stall, **options)
    everything = pfn.learn(parts_based(), NOISY, stall=None, **options).history.divergence
    if "nothing moves" in result.stop:  # as small a stall sees values stand still first
        assert result.iterations in (1024, 2048, 4096)
        assert result.iterations <= first_stall(everything, stall)
    else:
        assert result.iterations == first_stall(everything, stall)
        half = result.iterations - result.iterations // 2
        assert result.stop == f"the divergence changed by less than {stall:g} of its value in the last {half} sweeps"


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_values_that_stand_still_end_a_run(engine: str) -> None:
    """The divergence goes on falling towards zero, which the relative change of it would never notice."""
    if engine == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    result = pfn.infer(MACHINE, {"x": ONE}, engine=engine)
    assert result.iterations == 32
    assert result.stop.startswith(
        "nothing moves any more: no value changed by more than 1e-05 of its variable's largest"
    )
    longer = pfn.infer(MACHINE, {"x": ONE}, stall=None, iterations=128, engine=engine)
    assert longer.history.divergence[-1] < 0.5 * result.history.divergence[-1]


def test_data_that_are_fitted_end_a_run() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((8, 2)) @ rng.random((2, 20))
    result = pfn.learn(plain_nmf(8, 2), {"x": X})
    assert result.stop == "the data are fitted: the divergence is below 1e-10 of the data's own"
    own = float((X * np.log(X / X.mean())).sum())
    assert result.history.divergence[-1] < 1e-10 * own


def test_a_tolerance_is_not_preempted_by_what_is_good_enough_without_it() -> None:
    result = pfn.infer(MACHINE, {"x": ONE}, tolerance=1e-14)
    assert result.stop == "the RMSE of every equation is below the tolerance 1e-14"
    assert result.iterations > 32


@pytest.mark.parametrize("method", [pfn.Propagate(learn_every={"W": 300}), pfn.Substitute(learn_at={"W": [300]})])
def test_a_parameter_that_is_updated_rarely_is_waited_for(method: Any) -> None:
    plain = pfn.learn(parts_based(), NOISY)
    assert plain.iterations < 600
    assert pfn.learn(parts_based(), NOISY, method=method, iterations=5000).iterations >= 600


def slow() -> tuple[pfn.Network, dict[str, Any]]:
    """Three states in a row, seen through two levels: far from settled after a hundred sweeps."""
    rng = np.random.default_rng(3)
    network = hierarchy(12, (6, 4), 1, (1, 1))
    return network, {"x1": rng.gamma(0.5, size=(12, 40))}


def test_a_run_that_has_not_settled_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    network, data = slow()
    monkeypatch.setattr("pfn.solve.options.LEARNING_LIMIT", 20)
    with pytest.warns(pfn.NotSettledWarning, match=r"still fell by more than 0.5% .*iterations=80") as caught:
        pfn.learn(network, data)
    assert caught[0].filename == __file__
    assert "fewer components" not in str(caught[0].message)
    holes = {"x1": np.where(np.arange(40) % 4, data["x1"], np.nan)}
    with pytest.warns(pfn.NotSettledWarning, match=r"Try fewer components or more sweeps \(iterations=80\) or another"):
        pfn.learn(network, holes)
    pfn.learn(network, data, iterations=20)  # the user knows how many
    pfn.learn(network, data, method=pfn.PAPER)


def test_a_run_that_ends_far_above_its_lowest_divergence_warns() -> None:
    """A level above a level above a machine: the sweeps settle three times as high as they have been."""
    question = settling.question(8)
    with pytest.warns(
        pfn.NotSettledWarning, match=r"% lower after \d+ sweeps: sweeps over several levels .*'substitute'"
    ):
        pfn.infer(question.network, question.data)
    assert pfn.infer(question.network, question.data, method="substitute").stop.startswith("the data are fitted")


def test_a_run_that_is_stuck_where_substitution_is_not_warns() -> None:
    question = settling.question(88)
    with pytest.warns(pfn.NotSettledWarning, match="substitution lower the divergence to less than a tenth"):
        pfn.infer(question.network, question.data)


def test_a_run_that_the_user_ended_is_not_called_settled() -> None:
    """After nine sweeps it is close to a fit, and substitution gets on from there: of course."""
    question = two_levels()
    result = pfn.infer(*question, callback=lambda sweep, _: sweep == 8)
    assert result.stop == "the callback asked to stop after sweep 8"


def test_a_second_opinion_leaves_the_files_of_the_run_alone(tmp_path: Path) -> None:
    network, data = settling.question(88)[:2]
    path = tmp_path / "run"
    pfn.infer(network, data, iterations=10, checkpoint=path)
    with pytest.warns(pfn.NotSettledWarning, match="settled where .*Try another method"):
        pfn.infer(network, data, checkpoint=path, resume=path)


def two_levels() -> tuple[pfn.Network, dict[str, Any]]:
    """Exact data of two known levels, of which a third is hidden."""
    rng = np.random.default_rng(0)
    A, B = rng.gamma(0.5, size=(12, 6)), rng.gamma(0.5, size=(6, 3))
    x, y, z = pfn.Variable("x", 12), pfn.Variable("y", 6), pfn.Variable("z", 3)
    network = pfn.Network(
        pfn.Factorization(x, pfn.Parameter("A", A) @ y), pfn.Factorization(y, pfn.Parameter("B", B) @ z)
    )
    X = A @ B @ rng.gamma(0.5, size=(3, 30))
    return network, {"x": np.where(rng.random(X.shape) < 0.3, np.nan, X)}


def test_stall_does_not_depend_on_the_scale() -> None:
    scale = 2.0**20
    result, scaled = (
        pfn.learn(
            parts_based(),
            {"x": factor * numbers()},
            method=pfn.Propagate(epsilon=1e-9 * factor, initial_scale=1e-6 * factor, acceleration=None),
            stall=1e-3,
            iterations=5000,
        )
        for factor in (1.0, scale)
    )
    assert result.iterations == scaled.iterations < 5000


@pytest.mark.parametrize(
    "method",
    [
        pfn.Propagate(sparseness=pfn.ramp(0.0, 0.1, start=200, stop=400)),
        pfn.Propagate(sparseness={"eq1": pfn.ramp(0.0, 0.1, start=399, stop=400)}),
        pfn.Propagate(release={"x": 400}),
    ],
    ids=["ramp", "ramp of one equation", "release"],
)
def test_no_stall_while_something_is_still_to_come(method: pfn.Propagate) -> None:
    plain = pfn.learn(parts_based(), NOISY, stall=1e-2, iterations=5000)
    assert plain.iterations < 300
    assert 400 < pfn.learn(parts_based(), NOISY, method=method, stall=1e-2, iterations=5000).iterations < 5000


def test_the_callback_is_called_after_every_sweep() -> None:
    calls: list[int] = []
    result = pfn.infer(MACHINE, {"x": ONE}, iterations=5, callback=lambda sweep, _: calls.append(sweep))
    assert calls == [0, 1, 2, 3, 4]
    assert result.iterations == 5


def test_the_callback_ends_the_run() -> None:
    result = pfn.infer(MACHINE, {"x": ONE}, callback=lambda sweep, _: sweep == 6)
    assert (result.iterations, result.stop) == (7, "the callback asked to stop after sweep 6")
    assert not result.interrupted
    np.testing.assert_array_equal(result["x"], pfn.infer(MACHINE, {"x": ONE}, iterations=7)["x"])


def test_the_callback_sees_the_values() -> None:
    seen: dict[int, Any] = {}

    def look(sweep: int, values: Mapping[str, Any]) -> None:
        assert list(values) == ["x", "h", "W"]
        assert len(values) == 3
        np.testing.assert_array_equal(values["h"], values[MACHINE.variable("h")])  # type: ignore[index]  # objects too
        seen[sweep] = values["x"]

    pfn.infer(MACHINE, {"x": ONE}, iterations=9, callback=look)
    for sweep in (0, 3, 6):
        alone = pfn.infer(MACHINE, {"x": ONE}, iterations=sweep + 1)
        np.testing.assert_array_equal(seen[sweep], alone["x"])


def test_the_callback_sees_lists_as_lists() -> None:
    shapes: list[Any] = []
    data = {"x": [states(1, 0), states(2, 0, 0)]}
    pfn.infer(MACHINE, data, iterations=2, callback=lambda _, values: shapes.append([x.shape for x in values["x"]]))
    assert shapes[0] == [(4, 2), (4, 3)]


def test_the_callback_cannot_disturb_the_run() -> None:
    def spoil(_: int, values: Mapping[str, Any]) -> None:
        for name in ("y", "x", "h", "Q", "V"):
            values[name][...] = 7
        values["P"].data[:] = 7

    data = {"y": numbers()}
    assert_same(pfn.learn(chain(), data, iterations=9, callback=spoil), pfn.learn(chain(), data, iterations=9))


def test_an_error_in_the_callback_is_the_users() -> None:
    with pytest.raises(ZeroDivisionError):
        pfn.infer(MACHINE, {"x": ONE}, callback=lambda sweep, _: 1 // (3 - sweep) and False)


@pytest.mark.parametrize("scale", [1e200, 1e300])
def test_values_too_large_for_double_precision(scale: float) -> None:
    message = r"^eq1: \[x\[t\]; x\[t\+1\]\] = W h\[t\]: the values became (infinite|NaN) in sweep 0\. .* float64"
    with pytest.raises(pfn.NumericalError, match=message):
        pfn.infer(MACHINE, {"x": scale * states(1, 2, 3, 4)}, method=pfn.Propagate(start="random"))


def test_values_too_large_for_single_precision() -> None:
    with pytest.raises(pfn.NumericalError, match=r"^eq1: x\[t\] = W h\[t\]: .* in sweep \d+\. .*use float64"):
        pfn.learn(parts_based(), {"x": 1e30 * numbers()}, dtype="float32")


def test_the_equation_that_overflows_is_named() -> None:
    network = hierarchy(4, (3, 2), 1, (1, 1))
    big = np.full((2, 6), 1e200)
    with pytest.raises(pfn.NumericalError, match=r"^eq2: x2\[t\] = "):
        pfn.learn(network, {"x1": np.full((4, 6), np.nan), "x3": big, "x2": numbers(3, 6)})


def test_columns_that_fade_do_not_end_in_nan() -> None:
    """Under "balanced" an unused column shrinks until it is gone."""
    x, h = pfn.Variable("x", 4), pfn.Variable("h", 8)
    W = pfn.Parameter("W", shape=(8, 8))
    network = pfn.Network(pfn.Factorization([x[pfn.t], x[pfn.t + 1]], W @ h[pfn.t], normalize="balanced"))
    X = np.tile(states(1, 2, 3, 4), 10)
    result = pfn.learn(network, {"x": X}, method=pfn.Propagate(acceleration=None, sparseness=0.1), iterations=2000)
    assert np.isfinite(result["W"]).all()


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_errors_are_measured_after_every_so_many_sweeps_and_the_last(engine: str) -> None:
    if engine == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    network = hierarchy(6, (4, 3), 2, (1, 2))
    data = {"x1": np.random.default_rng(0).random((6, 20))}
    options = {"method": pfn.PAPER, "iterations": 25, "engine": engine}
    every = pfn.learn(network, data, **options)
    some = pfn.learn(network, data, measure=10, **options)
    assert list(some.history.iterations) == [9, 19, 24]
    for name in every.history:
        np.testing.assert_allclose(some.history[name], every.history[name][[9, 19, 24]], rtol=1e-12)
    np.testing.assert_array_equal(some["W1_1"], every["W1_1"])
    assert some.rmse == every.rmse


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_what_an_engine_measures_for_itself_stalls_nothing(engine: str) -> None:
    """JAX measures after the last sweep of a call too, the first of which has 16: 50 sweeps before the last of all."""
    if engine == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    data = {"x1": np.random.default_rng(0).random((6, 30))}
    method, network = pfn.Propagate(acceleration=None, start="random"), hierarchy(6, (3,), 1, (1,))
    both = [pfn.learn(network, data, method=method, iterations=2000, measure=m, engine=engine) for m in (1, 30)]
    assert max(result.iterations for result in both) < 2000
    assert both[1].iterations % 30 == 0


def test_substitution_too_measures_after_every_so_many_sweeps() -> None:
    network = hierarchy(6, (4, 3), 2, (1, 2))
    data = {"x1": np.random.default_rng(0).random((6, 20))}
    options = {"method": pfn.Substitute(acceleration=None), "iterations": 25}
    every, some = (pfn.learn(network, data, measure=n, **options) for n in (1, 10))
    assert list(some.history.iterations) == [9, 19, 24]
    np.testing.assert_array_equal(some["W1_1"], every["W1_1"])
    assert some.rmse == every.rmse


def test_momentum_is_the_same_however_often_errors_are_recorded() -> None:
    network = hierarchy(6, (4,), 2, (1,))
    data = {"x1": np.random.default_rng(0).random((6, 20))}
    every, some = (pfn.learn(network, data, iterations=60, measure=n) for n in (1, 7))
    np.testing.assert_array_equal(some["x2"], every["x2"])
    assert len(some.history) == 9


def test_a_run_stops_where_errors_are_measured() -> None:
    network = hierarchy(6, (4,), 2, (1,))
    data = {"x1": np.random.default_rng(0).random((6, 20))}
    result = pfn.learn(network, data, method=pfn.PAPER, tolerance=0.3, measure=10)
    assert result.iterations % 10 == 0
    assert result.history["eq1"][-1] < 0.3
    for measure in (4, 25):
        stalled = pfn.learn(network, data, method=pfn.PAPER, stall=5e-2, measure=measure)
        assert stalled.iterations % measure == 0
        assert "changed by less than 0.05" in stalled.stop


@pytest.mark.parametrize("acceleration", [None, "momentum"])
@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_a_run_stops_and_goes_on_by_what_is_in_its_history(engine: str, acceleration: Any, tmp_path: Path) -> None:
    """Not by errors that momentum needs, nor by those at the end of a stretch of compiled sweeps."""
    if engine == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    network = hierarchy(6, (4,), 2, (1,))
    data = {"x1": np.random.default_rng(0).random((6, 20))}
    method = pfn.Propagate(acceleration=acceleration)
    options: dict[str, Any] = {"method": method, "engine": engine, "measure": 50, "tolerance": 0.14}
    result = pfn.learn(network, data, checkpoint=tmp_path / "run", **options)
    first = pfn.learn(network, data, **options | {"measure": 1}).iterations
    assert first < 50 == result.iterations
    assert [*result.history.iterations] == [49]
    assert pfn.learn(network, data, resume=tmp_path / "run", **options).rmse == result.rmse


def test_a_callback_sees_every_sweep_measured() -> None:
    network = hierarchy(6, (4,), 2, (1,))
    data = {"x1": np.random.default_rng(0).random((6, 20))}
    result = pfn.learn(network, data, method=pfn.PAPER, measure=10, callback=lambda number, _: number == 3)
    assert result.iterations == 4
    assert np.isfinite(result.rmse["eq1"])


@pytest.mark.parametrize("scale", [1.0, 1e-18])
def test_a_divergence_that_ends_far_above_its_lowest_is_pointed_out(scale: float) -> None:
    """The mean over lags is no descent: from where substitution ends it leads up again."""
    rng = np.random.default_rng(7)
    patterns = rng.gamma(0.3, size=(6, 20, 2))
    events = np.where(rng.random((2, 60)) < 0.1, rng.random((2, 60)), 0)
    X = sum(W @ np.pad(events, ((0, 0), (lag, 0)))[:, :60] for lag, W in enumerate(patterns))
    data, network = {"x1": X / X.max() + 0.01 * rng.random(X.shape)}, hierarchy(20, (2,), 6, (1,))
    good = pfn.learn(network, data, method="substitute", iterations=200, stall=None)
    assert good.stop == "all 200 sweeps were done"
    start = {name: good[name] for name in ("x2", *(parameter.name for parameter in network.parameters))}
    start["x2"], data["x1"] = scale * start["x2"], scale * data["x1"]
    method = replace(PLAIN, averaging="updated", epsilon=scale * PLAIN.epsilon)
    plain = pfn.learn(network, data, method=method, initial=start, iterations=200, stall=None)
    divergence = plain.history.divergence
    share = 100 * (1 - divergence.min() / divergence[-1])
    assert share > 10
    assert plain.stop == (
        f"all 200 sweeps were done; the divergence was {share:.0f} % lower after {divergence.argmin() + 1} sweeps"
    )
    sparse = replace(method, averaging="pooled", sparseness=pfn.ramp(0.0, 0.5, start=100, stop=200))
    ramped = pfn.learn(network, data, method=sparse, initial=start, iterations=200)
    assert ramped.stop == "all 200 sweeps were done"  # there it rises because the user wants it to


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_fitted_anyway_has_not_risen(dtype: str) -> None:
    """At the end of an exact fit the divergence is rounding: many times its lowest value, and nothing to tell."""
    rng = np.random.default_rng(6)
    X = rng.random((8, 2)) @ rng.random((2, 20))
    result = pfn.learn(plain_nmf(8, 2), {"x": X}, iterations=300, dtype=dtype, stall=None)
    assert result.history.divergence[-1] > 1.1 * result.history.divergence.min()
    assert result.stop == "all 300 sweeps were done"
