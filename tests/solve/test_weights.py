"""Weights of columns that share a hidden parent: right updates do not know them, so those that differ are refused."""

from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t
from pfn.models import Vocabulary, chain_data, language_chain
from tests import networks, oracle
from tests.engines.comparison import random_sequences
from tests.engines.comparison import random_weights as weights_of_lists
from tests.solve.cases import numbers

TIMES = 6
UNEVEN = np.array([10.0, 10, 10, 1, 10, 0.1])
REFUSED = pytest.mark.parametrize("method", [pfn.Propagate(), pfn.PAPER, pfn.Propagate(start="levels")])


def matrix(name: str, rows: int = 3, columns: int = 2, seed: int = 0) -> pfn.Parameter:
    return pfn.Parameter(name, numbers(rows, columns, seed=seed), learn=True)


def two_lags() -> pfn.Network:
    x, h = pfn.Variable("x", 3), pfn.Variable("h", 2)
    return pfn.Network(pfn.Factorization(x[t], matrix("A") @ h[t] + matrix("B", seed=1) @ h[t - 1]))


def two_views() -> pfn.Network:
    x, y, h = pfn.Variable("x", 3), pfn.Variable("y", 3), pfn.Variable("h", 2)
    A, B = matrix("A"), matrix("B", seed=1)
    return pfn.Network(pfn.Factorization(x[t], A @ h[t]), pfn.Factorization(y[t], B @ h[t]))


def two_levels() -> pfn.Network:
    x, h, g = pfn.Variable("x", 3), pfn.Variable("h", 2), pfn.Variable("g", 2)
    return pfn.Network(
        pfn.Factorization(x[t], matrix("A") @ h[t]), pfn.Factorization(h[t], matrix("B", 2, seed=1) @ g[t])
    )


def ringing(length: float) -> pfn.Network:
    x, h = pfn.Variable("x", 3), pfn.Variable("h", 2)
    return pfn.Network(pfn.Factorization(x[t], matrix("A") @ pfn.decay(h[t], 0.5, length)))


X, Y = numbers(3, TIMES, seed=2) + 0.1, numbers(3, TIMES, seed=3) + 0.1
CASES = [
    (two_lags(), {"x": X}, {"eq1": UNEVEN}, "eq1: the hidden variable h is shared by several columns of eq1"),
    (two_views(), {"x": X, "y": Y}, {"eq1": np.full(TIMES, 10.0)}, "eq1: .* h is shared by the equations eq1, eq2"),
    (two_views(), {"x": X, "y": Y}, {"eq2": UNEVEN}, "eq2: .* h is shared by the equations eq1, eq2"),
    (two_views(), {"x": X, "y": Y}, {"eq1": UNEVEN, "eq2": UNEVEN[::-1]}, "eq1, eq2: .* h is shared by the equations"),
    (two_levels(), {"x": X}, {"eq1": UNEVEN}, "eq1: .* h is shared by the equations eq1, eq2"),
    (two_levels(), {"x": X}, {"eq2": UNEVEN}, "eq2: .* h is shared by the equations eq1, eq2"),
    (ringing(3), {"x": X}, {"eq1": UNEVEN}, "eq1: .* h is shared by several columns of eq1"),
    (ringing(np.inf), {"x": X}, {"eq1": UNEVEN}, "eq1: .* h is shared by several columns of eq1"),
]


@pytest.mark.parametrize(("network", "data", "weights", "message"), CASES)
@REFUSED
def test_weights_that_differ_on_a_shared_parent(
    network: pfn.Network, data: Any, weights: Any, message: str, method: pfn.Propagate
) -> None:
    for question in (pfn.infer, pfn.learn):
        with pytest.raises(pfn.OptionError, match=f"^weights of {message}.* Use method='substitute'"):
            question(network, data, weights=weights, method=method)


