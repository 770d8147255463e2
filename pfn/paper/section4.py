"""Section 4: the hierarchical state model of the regular expression a+b(de)*c(de)+."""

from dataclasses import replace

import numpy as np

import pfn
from pfn import plots
from pfn.models import hierarchical_network
from pfn.paper.experiment import Check, Findings, Runs, SeedSpread, Setting, Shown, experiment
from pfn.paper.measures import FloatArray, observed, order_of_columns, stacked, worst_error
from pfn.paper.originals import EXPRESSION, LOWER, UPPER

OBSERVED = "? S2 ? ? ? ? S4 ? ? ?"
IMPOSSIBLE = "? S2 S5 ? ? ? S4 ? ? ?"  # after b, (de)+ without the c
PATHS = {"x2": (UPPER, "S1 S2 S3 S3 S3 S3 S4 S5 S5"), "x1": (LOWER, "S3 S3 S1 S2 S1 S2 S3 S1 S2")}

# As printed: columns s_i over s_j of both levels, and the table of transitions t_i and t_j that can occur together.
W1 = stacked((3, "1 2 2 3 3"), (3, "2 3 1 1 3"))
W2 = stacked((6, "1 1 2 2 3 4 5 6 5 3 6"), (6, "1 2 3 4 4 5 6 1 5 3 6"))
U = stacked((11, "3 10 10 5 6 9 9 7 11 8 1 2 4"), (5, "4 1 3 2 4 1 3 2 5 5 5 5 5"))


def first_nine_slices_right(result: pfn.Result) -> bool:
    """True if both levels are the one possible path up to slice 9."""
    return all(np.allclose(result[x][:, :9], observed(*path), atol=0.01) for x, path in PATHS.items())


def last_slice(result: pfn.Result) -> FloatArray:
    """Shares in slice 10: of staying in (de)+, and of having come to the end."""
    found: FloatArray = result["x2"][[4, 5], 9]
    return found


@experiment("hierarchy-matrices", "4.1", "A hierarchy of state diagrams as matrices")
def hierarchy_matrices(_setting: Setting) -> Findings:
    """The diagram of a+b(de)*c(de)+, with its implicit transitions, a table of the transitions that can occur
    together, and the matrices W1, W2 and U of the coupled network, of which four time slices are drawn, with dashed
    lines for forced co-activations. The order of columns is arbitrary.
    """
    network, found = hierarchical_network(EXPRESSION), EXPRESSION.matrices
    yield Shown("The diagram.", plots.draw(EXPRESSION))
    yield Shown("The same, implicit transitions in blue.", plots.draw(EXPRESSION, implicit=True))
    yield Shown("Four time slices of the network.", plots.draw(network, slices=4))
    order = {name: order_of_columns(found[name], printed) for name, printed in (("W1", W1), ("W2", W2))}
    coupled = found["U"][np.concatenate([order["W2"], 11 + order["W1"]])]
    ours = {name: found[name][:, columns] for name, columns in order.items()}
    ours["U"] = coupled[:, order_of_columns(coupled, U)]
    for name, printed in {"W1": W1, "W2": W2, "U": U}.items():
        same, size = np.array_equal(ours[name], printed), "{} × {}".format(*found[name].shape)
        yield Check(f"{name}, every entry", "{} × {}, as printed".format(*printed.shape), size, so=same)
    pairs = len(EXPRESSION.couplings["U"])
    yield Check("pairs of transitions that can occur together", "13, in a table", pairs, wanted=13)


