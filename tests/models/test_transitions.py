"""Section 3: state machines as networks, the paper's experiments with them and machines of our own."""

import re
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn.automata import StateMachine, machine_from
from pfn.models import transition_network
from tests.networks import W_DETERMINISTIC, W_NONDETERMINISTIC, automaton

STATES = ("S1", "S2", "S3", "S4")
TURNING = [("S1", "S2"), ("S2", "S3"), ("S3", "S4"), ("S4", "S1")]
DETERMINISTIC = StateMachine(STATES, TURNING)
NONDETERMINISTIC = StateMachine(STATES, [*TURNING, ("S3", "S3"), ("S2", "S4")])


def random_machine(seed: int, *, deterministic: bool = False) -> StateMachine:
    """A cycle through all states in random order, and other transitions unless deterministic."""
    rng = np.random.default_rng(seed)
    names = [f"q{number}" for number in rng.permutation(rng.integers(3, 8))]
    pairs = dict.fromkeys(zip(names, [*names[1:], names[0]], strict=True))
    if not deterministic:
        pairs |= dict.fromkeys((str(a), str(b)) for a, b in rng.choice(names, (len(names), 2)))
    return StateMachine(sorted(names), pairs)


class TestDeclaration:
    @pytest.mark.parametrize(
        ("machine", "W"), [(DETERMINISTIC, W_DETERMINISTIC), (NONDETERMINISTIC, W_NONDETERMINISTIC)]
    )
    def test_the_matrices_of_the_paper(self, machine: StateMachine, W: np.ndarray) -> None:
        np.testing.assert_array_equal(transition_network(machine)["W"].value, W)

    def test_names_and_labels(self) -> None:
        network = transition_network(NONDETERMINISTIC)
        assert str(network) == "eq1: [x[t]; x[t+1]] = W h[t]    x: 4; h: 6; W: 8 × 6 known"
        assert network["x"].labels == STATES
        assert network["h"].labels == ("S1→S2", "S2→S3", "S3→S4", "S4→S1", "S3→S3", "S2→S4")

    def test_learned_transitions(self) -> None:
        network = transition_network(NONDETERMINISTIC, learn_transitions=8)
        assert network["W"].value is None
        assert network["W"].shape == (8, 8)
        assert network["x"].labels == STATES
        assert network.factorizations[0].normalize == "subcolumns"

    def test_states_are_enough_to_learn(self) -> None:
        bare = StateMachine(STATES, [])
        assert transition_network(bare, learn_transitions=6) == transition_network(
            NONDETERMINISTIC, learn_transitions=np.int64(6)
        )

    def test_a_large_machine_is_sparse(self) -> None:
        names = [f"q{number}" for number in range(1000)]
        network = transition_network(StateMachine(names, zip(names, names[1:] + names[:1], strict=True)))
        assert scipy.sparse.issparse(network["W"].value)
        X = np.full((1000, 3), np.nan)
        X[:, 1] = np.eye(1000)[7]
        found = pfn.infer(network, {"x": X}, iterations=200)["x"]
        assert found.argmax(axis=0).tolist() == [6, 7, 8]

    @pytest.mark.parametrize(
        ("arguments", "options", "error", "message"),
        [
            (["S1"], {}, pfn.DeclarationError, "machine must be a pfn.automata.StateMachine, found list"),
            (DETERMINISTIC, {"learn_transitions": 0}, pfn.OptionError, "at least 1, found 0"),
            (DETERMINISTIC, {"learn_transitions": True}, pfn.OptionError, "at least 1, found True"),
            (DETERMINISTIC, {"learn_transitions": 2.0}, pfn.OptionError, "at least 1, found 2.0"),
            (
                DETERMINISTIC,
                {"learn_transitions": 4, "normalize": "rows"},
                pfn.DeclarationError,
                "normalize must be one of",
            ),
        ],
    )
    def test_what_is_refused(
        self, arguments: StateMachine, options: dict[str, object], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=re.escape(message)):
            transition_network(arguments, **options)


