"""Section 4: hierarchies of state machines as networks, the paper's and others."""

import re
from itertools import pairwise

import numpy as np
import pytest

import pfn
from pfn.automata import Hierarchy, StateMachine
from pfn.engines import largest_error
from pfn.models import hierarchical_network
from tests.networks import regular_expression

# a+b(de)*c(de)+: states a, b, (de)*, c, (de)+, end above; d, e, end below
UPPER = StateMachine(
    [f"S{number}" for number in range(1, 7)],
    [(f"S{a}", f"S{b}") for a, b in [(1, 1), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5), (5, 6), (6, 1)]],
    end="S6",
)
LOWER = StateMachine(["S1", "S2", "S3"], [("S1", "S2"), ("S2", "S3"), ("S2", "S1")], start="S1", end="S3")
PAPER = Hierarchy(UPPER, {"S3": LOWER, "S5": LOWER})

# A day: three levels, and everything follows from one slice of the highest.
BOIL = StateMachine(["fill", "heat", "cold"], [("fill", "heat"), ("heat", "cold")], start="fill", end="cold")
MORNING = StateMachine(["tea", "read", "out"], [("tea", "read"), ("read", "out")], start="tea", end="out")
DAY = Hierarchy(
    StateMachine(["home", "work"], [("home", "work"), ("work", "home")]), {"home": Hierarchy(MORNING, {"tea": BOIL})}
)
DAY_X3 = ["work", "home", "home", "home"]
DAY_X2 = ["out", "tea", "tea", "read"]
DAY_X1 = ["cold", "fill", "heat", "cold"]


Joint = tuple[str, str]


def order(found: np.ndarray, wanted: np.ndarray) -> list[int]:
    """Where each column of the second matrix is in the first."""
    assert found.shape == wanted.shape
    columns = [tuple(column) for column in found.T]
    return [columns.index(tuple(column)) for column in wanted.T]


def steps(hierarchy: Hierarchy) -> list[tuple[Joint, Joint]]:
    """The states (above, below) before and after each coupling of two levels, read off the labels."""
    below, above = (dict(zip(level.transition_labels, level.transitions, strict=True)) for level in hierarchy.levels)
    off = str(hierarchy.levels[0].off)
    pairs = [(above[upper], (off, off) if lower is None else below[lower]) for upper, lower in hierarchy.couplings["U"]]
    return [((upper[0], lower[0]), (upper[1], lower[1])) for upper, lower in pairs]


def random_run(hierarchy: Hierarchy, length: int, seed: int) -> list[Joint]:
    """A random run of two levels that can go on forever."""
    rng = np.random.default_rng(seed)
    run = [steps(hierarchy)[0][0]]
    while len(run) < length:
        following = [later for now, later in steps(hierarchy) if now == run[-1]]
        run.append(following[rng.integers(len(following))])
    return run


def encoded(hierarchy: Hierarchy, run: list[Joint]) -> dict[str, np.ndarray]:
    below, above = hierarchy.levels
    return {"x2": above.encode(upper for upper, _ in run), "x1": below.encode(lower for _, lower in run)}


SONG = Hierarchy(
    StateMachine(
        ["verse", "chorus", "break"],
        [("verse", "chorus"), ("chorus", "verse"), ("chorus", "break"), ("break", "verse")],
    ),
    {
        "verse": StateMachine(["c", "d", "."], [("c", "d"), ("d", "c"), ("d", ".")], start="c", end="."),
        "chorus": StateMachine(["e", "f", "."], [("e", "f"), ("e", "e"), ("f", ".")], start=["e", "f"], end="."),
    },
)
OFF_ABOVE = Hierarchy(
    StateMachine(["A", "x"], [("off", "A"), ("A", "x"), ("x", "off"), ("off", "x"), ("A", "off")], off="off"),
    {"A": StateMachine(["p", "q", "end"], [("p", "q"), ("q", "end")], start="p", end="end")},
)
OFF_BELOW = Hierarchy(
    StateMachine(["A", "x"], [("x", "x"), ("x", "A"), ("A", "x")]),
    {"A": StateMachine(["p", "q"], [("p", "q"), ("q", "off")], start="p", end="off", off="off")},
)


