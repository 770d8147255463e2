"""Options of exact inference: what they do, what is refused and in which words, limits and progress."""

from dataclasses import replace

import numpy as np
import pytest

import pfn
from pfn import t
from pfn.exact import Deadline, OutOfTimeError, windows
from pfn.models import simulate_targets, tracking_network
from tests import networks
from tests.models.scenes import PAPER_LENGTH, PAPER_TARGETS
from tests.network.refusal import refused
from tests.solve.cases import MACHINE, numbers, parts_based, states, tower

NETWORK = tracking_network(15)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "hard"}, "structure must be one of 'exact', 'soft', found 'hard'."),
        ({"prefer": "dense"}, "prefer must be one of 'sparse', 'spread', found 'dense'."),
        ({"debias": "yes"}, "debias must be one of True, False, found 'yes'."),
        ({"noise": ["x"]}, "noise must be a mapping such as {x: …}, found ['x']."),
        ({"noise": {"x": "l3"}}, "noise of x must be 'l1' or 'l2', found 'l3'."),
        ({"penalty": {"x": -1}}, "penalty of x must be a number >= 0, found -1."),
        ({"penalty": {"x": "some"}}, "penalty of x must be a number >= 0, found 'some'."),
        ({"penalty": {"x": np.ones(2)}}, "penalty of x must be a number >= 0, found array([1., 1.])."),
        ({"background": "x"}, "background must be a list of variables, found 'x'."),
        ({"window": 1}, "window must be a whole number >= 2, found 1."),
        ({"window": 5, "overlap": 5}, "overlap=5 needs a window longer than that, found window=5."),
        ({"overlap": 5}, "overlap=5 needs a window longer than that, found window=None."),
        ({"time_limit": -1.0}, "time_limit must be a number >= 0, found -1.0."),
    ],
)
def test_refused_when_made(options, message):
    with refused(f"Exact: {message}", pfn.OptionError):
        pfn.Exact(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"background": ["x"]}, "background of x explains noise in it: add noise={'x': 'l2'}."),
        ({"noise": {"W": "l2"}}, "noise takes variables, found W."),
        ({"penalty": {"g": 1.0}}, "penalty: the network has nothing called g. It has x, h, W, eq1."),
        (
            {"noise": {"x": "l2"}, "structure": "soft"},
            "noise keeps the structure exact, structure='soft' does not. Give one of them.",
        ),
        ({"noise": {"x": "l2", MACHINE["x"]: "l1"}}, "noise has x twice. Give it once, by object or by name."),
        ({"background": ["x", "x"]}, "background has x twice. Give it once, by object or by name."),
        (
            {"penalty": {"x": 1.0}, "prefer": "spread"},
            "prefer='spread' mixes all exact solutions, with penalty there is one answer. Give one of them.",
        ),
        (
            {"structure": "soft", "prefer": "spread"},
            "prefer='spread' mixes all exact solutions, with structure='soft' there is one answer. Give one of them.",
        ),
        ({"structure": "soft", "window": 5}, "structure='soft' is solved for all times at once. Leave window out."),
        (
            {"penalty": {"x": "auto"}},
            "penalty 'auto' is found from squared noise: add noise={x: 'l2'}, or give a weight.",
        ),
        (
            {"debias": True, "noise": {"x": "l2"}},
            "debias solves again without the penalty of noisy data: give noise and penalty.",
        ),
    ],
)
def test_refused_with_a_network(options, message):
    with refused(f"Exact: {message}", pfn.OptionError):
        pfn.infer(MACHINE, {"x": states(1, 0)}, method=pfn.Exact(**options))


@pytest.mark.parametrize(("option", "value"), [("checkpoint", "file"), ("resume", "file"), ("callback", print)])
def test_options_of_sweeps(option, value):
    words = f"^Exact: {option} belongs to methods that sweep"
    with pytest.raises(pfn.OptionError, match=words):
        pfn.infer(MACHINE, {"x": states(1, 0)}, method="exact", **{option: value})


def test_restarts_are_refused_before_the_first_run(monkeypatch):
    monkeypatch.setattr(pfn.Exact, "run", pytest.fail)
    with refused("Exact draws no start: restarts would find the same. Leave restarts out.", pfn.OptionError):
        pfn.infer(MACHINE, {"x": states(1, 0)}, method="exact", restarts=2)


def test_no_starting_values():
    with pytest.raises(pfn.OptionError, match=r"^Exact: h needs no starting values"):
        pfn.infer(MACHINE, {"x": states(1, 0)}, method="exact", initial={"h": np.ones((4, 1))})


