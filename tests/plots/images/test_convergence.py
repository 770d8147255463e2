"""Curves of errors along the sweeps."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import pfn
from pfn import plots
from pfn.automata import Hierarchy, StateMachine
from pfn.models import hierarchical_network
from pfn.plots.images import films
from pfn.solve.history import History

LOWER = StateMachine(["d", "e", "end"], [("d", "e"), ("e", "end")], start="d", end="end")
NETWORK = hierarchical_network(Hierarchy(StateMachine(["a", "S"], [("a", "S"), ("S", "a")]), {"S": LOWER}))
DATA = {NETWORK.bottom[0]: np.random.default_rng(0).random((NETWORK.bottom[0].size, 6))}
RESULT = pfn.infer(NETWORK, DATA, iterations=30)
PAPER = pfn.infer(NETWORK, DATA, iterations=20, method=pfn.PAPER)
NAMES = [equation.name for equation in NETWORK.factorizations]


def curves(figure: Figure) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By the name in its label, the points of every curve."""
    (ax,) = figure.axes
    return {str(line.get_label()).rsplit("  ", 1)[0]: line.get_data() for line in ax.get_lines()}


def test_a_curve_for_every_equation() -> None:
    figure = plots.convergence(RESULT)
    found = curves(figure)
    assert sorted(found) == sorted(NAMES)
    for name, (sweeps, errors) in found.items():
        np.testing.assert_array_equal(sweeps, np.arange(1, 31))
        expected = RESULT.history[name]
        np.testing.assert_array_equal(errors, np.where(expected > 0, expected, np.nan))
    (ax,) = figure.axes
    assert ax.get_yscale() == "log"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    last = sorted(NAMES, key=lambda name: -RESULT.rmse[name])
    assert texts == [f"{name}  {RESULT.rmse[name]:.2g}" for name in last]  # in the order of the curves' ends


def test_chosen_equations() -> None:
    assert list(curves(plots.convergence(RESULT, equations=[NETWORK.factorizations[1]]))) == [NAMES[1]]


def test_equations_without_an_error_come_last_and_are_in_no_ones_way() -> None:
    """The child of the first equation is hidden, and nothing else says what it is."""
    x, y, h = pfn.Variable("x", 2), pfn.Variable("y", 2), pfn.Variable("h", 1)
    V, W = pfn.Parameter("V", [[1], [2]]), pfn.Parameter("W", [[2], [1]])
    network = pfn.Network(pfn.Factorization(y, V @ h), pfn.Factorization(x, W @ h))
    result = pfn.infer(network, {x: np.ones((2, 3))}, iterations=5)
    assert np.isnan(result.rmse["eq1"])
    found = curves(plots.convergence(result))
    assert list(found) == ["eq2", "eq1"]
    assert np.isnan(found["eq1"][1]).all()
    both = curves(plots.convergence({"one": result}))["one"]
    np.testing.assert_array_equal(both[1], result.history["eq2"])
    recording = plots.film(network, {x: np.ones((2, 3))}, [h], every=[2], iterations=2).recording
    assert films._errors(recording)[-1] == pytest.approx(recording.result.rmse["eq2"])


def test_results_to_compare_by_their_largest_error() -> None:
    found = curves(plots.convergence({"momentum": RESULT, "paper": PAPER}))
    for name, result in (("momentum", RESULT), ("paper", PAPER)):
        largest = np.max([result.history[equation] for equation in NAMES], axis=0)
        np.testing.assert_array_equal(found[name][1], largest)


def test_errors_of_zero_have_no_place_on_the_scale() -> None:
    history = History([0, 1], {name: [0.5, 0.0] for name in NAMES}, [1.0, 0.0])
    figure = plots.convergence(replace(RESULT, history=history))
    figure.svg()
    for _, errors in curves(figure).values():
        np.testing.assert_array_equal(errors, [0.5, np.nan])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: plots.convergence(np.ones(3)), "needs a result.*found ndarray"),
        (lambda: plots.convergence({}), "needs a result"),
        (lambda: plots.convergence({"a": 3}), "a must be a result, found int"),
        (lambda: plots.convergence(RESULT, equations=["x"]), "nothing called"),
        (lambda: plots.convergence(RESULT, equations=[NETWORK.variables[0]]), "is not an equation"),
        (lambda: plots.convergence(RESULT, equations=[]), "empty list"),
        (lambda: plots.convergence(replace(RESULT, history=History([], {n: [] for n in NAMES}, []))), "no history"),
    ],
)
def test_refused(ask: Any, message: str) -> None:
    with pytest.raises(pfn.PfnError, match=message):
        ask()