class TestThePaper:
    """Networks of section 3; tests/test_figures.py holds those written by hand to the paper's figures."""

    @pytest.mark.parametrize(
        ("machine", "W"), [(DETERMINISTIC, W_DETERMINISTIC), (NONDETERMINISTIC, W_NONDETERMINISTIC)]
    )
    def test_known_transitions(self, machine: StateMachine, W: np.ndarray) -> None:
        X = machine.encode(["?", "S2", "?", "S3", "S4", *"?" * 5])
        ours, plain = (pfn.infer(network, {"x": X}) for network in (transition_network(machine), automaton(W)))
        np.testing.assert_array_equal(ours["x"], plain["x"])
        np.testing.assert_array_equal(ours["h"], plain["h"])

    def test_choices(self) -> None:
        sequence = ["S1", "S2", "S3", "S3", "S4", "S1", "S2", "S4", "S1", "S2"]
        result = pfn.infer(transition_network(NONDETERMINISTIC), {"x": NONDETERMINISTIC.encode(sequence)})
        moves = [NONDETERMINISTIC.transitions[row] for row in result["h"].argmax(axis=0)]
        assert moves == list(pairwise(sequence))
        np.testing.assert_allclose(np.sort(result["h"], axis=0)[-2:], [[0.0] * 9, [1.0] * 9], atol=1e-6)

    def test_futures_by_name(self) -> None:
        X = NONDETERMINISTIC.encode(["?", "S2", "?", "S3", "S4", *"?" * 5])
        found = NONDETERMINISTIC.decode(pfn.infer(transition_network(NONDETERMINISTIC), {"x": X})["x"])
        assert [{name for name, _ in column} for column in found] == [
            *[{"S1"}, {"S2"}, {"S3"}, {"S3"}, {"S4"}, {"S1"}, {"S2"}],
            *[{"S3", "S4"}, {"S3", "S4", "S1"}, {"S3", "S4", "S1", "S2"}],
        ]


class TestOtherMachines:
    @pytest.mark.parametrize("seed", range(10))
    def test_a_slice_of_a_deterministic_machine_tells_the_rest(self, seed: int) -> None:
        machine = random_machine(seed, deterministic=True)
        truth = machine.sample(8, seed)
        known = seed % 8
        X = machine.encode([name if slot == known else None for slot, name in enumerate(truth)], 2.5)
        found = pfn.infer(transition_network(machine), {"x": X})["x"]
        np.testing.assert_allclose(found, machine.encode(truth, 2.5), atol=1e-4)

    @pytest.mark.parametrize("seed", range(10))
    def test_sequences_and_their_sums_are_explained(self, seed: int) -> None:
        machine = random_machine(seed)
        network = transition_network(machine)
        one, two = machine.sample(12, seed), machine.sample(12, seed + 100)
        alone = pfn.infer(network, {"x": machine.encode(one)})
        moves = [machine.transitions[row] for row in alone["h"].argmax(axis=0)]
        assert moves == list(pairwise(one))
        mixed = pfn.infer(network, {"x": machine.encode(one, 0.3) + machine.encode(two, 2.0)}, tolerance=1e-6)
        assert mixed.rmse["eq1"] < 1e-6

    def test_a_sequence_that_breaks_the_rules_is_not_explained(self) -> None:
        X = DETERMINISTIC.encode(["S1", "S2", "S4", "S1"])
        assert pfn.infer(transition_network(DETERMINISTIC), {"x": X}).rmse["eq1"] > 0.1

    def test_births_and_deaths(self) -> None:
        machine = StateMachine(["a", "b"], [("off", "a"), ("a", "b"), ("b", "off")], off="off")
        X = machine.encode(["off", "off", "?", "?", "off"])
        X[0, 2] = 3.0
        result = pfn.infer(transition_network(machine), {"x": X})
        np.testing.assert_allclose(result["x"], [[0, 0, 3, 0, 0], [0, 0, 0, 3, 0]], atol=1e-6)
        np.testing.assert_allclose(result["h"], np.eye(3, 4, 1) * 3, atol=1e-6)

    def test_a_machine_that_cannot_move(self) -> None:
        network = transition_network(StateMachine(["a", "b"], []))
        np.testing.assert_array_equal(network["W"].value, np.zeros((4, 1)))
        assert pfn.infer(network, {"x": np.eye(2)[:, :1]})["h"].shape == (1, 0)
        assert pfn.infer(network, {"x": np.eye(2)}).rmse["eq1"] == pytest.approx(np.sqrt(2 / 4))

    def test_parallel_transitions_keep_their_labels(self) -> None:
        machine = StateMachine(["a"], [("a", "a"), ("a", "a")], labels=["stay", "return"])
        assert transition_network(machine)["h"].labels == ("stay", "return")


