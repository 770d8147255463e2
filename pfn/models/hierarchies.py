"""Section 4: hierarchies of state machines as networks of coupled transitions."""

from itertools import pairwise

import pfn
from pfn.automata import Hierarchy
from pfn.models.bases import basis_equation, transition_equation


def hierarchical_network(hierarchy: Hierarchy) -> pfn.Network:
    """Every level as in section 3, its transitions coupled to those of the level above.

    Level k has states `xk`, transitions `hk` and the parameter `Wk`, from the lowest up; two levels are
    coupled by `v` and `U`, more by `v1`, `U1`, `v2`, `U2`, ….

    >>> from pfn.automata import StateMachine
    >>> lower = StateMachine(["d", "e", "end"], [("d", "e"), ("e", "end")], start="d", end="end")
    >>> upper = StateMachine(["a", "S"], [("a", "S"), ("S", "a")])
    >>> print(hierarchical_network(Hierarchy(upper, {"S": lower})))
    eq1: [x1[t]; x1[t+1]] = W1 h1[t]    x1: 3; h1: 4; W1: 6 × 4 known
    eq2: [x2[t]; x2[t+1]] = W2 h2[t]    x2: 2; h2: 3; W2: 4 × 3 known
    eq3: [h2[t]; h1[t]] = U v[t]        h2: 3; h1: 4; v: 3; U: 7 × 3 known
    """
    if not isinstance(hierarchy, Hierarchy):
        raise pfn.DeclarationError(
            "hierarchical_network: hierarchy must be a pfn.automata.Hierarchy, found "
            f"{type(hierarchy).__name__}. Build one with Hierarchy(upper, {{state: lower}}), or use "
            "transition_network for a single machine."
        )
    levels = _level_equations(hierarchy)
    return pfn.Network(*levels, *_coupling_equations(hierarchy, levels))


def _level_equations(hierarchy: Hierarchy) -> list[pfn.Factorization]:
    return [
        transition_equation(
            machine,
            pfn.Variable(f"x{number}", len(machine.states), machine.states),
            basis=f"W{number}",
            activations=f"h{number}",
        )
        for number, machine in enumerate(hierarchy.levels, start=1)
    ]


def _coupling_equations(hierarchy: Hierarchy, levels: list[pfn.Factorization]) -> list[pfn.Factorization]:
    """`[h2[t]; h1[t]] = U v[t]`, and so on upwards."""
    matrices = hierarchy.matrices
    return [
        basis_equation(
            [*above.parents, *below.parents],
            matrices[name],
            [upper if lower is None else f"{upper} & {lower}" for upper, lower in pairs],
            basis=name,
            activations=name.replace("U", "v"),
        )
        for (name, pairs), (below, above) in zip(hierarchy.couplings.items(), pairwise(levels), strict=True)
    ]