class TestDeclaration:
    def test_the_equations_of_the_paper(self) -> None:
        assert str(hierarchical_network(PAPER)).splitlines() == [
            "eq1: [x1[t]; x1[t+1]] = W1 h1[t]    x1: 3; h1: 5; W1: 6 × 5 known",
            "eq2: [x2[t]; x2[t+1]] = W2 h2[t]    x2: 6; h2: 11; W2: 12 × 11 known",
            "eq3: [h2[t]; h1[t]] = U v[t]        h2: 11; h1: 5; v: 13; U: 16 × 13 known",
        ]

    def test_the_matrices_of_the_paper(self) -> None:
        found, wanted = (
            {parameter.name: parameter.value for parameter in network.parameters}
            for network in (hierarchical_network(PAPER), regular_expression())
        )
        lower, upper = order(found["W1"], wanted["W1"]), order(found["W2"], wanted["W2"])
        assert sorted(lower) == list(range(5))
        assert sorted(upper) == list(range(11))
        rows = [*upper, *(11 + row for row in lower)]
        assert sorted(order(found["U"][rows], wanted["U"])) == list(range(13))

    def test_labels(self) -> None:
        network = hierarchical_network(OFF_BELOW)
        assert network["x1"].labels == ("p", "q")
        assert network["x2"].labels == ("A", "x")
        assert network["h2"].labels == ("x→x", "x→A", "A→x", "A→A")
        assert network["v"].labels == ("x→x", "x→A & off→p", "A→x & q→off", "A→A & p→q")

    def test_three_levels(self) -> None:
        network = hierarchical_network(DAY)
        assert [variable.name for variable in network.variables] == ["x1", "h1", "x2", "h2", "x3", "h3", "v1", "v2"]
        assert [str(equation) for equation in network.factorizations] == [
            *[f"[x{k}[t]; x{k}[t+1]] = W{k} h{k}[t]" for k in (1, 2, 3)],
            "[h2[t]; h1[t]] = U1 v1[t]",
            "[h3[t]; h2[t]] = U2 v2[t]",
        ]
        for name, matrix in DAY.matrices.items():
            np.testing.assert_array_equal(network[name].value, matrix)

    def test_nothing_may_happen(self) -> None:
        lower = StateMachine(["p", "end"], [("p", "end")], start="p", end="end")
        network = hierarchical_network(Hierarchy(StateMachine(["A"], []), {"A": lower}))
        assert network["v"].labels == ("none",)
        assert not network["U"].value.any()
        assert largest_error(pfn.infer(network, {"x2": np.ones((1, 2))}).rmse) > 0.1

    def test_a_machine_is_not_a_hierarchy(self) -> None:
        message = "hierarchy must be a pfn.automata.Hierarchy, found StateMachine. Build one with Hierarchy(upper, {"
        with pytest.raises(pfn.DeclarationError, match=re.escape(message)):
            hierarchical_network(UPPER)