def mixture(machine: StateMachine, seed: int, *, noise: float = 0.0) -> np.ndarray:
    """1,000 slices of three sequences with the paper's magnitudes."""
    walks = [machine.encode(machine.sample(1000, [seed, k]), size) for k, size in enumerate((0.5, 1.0, 1.5))]
    return sum(walks) + np.random.default_rng([seed, 3]).uniform(0, noise, walks[0].shape)


def learned_machine(result: pfn.Result) -> StateMachine:
    return machine_from(result["W"], result.network["x"].labels)


def without_mixed_columns(W: np.ndarray) -> np.ndarray:
    """The columns that are one transition: columns to spare may learn sums of transitions from mixtures."""
    halves = W.reshape(2, W.shape[0] // 2, -1)
    return W[:, (halves.max(axis=1) > 0.8 * halves.sum(axis=1)).all(axis=0)]


class TestLearning:
    @pytest.mark.parametrize("seed", range(3))
    def test_a_mixture_teaches_the_machine(self, seed: int) -> None:
        network = transition_network(NONDETERMINISTIC, learn_transitions=8)
        result = pfn.learn(network, {"x": mixture(NONDETERMINISTIC, seed)}, seed=seed)
        assert result.rmse["eq1"] < 1e-4
        learned = machine_from(without_mixed_columns(result["W"]), STATES)
        assert set(learned.transitions) == set(NONDETERMINISTIC.transitions)

    def test_a_noisy_mixture_teaches_the_machine(self) -> None:
        network = transition_network(NONDETERMINISTIC, learn_transitions=8)
        result = pfn.learn(network, {"x": mixture(NONDETERMINISTIC, 0, noise=0.1)}, iterations=1000)
        assert 0.016 < result.rmse["eq1"] < 0.020
        learned = machine_from(without_mixed_columns(result["W"]), STATES)
        assert set(learned.transitions) == set(NONDETERMINISTIC.transitions)

    def test_restarts_find_all_six_with_six_columns(self) -> None:
        X = NONDETERMINISTIC.encode(NONDETERMINISTIC.sample(1000, 0))
        network = transition_network(NONDETERMINISTIC, learn_transitions=6)
        result = pfn.learn(network, {"x": X}, iterations=200, restarts=25)
        assert result.rmse["eq1"] < 1e-6
        assert set(learned_machine(result).transitions) == set(NONDETERMINISTIC.transitions)

    def test_columns_that_are_not_needed_fade(self) -> None:
        X = NONDETERMINISTIC.encode(NONDETERMINISTIC.sample(1000, 0))
        network = transition_network(NONDETERMINISTIC, learn_transitions=8, normalize="balanced")
        result = pfn.learn(network, {"x": X}, method=pfn.Propagate(sparseness=0.1), iterations=300, restarts=5)
        assert result.rmse["eq1"] == pytest.approx(0.0155, abs=0.001)
        sums = result["W"].sum(axis=0)
        assert (sums < 1e-3 * sums.max()).sum() == 2
        assert set(learned_machine(result).transitions) == set(NONDETERMINISTIC.transitions)

    @pytest.mark.parametrize("seed", [1, 5])
    def test_other_machines_are_learned(self, seed: int) -> None:
        machine = random_machine(seed)
        X = [machine.encode(machine.sample(300, [seed, k])) for k in range(2)]
        network = transition_network(machine, learn_transitions=len(machine.transitions) + 2)
        result = pfn.learn(network, {"x": X}, iterations=200, restarts=15, seed=seed)
        assert result.rmse["eq1"] < 1e-6
        assert set(learned_machine(result).transitions) == set(machine.transitions)
