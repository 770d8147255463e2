"""What a result answers, and how it shows itself."""

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import DataError, DeclarationError, t
from tests.network.refusal import refused
from tests.oracle import rmse
from tests.solve.cases import MACHINE, chain, dense, numbers, parts_based, states

ONE = states(1, 0, 0, 0)


@pytest.fixture(scope="module")
def result() -> pfn.Result:
    return pfn.infer(MACHINE, {"x": ONE}, iterations=8)


def test_values_by_object_or_by_name(result: pfn.Result) -> None:
    x, h = MACHINE.variables
    (W,) = MACHINE.parameters
    assert all((result[x] is result["x"], result[h] is result["h"], result[W] is result["W"]))
    assert list(result.values) == ["x", "h", "W"]


def test_a_known_parameter_is_what_was_declared(result: pfn.Result) -> None:
    np.testing.assert_array_equal(result["W"], MACHINE.parameters[0].value)


def test_unknown_names(result: pfn.Result) -> None:
    with refused("the network has nothing called y. It has x, h, W, eq1."):
        result["y"]
    with pytest.raises(DeclarationError, match="nothing called"):
        result[pfn.Variable("y", 2)]
    with refused("eq1 is an equation and has no value; its error is result.rmse['eq1'].", DataError):
        result["eq1"]


def test_the_errors_are_those_of_the_values() -> None:
    X = np.where(numbers(4, 9, seed=1) < 0.3, np.nan, numbers(4, 9))
    for network, data in ((MACHINE, {"x": X}), (chain(), {"y": X})):
        found = pfn.learn(network, data, iterations=12)
        values = {name: dense(value) for name, value in found.values.items()}
        assert dict(found.rmse) == pytest.approx(rmse(network, values, data), rel=1e-9)


def test_the_squared_error_is_the_sum_over_equations() -> None:
    found = pfn.learn(chain(), {"y": numbers(4, 9)}, iterations=12)
    entries = {"eq1": 4 * 9, "eq2": 3 * 9}
    expected = sum(found.rmse[name] ** 2 * count for name, count in entries.items())
    assert found.squared_error == pytest.approx(expected, rel=1e-9)


def test_the_history_is_that_of_the_errors() -> None:
    found = pfn.learn(chain(), {"y": numbers(4, 9)}, iterations=12)
    assert list(found.history) == ["eq1", "eq2"]
    assert len(found.history) == 12
    np.testing.assert_array_equal(found.history.iterations, np.arange(12))
    assert found.history.divergence.shape == (12,)
    for number in range(1, 12, 4):
        shorter = pfn.learn(chain(), {"y": numbers(4, 9)}, iterations=number)
        for equation in chain().factorizations:
            assert found.history[equation][number - 1] == shorter.rmse[equation.name]
            assert found.history[equation.name].shape == (12,)


def test_an_equation_without_a_history(result: pfn.Result) -> None:
    with refused("the history has no equation called 'eq7'. It has eq1."):
        result.history["eq7"]


def test_a_history_shows_what_it_has(result: pfn.Result) -> None:
    assert repr(result.history) == "History of eq1, measured after 8 sweeps"


def test_repr(result: pfn.Result) -> None:
    assert repr(result).splitlines() == [
        "Result: all 8 sweeps were done (8 sweeps)",
        "  equation                      RMSE",
        f"  eq1: [x[t]; x[t+1]] = W h[t]  {result.rmse['eq1']:.3g}",
        "  value  shape",
        "  x      4 × 4  variable",
        "  h      4 × 3  variable",
        "  W      8 × 4  known",
    ]


def test_repr_of_lists_and_sparse_matrices() -> None:
    text = repr(pfn.learn(chain(), {"y": [numbers(), numbers(4, 3)]}, iterations=2))
    assert "y      2 sequences of 4 rows  variable" in text
    assert "P      4 × 3 sparse           learned" in text


def test_html(result: pfn.Result) -> None:
    html = result._repr_html_()
    assert "all 8 sweeps were done" in html
    assert "eq1: [x[t]; x[t+1]] = W h[t]" in html
    assert f"{result.rmse['eq1']:.3g}" in html
    assert "4 × 3" in html
    assert html.count("<table>") == html.count("</table>") == 2


def test_html_is_escaped() -> None:
    x, h = pfn.Variable("<script>", 2), pfn.Variable("a&b", 2)
    equation = pfn.Factorization(x[t], pfn.Parameter('"W"', np.eye(2)) @ h[t], name="<eq>")
    html = pfn.infer(pfn.Network(equation), {x: np.ones((2, 3))}, iterations=1)._repr_html_()
    assert "<script>" not in html
    assert "<eq>" not in html
    assert "&lt;script&gt;[t] = &quot;W&quot; a&amp;b[t]" in html


def test_a_result_cannot_be_reassigned(result: pfn.Result) -> None:
    with pytest.raises(AttributeError):
        result.stop = "never"  # type: ignore[misc]  # that is the point


def test_sparse_parameters_stay_sparse() -> None:
    found = pfn.learn(chain(), {"y": numbers()}, iterations=5)
    assert scipy.sparse.issparse(found["P"])
    assert found["P"].nnz == 6


def test_values_are_not_negative() -> None:
    found = pfn.learn(parts_based(), {"x": numbers()}, iterations=50)
    assert all((value >= 0).all() for value in found.values.values())