def test_no_learning():
    with pytest.raises(pfn.OptionError, match=r"^Exact: parameter W is to be learned.*method='propagate' and restarts"):
        pfn.learn(parts_based(), {"x": numbers()}, method="exact")
    with pytest.raises(pfn.DataError, match=r"^parameter W is unknown"):
        pfn.infer(parts_based(), {"x": numbers()}, method="exact")


def test_methods_are_values():
    one, other = (pfn.Exact(noise={"x1": "l2"}, penalty={"x4": "auto"}, background=["x1"]) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert "penalty={'x4': 'auto'}" in repr(one)


def test_hidden_variables_have_no_noise():
    with refused(
        "Exact: noise of h is that of observations, but h is hidden. Observe it, or leave h out of noise.",
        pfn.OptionError,
    ):
        pfn.infer(MACHINE, {"x": states(1, 2)}, method=pfn.Exact(noise={"x": "l1", "h": "l1"}))


@pytest.mark.parametrize(("dtype", "counts"), [("float64", 1e-7), ("float32", 1e-5)])
@pytest.mark.parametrize("scale", [1e-3, 100.0])
def test_what_counts_as_exact(dtype, counts, scale):
    X = states(1, 2, 3, 4)
    X[1, 1] += 0.5 * counts
    assert pfn.infer(MACHINE, {"x": scale * X}, method="exact", dtype=dtype).stop.startswith("exact solution")
    X[1, 1] += 4.5 * counts
    with pytest.raises(pfn.NoExactSolution):
        pfn.infer(MACHINE, {"x": scale * X}, method="exact", dtype=dtype)


class TestNoSolution:
    def test_in_the_names_of_the_user(self):
        x, h = pfn.Variable("place", 3, ["here", "there", "away"]), pfn.Variable("move", 2)
        W = pfn.Parameter("W", [[1, 0], [0, 1], [0, 0], [0, 0], [1, 0], [0, 1]])
        network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], W @ h[t], name="steps"))
        with pytest.raises(pfn.NoExactSolution) as caught:
            pfn.infer(network, {x: np.eye(3)[:, [0, 1, 0]]}, method="exact")
        message = str(caught.value)
        assert message.startswith(
            "no exact solution: steps: [place[t]; place[t+1]] = W move[t] cannot hold at t = 1 (counted from 0). "
            "In the values that come closest, place in column "
        )
        assert "component 0 (here), is 1 more than" in message or "component 1 (there), is 1 more than" in message
        assert message.endswith(
            "its parents make it. Hide observations there (NaN), allow errors in them (pfn.Exact(noise={x: 'l2'})), "
            "or take the least squares answer (pfn.Exact(structure='soft'))."
        )

    def test_the_smallest_violation(self):
        X = states(1, 2, 3, 4, 1, 2)
        X[:, 3] = [0, 0, 0.25, 1]  # a quarter too much
        with pytest.raises(
            pfn.NoExactSolution, match=r"cannot hold at t = [23](, 3)? \(counted from 0\)\. .* is 0\.25 more"
        ):
            pfn.infer(MACHINE, {"x": X}, method="exact")

    def test_the_column_of_a_later_slice(self):
        y, g = pfn.Variable("y", 2), pfn.Variable("g", 1)
        network = pfn.Network(pfn.Factorization(y[t + 2], pfn.Parameter("V", [[1.0], [1.0]]) @ g[t]))
        Y = np.array([[0.0, 0, 1, 1], [0, 0, 1, 2]])
        with pytest.raises(
            pfn.NoExactSolution, match=r"cannot hold at t = 1 \(counted from 0\)\. .* y in column 3, component "
        ):
            pfn.infer(network, {y: Y}, method="exact")

    @pytest.mark.parametrize("scale", [1e-3, 100.0])
    def test_in_the_units_of_the_user(self, scale):
        X = states(1, 2, 3, 4, 1, 2)
        X[:, 3] = [0, 0, 0.25, 1]
        with pytest.raises(pfn.NoExactSolution, match=rf" is {scale * 0.25:.3g} more"):
            pfn.infer(MACHINE, {"x": scale * X}, method="exact")

    def test_of_several_sequences(self):
        with pytest.raises(pfn.NoExactSolution, match=r"^no exact solution: sequence 1: eq1: "):
            pfn.infer(MACHINE, {"x": [states(1, 2), states(1, 3)]}, method="exact")

    def test_several_equations(self):
        data = {"x": np.array([[1.0], [1.0]]), "y": np.array([[1.0], [2.0], [3.0]])}
        with pytest.raises(pfn.NoExactSolution, match=r"eq2: y.* = B h.* cannot hold at t = 0"):
            pfn.infer(tower(), data, method="exact")

    def test_of_a_noisy_problem(self):
        data = {"x": np.array([[1.0], [1.0]]), "y": np.array([[1.0], [2.0], [3.0]])}
        with pytest.raises(pfn.NoExactSolution, match=r"eq2"):
            pfn.infer(tower(), data, method=pfn.Exact(noise={"x": "l2"}))

    def test_the_paper_s_tracker_with_a_wrong_sensor(self):
        scene = networks.tracking_scene()
        X = scene["x1"].copy()
        X[2, 12] = 0.5
        with pytest.raises(pfn.NoExactSolution, match=r"cannot hold at t = 1[123]"):
            pfn.infer(networks.tracking(), {"x1": X}, method="exact")


