"""Methods are a small protocol: anything with a name, check and run plugs in."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import pfn
from pfn.solve import Answer, Method, Request
from pfn.solve.history import History
from tests.solve.cases import MACHINE, dense, numbers, parts_based, states


@dataclass(frozen=True)
class LeastSquares:
    """x[t] = W h[t] by a non-negative clip of the pseudo-inverse."""

    clip: float = 0.0
    name: ClassVar[str] = "least squares"

    def check(self, network: pfn.Network) -> None:
        if len(network.factorizations) > 1:
            raise pfn.OptionError("least squares solves one equation.")

    def run(self, request: Request) -> Answer:
        W = request.initial["W"]
        X = request.observations.arrays["x"]
        H = [np.maximum(np.linalg.pinv(W) @ x, self.clip) for x in X]
        squared = float(sum(((x - W @ h) ** 2).sum() for x, h in zip(X, H, strict=True)))
        root = float(np.sqrt(squared / sum(x.size for x in X)))
        unwrap = request.observations.unwrap
        return Answer(
            values={"x": unwrap(X), "h": unwrap(H), "W": W},
            rmse={"eq1": root},
            squared_error=squared,
            history=History([0], {"eq1": [root]}, [0.0]),
            stop="solved",
            iterations=1,
        )


def solved(data: Any, **options: Any) -> pfn.Result:
    return pfn.infer(parts_based(), {"x": data}, method=LeastSquares(), initial={"W": np.eye(4, 2)}, **options)


def test_another_method_plugs_in() -> None:
    method: Method = LeastSquares()
    assert method.name == "least squares"
    X = numbers()
    result = solved(X)
    np.testing.assert_allclose(result["h"], X[:2])
    assert (result.stop, result.iterations) == ("solved", 1)
    assert result.settings["method"] == "LeastSquares(clip=0.0)"


def test_it_gets_sequences_as_lists() -> None:
    X = [numbers(), numbers(4, 3, seed=1)]
    for found, x in zip(solved(X)["h"], X, strict=True):
        np.testing.assert_allclose(found, x[:2])


def test_its_check_may_refuse_the_network() -> None:
    with pytest.raises(pfn.OptionError, match="solves one equation"):
        pfn.infer(two_equations(), {"x": numbers()}, method=LeastSquares())


def two_equations() -> pfn.Network:
    x, h, g = pfn.Variable("x", 4), pfn.Variable("h", 2), pfn.Variable("g", 2)
    return pfn.Network(
        pfn.Factorization(x, pfn.Parameter("W", np.ones((4, 2))) @ h),
        pfn.Factorization(h, pfn.Parameter("V", np.ones((2, 2))) @ g),
    )


def test_its_result_can_be_saved(tmp_path: Any) -> None:
    result = solved(numbers())
    result.save(tmp_path / "file")
    np.testing.assert_array_equal(dense(pfn.load(tmp_path / "file")["h"]), result["h"])


@dataclass(frozen=True)
class Scripted:
    """Gives the divergences it is told, run by run; the squared errors are the other way round."""

    errors: tuple[float, ...]
    measured: bool = True  # whether there is a history
    name: ClassVar[str] = "scripted"

    def check(self, network: pfn.Network) -> None:
        """Any network will do."""

    def run(self, request: Request) -> Answer:
        error = self.errors[request.restart]
        history = History([0], {"eq1": [error]}, [error]) if self.measured else History([], {"eq1": []}, [])
        squared = -error if self.measured else error
        return Answer({"x": np.full((4, 1), request.restart)}, {"eq1": error}, squared, history, "told so", 1)


@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize(
    ("errors", "best"),
    [
        ((3, 1, 2), 1),
        ((1, 2, 3), 0),
        ((2, 2, 1), 2),
        ((1, 1, 1), 0),
        ((np.nan, 2, 3), 1),
        ((3, np.nan, 2), 2),
        ((np.nan, np.nan, np.nan), 0),
    ],
)
def test_the_run_with_the_least_divergence_is_returned(errors: tuple[float, ...], best: int, measured: bool) -> None:
    """Methods that measure none go by their squared errors; NaN never wins."""
    result = pfn.infer(MACHINE, {"x": states(1)}, method=Scripted(errors, measured), restarts=3)
    assert result.values["x"][0, 0] == best


def test_equal_divergences_go_by_the_squared_error() -> None:
    class Equal(Scripted):
        def run(self, request: Request) -> Answer:
            return replace(super().run(request), history=History([0], {"eq1": [1.0]}, [0.0]))

    result = pfn.infer(MACHINE, {"x": states(1)}, method=Equal((1, 3, 2)), restarts=3)
    assert result.values["x"][0, 0] == 1


def test_each_run_has_its_own_random_numbers() -> None:
    draws: list[float] = []

    class Drawing(Scripted):
        def run(self, request: Request) -> Answer:
            draws.append(float(request.generator().random()))
            return super().run(request)

    pfn.infer(MACHINE, {"x": states(1)}, method=Drawing((1, 1, 1)), restarts=3, seed=4)
    assert draws[0] == np.random.default_rng(4).random()  # run 0 is the plain run
    assert len(set(draws)) == 3


@pytest.mark.parametrize("method", [object(), LeastSquares, {"run": 1, "check": 2}])
def test_something_that_is_no_method(method: Any) -> None:
    with pytest.raises(pfn.OptionError, match=r"^method must be 'propagate', 'exact'"):
        pfn.infer(MACHINE, {"x": states(1)}, method=method)
