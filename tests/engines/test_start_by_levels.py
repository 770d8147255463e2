"""`start="levels"`: thirty rounds of updates per level, each on the level below, then one downward pass."""

from typing import Any

import numpy as np
import pytest

import pfn
from pfn import t
from tests import networks, oracle
from tests.engines.comparison import Array, assert_values, sweep

ROUNDS = 30


def by_levels(
    network: pfn.Network, data: dict[str, Array], initial: dict[str, Array], sweeps: int, **options: Any
) -> dict[str, Any]:
    """The start and then plain sweeps, composed of the oracle's own steps."""
    parameters = {p.name: oracle.first_value(p, initial) for p in network.parameters}
    listed = [oracle.listed(network, given) for given in (data, initial)]
    (strand,) = oracle.start_strands(network, *listed, {})
    top = max(oracle.level(network, equation) for equation in network.factorizations)
    for level in range(1, top + 1):
        for number in range(ROUNDS):
            chosen = oracle.Options(**options, sweep=number)
            oracle.learn_level(network, [strand], parameters, chosen, level)
            for equation in oracle.equations_at(network, level):
                oracle.update_parents(strand, equation, parameters, chosen)
            for variable in oracle.complete_at(network, level, "parent"):
                oracle.settle(strand, variable, "parent", chosen)
    propagate_all(network, strand, parameters, oracle.Options(**options))
    for number in range(sweeps):
        oracle.sweep_once(network, [strand], parameters, oracle.Options(**options, sweep=number))
    return parameters | {v.name: oracle.array_of(strand, v.name, v.size) for v in network.variables}


def propagate_all(
    network: pfn.Network, strand: oracle.Strand, parameters: dict[str, Array], options: oracle.Options
) -> None:
    top = max(oracle.level(network, equation) for equation in network.factorizations)
    for level in range(top, 0, -1):
        for equation in oracle.equations_at(network, level):
            oracle.propagate(strand, equation, parameters)
        for variable in oracle.complete_at(network, level, "child"):
            oracle.settle(strand, variable, "child", options)


def start(network: pfn.Network, slices: int, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    columns = network.columns(slices).variables
    initial = {v.name: rng.uniform(0.1, 1, (v.size, len(columns[v.name]))) for v in network.variables}
    return initial | {p.name: rng.uniform(0.1, 1, p.shape) for p in network.parameters if p.learn}


def check(network: pfn.Network, data: dict[str, Array], initial: dict[str, Array], **options: Any) -> None:
    wanted = by_levels(network, data, initial, 3, **options)
    assert_values(sweep(network, data, initial, 3, start="levels", **options), wanted)


@pytest.mark.parametrize("options", [{}, {"divergence": "euclidean"}, {"sparseness": 0.2}, {"averaging": "all"}])
def test_the_hierarchy_of_section_6(options: dict[str, Any]) -> None:
    network = networks.hierarchy(6, (4, 3), 3, (1, 2))
    X = np.random.default_rng(0).random((6, 12))
    check(network, {"x1": X}, start(network, 12, 1), **options)


def test_inference_only() -> None:
    network = networks.regular_expression()
    X = np.full((3, 6), np.nan)
    X[:, 1] = [0, 1, 0]
    check(network, {"x1": X}, start(network, 6, 2), learn=False)


def test_parameters_that_are_learned_more_rarely() -> None:
    network = networks.hierarchy(4, (3,), 2, (1,))
    X = np.random.default_rng(3).random((4, 8))
    check(network, {"x1": X}, start(network, 8, 4), learn_every={"W1_1": 3, "W1_2": 3})


def test_a_parent_of_two_levels_keeps_its_scale() -> None:
    """a = b + 0 c and b = c: the rounds of the lower level must not count again when c is averaged."""
    a, b, c = (pfn.Variable(name, 3) for name in "abc")
    one, two, none = (
        pfn.Parameter(*given) for given in (("one", np.eye(3)), ("two", np.eye(3)), ("none", 0 * np.eye(3)))
    )
    network = pfn.Network(pfn.Factorization(a, one @ b + none @ c), pfn.Factorization(b, two @ c))
    A = np.random.default_rng(5).uniform(0.5, 1, (3, 4))
    result = pfn.infer(network, {a: A}, iterations=1, method=pfn.Propagate(start="levels", acceleration=None))
    np.testing.assert_allclose(result[c], A, rtol=1e-6)


def test_the_fit_starts_close_to_the_data() -> None:
    """What the start is for: after one sweep the hierarchy explains more than a random start does after one."""
    network = networks.hierarchy(8, (4, 3), 2, (1, 2))
    X = np.random.default_rng(7).random((8, 3)) @ np.random.default_rng(8).random((3, 30))
    fitted, plain = (
        pfn.learn(network, {"x1": X}, iterations=1, seed=0, method=pfn.Propagate(start=how))
        for how in ("levels", "random")
    )
    assert fitted.rmse["eq1"] < 0.7 * plain.rmse["eq1"]


def test_lists_of_sequences() -> None:
    """Two equal sequences fit like one of them."""
    x, h = pfn.Variable("x", 5), pfn.Variable("h", 2)
    network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", shape=(5, 2)) @ h[t]))
    X, W = np.random.default_rng(9).random((5, 7)), np.random.default_rng(10).random((5, 2))
    H = np.random.default_rng(11).random((2, 7))
    wanted = by_levels(network, {"x": X}, {"h": H, "W": W}, 3, epsilon=1e-30)
    found = sweep(network, {"x": [X, X]}, {"h": [H, H], "W": W}, 3, start="levels", epsilon=1e-30)
    assert_values(found, {"x": [X, X], "h": [wanted["h"]] * 2, "W": wanted["W"]})