class TestLimits:
    def test_time_is_up_at_once(self):
        scene = networks.tracking_scene()
        result = pfn.infer(networks.tracking(), {"x1": scene["x1"]}, method=pfn.Exact(time_limit=0.0))
        assert result.stop.startswith("stopped early, by the time limit or the user: the largest error is ")
        assert result.unique is None
        assert all(np.isfinite(result[v]).all() and (result[v] >= 0).all() for v in result.network.variables)
        assert result.rmse["eq1"] > 0
        np.testing.assert_array_equal(result["x1"], scene["x1"])

    @pytest.mark.parametrize("options", [{"noise": {"x1": "l2"}}, {"structure": "soft"}])
    def test_the_same_for_squares(self, options):
        pytest.importorskip("clarabel", reason="squares need the extra qp")
        scene = networks.tracking_scene()
        method = pfn.Exact(**options, time_limit=1e-4)
        result = pfn.infer(networks.tracking(), {"x1": scene["x1"]}, method=method)
        assert result.stop.startswith(("stopped early", "no exact solution"))

    def test_windows_keep_what_they_have_solved(self, monkeypatch):
        scene = simulate_targets(NETWORK, 3, length=60, seed=1)
        monkeypatch.setattr(windows, "vary", out_of_time_after(3, windows.vary))
        result = pfn.infer(NETWORK, scene.observed, method=pfn.Exact(window=10, overlap=5))
        assert result.stop.startswith("stopped early, by the time limit or the user: the largest error is ")
        assert result.unique is None
        np.testing.assert_allclose(result["x4"][:, :12], scene.truth["x4"][:, :12], atol=1e-6)

    def test_noisy_values_that_were_cut_short_are_those_of_the_equations(self, monkeypatch):
        monkeypatch.setattr(Deadline, "over", property(lambda _: True))
        monkeypatch.setattr(Deadline, "left", property(lambda _: 60.0))
        X = states(1, 2, 3)
        X[3, 1] = 0.3
        result = pfn.infer(MACHINE, {"x": X}, method=pfn.Exact(noise={"x": "l1"}))
        assert result.stop.startswith("stopped early")
        stacked = np.vstack([result["x"][:, :-1], result["x"][:, 1:]])
        np.testing.assert_allclose(result["W"] @ result["h"], stacked, atol=1e-7)

    def test_soft_says_that_it_was_cut_short(self, monkeypatch):
        pytest.importorskip("clarabel", reason="squares need the extra qp")
        monkeypatch.setattr(Deadline, "over", property(lambda _: True))
        monkeypatch.setattr(Deadline, "left", property(lambda _: 60.0))
        method = pfn.Exact(structure="soft")
        assert pfn.infer(MACHINE, {"x": states(1, 1)}, method=method).stop.startswith("stopped early")

    def test_enough_time(self):
        assert pfn.infer(MACHINE, {"x": states(1, 0)}, method=pfn.Exact(time_limit=60.0)).stop == "exact solution"

    def test_the_size_beforehand(self):
        size = pfn.Exact().size(NETWORK, 26)
        assert (size.unknowns, size.equations) == (8168, 5214)
        noisy = pfn.Exact(noise={"x1": "l2"}).size(NETWORK, 26)
        assert noisy.entries == size.entries
        assert noisy.bytes > size.bytes
        with refused("Exact: the length must be a whole number >= 1, found 0.", pfn.OptionError):
            pfn.Exact().size(NETWORK, 0)
        assert pfn.Exact().size(NETWORK, 260).bytes == pytest.approx(10 * size.bytes, rel=0.05)

    def test_progress(self, capsys):
        scene = simulate_targets(NETWORK, 3, length=40, seed=1)
        pfn.infer(NETWORK, scene.observed, method=pfn.Exact(window=10), progress=True)
        shown = capsys.readouterr().err
        assert "unknowns" in shown
        assert "40/40" in shown


