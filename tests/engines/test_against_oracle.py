"""Random networks with some of everything: the engine agrees with the loops of the oracle."""

import pytest

from tests.engines.comparison import check, check_sequences, random_sequences
from tests.networks import random_joint_problem, random_problem


@pytest.mark.parametrize("seed", range(150))
def test_a_single_sequence(seed: int) -> None:
    check(random_problem(seed))


@pytest.mark.parametrize("seed", range(60))
def test_lists_of_sequences(seed: int) -> None:
    check_sequences(random_sequences(seed))


@pytest.mark.parametrize("seed", range(60))
def test_updates_from_the_same_ratios(seed: int) -> None:
    check(random_joint_problem(seed))
    check_sequences(random_sequences(seed, joint=True))


def test_the_random_problems_cover_what_they_should() -> None:
    """A change of the generator must not quietly stop testing something."""
    problems = [random_problem(seed) for seed in range(150)]
    options = [problem.options for problem in problems]
    equations = [equation for problem in problems for equation in problem.network.factorizations]
    parameters = [parameter for problem in problems for parameter in problem.network.parameters]
    tied = [
        problem
        for problem in problems
        if sum(len(e.parameters) for e in problem.network.factorizations) > len(problem.network.parameters)
    ]
    counts = {
        "learning": sum(chosen["learn"] for chosen in options),
        "inference": sum(not chosen["learn"] for chosen in options),
        "pooled": sum(chosen["averaging"] == "pooled" for chosen in options),
        "mean of the updated": sum(chosen["averaging"] == "updated" for chosen in options),
        "all copies": sum(chosen["averaging"] == "all" for chosen in options),
        "euclidean": sum(chosen["divergence"] == "euclidean" for chosen in options),
        "sparseness": sum(bool(chosen["sparseness"]) for chosen in options),
        "released": sum(bool(chosen["release"]) for chosen in options),
        "rarely learned": sum(bool(chosen["learn_every"]) for chosen in options),
        "weighted": sum(bool(chosen["weights"]) for chosen in options),
        "three levels": sum(len(problem.network.levels) > 3 for problem in problems),
        "tied": len(tied),
        "stacked": sum(len(equation.children) > 1 for equation in equations),
        "several parents": sum(len(equation.parents) > 1 for equation in equations),
        "lagged parents": sum(any(p.lag < 0 for p in equation.parents) for equation in equations),
        "later children": sum(any(c.lag > 0 for c in equation.children) for equation in equations),
        "sparse": sum(parameter.sparse for parameter in parameters),
        "priors": sum(parameter.prior is not None for parameter in parameters),
    }
    counts |= {
        kind: sum(e.normalize == kind for e in equations) for kind in ("columns", "subcolumns", "balanced", "sequences")
    }
    assert min(counts.values()) >= 10, counts


def test_the_random_lists_have_several_sequences_of_different_lengths() -> None:
    lengths = [[array.shape[1] for array in next(iter(random_sequences(seed).data.values()))] for seed in range(60)]
    assert sum(len(found) > 1 for found in lengths) >= 40
    assert sum(len(set(found)) > 1 for found in lengths) >= 30
