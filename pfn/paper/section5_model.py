"""Section 5: the model that follows targets through a sensor image, and what is measured on its results.

All slices count from 0 in code, from 1 in words.
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

import pfn
from pfn import plots
from pfn.automata import StateMachine
from pfn.models import Scene, simulate_targets, tracking_network
from pfn.paper.experiment import Check, Findings, Setting, Shown, experiment
from pfn.paper.measures import FloatArray, order_of_columns, stacked
from pfn.paper.originals import SCENE_LENGTH, TARGETS

SWEEPS = 10_000
PLAIN = replace(pfn.PAPER, epsilon=1e-9)
SEEN = ["x5", "x4", "x3", "x2", "x1"]  # from top to bottom, as in the paper
HIDDEN = ["x5", "x4", "x3", "x2"]
SIZES = "W1 39 × 75, W2 30 × 73, W3 14 × 9, W4 77 × 73, W5 17 × 15, W6 18 × 13, W7 11 × 9"

# As printed: the state transitions; the table of transitions that can occur together; the kinds over their states.
PRINTED = {
    "W6": stacked((9, "1 2 3 4 5 5 0 6 7 8 9 9 0"), (9, "2 3 4 5 0 2 1 7 8 9 0 7 6")),
    "W5": stacked((13, "6 6 12 12 7 13 5 11 1 2 3 4 8 9 10"), (4, "2 1 2 1 3 3 4 4 1 1 1 1 1 1 1")),
    "W7": stacked((2, "1 1 1 1 1 2 2 2 2"), (9, "1 2 3 4 5 6 7 8 9")),
}


def the_scene(seed: int, noise: float = 0.0) -> Scene:
    """Two targets of kind A and one of kind B, with magnitudes 1.0, 0.8 and 0.6."""
    return simulate_targets(tracking_network(), TARGETS, length=SCENE_LENGTH, noise=noise, seed=seed)


def followed(image: FloatArray, method: pfn.Propagate, seed: int) -> pfn.Result:
    """Everything hidden but the image, after 10,000 iterations."""
    return pfn.infer(tracking_network(), {"x1": image}, method=method, iterations=SWEEPS, seed=seed)


def largest_error(result: pfn.Result, scene: Scene, names: list[str]) -> float:
    """The largest difference from the truth of any of these variables."""
    return max(float(np.abs(result[name] - scene.truth[name]).max()) for name in names)


def share_outside(result: pfn.Result, scene: Scene) -> float:
    """How much of x4 is not in the true states."""
    return float(result["x4"][scene.truth["x4"] == 0].sum() / result["x4"].sum())


def magnitudes(result: pfn.Result, scene: Scene) -> list[float]:
    """The mean of x4 along each target."""
    rows = {label: row for row, label in enumerate(result.network.variable("x4").labels or ())}
    return [
        float(result["x4"][[rows[f"{t.kind}{state}"] for state in t.states], range(t.start, t.end + 1)].mean())
        for t in scene.targets
    ]


def diagram(network: pfn.Network, states: str, steps: str, *, names: str = "") -> StateMachine:
    """The state diagram of one variable, its steps those that the labels of another name."""
    labels = network.variable(steps).labels or ()
    pairs = [(before, after) for before, _, after in (label.partition("→") for label in labels)]
    numbered = [f"{names}{number}" for number in range(1, len(pairs) + 1)] if names else None
    return StateMachine(network.variable(states).labels or (), pairs, off="off", labels=numbered)


@experiment("tracking-model", "5.1", "The tracker's state diagrams, matrices and graph", uses=(diagram,))
def tracking_model(_setting: Setting) -> Findings:
    """The network of the tracker with seven equations; the state diagram of two kinds of targets, A with five states
    and B with four, with the emission of each state; the position shifts; the table of state and position transitions
    that can occur together; the pattern translation W1 with its submatrices of 5, 15 and 19 rows, each column of which
    sums to 1.
    """
    network = tracking_network()
    yield Shown("The network.", plots.draw(network, observed=["x1"]))
    yield Shown("Two time slices of it.", plots.draw(network, observed=["x1"], slices=2))
    yield Shown("The states of the targets.", plots.draw(diagram(network, "x4", "h3", names="t")))
    W = {p.name: csr_array(p.value).toarray() for p in network.parameters}
    yield Shown("What each of the nine states emits, a column for each.", plots.image(W["W3"][9:]))
    yield Shown("The position shifts, here of four positions.", plots.draw(diagram(tracking_network(4), "x2", "h1")))
    parts = np.split(W["W1"], [5, 20])
    for part, what in zip(parts, ("pattern", "shift", "sensors"), strict=True):
        yield Shown(f"Submatrix of W1: {what}, {len(part)} × 75.", plots.image(part, scale_bar=False))
    apart = float(max(np.abs(part.sum(axis=0) - 1).max() for part in parts))
    yield Check("column sums of the three submatrices, away from 1", "1 each", apart, most=0)
    sizes = ", ".join(f"{name} {rows} × {columns}" for name, (rows, columns) in ((n, m.shape) for n, m in W.items()))
    reason = "the paper misprints the rows of W3 (10), W5 (9) and W7 (7)"
    yield Check("sizes", "those of W3, W5, W7 misprinted", sizes, wanted=SIZES, difference=reason)
    for name, printed in PRINTED.items():
        same = np.array_equal(W[name][:, order_of_columns(W[name], printed)], printed)
        yield Check(f"{name}, every entry", "as printed", "the same" if same else "not the same", so=same)