# By noise: the weight that was tried out, the share outside the true states, the error of a magnitude.
LIMITS = {0.06: (0.1, 0.005, 0.03), 0.2: (0.25, 0.01, 0.08), 0.4: (0.5, 0.03, 0.16)}


class TestNoise:
    """The paper's scene in noise, with the weights 0.1, 0.25, 0.5, and others."""

    @staticmethod
    def asked(scene, weight, **options):
        pytest.importorskip("clarabel", reason="squares need the extra qp")
        method = pfn.Exact(noise={"x1": "l2"}, penalty={"x4": weight}, background=["x1"], debias=True, **options)
        return pfn.infer(NETWORK, scene.observed, method=method)

    @staticmethod
    def assert_found(result, scene, share, error):
        truth, found = scene.truth["x4"], result["x4"]
        assert found[truth == 0].sum() <= share * found.sum()
        first = {"A": 0, "B": 5}
        for target in scene.targets:
            rows = first[target.kind] + np.array(target.states)
            lived = range(target.start, target.end + 1)
            assert abs((found - truth)[rows, lived].mean()) <= error * target.magnitude

    @pytest.mark.parametrize("weight", ["found", "auto"])
    @pytest.mark.parametrize("noise", LIMITS)
    def test_the_paper_s_scene(self, noise, weight):
        given, share, error = LIMITS[noise]
        scene = simulate_targets(NETWORK, PAPER_TARGETS, length=PAPER_LENGTH, noise=noise, seed=7)
        result = self.asked(scene, given if weight == "found" else weight)
        self.assert_found(result, scene, share, error)
        assert max(result.rmse.values()) < 1e-7
        assert result.unique is None
        assert result.stop.startswith("the closest exact structure: x1 is off by 0.")
        assert "the background of x1 is " in result.stop
        background = float(result.stop.rsplit(" ", 1)[1])
        assert background == pytest.approx(noise / 2, rel=0.1)

    @pytest.mark.parametrize("weight", ["found", "auto"])
    @pytest.mark.parametrize(("noise", "seed"), [(0.2, 3), (0.4, 802), (0.2, 803)])
    def test_other_scenes(self, noise, seed, weight):
        """Random targets at least 1.5 times as strong as the noise; some cross and share states.

        In 802 one begins where another ends, in 803 two could exchange strength.
        """
        given, share, error = LIMITS[noise]
        rng = np.random.default_rng(seed)
        drawn = simulate_targets(NETWORK, 3, length=PAPER_LENGTH, seed=seed).targets
        targets = [replace(target, magnitude=rng.uniform(max(1.5 * noise, 0.3), 1.0)) for target in drawn]
        scene = simulate_targets(NETWORK, targets, length=PAPER_LENGTH, noise=noise, seed=seed + 1000)
        self.assert_found(self.asked(scene, given if weight == "found" else weight), scene, share, error)

    def test_noise_alone(self):
        scene = simulate_targets(NETWORK, 0, length=PAPER_LENGTH, noise=0.4, seed=1)
        result = self.asked(scene, "auto")
        np.testing.assert_allclose(result["x4"], 0.0, atol=1e-7)
        background = float(result.stop.rsplit(" ", 1)[1])
        assert background == pytest.approx(scene.observed["x1"].mean(), abs=1e-3)

    def test_in_windows(self):
        scene = simulate_targets(NETWORK, PAPER_TARGETS, length=PAPER_LENGTH, noise=0.06, seed=2)
        whole, joined = self.asked(scene, 0.1), self.asked(scene, 0.1, window=20, overlap=12)
        np.testing.assert_allclose(joined["x4"], whole["x4"], atol=0.02)

    def test_in_other_units(self):
        scene = simulate_targets(NETWORK, PAPER_TARGETS, length=PAPER_LENGTH, noise=0.06, seed=3)
        method = pfn.Exact(noise={"x1": "l2"}, penalty={"x4": "auto"}, background=["x1"], debias=True)
        small = pfn.infer(NETWORK, {"x1": 1e-4 * scene.observed["x1"]}, method=method)
        np.testing.assert_allclose(small["x4"] * 1e4, self.asked(scene, "auto")["x4"], atol=1e-5)

    def test_what_the_penalty_cannot_reach(self):
        pytest.importorskip("clarabel", reason="squares need the extra qp")
        data = {"x": numbers(2, 5), "y": numbers(3, 5)}
        method = pfn.Exact(noise={"x": "l2", "y": "l2"}, penalty={"top": "auto"})
        assert pfn.infer(tower(), data, method=method).stop.startswith("the closest exact structure")
        x, h, g = pfn.Variable("x", 2), pfn.Variable("h", 2), pfn.Variable("g", 2)
        loose = pfn.Network(pfn.Factorization(x, pfn.Parameter("A", np.eye(2)) @ h + pfn.Parameter("B", np.eye(2)) @ g))
        with pytest.raises(pfn.OptionError, match=r"noise can be explained without the penalised variables"):
            pfn.infer(loose, {x: numbers(2, 5)}, method=pfn.Exact(noise={x: "l2"}, penalty={g: "auto"}))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_absolute_errors_need_no_extra(scale):
    X = states(1, 2, 3, 4, 1)
    X[2, 1] = 0.3  # a spurious activation
    result = pfn.infer(MACHINE, {"x": scale * X}, method=pfn.Exact(noise={"x": "l1"}))
    np.testing.assert_allclose(result["x"], scale * states(1, 2, 3, 4, 1), atol=scale * 1e-7)
    error = scale * np.sqrt(0.09 / 20)
    assert result.stop == f"the closest exact structure: x is off by {error:.3g} (root mean square)"


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_a_penalty_of_any_size_chooses(weight):
    x, h, g = (pfn.Variable(name, 2) for name in "xhg")
    network = pfn.Network(pfn.Factorization(x, pfn.Parameter("A", np.eye(2)) @ h + pfn.Parameter("B", np.eye(2)) @ g))
    result = pfn.infer(network, {"x": numbers(2, 3)}, method=pfn.Exact(penalty={"h": weight}))
    assert result.stop == "exact solution"
    assert not result["h"].any()


