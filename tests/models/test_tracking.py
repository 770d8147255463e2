"""Section 5: the matrices of the tracker, of the paper and of other kinds, and what is refused."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn.models import Target, TargetKind, simulate_targets, tracking_network
from pfn.models.tracking import model_of
from tests.models.exact_oracle import exact_values
from tests.networks import tracking, tracking_matrices

ONE, TWO, THREE = TargetKind("one", (1,)), TargetKind("two", (0, 2)), TargetKind("three", (2, 2, 0))


def matrices(network):
    return {parameter.name: parameter.value.toarray() for parameter in network.parameters}


def by_columns(matrix):
    """The order in which the columns are sorted."""
    return np.lexsort(matrix[::-1])


def canonical(given):
    """The matrices with sorted columns; W5 and W4 speak of the columns of W6 and W2, so their rows go with them."""
    W = {name: value.copy() for name, value in given.items()}
    steps, moves = W["W6"].shape[1], W["W2"].shape[1]
    W["W5"][:steps] = W["W5"][:steps][by_columns(W["W6"])]
    W["W4"][-moves:] = W["W4"][-moves:][by_columns(W["W2"])]
    return {name: value[:, by_columns(value)] for name, value in W.items()}


def shuffled(given, rng):
    """The same network with its transitions and couplings in another order."""
    W = {name: value.copy() for name, value in given.items()}
    for states, coupling, rows in (("W6", "W5", slice(None, 13)), ("W2", "W4", slice(-73, None))):
        order = rng.permutation(W[states].shape[1])
        W[states], W[coupling][rows] = W[states][:, order], W[coupling][rows][order]
    return {
        name: value[:, rng.permutation(value.shape[1])] if name in ("W1", "W5", "W4") else value
        for name, value in W.items()
    }


class TestThePapersNetwork:
    def test_matrices(self):
        ours, printed = canonical(matrices(tracking_network())), canonical(tracking_matrices())
        assert ours.keys() == printed.keys()
        for name, value in printed.items():
            np.testing.assert_array_equal(ours[name], value, err_msg=name)

    def test_order_of_columns_does_not_matter_for_the_comparison(self):
        mixed = shuffled(tracking_matrices(), np.random.default_rng(0))
        assert not np.array_equal(mixed["W5"], tracking_matrices()["W5"])
        for name, value in canonical(tracking_matrices()).items():
            np.testing.assert_array_equal(canonical(mixed)[name], value, err_msg=name)

    def test_equations(self):
        assert [str(equation) for equation in tracking_network().factorizations] == [
            str(equation) for equation in tracking().factorizations
        ]

    def test_is_the_default_and_equal_to_itself(self):
        described = tracking_network(
            positions=15,
            pattern_size=5,
            kinds=[TargetKind("A", emission=(2, 0, 4, 1, 3)), TargetKind("B", emission=(2, 3, 1, 0))],
        )
        assert described == tracking_network()
        assert hash(described) == hash(tracking_network())
        assert TargetKind("A").emission == (2, 0, 4, 1, 3)

    def test_all_matrices_are_sparse(self):
        assert all(scipy.sparse.issparse(parameter.value) for parameter in tracking_network().parameters)

    def test_labels_say_what_the_columns_are(self):
        network = tracking_network()
        for name, matrix in (("h3", "W6"), ("h1", "W2")):
            states = network["x4" if name == "h3" else "x2"].labels
            half = len(states)
            for label, column in zip(network[name].labels, matrices(network)[matrix].T, strict=True):
                before, after = (
                    [*states, "off"][(*part, 0.5).index(max(*part, 0.5))] for part in (column[:half], column[half:])
                )
                assert label == f"{before}→{after}"
        assert network["x5"].labels == ("A", "B")
        assert network["h2"].labels == ("stay", "change", "on", "off")
        assert network["v2"].labels[:5] == (
            "A4→A1: change",
            "A4→A1: stay",
            "B3→B1: change",
            "B3→B1: stay",
            "off→A0: on",
        )
        assert network["u1"].labels[16] == "1 at 1"

    def test_picture(self):
        graph = tracking_network().graph(observed=["x1"])
        assert nx.is_directed_acyclic_graph(graph)
        assert {name for name, data in graph.nodes(data=True) if data["observed"]} == {"x1"}
        assert {parent for parent, _ in graph.in_edges("x2")} == {"u1", "h1"}


class TestOtherNetworks:
    @pytest.mark.parametrize("positions", [1, 2, 7])
    @pytest.mark.parametrize("kinds", [[ONE], [TWO], [THREE], [ONE, TWO, THREE]], ids=str)
    def test_sizes(self, positions, kinds):
        counts = [len(kind.emission) for kind in kinds]
        states = sum(counts)
        repeating = sum(count > 1 for count in counts)
        steps = states + len(kinds) + repeating  # a chain and a way out, a way in, a way back
        moves = 3 * positions + 2 * (positions - 1)
        expected = {
            "W1": (3 + positions + positions + 2, 3 * positions),
            "W2": (2 * positions, moves),
            "W3": (states + 3, states),
            "W4": (4 + moves, moves),
            "W5": (steps + 4, steps + repeating),
            "W6": (2 * states, steps),
            "W7": (len(kinds) + states, states),
        }
        network = tracking_network(positions, 3, kinds)
        assert {parameter.name: parameter.shape for parameter in network.parameters} == expected

    def test_columns_one_by_one(self):
        network = tracking_network(4, 3, [ONE, TWO, THREE])
        W = matrices(network)
        names = {name: network[name].labels for name in ("x1", "x2", "x3", "x4", "x5", "h1", "h2", "h3")}

        def ones(matrix, *variables):
            labels = [label for variable in variables for label in names[variable]]
            return sorted([tuple(labels[row] for row in np.flatnonzero(column)) for column in W[matrix].T])

        emitted = {"one0": "1", "two0": "0", "two1": "2", "three0": "2", "three1": "2", "three2": "0"}
        assert ones("W1", "x3", "x2", "x1") == sorted((str(i), str(j), str(i + j)) for i in range(3) for j in range(4))
        assert ones("W3", "x4", "x3") == sorted(emitted.items())
        assert ones("W7", "x5", "x4") == sorted((state[:-1], state) for state in emitted)
        assert sorted(names["h3"]) == sorted(
            [
                *("one0→off", "off→one0"),
                *("two0→two1", "two1→two1", "two1→off", "off→two0"),
                *("three0→three1", "three1→three2", "three2→three1", "three2→off", "off→three0"),
            ]
        )
        change = [("two1→two1", "change"), ("three2→three1", "change")]
        assert ones("W5", "h3", "h2") == sorted([*change, *((step, move_with(step)) for step in names["h3"])])
        assert ones("W4", "h2", "h1") == sorted((move_of(move), move) for move in names["h1"])
        assert len(names["h1"]) == 18

    def test_a_single_state_lives_one_slice_and_two_stay_in_the_second(self):
        assert ONE.states(3) == (0,)
        assert TWO.states(4) == (0, 1, 1, 1)
        assert THREE.states(6) == (0, 1, 2, 1, 2, 1)
        assert THREE.states(3, first=1) == (1, 2, 1)

    @pytest.mark.parametrize("kind", [ONE, TWO, THREE], ids=str)
    def test_a_lonely_target_is_found(self, kind):
        network = tracking_network(3, 3, [kind])
        target = Target(kind.name, 2, [1] * len(kind.emission), magnitude=0.5)
        scene = simulate_targets(network, [target], length=7)
        result = pfn.infer(network, scene.observed)
        for name, truth in scene.truth.items():
            np.testing.assert_allclose(result[name], truth, atol=1e-3)

    def test_superpositions_of_targets_are_exact_solutions(self):
        for seed in range(5):
            network = tracking_network(6, 3, [ONE, TWO, THREE])
            scene = simulate_targets(network, 6, length=14, seed=seed)
            exact_values(network, scene.truth)  # which raises if there is none

    def test_the_description_can_be_read_back(self):
        model = model_of(tracking_network(7, 3, [ONE, TWO, THREE]))
        assert (model.positions, model.pattern_size, model.kinds) == (7, 3, (ONE, TWO, THREE))
        assert [kind.emission for kind in model_of(tracking()).kinds] == [(2, 0, 4, 1, 3), (2, 3, 1, 0)]


def move_of(step):
    """What the step of a position is called."""
    before, after = step.split("→")
    return "on" if before == "off" else "off" if after == "off" else "stay" if before == after else "change"


def move_with(step):
    """What the position does in a step of the state, when it does not change."""
    return "on" if step.startswith("off") else "off" if step.endswith("off") else "stay"


class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"positions": 0}, "positions must be at least 1, found 0"),
            ({"positions": 2.5}, r"positions must be a whole number, found 2\.5"),
            ({"positions": -3}, "positions must not be negative, found -3"),
            ({"pattern_size": 4}, "kind A emits row 4, but a pattern of size 4 has the rows 0 to 3"),
            ({"kinds": []}, "kinds must have at least one TargetKind, found none"),
            ({"kinds": ["A"]}, "kinds must be TargetKinds, found 'A'"),
            ({"kinds": TargetKind("A")}, r"kinds must be a list of TargetKinds, found TargetKind\(name='A'"),
            (
                {"kinds": [TargetKind("A"), TargetKind("A", (1,))]},
                "kinds must have different names, but A appears twice",
            ),
            (
                {"kinds": [TargetKind("A1", (0,)), TargetKind("A", (1,) * 11)]},
                "states must have different names, but A10 appears twice",
            ),
        ],
    )
    def test_networks(self, arguments, message):
        with pytest.raises(pfn.DeclarationError, match=message):
            tracking_network(**arguments)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("",), "name must be a non-empty string, found ''"),
            ((3,), "name must be a non-empty string, found 3"),
            (("A", ()), "Kind A: emission must have a row for each state, found none"),
            (("A", (0, -1)), "its emitted rows must not be negative, found -1"),
            (("A", (0, 1.5)), r"its emitted rows must be a whole number, found 1\.5"),
            (("A", 3), "its emitted rows must be a list of whole numbers, found 3"),
        ],
    )
    def test_kinds(self, arguments, message):
        with pytest.raises(pfn.DeclarationError, match=message):
            TargetKind(*arguments)

    def test_networks_that_are_no_trackers(self):
        x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
        other = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", np.eye(2)) @ h))
        with pytest.raises(pfn.DataError, match="expected a network made by tracking_network, found Network"):
            simulate_targets(other, 1, length=9)

    def test_trackers_with_other_matrices(self):
        network = tracking_network()
        value = network["W6"].value.toarray()
        value[:, 0] = 0.5
        changed = {"W6": pfn.Parameter("W6", scipy.sparse.csr_array(value))}
        equations = (
            pfn.Factorization(e.children, changed.get(e.parameters[0].name, e.parameters[0]) @ e.parents[0])
            for e in network.factorizations
        )
        with pytest.raises(pfn.DataError, match="with other variables or matrices"):
            simulate_targets(pfn.Network(*equations), 1, length=9)
