"""`Consensus`: exact where data fit, nearest where not, and the options that every method has."""

import numpy as np
import pytest
import scipy.linalg

import pfn
from pfn import t
from tests.exact.problems import random_known, solvable
from tests.networks import tracking, tracking_scene
from tests.solve.cases import MACHINE, parts_based, states

TRACKING, SCENE = tracking(), tracking_scene()
TURNS = states(1, 2, 3, 4, 1, 2, 3, 4, 1, 2)


def ask(network, data, **options):
    return pfn.infer(network, data, method=pfn.Consensus(), **options)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tracking(dtype):
    """From random starts 1e-4 takes 204 sweeps, 230 at worst; here the start is zero."""
    result = ask(TRACKING, {"x1": SCENE["x1"]}, tolerance=1e-4, dtype=dtype)
    assert result.iterations <= 230
    assert result["x4"].dtype == dtype
    for name in ("x2", "x3", "x4", "x5"):
        np.testing.assert_allclose(result[name], SCENE[name], atol=0.005, err_msg=name)


@pytest.mark.parametrize("seed", range(6))
def test_random_networks_with_a_solution(seed):
    known = solvable(seed)
    result = ask(known.network, known.data, initial=known.parameters, tolerance=1e-6, iterations=20_000)
    assert not any(error >= 1e-6 for error in result.rmse.values())  # NaN where an equation holds nowhere
    for name, array in known.data.items():
        seen = ~np.isnan(array)
        np.testing.assert_array_equal(result[name][:, : array.shape[1]][seen], array[seen])
    assert all(np.nanmin(result[v], initial=0) >= 0 for v in known.network.variables)


def test_noise_is_split_between_the_two_ends_of_a_transition():
    X = TURNS + np.random.default_rng(0).uniform(0, 0.1, TURNS.shape)
    before, after = X[:, :-1], np.roll(X, -1, axis=0)[:, 1:]
    result = ask(MACHINE, {"x": X}, iterations=300)
    np.testing.assert_allclose(result["h"], (before + after) / 2, atol=1e-6)


def contradiction():
    """State 1 in slices 1 and 6, although four states take turns."""
    return {"x": states(1, 0, 0, 0, 0, 1, 0, 0, 0, 0)}