@experiment(
    "hierarchy",
    "4.2",
    "Two observed slices explain ten on two levels",
    network="hierarchy",
    uses=(first_nine_slices_right, last_slice),
)
def hierarchy(setting: Setting) -> Findings:
    """Only the upper states in slices 2 and 7 are observed. 500 iterations suffice for RMSE below 1e-4 in all three
    equations; repeated runs always converged. Slices 1 to 9 have one solution, which is found; slice 10 is a mixture
    of the two that are possible, a different one in each run.
    """
    network, data = hierarchical_network(EXPRESSION), {"x2": observed(UPPER, OBSERVED)}
    results = [
        pfn.infer(network, data, method=pfn.PAPER, seed=seed, iterations=3000, tolerance=1e-4)
        for seed in setting.seeds(20)
    ]
    yield Shown("Given, and inferred.", plots.before_and_after(data, results[0], ["x2", "x1"]))
    for name, caption in {"eq2": "level 2", "eq1": "level 1", "eq3": "the coupling"}.items():
        yield Shown(f"The factorization of {caption}.", plots.equation(results[0], name))
    errors = SeedSpread.of(worst_error(result) for result in results)
    yield Check("largest RMSE within 3000 iterations", "always below 1e-4", errors, most=1e-4)
    sweeps = SeedSpread.of(result.iterations for result in results)
    reason = "" if sweeps.highest <= 500 else "some runs need up to a few hundred more; with momentum none"
    yield Check("iterations until it is", "500 suffice", sweeps, most=800, difference=reason)
    yield Check("slices 1 to 9 are the one solution", "always", Runs.of(map(first_nine_slices_right, results)))
    both = Runs.of(np.allclose(r["x1"][[0, 2], 9], last_slice(r), atol=0.01) for r in results)
    yield Check("slice 10 is the same two possibilities on both levels", "yes", both)
    sums = SeedSpread.of(last_slice(result).sum() for result in results)
    yield Check("sum of the two possible states in slice 10", "a mixture", sums, least=0.99, most=1.01)
    mixed = Runs.of(last_slice(result).min() > 0.01 for result in results)
    reason = "" if mixed.always else "any share is a solution, so a few are all but decided"
    least = 1 if setting.quick else 15
    yield Check("both have more than 0.01", "a mixture", mixed, least=least, difference=reason)
    apart = float(np.diff(np.sort([last_slice(result)[0] for result in results])).min())
    yield Check("least distance between two runs in slice 10", "different in each", apart, least=1e-6)


@experiment(
    "hierarchy-accepts", "4.1", "Only strings of the expression have an exact factorization", network="hierarchy"
)
def hierarchy_accepts(setting: Setting) -> Findings:
    """Under this transition model, an exact state factorization is only possible if the input sequence satisfies the
    given regular expression.
    """
    network, residuals = hierarchical_network(EXPRESSION), dict[str, list[float]]()
    for states in (OBSERVED, IMPOSSIBLE):
        data = {"x2": observed(UPPER, states)}
        runs = [pfn.infer(network, data, seed=seed, iterations=1000) for seed in setting.seeds(10)]
        residuals[states] = [worst_error(result) for result in runs]
    right, wrong = (SeedSpread.of(found) for found in residuals.values())
    yield Check(f"largest RMSE with {OBSERVED}", "exact", right, most=1e-4)
    yield Check(f"largest RMSE with {IMPOSSIBLE}", "not exact", wrong, least=0.01)


@experiment(
    "hierarchy-sparse",
    "4.2",
    "Sparse updates choose at slice 10",
    network="hierarchy",
    uses=(first_nine_slices_right, last_slice),
)
def hierarchy_sparse(setting: Setting) -> Findings:
    """With sparse updates the solution tended to choose one of the two alternatives of slice 10, not a
    superposition.
    """
    network, data = hierarchical_network(EXPRESSION), {"x2": observed(UPPER, OBSERVED)}
    gradual = pfn.Propagate(sparseness=pfn.ramp(0.0, 0.1, start=100, stop=300))
    results, early = (
        [pfn.infer(network, data, method=method, seed=seed, iterations=600) for seed in setting.seeds(20, quick=8)]
        for method in (gradual, replace(gradual, sparseness=0.1))
    )
    yield Shown("Given, and inferred.", plots.before_and_after(data, results[0], ["x2", "x1"]))
    chosen = Runs.of(last_slice(result).max() > 0.99 for result in results + early)
    yield Check("one alternative has more than 0.99", "tended to", chosen, least=0.9 * chosen.runs)
    right = Runs.of(map(first_nine_slices_right, results))
    yield Check("slices 1 to 9 right, sparseness raised to 0.1 after 100 iterations", "yes", right)
    soon = Runs.of(map(first_nine_slices_right, early))
    reason = "" if soon.always else "sparseness from the start makes some runs choose before they know"
    least = 1 if setting.quick else 10
    what = "slices 1 to 9 right, sparseness 0.1 from the start"
    yield Check(what, "yes", soon, least=least, difference=reason)
