"""Section 4: the hierarchical state model of the regular expression a+b(de)*c(de)+."""

import numpy as np

import pfn
from pfn import plots
from pfn.models import hierarchical_network
from pfn.paper.experiment import Check, Findings, Runs, Setting, Shown, experiment
from pfn.paper.measures import FloatArray, observed, worst_error
from pfn.paper.originals import EXPRESSION, LOWER, UPPER

OBSERVED = "? S2 ? ? ? ? S4 ? ? ?"
PATHS = {"x2": (UPPER, "S1 S2 S3 S3 S3 S3 S4 S5 S5"), "x1": (LOWER, "S3 S3 S1 S2 S1 S2 S3 S1 S2")}

# The paper's transitions t1, t2, … of both levels, and its table of those that can occur together.
LEVEL_2 = "S1→S1 S1→S2 S2→S3 S2→S4 S3→S4 S4→S5 S5→S6 S6→S1 S5→S5 S3→S3 S6→S6"
LEVEL_1 = "S1→S2 S2→S3 S2→S1 S3→S1 S3→S3"
TABLE = "3 4, 10 1, 10 3, 5 2, 6 4, 9 1, 9 3, 7 2, 11 5, 8 5, 1 5, 2 5, 4 5"


def first_nine_slices_right(result: pfn.Result) -> bool:
    """Whether both levels are the one possible path up to slice 9."""
    return all(np.allclose(result[x][:, :9], observed(*path), atol=0.01) for x, path in PATHS.items())


def last_slice(result: pfn.Result) -> FloatArray:
    """In slice 10: how much stays in (de)+, and how much has come to the end."""
    found: FloatArray = result["x2"][[4, 5], 9]
    return found


@experiment(
    "hierarchy-matrices",
    "4.1",
    "A hierarchy of state diagrams as matrices",
    """The diagram of a+b(de)*c(de)+, with its implicit transitions, a table of the transitions that can occur
    together, and the matrices W1, W2 and U of the coupled network, of which four time slices are drawn, with dashed
    lines for forced co-activations.""",
)
def hierarchy_matrices(_setting: Setting) -> Findings:
    network = hierarchical_network(EXPRESSION)
    yield Shown("The diagram.", plots.draw(EXPRESSION))
    yield Shown("The same, implicit transitions in blue.", plots.draw(EXPRESSION, implicit=True))
    yield Shown("Four time slices of the network.", plots.draw(network, slices=4))
    upper, lower = LEVEL_2.split(), LEVEL_1.split()
    table = [pair.split() for pair in TABLE.split(", ")]
    coupled = {(upper[int(above) - 1], lower[int(below) - 1]) for above, below in table}
    found = set(EXPRESSION.couplings["U"])
    yield Check("pairs of transitions that can occur together", "13, in a table", len(found), found == coupled)
    shapes = {name: matrix.shape for name, matrix in EXPRESSION.matrices.items()}
    wanted = {"W1": (6, 5), "W2": (12, 11), "U": (16, 13)}
    text = ", ".join(f"{name} {rows} × {columns}" for name, (rows, columns) in shapes.items())
    yield Check("sizes of the matrices", "W1 6 × 5, W2 12 × 11, U 16 × 13", text, shapes == wanted)


@experiment(
    "hierarchy",
    "4.2",
    "Two observed slices explain ten on two levels",
    """Only the upper states in slices 2 and 7 are observed. 500 iterations suffice for RMSE below 1e-4 in all three
    equations; repeated runs always converged. Slices 1 to 9 have one solution, which is found; slice 10 is a mixture
    of the two that are possible, a different one in each run.""",
    network="hierarchy",
    uses=(first_nine_slices_right, last_slice),
)
def hierarchy(setting: Setting) -> Findings:
    network, data = hierarchical_network(EXPRESSION), {"x2": observed(UPPER, OBSERVED)}
    results = [
        pfn.infer(network, data, method=pfn.PAPER, seed=seed, iterations=3000, tolerance=1e-4)
        for seed in setting.seeds(20)
    ]
    yield Shown("Given, and inferred.", plots.before_and_after(data, results[0], ["x2", "x1"]))
    for name, caption in {"eq2": "level 2", "eq1": "level 1", "eq3": "the coupling"}.items():
        yield Shown(f"The factorization of {caption}.", plots.equation(results[0], name))
    converged = Runs.of(worst_error(result) < 1e-4 for result in results)
    yield Check("RMSE below 1e-4 within 3000 iterations", "always", converged, converged.always)
    soon = Runs.of(result.iterations <= 500 for result in results)
    reason = "" if soon.always else "some runs need up to a few hundred more; with momentum all are done within 110"
    yield Check("RMSE below 1e-4 within 500 iterations", "always", soon, soon.successes > 0, reason)
    right = Runs.of(first_nine_slices_right(result) for result in results)
    yield Check("slices 1 to 9 are the one solution", "always", right, right.always)
    stays = [float(last_slice(result)[0]) for result in results]
    ends = Runs.of(np.isclose(last_slice(result).sum(), 1, atol=0.01) for result in results)
    yield Check("slice 10 is a mixture of the two possible states", "yes", ends, ends.always)
    yield Check(
        "the runs differ: range of the share of S5", "different in each", float(np.ptp(stays)), np.ptp(stays) > 0.01
    )


@experiment(
    "hierarchy-sparse",
    "4.2",
    "Sparse updates choose at slice 10",
    """With sparse updates the solution tended to choose one of the two alternatives of slice 10, not a
    superposition.""",
    network="hierarchy",
    uses=(first_nine_slices_right, last_slice),
)
def hierarchy_sparse(setting: Setting) -> Findings:
    network, data = hierarchical_network(EXPRESSION), {"x2": observed(UPPER, OBSERVED)}
    gradual = pfn.Propagate(sparseness=pfn.ramp(0.0, 0.1, start=100, stop=300))
    at_once = pfn.Propagate(sparseness=0.1)
    results, early = (
        [pfn.infer(network, data, method=method, seed=seed, iterations=600) for seed in setting.seeds(20)]
        for method in (gradual, at_once)
    )
    yield Shown("Given, and inferred.", plots.before_and_after(data, results[0], ["x2", "x1"]))
    chosen = Runs.of(last_slice(result).max() > 0.99 for result in results + early)
    yield Check("one alternative has more than 0.99", "tended to", chosen, chosen.successes > 0.9 * chosen.runs)
    right = Runs.of(first_nine_slices_right(result) for result in results)
    yield Check("slices 1 to 9 right, sparseness raised to 0.1 after 100 iterations", "yes", right, right.always)
    soon = Runs.of(first_nine_slices_right(result) for result in early)
    reason = "" if soon.always else "sparseness from the start makes some runs choose before they know"
    yield Check("slices 1 to 9 right, sparseness 0.1 from the start", "yes", soon, soon.successes > 0, reason)