@pytest.mark.parametrize(("dtype", "stall"), [("float64", 1e-4), ("float32", 0.1)])
def test_data_that_cannot_be_fitted(dtype, stall):
    """The limit minimises what the equations miss, weighted by (I + W Wᵀ)⁻¹, and the distance that is left says so.

    Five transitions lead from state 1 in the first slice to state 2 in the sixth, which is not there, and five to state
    1 there from state 4, which was not: each has to lose, or gain, a fifth. Of the square of what the two entries of a
    transition differ by, half counts: 2 · 5 · (1/5)² / 2.
    """
    result = ask(MACHINE, contradiction(), tolerance=1e-6, stall=stall, iterations=3000, dtype=dtype)
    assert result.stop.startswith(
        f"nothing moves any more: no value changed by more than {stall / 100:g} of its variable's"
    )
    assert result.iterations <= 1024
    assert result.history.divergence[-1] == pytest.approx(0.2, rel=1e-4)
    np.testing.assert_allclose(result["x"][[1, 2, 3, 0], [1, 2, 3, 4]], [0.8, 0.6, 0.4, 0.2], atol=0.01)


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_rounding_does_not_add_up_where_data_cannot_be_fitted(engine):
    """The anchor hardly moves in 3000 sweeps; residuals that only follow from each other end at 0.56 to 0.79."""
    if engine == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    result = ask(MACHINE, contradiction(), tolerance=None, iterations=3000, dtype="float32", engine=engine)
    assert result.history.divergence[-1] == pytest.approx(0.2, rel=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_the_limit_is_the_least_weighted_error(seed):
    """At the limit no hidden entry can lower Σ (X − W H)ᵀ (I + W Wᵀ)⁻¹ (X − W H): its gradient is as at a minimum."""
    known = random_known(seed)
    result = ask(known.network, known.data, initial=known.parameters, iterations=3000)
    system, matrices = known.system(), known.dense_parameters()
    y = system.flat({v.name: result[v] for v in known.network.variables})
    assert max(result.rmse.values()) > 1e-3
    weights = []
    for equation in known.network.factorizations:
        W = np.hstack([matrices[p.name] for p in equation.parameters])
        inverse = np.linalg.inv(np.eye(equation.rows) + W @ W.T)
        weights.append(np.kron(np.eye(system.counts[equation.name]), inverse))
    values = np.nan_to_num(y)
    gradient = system.matrix.T @ (scipy.linalg.block_diag(*weights) @ (system.matrix @ values))
    free = np.isnan(system.flat(known.data)) & system.touched()
    assert np.abs(gradient[free & (values > 1e-6)]).max(initial=0) < 1e-4
    assert gradient[free].min(initial=0) > -1e-4


def test_sequences_are_solved_on_their_own():
    X = TURNS + np.random.default_rng(0).uniform(0, 0.1, TURNS.shape)
    X[:, 4] = np.nan
    pieces = [X, X[:, 3:], X[:, :1], X[:, :5]]
    together = ask(MACHINE, {"x": pieces}, iterations=400)
    for number, piece in enumerate(pieces):
        alone = ask(MACHINE, {"x": piece}, iterations=400)
        for name in ("x", "h"):
            np.testing.assert_allclose(together[name][number], alone[name], atol=1e-6)


def test_a_cycle_through_time():
    """A leaky sum: each slice keeps half of the one before it."""
    level, before, inflow = (pfn.Variable(name, 1) for name in ("level", "before", "inflow"))
    network = pfn.Network(
        pfn.Factorization(
            level[t], pfn.Parameter("half", [[0.5]]) @ before[t] + pfn.Parameter("one", [[1.0]]) @ inflow[t]
        ),
        pfn.Factorization(before[t], pfn.Parameter("same", [[1.0]]) @ level[t - 1]),
    )
    assert "consensus" in network.methods
    result = ask(network, {"inflow": np.array([[1.0, 0, 0, 1, 0]])}, tolerance=1e-9, iterations=5000)
    np.testing.assert_allclose(result["level"], [[1, 0.5, 0.25, 1.125, 0.5625]], atol=1e-7)


def test_a_resumed_run_gives_the_same_bits(tmp_path):
    options = {"iterations": 60, "tolerance": None}
    whole = ask(TRACKING, {"x1": SCENE["x1"]}, **options)
    ask(TRACKING, {"x1": SCENE["x1"]}, iterations=25, checkpoint=tmp_path / "run")
    resumed = ask(TRACKING, {"x1": SCENE["x1"]}, resume=tmp_path / "run", **options)
    for variable in TRACKING.variables:
        np.testing.assert_array_equal(resumed[variable], whole[variable])
    np.testing.assert_array_equal(resumed.history["eq1"], whole.history["eq1"])


def test_callback_weights_and_start():
    seen = []
    X = TURNS + np.random.default_rng(0).uniform(0, 0.1, TURNS.shape)
    result = ask(MACHINE, {"x": X}, callback=lambda number, values: seen.append(values["h"].shape) or number == 4)
    assert result.iterations == len(seen) == 5
    weights = np.array([1.0, 0, 0, 0, 0, 0, 0, 0, 3])
    weighted = ask(MACHINE, {"x": X}, weights={"eq1": weights}, iterations=300)
    errors = np.vstack([X[:, :-1], X[:, 1:]]) - MACHINE.parameters[0].value @ weighted["h"]
    assert weighted.rmse["eq1"] == pytest.approx(np.sqrt(np.sum(errors**2 * weights) / (8 * 4)))
    solution = ask(MACHINE, {"x": TURNS}, initial={"h": TURNS[:, :-1]}, tolerance=1e-9)
    assert solution.iterations == 1


def test_columns_that_nothing_touches():
    result = ask(MACHINE, {"x": np.full((4, 1), np.nan)}, iterations=2)
    assert np.isnan(result["x"]).all()
    assert result["h"].shape == (4, 0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_compiled_iteration_is_the_same(dtype, tmp_path):
    pytest.importorskip("jax", reason="jax is not installed")
    digits = 1e-9 if dtype == "float64" else 1e-3
    data, options = {"x1": [SCENE["x1"], SCENE["x1"][:, :9]]}, {"iterations": 60, "dtype": dtype}
    wanted = ask(TRACKING, data, engine="numpy", **options)
    ask(TRACKING, data, engine="jax", **(options | {"iterations": 20}), checkpoint=tmp_path / "run")
    found = ask(TRACKING, data, engine="jax", resume=tmp_path / "run", **options)
    for variable in TRACKING.variables:
        for one, other in zip(found[variable], wanted[variable], strict=True):
            np.testing.assert_allclose(one, other, atol=digits)
    np.testing.assert_allclose(found.history["eq3"], wanted.history["eq3"], rtol=1e-6, atol=digits)
    result = ask(TRACKING, {"x1": SCENE["x1"]}, engine="jax", tolerance=1e-4, dtype=dtype)
    assert (
        result.iterations == ask(TRACKING, {"x1": SCENE["x1"]}, engine="numpy", tolerance=1e-4, dtype=dtype).iterations
    )


def test_what_is_refused():
    with pytest.raises(pfn.OptionError, match="Consensus: parameter W is to be learned"):
        pfn.learn(parts_based(), {"x": np.ones((4, 3))}, method="consensus")
    with pytest.raises(pfn.OptionError, match="restarts would find the same"):
        ask(MACHINE, {"x": TURNS}, restarts=2)
    x, h, W = pfn.Variable("x", 2), pfn.Variable("h", 2), pfn.Parameter("W", np.eye(2))
    decaying = pfn.Network(pfn.Factorization(x[t], W @ pfn.decay(h[t], 0.5)))
    assert decaying.methods == ("propagate", "exact", "substitute")
    with pytest.raises(pfn.OptionError, match="Consensus takes matrices only, found W decay"):
        ask(decaying, {"x": np.ones((2, 3))})
