"""Section 2: the graphical representation, plates, and the superposition property."""

from typing import Literal

import numpy as np

import pfn
from pfn import plots
from pfn.models import hierarchical_network, transition_network
from pfn.paper.experiment import Check, Findings, Runs, Setting, Shown, experiment
from pfn.paper.measures import observed, worst_error
from pfn.paper.originals import EXPRESSION, NONDETERMINISTIC, UPPER, graph_example, plain_nmf


@experiment(
    "graph-example",
    "2.2",
    "Twelve variables and ten equations as a graph",
    """A system of factorizations becomes a directed graph: an arc from every parent to its child with the name of its
    matrix, hidden nodes shaded, the equations of one child told apart by dash marks. x2 is the child of three
    equations. x3 and x4 are connected by a dashed line: forced co-activations, because their common parent x11 acts on
    both through equally normalized columns.""",
    network="graph-example",
)
def graph_of_the_example(_setting: Setting) -> Findings:
    network = graph_example()
    graph = network.graph(observed=["x1", "x2", "x3", "x4"])
    dashes = sorted({arc["dashes"] for _, _, arc in graph.in_edges("x2", data=True)})
    yield Check("dash marks on the arcs into x2", "1, 2, 3", ", ".join(map(str, dashes)), dashes == [1, 2, 3])
    pairs = graph.graph["coactivations"]
    yield Check(
        "forced co-activations", "x3 and x4", "; ".join(" and ".join(p) for p in pairs), pairs == [("x3", "x4")]
    )
    size = (len(network.variables), len(network.factorizations))
    yield Check("variables and equations", "12 and 10", "{} and {}".format(*size), size == (12, 10))


@experiment(
    "nmf",
    "2.2",
    "Standard NMF, drawn with a plate",
    """N observed variables and N hidden ones that share one matrix are a plate with N in its corner. The system is the
    one matrix equation X1 = W1 X2, which is standard NMF.""",
    network="nmf",
)
def nmf_as_a_network(setting: Setting) -> Findings:
    network = plain_nmf()
    errors = []
    for seed in setting.seeds(10):
        draw = np.random.default_rng(seed)
        X = draw.random((8, 3)) @ draw.random((3, 40))
        result = pfn.learn(network, {"x1": X}, iterations=2000, seed=seed, tolerance=1e-3)
        errors.append(result.rmse["eq1"])
    exact = Runs.of(error < 1e-3 for error in errors)
    yield Check("a product of two matrices is factored, RMSE below 1e-3", "a factorization", exact, exact.always)
    yield Shown("X1 = W1 X2", plots.equation(result, "eq1"))


@experiment(
    "superposition-property",
    "2.1",
    "Sums of solutions are solutions",
    """If y1 and y2 are solutions of the system, then so is any α1 y1 + α2 y2 with positive α: the equations are linear
    and have no constants.""",
    network="transitions",
)
def sums_of_solutions(setting: Setting) -> Findings:
    network = transition_network(NONDETERMINISTIC)
    W, errors = NONDETERMINISTIC.matrix(), []
    for seed in setting.seeds(20):
        draw = np.random.default_rng(seed)
        walks = [NONDETERMINISTIC.encode(NONDETERMINISTIC.sample(10, draw)) for _ in range(2)]
        one, other = (pfn.infer(network, {"x": walk}, seed=seed, tolerance=1e-9) for walk in walks)
        a, b = draw.uniform(0.1, 3, 2)
        x, h = a * one["x"] + b * other["x"], a * one["h"] + b * other["h"]
        errors.append(np.abs(np.vstack([x[:, :-1], x[:, 1:]]) - W @ h).max())
    yield Check(
        "largest violation of α1 y1 + α2 y2 below 1e-6",
        "a solution",
        Runs.of(e < 1e-6 for e in errors),
        max(errors) < 1e-6,
    )


@experiment(
    "algorithm-2",
    "Appendix C",
    "The second algorithm",
    """Averaging over all copies of a variable instead of the updated ones: good convergence was observed, although it
    can take longer than with algorithm 1.""",
    network="hierarchy",
)
def both_algorithms(setting: Setting) -> Findings:
    network, data = hierarchical_network(EXPRESSION), {"x2": observed(UPPER, "? S2 ? ? ? ? S4 ? ? ?")}
    sweeps: dict[Literal["updated", "all"], list[int]] = {"updated": [], "all": []}
    errors = []
    for seed in setting.seeds(20):
        for averaging, counts in sweeps.items():
            method = pfn.Propagate(averaging=averaging, acceleration=None, epsilon=pfn.PAPER.epsilon)
            result = pfn.infer(network, data, method=method, seed=seed, iterations=5000, tolerance=1e-4)
            counts.append(result.iterations)
            errors.append(worst_error(result))
    yield Check(
        "both end in exact solutions", "good convergence", Runs.of(e < 1e-4 for e in errors), max(errors) < 1e-4
    )
    first, second = (float(np.median(counts)) for counts in sweeps.values())
    text = f"{first:g} sweeps with algorithm 1, {second:g} with algorithm 2"
    yield Check("which takes longer", "algorithm 2 can", text, second >= first)