class TestThePaper:
    X2 = UPPER.encode(["?", "S2", "?", "?", "?", "?", "S4", "?", "?", "?"])
    TRUE1 = LOWER.encode(["S3", "S3", "S1", "S2", "S1", "S2", "S3", "S1", "S2"])
    TRUE2 = UPPER.encode(["S1", "S2", "S3", "S3", "S3", "S3", "S4", "S5", "S5"])

    @pytest.mark.parametrize("seed", range(5))
    def test_two_observed_slices_determine_nine(self, seed: int) -> None:
        result = pfn.infer(hierarchical_network(PAPER), {"x2": self.X2}, tolerance=1e-4, seed=seed)
        assert result.iterations <= 103  # the worst of 20 seeds when momentum came in
        np.testing.assert_allclose(result["x1"][:, :9], self.TRUE1, atol=0.01)
        np.testing.assert_allclose(result["x2"][:, :9], self.TRUE2, atol=0.01)
        stay, leave = result["x2"][[4, 5], 9]
        assert stay + leave == pytest.approx(1, abs=0.01)
        np.testing.assert_allclose(result["x1"][:, 9], [stay, 0, leave], atol=0.01)

    def test_in_the_paper_s_sweeps(self) -> None:
        result = pfn.infer(
            hierarchical_network(PAPER), {"x2": self.X2}, method=pfn.PAPER, iterations=3000, tolerance=1e-4
        )
        assert largest_error(result.rmse) < 1e-4
        np.testing.assert_allclose(result["x2"][:, :9], self.TRUE2, atol=0.01)

    def test_sparseness_decides_the_last(self) -> None:
        ends = set()
        for seed in range(6):
            method = pfn.Propagate(sparseness=0.1)
            result = pfn.infer(hierarchical_network(PAPER), {"x2": self.X2}, method=method, seed=seed)
            ends.add(tuple(level.decode(result[x], 0.1)[9][0][0] for level, x in ((UPPER, "x2"), (LOWER, "x1"))))
        assert ends == {("S5", "S1"), ("S6", "S3")}


class TestOtherHierarchies:
    @pytest.mark.parametrize("hierarchy", [PAPER, SONG, OFF_ABOVE, OFF_BELOW], ids=["paper", "song", "above", "below"])
    @pytest.mark.parametrize("seed", range(3))
    def test_runs_and_their_sums_are_explained(self, hierarchy: Hierarchy, seed: int) -> None:
        network = hierarchical_network(hierarchy)
        one, two = (encoded(hierarchy, random_run(hierarchy, 9, number)) for number in (seed, seed + 50))
        assert largest_error(pfn.infer(network, one).rmse) < 1e-6
        mixed = pfn.infer(network, {name: 0.5 * one[name] + 2.0 * two[name] for name in one})
        assert largest_error(mixed.rmse) < 1e-3

    @pytest.mark.parametrize("hierarchy", [PAPER, SONG, OFF_BELOW], ids=["paper", "song", "below"])
    def test_couplings_say_what_happened(self, hierarchy: Hierarchy) -> None:
        run = random_run(hierarchy, 12, 0)
        v = pfn.infer(hierarchical_network(hierarchy), encoded(hierarchy, run))["v"]
        np.testing.assert_allclose(v.max(axis=0), 1, atol=1e-6)
        np.testing.assert_allclose(v.sum(axis=0), 1, atol=1e-6)
        assert [steps(hierarchy)[column] for column in v.argmax(axis=0)] == list(pairwise(run))

    def test_levels_that_move_apart_are_not_explained(self) -> None:
        """Each level makes transitions of its own, but below starts while nothing above refines."""
        x2, x1 = UPPER.encode(["S1", "S1", "S2"]), LOWER.encode(["S3", "S1", "S2"])
        result = pfn.infer(hierarchical_network(PAPER), {"x2": x2, "x1": x1})
        assert largest_error(result.rmse) > 0.1

    @pytest.mark.parametrize("known", ["x1", "x2", "x3"])
    def test_three_levels_from_one_slice(self, known: str) -> None:
        network = hierarchical_network(DAY)
        truth = {
            name: level.encode(states * 2)
            for name, level, states in zip(("x1", "x2", "x3"), DAY.levels, (DAY_X1, DAY_X2, DAY_X3), strict=True)
        }
        clue = {"x1": 2, "x2": 3, "x3": 4}[known]  # heat, read, work: states that occur once a day
        data = np.full_like(truth[known], np.nan)
        data[:, clue] = truth[known][:, clue]
        result = pfn.infer(network, {known: data}, tolerance=1e-6, iterations=3000)
        for name, values in truth.items():
            np.testing.assert_allclose(result[name], values, atol=1e-2, err_msg=name)