@pytest.mark.parametrize(
    ("network", "data", "weights"),
    [
        (two_lags(), {"x": X}, {"eq1": np.full(TIMES, 3.0)}),
        (two_lags(), {"x": X, "h": numbers(2, TIMES)}, {"eq1": UNEVEN}),
        (two_views(), {"x": X, "y": Y}, {"eq1": UNEVEN, "eq2": UNEVEN}),
        (two_views(), {"x": X, "y": Y}, {"eq1": np.ones(TIMES)}),
        (two_levels(), {"x": X}, {"eq1": UNEVEN, "eq2": UNEVEN}),
        (two_levels(), {"x": X, "h": numbers(2, TIMES)}, {"eq2": UNEVEN}),
        (ringing(1), {"x": X}, {"eq1": UNEVEN}),
        (ringing(3), {"x": [X, X]}, {"eq1": [np.full(TIMES, 2.0), np.ones(TIMES)]}),
        (two_lags(), {"x": [X, X]}, {"eq1": [np.full(TIMES, 2.0), np.zeros(TIMES)]}),
    ],
)
def test_weights_that_do_not_matter_for_right_updates(network: pfn.Network, data: Any, weights: Any) -> None:
    assert pfn.learn(network, data, weights=weights, iterations=3).iterations == 3


def test_hidden_columns_are_looked_at_one_by_one() -> None:
    """h is hidden in two slices; the columns that these are in count alike, so that other weights do not matter."""
    H = numbers(2, TIMES)
    H[:, [0, 3]] = np.nan
    for weights, legal in (([2, 2, 7, 5, 5, 9], True), ([2, 2, 7, 5, 4, 9], False)):
        options: dict[str, Any] = {"weights": {"eq1": np.array(weights, float)}, "iterations": 2}
        if legal:
            pfn.infer(two_lags(), {"x": X, "h": H}, **options)
        else:
            with pytest.raises(pfn.OptionError, match="the hidden variable h"):
                pfn.infer(two_lags(), {"x": X, "h": H}, **options)
    method = pfn.Propagate(release={"h": 1})
    with pytest.raises(pfn.OptionError, match="the hidden variable h"):
        pfn.infer(two_lags(), {"x": X, "h": numbers(2, TIMES)}, method=method, weights={"eq1": UNEVEN})


@pytest.mark.parametrize("seed", range(60))
def test_what_is_refused_is_what_loops_find(seed: int) -> None:
    """Any weights on random networks; the lists have sequences of different lengths."""
    single, several = networks.random_problem(seed, any_weights=True), random_sequences(seed)
    count = range(len(next(iter(several.data.values()))))
    separate = [{name: arrays[number] for name, arrays in several.data.items()} for number in count]
    drawn = weights_of_lists(np.random.default_rng(seed), several.network, separate)
    lists = {name: [array] for name, array in single.data.items()}
    single_weights = {name: [array] for name, array in single.options["weights"].items()}
    for problem, data, weights in ((single, lists, single_weights), (several, several.data, drawn)):
        options = problem.options
        method = pfn.Propagate(release=options["release"], start="random")
        question = pfn.learn if options["learn"] else pfn.infer
        initial = {p.name: problem.initial[p.name] for p in problem.network.parameters if p.name in problem.initial}
        arguments: dict[str, Any] = {"weights": weights, "method": method, "initial": initial, "iterations": 1}
        if oracle.weights_reach(problem.network, data, weights, [*options["release"]]):
            question(problem.network, data, **arguments)
        else:
            with pytest.raises(pfn.OptionError, match=r"^weights of .*the hidden variable"):
                question(problem.network, data, **arguments)


def test_substitution_finds_the_least_weighted_divergence() -> None:
    """The way out that the message names: no small change of h lowers what it ends at."""
    network = two_lags()
    result = pfn.infer(network, {"x": X}, weights={"eq1": UNEVEN}, method="substitute", iterations=5000)
    A, B = (parameter.value for parameter in network.parameters)

    def cost(H: Any) -> float:
        R = A @ H
        R[:, 1:] += B @ H[:, :-1]
        return float(np.sum(UNEVEN * (X * np.log(X / R) - X + R)))

    least, rng = cost(result["h"]), np.random.default_rng(0)
    assert least == pytest.approx(result.history.divergence[-1], rel=1e-6)
    for size in (1e-3, 1e-2, 1e-1):
        assert all(cost(result["h"] * np.exp(size * rng.normal(size=(2, TIMES)))) >= least for _ in range(100))


def test_the_chain_of_words_is_legal() -> None:
    """All its equations have the same weights."""
    vocabulary = Vocabulary("ab", unknown=None)
    observed, weights = chain_data(["a", "b", "b", "a", "a", "b"], vocabulary)
    result = pfn.learn(language_chain(vocabulary, 2), observed, weights=weights, iterations=3)
    assert result.iterations == 3
