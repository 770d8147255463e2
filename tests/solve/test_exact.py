"""Exact inference as users ask for it: values, what is certain, sequences, cycles through time, windows."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import t
from pfn.models import simulate_targets, tracking_network
from tests import networks
from tests.network.refusal import refused
from tests.solve.cases import MACHINE, assert_same_values, numbers, parts_based, states, tower

AUTOMATON = networks.automaton(networks.W_NONDETERMINISTIC)


def exact(network, data, **options):
    return pfn.infer(network, data, method=pfn.Exact(**options))


def assert_exact(result):
    assert result.stop == "exact solution"
    assert max(result.rmse.values()) < 1e-7
    assert result.squared_error < 1e-10


class TestThePaper:
    def test_tracking(self):
        scene = networks.tracking_scene()
        result = exact(networks.tracking(), {"x1": scene["x1"]})
        assert_exact(result)
        for name, values in scene.items():
            np.testing.assert_allclose(result[name], values, atol=1e-6)
        assert all(result.unique[variable].all() for variable in result.network.variables)

    def test_tracking_with_a_hidden_slice(self):
        scene = networks.tracking_scene()
        X = scene["x1"].copy()
        X[:, 24] = np.nan
        result = exact(networks.tracking(), {"x1": X})
        np.testing.assert_allclose(result["x4"], scene["x4"], atol=1e-6)
        assert result.unique["x4"].all()

    def test_tracking_with_a_hidden_end(self):
        scene = networks.tracking_scene()
        X = scene["x1"].copy()
        X[:, 21:] = np.nan
        result = exact(networks.tracking(), {"x1": X})
        assert_exact(result)
        certain = result.unique["x4"]
        assert certain[:, :19].all()  # a target of the other kind could be born two slices before
        assert not certain[:, 25].all()
        np.testing.assert_allclose(result["x4"][certain], scene["x4"][certain], atol=1e-6)

    @pytest.mark.parametrize("first", range(4))
    def test_one_slice_of_a_deterministic_automaton(self, first):
        X = states(*([first + 1] + [0] * 9))
        result = exact(MACHINE, {"x": X})
        assert_exact(result)
        assert result["x"].argmax(axis=0).tolist() == [(first + k) % 4 for k in range(10)]
        assert result.unique["x"].all()

    def test_the_end_of_an_automaton_is_open(self):
        result = exact(AUTOMATON, {"x": states(0, 2, 0, 3, 4, 0, 0, 0, 0, 0)})
        assert result["x"][:, :7].argmax(axis=0).tolist() == [0, 1, 2, 2, 3, 0, 1]
        assert result.unique["x"].all(axis=0).tolist() == [True] * 7 + [False] * 3
        assert not result.unique["x"][2:, 7].any()  # S2 goes on to S3 or S4
        assert result.unique["x"][:2, 7].all()  # and to no other

    def test_a_known_end_closes_it(self):
        result = exact(AUTOMATON, {"x": states(0, 2, 0, 3, 4, 0, 0, 0, 0, 2)})
        assert result.unique["x"].all()
        assert result["x"].argmax(axis=0).tolist() == [0, 1, 2, 2, 3, 0, 1, 3, 0, 1]

    def test_the_regular_expression(self):
        network, data = networks.regular_expression(), {"x2": states(0, 2, 0, 0, 0, 0, 4, 0, 0, 0, of=6)}
        result = exact(network, data)
        assert_exact(result)
        np.testing.assert_allclose(result["x1"][:, :9], states(3, 3, 1, 2, 1, 2, 3, 1, 2, of=3), atol=1e-7)
        np.testing.assert_allclose(result["x2"][:, :9], states(1, 2, 3, 3, 3, 3, 4, 5, 5, of=6), atol=1e-7)
        for name in ("x1", "x2"):
            assert result.unique[name].all(axis=0).tolist() == [True] * 9 + [False]
        first, second = pfn.solutions(network, data, 10)  # d stays or goes on to e
        assert {int(s["x2"][:, 9].argmax()) for s in (first, second)} == {4, 5}


class TestPreference:
    X = states(0, 2, 0, 3, 4, 0, 0, 0, 0, 0)

    def test_sparse_is_one_walk(self):
        assert (exact(AUTOMATON, {"x": self.X})["x"].round(9).max(axis=0) == 1).all()

    def test_spread_is_a_superposition(self):
        result = exact(AUTOMATON, {"x": self.X}, prefer="spread")
        assert_exact(result)
        np.testing.assert_allclose(result["x"].sum(axis=0), 1, atol=1e-9)
        assert (result["x"][:, 9] > 0.05).all()
        np.testing.assert_allclose(result["x"][:, :7].max(axis=0), 1, atol=1e-9)

    @pytest.mark.parametrize(("penalised", "other"), [("h", "g"), ("g", "h")])
    def test_a_penalty_chooses(self, penalised, other):
        x, h, g = (pfn.Variable(name, 2) for name in "xhg")
        network = pfn.Network(
            pfn.Factorization(x, pfn.Parameter("A", np.eye(2)) @ h + pfn.Parameter("B", np.eye(2)) @ g)
        )
        result = exact(network, {"x": numbers(2, 3)}, penalty={penalised: 1.0})
        assert_exact(result)
        np.testing.assert_allclose(result[other], numbers(2, 3))
        assert not result[penalised].any()
        assert not result.unique[penalised].any()  # as solutions go, any split would do


class TestSolutions:
    def test_all_walks_of_the_automaton(self):
        found = pfn.solutions(AUTOMATON, {"x": TestPreference.X}, 20)
        walks = {tuple(result["x"].argmax(axis=0).tolist()) for result in found}
        head = (0, 1, 2, 2, 3, 0, 1)
        assert walks == {(*head, *end) for end in [(2, 2, 2), (2, 2, 3), (2, 3, 0), (3, 0, 1)]}
        assert len(found) == len(walks)
        for result in found:
            assert_exact(result)
            assert (result["x"].round(9).max(axis=0) == 1).all()

    def test_no_more_than_asked_for(self):
        assert len(pfn.solutions(AUTOMATON, {"x": TestPreference.X}, 2)) == 2

    def test_the_first_is_the_inferred_one(self):
        first, *_ = pfn.solutions(AUTOMATON, {"x": TestPreference.X}, 3, seed=5)
        inferred = pfn.infer(AUTOMATON, {"x": TestPreference.X}, method="exact", seed=5)
        assert_same_values(first.values, inferred.values)

    def test_one_where_there_is_one(self):
        (only,) = pfn.solutions(MACHINE, {"x": states(1, 0, 0)}, 5)
        assert only.unique["x"].all()

    def test_sequences(self):
        data = {"x": [TestPreference.X, states(1, 2, 4)]}
        found = pfn.solutions(AUTOMATON, data, 20)
        assert len(found) == 4
        assert all(result["x"][1].argmax(axis=0).tolist() == [0, 1, 3] for result in found)

    def test_none(self):
        with pytest.raises(pfn.NoExactSolution, match=r"eq1"):
            pfn.solutions(MACHINE, {"x": states(1, 1)}, 3)

    def test_asking_for_too_many(self):
        assert len(pfn.solutions(AUTOMATON, {"x": TestPreference.X}, 10**9)) == 4

    def test_rounding_makes_no_other_solution(self):
        rng = np.random.default_rng(2)
        x, h = pfn.Variable("x", 5), pfn.Variable("h", 8)
        network = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", rng.random((5, 8))) @ h))
        X = network["W"].value @ rng.random((8, 1))
        found = {
            d: [r["h"] for r in pfn.solutions(network, {x: X}, 6, dtype=d, seed=1)] for d in ("float64", "float32")
        }
        for one, other in combinations(found["float32"], 2):
            assert np.abs(one - other).max() > 1e-3
        assert len(found["float32"]) == len(found["float64"]) == 6

    def test_no_starting_values(self):
        with pytest.raises(pfn.OptionError, match=r"^Exact: h needs no starting values"):
            pfn.solutions(MACHINE, {"x": states(1, 0)}, 2, initial={"h": np.ones((4, 1))})

    def test_no_network(self):
        with pytest.raises(pfn.OptionError, match=r"^network must be a pfn\.Network, found int"):
            pfn.solutions(3, {"x": states(1, 0)}, 2)

    @pytest.mark.parametrize("n", [0, 1.5, "all"])
    def test_refused(self, n):
        with refused(f"solutions: n must be a whole number >= 1, found {n!r}.", pfn.OptionError):
            pfn.solutions(MACHINE, {"x": states(1, 2)}, n)


class TestData:
    def test_sequences_are_solved_separately(self):
        data = [states(1, 0, 0), states(3, 0), states(0, 0, 2, 0)]
        result = exact(MACHINE, {"x": data})
        assert_exact(result)
        for found, unique, array in zip(result["x"], result.unique["x"], data, strict=True):
            alone = exact(MACHINE, {"x": array})
            np.testing.assert_array_equal(found, alone["x"])
            np.testing.assert_array_equal(unique, alone.unique["x"])

    def test_sparse_data_and_parameters(self):
        W = scipy.sparse.csr_array(networks.W_DETERMINISTIC)
        network = networks.automaton(W)
        X = scipy.sparse.csc_array(states(1, 2, 3))
        result = exact(network, {"x": X})
        assert_exact(result)
        assert scipy.sparse.issparse(result["x"])
        np.testing.assert_allclose(result["h"], np.eye(4)[:, :2])

    def test_observed_above(self):
        h = np.full((4, 4), np.nan)
        h[:, 2] = np.eye(4)[1]
        result = exact(MACHINE, {"h": h})
        assert result["x"].argmax(axis=0).tolist() == [3, 0, 1, 2, 3]
        assert result.unique["x"].all()

    def test_nothing_observed(self):
        result = exact(MACHINE, {"x": np.full((4, 3), np.nan)})
        assert_exact(result)
        assert not result.unique["x"].any()

    @pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
    def test_units_do_not_matter(self, scale):
        result = exact(AUTOMATON, {"x": scale * states(0, 2, 0, 3, 4, 0, 0, 0)})
        assert result.stop == "exact solution"
        assert result["x"][:, :7].argmax(axis=0).tolist() == [0, 1, 2, 2, 3, 0, 1]
        np.testing.assert_allclose(result["x"].sum(axis=0), scale)
        assert result.unique["x"].all(axis=0).tolist() == [True] * 7 + [False]

    def test_float32(self):
        rng = np.random.default_rng(0)
        network = parts_based(value=rng.random((4, 2)))
        X = network["W"].value @ rng.random((2, 50))
        result = pfn.infer(network, {"x": X}, method="exact", dtype="float32")
        assert result["h"].dtype == np.float32
        assert result.unique["h"].all()
        np.testing.assert_allclose(network["W"].value @ result["h"], X, atol=1e-4)

    def test_a_parameter_given_with_the_question(self):
        rng = np.random.default_rng(1)
        W, H = rng.random((4, 2)), rng.random((2, 5))
        result = pfn.infer(parts_based(), {"x": W @ H}, method="exact", initial={"W": W})
        np.testing.assert_allclose(result["h"], H, atol=1e-6)

    def test_a_hidden_column_that_nothing_touches(self):
        x, h = pfn.Variable("x", 1), pfn.Variable("h", 1)
        network = pfn.Network(pfn.Factorization(x[t + 1], pfn.Parameter("W", [[2.0]]) @ h[t]))
        result = exact(network, {"x": np.array([[np.nan, 4.0, np.nan]])})
        np.testing.assert_array_equal(result["x"], [[np.nan, 4, 0]])
        np.testing.assert_array_equal(result["h"], [[2, 0]])
        np.testing.assert_array_equal(result.unique["x"], [[False, True, False]])

    def test_weights_count_in_the_errors(self):
        network = tower()
        data = {"x": np.array([[1.0, 2.0], [1.0, 1.0]]), "y": np.array([[2.0, 3.0]] * 2 + [[2.5, 3.0]])}
        soft = [
            pfn.infer(network, data, method=pfn.Exact(structure="soft"), weights=w) for w in (None, {"eq2": np.ones(2)})
        ]
        assert soft[0].rmse == pytest.approx(soft[1].rmse)
        heavy = pfn.infer(network, data, method=pfn.Exact(structure="soft"), weights={"eq1": np.array([100.0, 1.0])})
        assert heavy.rmse["eq1"] < soft[0].rmse["eq1"]

    def test_weights_of_several_sequences(self):
        """h is drawn to 0 by x and to 1 by y, as their weights say; the errors are means over what counts."""
        pytest.importorskip("clarabel", reason="squares need the extra qp")
        x, y, h = (pfn.Variable(name, 1) for name in "xyh")
        one, other = pfn.Parameter("A", [[1.0]]), pfn.Parameter("B", [[1.0]])
        network = pfn.Network(pfn.Factorization(x, one @ h), pfn.Factorization(y, other @ h))
        data = {"x": [np.zeros((1, 2)), np.zeros((1, 1))], "y": [np.ones((1, 2)), np.ones((1, 1))]}
        weights = {"eq1": [np.array([1.0, 3.0]), np.array([4.0])]}
        result = pfn.infer(network, data, method=pfn.Exact(structure="soft"), weights=weights)
        np.testing.assert_allclose(result["h"][0], [[1 / 2, 1 / 4]], atol=1e-4)
        np.testing.assert_allclose(result["h"][1], [[1 / 5]], atol=1e-4)
        assert result.rmse["eq1"] ** 2 == pytest.approx((1 / 4 + 3 / 16 + 4 / 25) / 8, rel=1e-3)


class TestResult:
    def test_saved_and_loaded(self, tmp_path):
        for data in (TestPreference.X, [TestPreference.X, states(1, 0)]):
            result = exact(AUTOMATON, {"x": data})
            result.save(tmp_path / "result")
            assert_same_values(pfn.load(tmp_path / "result").unique, result.unique)
            assert pfn.load(tmp_path / "result").stop == "exact solution"

    def test_unique_by_object_and_name(self):
        result = exact(AUTOMATON, {"x": TestPreference.X})
        assert list(result.unique) == ["x", "h"]
        assert len(result.unique) == 2
        np.testing.assert_array_equal(result.unique["x"], result.unique[AUTOMATON["x"]])
        assert repr(result.unique).startswith("Unique(x: 31 of 40, h: ")
        with pytest.raises(pfn.DeclarationError, match=r"W is not a variable"):
            result.unique["W"]

    def test_shown_without_sweeps(self):
        assert repr(exact(MACHINE, {"x": states(1, 0)})).startswith("Result: exact solution\n")

    def test_the_same_seed_gives_the_same_bits(self):
        one, other = (pfn.infer(AUTOMATON, {"x": TestPreference.X}, method="exact", seed=3) for _ in range(2))
        assert_same_values(one.values, other.values)
        assert_same_values(one.unique, other.unique)

    def test_other_methods_do_not_know(self):
        assert pfn.infer(MACHINE, {"x": states(1, 0)}, iterations=1).unique is None


class TestCyclesThroughTime:
    """h[t] from x[t − 1] and x[t] from h[t]: no levels, but plain equations."""

    x, h, u = pfn.Variable("x", 2), pfn.Variable("h", 2), pfn.Variable("u", 2)
    A, B = np.array([[0.5, 0.1], [0.2, 0.4]]), np.array([[1.0, 0.5], [0.0, 1.0]])
    RECURRENT = pfn.Network(
        pfn.Factorization(x[t], pfn.Parameter("C", np.eye(2)) @ h[t]),
        pfn.Factorization(h[t], pfn.Parameter("A", A) @ x[t - 1] + pfn.Parameter("B", B) @ u[t]),
    )

    def test_the_methods_of_the_network(self):
        assert self.RECURRENT.methods == ("exact", "consensus")
        with pytest.raises(pfn.OptionError, match=r"The methods for this network are: exact"):
            pfn.infer(self.RECURRENT, {"x": np.ones((2, 4))})

    def test_forwards(self):
        inputs, state, path = np.random.default_rng(0).random((2, 30)), np.zeros(2), []
        for column in inputs.T:
            state = self.A @ state + self.B @ column
            path.append(state)
        result = exact(self.RECURRENT, {"u": inputs, "x": np.full((2, 30), np.nan)})
        np.testing.assert_allclose(result["x"], np.transpose(path), atol=1e-7)
        assert result.unique["x"].all()

    def test_backwards(self):
        inputs, state, path = np.random.default_rng(1).random((2, 30)), np.zeros(2), []
        for column in inputs.T:
            state = self.A @ state + self.B @ column
            path.append(state)
        result = exact(self.RECURRENT, {"x": np.transpose(path)})
        np.testing.assert_allclose(result["u"], inputs, atol=1e-6)
        assert result.unique["u"].all()

    def test_a_variable_from_its_own_past(self):
        x = pfn.Variable("x", 2)
        network = pfn.Network(pfn.Factorization(x[t + 1], pfn.Parameter("A", self.A) @ x[t]))
        X = np.full((2, 6), np.nan)
        X[:, 3] = self.A @ self.A @ self.A @ [1.0, 2.0]
        result = exact(network, {x: X})
        np.testing.assert_allclose(result[x][:, 0], [1, 2], atol=1e-6)
        np.testing.assert_allclose(result[x][:, 5], self.A @ self.A @ X[:, 3], atol=1e-7)


class TestWindows:
    @pytest.mark.parametrize(("window", "overlap"), [(40, 12), (25, None), (10, 1), (500, 20)])
    def test_the_same_as_all_at_once_where_there_is_one_solution(self, window, overlap):
        network = tracking_network(20)
        scene = simulate_targets(network, 8, length=120, seed=4)
        whole = exact(network, scene.observed)
        joined = exact(network, scene.observed, window=window, overlap=overlap)
        assert_exact(joined)
        for variable in network.variables:
            np.testing.assert_array_equal(joined.unique[variable], whole.unique[variable])
            certain = whole.unique[variable]
            np.testing.assert_allclose(joined[variable][certain], whole[variable][certain], atol=1e-7)
        assert whole.unique["x4"].all()

    @pytest.mark.parametrize("seed", range(6))
    def test_open_ends_that_close_later(self, seed):
        """Many solutions in every window but one in all: those that do not go on are taken back."""
        rng = np.random.default_rng(seed)
        walk = [int(rng.integers(4))]
        while len(walk) < 60:
            walk.append(
                int(rng.choice([b for a, b in [(0, 1), (1, 2), (2, 3), (3, 0), (2, 2), (1, 3)] if a == walk[-1]]))
            )
        X = states(*(state + 1 if time % 9 == 0 or time == 59 else 0 for time, state in enumerate(walk)))
        whole = exact(AUTOMATON, {"x": X})
        joined = exact(AUTOMATON, {"x": X}, window=7, overlap=2)
        assert_exact(joined)
        np.testing.assert_array_equal(joined.unique["x"], whole.unique["x"])
        np.testing.assert_allclose(joined["x"][whole.unique["x"]], whole["x"][whole.unique["x"]], atol=1e-7)

    def test_no_solution(self):
        X = states(*([1, 2, 3, 4] * 10))
        X[:, 25] = np.eye(4)[3]
        with pytest.raises(pfn.NoExactSolution, match=r"eq1: .* cannot hold at t = 2[45]"):
            exact(MACHINE, {"x": X}, window=8, overlap=3)


def test_data_need_not_be_tidy():
    network = tracking_network(15)
    scene = simulate_targets(network, 2, length=20, seed=0)
    rounded = scene.observed["x1"] * (1 + 1e-9 * numbers(*scene.observed["x1"].shape))
    result = exact(network, {"x1": rounded})
    assert result.stop == "exact solution"
    np.testing.assert_allclose(result["x4"], scene.truth["x4"], atol=1e-6)
