"""The machines, hierarchies, targets and networks that the paper draws."""

from collections.abc import Callable
from typing import Any

import pfn
from pfn import t
from pfn.automata import Hierarchy, StateMachine
from pfn.models import (
    Target,
    hierarchical_network,
    language_chain,
    language_network,
    spectrogram_hierarchy,
    tracking_network,
    transition_network,
)

STATES = ["S1", "S2", "S3", "S4"]
CIRCLE = [("S1", "S2"), ("S2", "S3"), ("S3", "S4"), ("S4", "S1")]
NAMES = [f"t{number}" for number in range(1, 7)]
DETERMINISTIC = StateMachine(STATES, CIRCLE, labels=NAMES[:4])
NONDETERMINISTIC = StateMachine(STATES, [*CIRCLE, ("S3", "S3"), ("S2", "S4")], labels=NAMES)

# a+b(de)*c(de)+ of section 4: above a, b, (de)*, c, (de)+ and the end; below d, e and the end
UPPER = StateMachine(
    [f"S{state}" for state in range(1, 7)],
    [(f"S{a}", f"S{b}") for a, b in [(1, 1), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5), (5, 6), (6, 1)]],
    end="S6",
)
LOWER = StateMachine(["S1", "S2", "S3"], [("S1", "S2"), ("S2", "S3"), ("S2", "S1")], start="S1", end="S3")
EXPRESSION = Hierarchy(UPPER, {"S3": LOWER, "S5": LOWER})

# The figure with the targets of section 5 is lost. These satisfy every sentence about them (slices from 0).
TARGETS = (
    Target("A", 2, (3,) * 5, magnitude=1.0),
    Target("A", 3, (9,) * 5 + (10,) * 4, magnitude=0.8),
    Target("B", 15, (7,) * 4 + (6,) * 6, magnitude=0.6),
)
SCENE_LENGTH = 26


def graph_example() -> pfn.Network:
    """Section 2.2: twelve variables, ten equations; x3 and x4 have forced co-activations."""
    x = {number: pfn.Variable(f"x{number}", 3) for number in range(1, 13)}
    W = {number: pfn.Parameter(f"W{number}", shape=(3, 3)) for number in range(1, 14)}
    return pfn.Network(
        pfn.Factorization(x[1], W[1] @ x[5] + W[2] @ x[6]),
        pfn.Factorization(x[2], W[3] @ x[6] + W[4] @ x[7]),
        pfn.Factorization(x[2], W[5] @ x[8] + W[6] @ x[9]),
        pfn.Factorization(x[2], W[7] @ x[10]),
        pfn.Factorization(x[3], W[8] @ x[10]),
        pfn.Factorization(x[3], W[9] @ x[11], normalize="columns"),
        pfn.Factorization(x[4], W[10] @ x[11], normalize="columns"),
        pfn.Factorization(x[6], W[11] @ x[12]),
        pfn.Factorization(x[10], W[12] @ x[12]),
        pfn.Factorization(x[11], W[13] @ x[12]),
        name="section 2.2",
    )


def plain_nmf(rows: int = 8, components: int = 3) -> pfn.Network:
    """Section 2.2: standard NMF as a network."""
    x1, x2 = pfn.Variable("x1", rows), pfn.Variable("x2", components)
    W1 = pfn.Parameter("W1", shape=(rows, components))
    return pfn.Network(pfn.Factorization(x1[t], W1 @ x2[t], normalize="columns"))


NETWORKS: dict[str, Callable[[], pfn.Network]] = {
    "graph-example": graph_example,
    "nmf": plain_nmf,
    "transitions": lambda: transition_network(NONDETERMINISTIC),
    "hierarchy": lambda: hierarchical_network(EXPRESSION),
    "tracking": tracking_network,
    "spectrogram": lambda: spectrogram_hierarchy(512),
    "language": lambda: language_network(4319, features=50, transitions=100),
    "language-chain": lambda: language_chain(4319, features=100),
}

# Options of `plots.draw` for each network: observed variables, time slices.
DRAWINGS: dict[str, dict[str, Any]] = {
    "graph-example": {"observed": ["x1", "x2", "x3", "x4"], "plates": None},
    "nmf": {"observed": ["x1"]},
    "transitions": {"slices": 4},
    "hierarchy": {"slices": 4},
    "tracking": {"observed": ["x1"]},
    "spectrogram": {"observed": ["x1"]},
    "language": {"observed": ["y"], "slices": 4},
    "language-chain": {"observed": ["y", "z"]},
}
