"""Section 2: the graphical representation, plates, and the superposition property; the appendices that go with it."""

from dataclasses import replace
from typing import Literal

import numpy as np

import pfn
from pfn import plots
from pfn.models import hierarchical_network, transition_network
from pfn.paper.experiment import Check, Findings, Runs, SeedSpread, Setting, Shown, experiment
from pfn.paper.measures import FloatArray, observed, worst_error
from pfn.paper.originals import EXPRESSION, NONDETERMINISTIC, UPPER, graph_example, plain_nmf


@experiment("graph-example", "2.2", "Twelve variables and ten equations as a graph", network="graph-example")
def graph_of_the_example(_setting: Setting) -> Findings:
    """A system of factorizations becomes a directed graph: an arc from every parent to its child with the name of its
    matrix, hidden nodes shaded, the equations of one child told apart by dash marks. x2 is the child of three
    equations. x3 and x4 are connected by a dashed line: forced co-activations, because their common parent x11 acts on
    both through equally normalized columns.
    """
    network = graph_example()
    graph = network.graph(observed=["x1", "x2", "x3", "x4"])
    dashes = sorted({str(arc["dashes"]) for _, _, arc in graph.in_edges("x2", data=True)})
    yield Check("dash marks on the arcs into x2", "1, 2, 3", ", ".join(dashes), wanted="1, 2, 3")
    pairs = "; ".join(" and ".join(pair) for pair in graph.graph["coactivations"])
    yield Check("forced co-activations", "x3 and x4", pairs, wanted="x3 and x4")
    size = f"{len(network.variables)} and {len(network.factorizations)}"
    yield Check("variables and equations", "12 and 10", size, wanted="12 and 10")


def lee_and_seung(X: FloatArray, W: FloatArray, H: FloatArray, sweeps: int) -> FloatArray:
    """The update rules of Appendix A as a plain loop, and what comes of them: W H."""
    epsilon = pfn.PAPER.epsilon
    for _ in range(sweeps):
        W = W * ((X + epsilon) / (W @ H + epsilon) @ H.T + epsilon) / (H.sum(axis=1) + epsilon)
        W = W / W.sum(axis=0)
        H = H * (W.T @ ((X + epsilon) / (W @ H + epsilon)) + epsilon) / (1 + epsilon)
    return W @ H


@experiment("nmf", "2.2", "Standard NMF, drawn with a plate", network="nmf", uses=(lee_and_seung,))
def nmf_as_a_network(setting: Setting) -> Findings:
    """N observed variables and N hidden ones that share one matrix are a plate with N in its corner. The system is the
    one matrix equation X1 = W1 X2, which is standard NMF.
    """
    network, errors, apart = plain_nmf(), [], []
    for seed in setting.seeds(10):
        draw = np.random.default_rng(seed)
        X, W, H = draw.random((8, 3)) @ draw.random((3, 40)), draw.random((8, 3)), draw.random((3, 40))
        start = {"W1": W, "x2": H}
        plain = pfn.learn(network, {"x1": X}, method=pfn.PAPER, iterations=200, seed=seed, initial=start)
        apart.append(np.abs(plain["W1"] @ plain["x2"] - lee_and_seung(X, W, H, 200)).max())
        result = pfn.learn(network, {"x1": X}, iterations=2000, seed=seed, tolerance=1e-3)
        errors.append(result.rmse["eq1"])
    yield Shown("X1 = W1 X2", plots.equation(result, "eq1"))
    yield Check("distance from a plain loop of Lee and Seung's updates", "the same", SeedSpread.of(apart), most=1e-9)
    yield Check("RMSE where X1 is the product of two matrices", "a factorization", SeedSpread.of(errors), most=5e-3)


@experiment("superposition-property", "2.1", "Sums of solutions are solutions", network="transitions")
def sums_of_solutions(setting: Setting) -> Findings:
    """If y1 and y2 are solutions of the system, then so is any α1 y1 + α2 y2 with positive α: the equations are linear
    and have no constants.
    """
    network = transition_network(NONDETERMINISTIC)
    W, errors = NONDETERMINISTIC.matrix(), []
    for seed in setting.seeds(20):
        draw = np.random.default_rng(seed)
        walks = [NONDETERMINISTIC.encode(NONDETERMINISTIC.sample(10, draw)) for _ in range(2)]
        one, other = (pfn.infer(network, {"x": walk}, seed=seed, tolerance=1e-9) for walk in walks)
        a, b = draw.uniform(0.1, 3, 2)
        x, h = a * one["x"] + b * other["x"], a * one["h"] + b * other["h"]
        errors.append(np.abs(np.vstack([x[:, :-1], x[:, 1:]]) - W @ h).max())
    yield Check("largest violation by α1 y1 + α2 y2", "a solution", SeedSpread.of(errors), most=1e-6)


@experiment("algorithm-2", "Appendix C", "The second algorithm", network="hierarchy")
def both_algorithms(setting: Setting) -> Findings:
    """Averaging over all copies of a variable instead of the updated ones: good convergence was observed, although it
    can take longer than with algorithm 1.
    """
    network, data = hierarchical_network(EXPRESSION), {"x2": observed(UPPER, "? S2 ? ? ? ? S4 ? ? ?")}
    sweeps: dict[Literal["updated", "all"], list[int]] = {"updated": [], "all": []}
    errors = []
    for seed in setting.seeds(20):
        for averaging, counts in sweeps.items():
            method = replace(pfn.PAPER, averaging=averaging)
            result = pfn.infer(network, data, method=method, seed=seed, iterations=5000, tolerance=1e-4)
            counts.append(result.iterations)
            errors.append(worst_error(result))
    yield Check("largest RMSE, both algorithms", "good convergence", SeedSpread.of(errors), most=1e-4)
    first, second = (float(np.median(counts)) for counts in sweeps.values())
    yield Check("iterations with algorithm 2", "longer", second, least=first + 1)
    longer = Runs.of(more > fewer for fewer, more in zip(*sweeps.values(), strict=True))
    yield Check("longer than algorithm 1", "it can take longer", longer, least=longer.runs / 2)
