"""Starting values of hidden variables from what the observations reach."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pfn
from benchmarks.convergence import CONTESTS, PLAIN, reached
from pfn import t
from pfn.engines import Layout
from pfn.exact.reduction import only_zero
from pfn.solve.known_equations import Known
from pfn.solve.possible import possible
from pfn.solve.value_start import reached_values
from tests import networks
from tests.exact.problems import flat_known, solvable
from tests.networks import Array
from tests.solve.cases import MACHINE, assert_same, numbers, states

RANDOM = pfn.Propagate(start="random")
ONE = states(1, *[0] * 9)
TURNS = states(1, 2, 3, 4, 1, 2, 3, 4, 1, 2)


def known_of(network: pfn.Network, data: dict[str, list[Array]], lengths: list[int]) -> tuple[Layout, dict[str, Any]]:
    """The layout, and by variable the data of every sequence in all its columns, NaN where there are none."""
    layout = Layout(network, lengths, data)
    known = {}
    for variable in network.variables:
        pieces = data.get(variable.name, [np.empty((variable.size, 0))] * len(lengths))
        widths = [len(layout.columns_of(variable.name, number)) for number in range(len(lengths))]
        known[variable.name] = [
            np.hstack([piece, np.full((variable.size, width - piece.shape[1]), np.nan)])
            for piece, width in zip(pieces, widths, strict=True)
        ]
    return layout, known


def found_possible(network: pfn.Network, parameters: Any, data: dict[str, list[Array]], lengths: list[int]) -> Any:
    layout, known = known_of(network, data, lengths)
    observed = {v.name: np.full((v.size, layout.width(v.name)), np.nan) for v in network.variables}
    for name, pieces in known.items():
        for number, piece in enumerate(pieces):
            observed[name][:, layout.slots(name, number)] = piece
    equations = [Known(e, parameters, layout, float) for e in network.by_level]
    given = {name: ~np.isnan(values) for name, values in observed.items()}
    return possible(equations, observed, given, layout, lambda: False)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_ruled_out_is_what_the_whole_system_rules_out(seed: int) -> None:
    question = solvable(seed)
    system, known = flat_known(question)
    zero = only_zero(system.matrix, known == 0)
    data = {name: [array] for name, array in question.data.items()}
    may = found_possible(question.network, question.dense_parameters(), data, [question.length])
    for variable in question.network.variables:
        wanted = system.array(zero.astype(float), variable.name) == 0
        np.testing.assert_array_equal(may[variable.name], wanted, err_msg=variable.name)


def test_the_random_questions_rule_something_out() -> None:
    questions = [flat_known(solvable(seed)) for seed in range(60)]
    counts = [(only_zero(system.matrix, known == 0) & np.isnan(known)).sum() for system, known in questions]
    assert sum(count > 0 for count in counts) >= 20


def test_data_that_cannot_be_fitted_rule_nothing_out_in_their_own_sequence() -> None:
    wrong = states(1, 0, 1, 0)  # after two moves the first state is not reached
    values = {p.name: p.value for p in MACHINE.parameters}
    may = found_possible(MACHINE, values, {"x": [ONE, wrong, ONE]}, [10, 4, 10])
    alone = found_possible(MACHINE, values, {"x": [ONE]}, [10])
    assert may["x"][:, 10:14].all()
    assert may["h"][:, 10:13].all()
    for part in (slice(0, 10), slice(14, 24)):
        np.testing.assert_array_equal(may["x"][:, part], alone["x"])
    np.testing.assert_array_equal(may["x"][:, :10], TURNS == 1)


@pytest.mark.parametrize("seed", range(20))
def test_several_sequences_start_as_each_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = networks.regular_expression() if seed % 2 else MACHINE
    name, size = ("x2", 6) if seed % 2 else ("x", 4)
    lengths = [int(n) for n in rng.integers(2, 12, 4)]
    data = {name: [np.where(rng.random(n) < 0.5, np.eye(size)[:, rng.integers(size, size=n)], np.nan) for n in lengths]}
    values = {p.name: p.value for p in network.parameters}
    layout, known = known_of(network, data, lengths)
    shares = {v: [rng.random(piece.shape) for piece in pieces] for v, pieces in known.items()}
    together = reached_values(layout, values, shares, known)
    for number, length in enumerate(lengths):
        own, seen = known_of(network, {name: [data[name][number]]}, [length])
        alone = reached_values(own, values, {v: [pieces[number]] for v, pieces in shares.items()}, seen)
        for variable, pieces in together.items():
            np.testing.assert_allclose(pieces[number], alone[variable][0], rtol=1e-12, atol=0, err_msg=variable)


def test_a_parent_is_explained_by_the_children_that_are_known() -> None:
    """A right update from x alone, W H for y, then one from both; what is hidden in x counts as zero on the way."""
    rng = np.random.default_rng(0)
    A, B, H, X = rng.random((6, 3)), rng.random((2, 3)), rng.random((3, 4)), rng.random((6, 4))
    X[rng.random(X.shape) < 0.4] = np.nan
    x, y, h = pfn.Variable("x", 6), pfn.Variable("y", 2), pfn.Variable("h", 3)
    W = np.vstack([A, B])
    network = pfn.Network(pfn.Factorization([x[t], y[t]], pfn.Parameter("W", W) @ h[t]))
    layout, known = known_of(network, {"x": [X]}, [4])
    shares = {"x": [rng.random((6, 4))], "y": [rng.random((2, 4))], "h": [H]}
    start = reached_values(layout, {"W": W}, shares, known)
    seen = np.nan_to_num(X)
    new = H * (A.T @ (seen / (A @ H))) / A.sum(axis=0)[:, None]
    again = new * (W.T @ (np.vstack([seen, B @ new]) / (W @ new))) / W.sum(axis=0)[:, None]
    np.testing.assert_allclose(start["y"][0], B @ new, rtol=1e-4)
    np.testing.assert_allclose(start["h"][0], again, rtol=1e-4)
    np.testing.assert_allclose(start["x"][0], X, atol=1e-5)  # NaN where it is not reached


def test_what_is_known_is_not_changed_and_nothing_is_exactly_zero() -> None:
    """h is given and does not explain x: y follows from h all the same. What can only be zero may grow."""
    W = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    x, y, h = pfn.Variable("x", 2), pfn.Variable("y", 1), pfn.Variable("h", 2)
    network = pfn.Network(pfn.Factorization([x[t], y[t]], pfn.Parameter("W", W) @ h[t]))
    data = {"x": [np.array([[5.0, 1.0], [3.0, 0.0]])], "h": [np.array([[1.0, np.nan], [1.0, np.nan]])]}
    layout, known = known_of(network, data, [2])
    shares = {name: [np.full(arrays[0].shape, 0.5)] for name, arrays in known.items()}
    start = reached_values(layout, {"W": W}, shares, known)
    np.testing.assert_allclose(start["y"][0], [[2.0, 2.0]], rtol=1e-5)
    np.testing.assert_allclose(start["h"][0], [[1.0, 1.0], [1.0, 0.0]], atol=1e-5)
    assert (start["h"][0] > 0).all()


def test_what_is_hardly_tied_to_what_is_seen_does_not_explode() -> None:
    """The second component is all but absent from the rows that are seen, and would be scaled by them alone."""
    rng = np.random.default_rng(0)
    W = np.array([[1, 1e-12], [0, 1e-12], [1, 1e-12], [0.5, 1], [0.2, 1], [0.1, 1]])
    x, y, h = pfn.Variable("x", 3), pfn.Variable("y", 3), pfn.Variable("h", 2)
    network = pfn.Network(pfn.Factorization([x[t], y[t]], pfn.Parameter("W", W) @ h[t]))
    X = W[:3, :1] @ rng.random((1, 8))
    X[1] += 1e-4 * rng.random(8)
    X[0, 3] = np.nan
    assert pfn.infer(network, {x: X}, iterations=200)["y"].max() < 3


def test_values_given_that_are_too_large_are_refused_without_a_warning() -> None:
    with pytest.raises(pfn.NumericalError, match="the values became"):
        pfn.infer(MACHINE, {"x": ONE}, initial={"h": np.full((4, 9), 1e303)})


def test_what_is_reached_from_both_sides_is_their_mean() -> None:
    x, h = pfn.Variable("x", 1), pfn.Variable("h", 1)
    network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", np.ones((2, 1))) @ h[t]))
    layout, known = known_of(network, {"x": [np.array([[1.0, np.nan, 3.0]])]}, [3])
    start = reached_values(layout, {"W": np.ones((2, 1))}, {"x": [np.ones((1, 3))], "h": [np.ones((1, 2))]}, known)
    np.testing.assert_allclose(start["x"][0], [[1.0, 2.0, 3.0]], rtol=1e-5)
    np.testing.assert_allclose(start["h"][0], [[1.5, 2.5]], rtol=1e-5)  # of 1 and 2, of 2 and 3


def test_a_walk_that_is_determined_is_there_before_the_first_sweep() -> None:
    result = pfn.infer(MACHINE, {"x": ONE}, iterations=1)
    np.testing.assert_allclose(result["x"], TURNS, atol=1e-4)
    assert max(pfn.infer(MACHINE, {"x": ONE}, iterations=1, method=RANDOM).rmse.values()) > 0.05


@pytest.mark.parametrize("engine", ["numpy", "jax"])
@pytest.mark.parametrize("method", [pfn.Propagate(), pfn.Substitute()], ids=["propagate", "substitute"])
def test_every_engine_and_precision_has_it(engine: str, method: Any) -> None:
    if engine == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
        if isinstance(method, pfn.Substitute):
            return
    for dtype in ("float32", "float64"):
        result = pfn.infer(MACHINE, {"x": [ONE, ONE[:, :4]]}, engine=engine, method=method, dtype=dtype, iterations=5)
        assert result["x"][0].dtype == dtype
        for found in result["x"]:
            np.testing.assert_allclose(found, TURNS[:, : found.shape[1]], atol=1e-3)


def test_what_was_ruled_out_wrongly_comes_back() -> None:
    """Zeros of the data may be too small to be seen: what they rule out starts small, and grows where it is needed."""
    X = TURNS.copy()
    X[:, 4:] = np.nan
    Y = X.copy()
    Y[Y == 0] = 0.05  # as if it had been seen
    x, h, y, g = (pfn.Variable(*given) for given in (("x", 4), ("h", 4), ("y", 4), ("g", 4)))
    moves = pfn.Parameter("W", networks.W_DETERMINISTIC)
    network = pfn.Network(
        pfn.Factorization([x[t], x[t + 1]], moves @ h[t], name="walk"),
        pfn.Factorization(y[t], pfn.Parameter("B", np.eye(4)) @ g[t], name="seen"),
    )
    result = pfn.infer(network, {x: X, y: Y}, method=pfn.Propagate(release={x: 5}), iterations=300)
    assert max(result.rmse.values()) < 1e-3


@pytest.mark.parametrize(
    "data",
    [np.abs(numbers()) + 0.1, sp.csr_array(np.where(numbers() < 0.5, 0, numbers()))],
    ids=["all seen and positive", "sparse"],
)
def test_data_that_say_no_more_than_a_sweep_start_at_random(data: Any) -> None:
    x, h = pfn.Variable("x", 4), pfn.Variable("h", 3)
    network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", numbers(4, 3)) @ h[t]))
    assert_same(*(pfn.infer(network, {x: data}, method=m, iterations=5) for m in (pfn.Propagate(), RANDOM)))


def test_the_user_may_end_it() -> None:
    """Nothing is reached then but what is observed."""
    layout, known = known_of(MACHINE, {"x": [ONE]}, [10])
    shares = {name: [np.ones(arrays[0].shape)] for name, arrays in known.items()}
    values = {p.name: p.value for p in MACHINE.parameters}
    start = reached_values(layout, values, shares, known, ended=lambda: True)
    assert np.isnan(start["h"][0]).all()
    assert np.isnan(start["x"][0][:, 1:]).all()


def test_decays_start_at_random() -> None:
    x, h = pfn.Variable("x", 4), pfn.Variable("h", 3)
    network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", numbers(4, 3)) @ pfn.decay(h[t], 0.5)))
    X = np.where(numbers() < 0.3, np.nan, numbers())
    assert_same(*(pfn.infer(network, {x: X}, method=m, iterations=5) for m in (pfn.Propagate(), RANDOM)))


def test_what_is_given_stays_and_counts_as_known() -> None:
    """The state of the last slice, given to start from, is carried back; a value that is given is where it starts."""
    given = np.full((4, 10), np.nan)
    given[:, 9] = [0, 1, 0, 0]
    hidden = np.full((4, 10), np.nan)
    hidden[0, 0] = 1.0
    result = pfn.infer(MACHINE, {"x": hidden}, initial={"x": given}, iterations=2)
    np.testing.assert_allclose(result["x"], TURNS, atol=1e-3)
    given_h = np.full((4, 9), np.nan)
    given_h[:, 3] = [0, 0, 0, 2]
    seen = pfn.infer(MACHINE, {"x": hidden}, initial={"h": given_h}, iterations=1)["h"]
    np.testing.assert_array_equal(seen[:3, 3], 0)


@pytest.mark.parametrize("contest", ["random machines, 1e-4", "the same, half of it seen"])
def test_machines_in_a_fifth_of_the_plain_sweeps(contest: str) -> None:
    question = CONTESTS[contest]
    fast = reached(question, pfn.Propagate(), 500, range(500, 508))
    plain = reached(question, PLAIN, 4000, range(500, 508))
    assert fast.all
    assert max(a / b for a, b in zip(fast.sweeps, plain.sweeps, strict=True)) <= 0.2