class TestSoft:
    """What is said of the least squares answer: no more than was found out."""

    X = states(0, 2, 0, 3)

    @pytest.fixture(autouse=True)
    def needs_squares(self):
        pytest.importorskip("clarabel", reason="squares need the extra qp")

    def test_where_there_is_a_solution_it_is_one(self):
        automaton = networks.automaton(networks.W_NONDETERMINISTIC)
        result = pfn.infer(automaton, {"x": self.X}, method=pfn.Exact(structure="soft"))
        assert result.stop == "exact solution"
        assert max(result.rmse.values()) < 1e-7

    @pytest.mark.parametrize(
        "options", [{"method": pfn.Exact(structure="soft", penalty={"h": 1.0})}, {"weights": {"eq1": np.zeros(1)}}]
    )
    def test_a_penalty_or_columns_that_do_not_count_prove_nothing(self, options):
        options = {"method": pfn.Exact(structure="soft")} | options
        result = pfn.infer(MACHINE, {"x": states(1, 3)}, **options)
        assert result.stop == "the least squares answer over all equations"

    def test_a_proof(self):
        result = pfn.infer(MACHINE, {"x": states(1, 3)}, method=pfn.Exact(structure="soft"))
        assert result.stop == "no exact solution: the least squares answer over all equations"


@pytest.mark.parametrize("method", ["exact", "substitute"])
def test_engines(monkeypatch, method):
    """They run on NumPy, also where the machine has something that "auto" would take."""
    with pytest.raises(pfn.OptionError, match=r"^(Exact|Substitute) runs on NumPy only, found engine='jax'"):
        pfn.infer(MACHINE, {"x": states(1, 0)}, method=method, engine="jax")
    monkeypatch.setattr(
        "pfn.solve.options.choose_engine", lambda engine, *_, **__: "jax" if engine == "auto" else engine
    )
    result = pfn.infer(MACHINE, {"x": states(1, 0)}, method=method, iterations=1)
    assert result.settings["engine"] == "numpy"


def out_of_time_after(calls, function):
    """A function for which the time is up at some point."""

    def called(*arguments):
        nonlocal calls
        calls -= 1
        if calls < 0:
            raise OutOfTimeError
        return function(*arguments)

    return called
