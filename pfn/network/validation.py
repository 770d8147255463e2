"""The checks on a whole network; those on one equation are made with the equation."""

from collections import Counter
from collections.abc import Sequence

import networkx as nx

from pfn.errors import DeclarationError
from pfn.network.factorization import Factorization
from pfn.network.graph import arcs_between_variables
from pfn.network.parameter import Parameter
from pfn.network.structured import Shift


def check_network(equations: Sequence[Factorization]) -> None:
    """Refuse what is not a positive factor network, printing the offending equation."""
    if not equations:
        raise DeclarationError("a network needs at least one factorization.")
    for check in (_check_names, _check_repeated_arcs, _check_cycles, _check_tied):
        check(equations)


def _check_names(equations: Sequence[Factorization]) -> None:
    owners: dict[str, tuple[str, object]] = {}
    for equation in equations:
        items: list[tuple[str, str, object]] = [(equation.name, "factorization", object())]  # never the same twice
        items += [(p.variable.name, "variable", p.variable) for p in (*equation.children, *equation.parents)]
        items += [(parameter.name, "parameter", parameter) for parameter in equation.parameters]
        for name, kind, item in items:
            earlier, owner = owners.setdefault(name, (kind, item))
            if owner is not item and not (isinstance(item, Shift) and owner == item):
                both = f"two {kind}s" if earlier == kind else f"a {earlier} and a {kind}"
                raise DeclarationError(
                    f"{equation.name}: {equation}: {both} are called {name}. Names are shared by variables, "
                    "parameters and factorizations: rename one, or use the same object in both places."
                )


def _check_repeated_arcs(equations: Sequence[Factorization]) -> None:
    seen: dict[tuple[object, object], Factorization] = {}
    for equation in equations:
        for child in equation.children:
            for parent in equation.parents:
                other = seen.setdefault((child, parent), equation)
                if other is not equation:
                    raise DeclarationError(
                        f"{equation.name}: {equation}: {other.name} ({other}) already has the child {child} with "
                        f"the parent {parent}. One arc stands for one linear relation (paper, section 2.2): "
                        "give one of the equations another parent."
                    )


def _check_cycles(equations: Sequence[Factorization]) -> None:
    arcs = arcs_between_variables(equations, within_slice=True)
    try:
        cycle = nx.find_cycle(arcs)
    except nx.NetworkXNoCycle:
        return
    names = [parent for parent, _ in cycle] + [cycle[0][0]]
    involved = next(e for e in equations if arcs.edges[cycle[0]]["equation"] == e.name)
    raise DeclarationError(
        f"{involved.name}: {involved}: the variables {' → '.join(names)} form a cycle within one time slice. "
        "The graph must be acyclic: drop one of these equations or put a lag on a parent."
    )


def _check_tied(equations: Sequence[Factorization]) -> None:
    first: dict[Parameter, Factorization] = {}
    for equation in equations:
        for parameter in equation.parameters:
            if not parameter.learn:
                continue
            other = first.setdefault(parameter, equation)
            if _normalization(equation) != _normalization(other):
                raise DeclarationError(
                    f"{equation.name}: {equation}: {parameter.name} is tied to {other.name} ({other}), but their "
                    f"normalizations conflict: {_in_words(equation)} and {_in_words(other)}. "
                    f"Give all equations of {parameter.name} the same normalization."
                )


def _normalization(equation: Factorization) -> tuple[object, ...]:
    """What must agree: the kind, and with it the parts of a column or the parameters of a sequence."""
    if equation.normalize in ("subcolumns", "balanced"):
        return (equation.normalize, tuple((part.start, part.stop) for part in equation.parts))
    if equation.normalize == "sequences":
        return (equation.normalize, frozenset(Counter(p for p in equation.parameters if p.learn).items()))
    return (equation.normalize,)


def _in_words(equation: Factorization) -> str:
    sizes = ", ".join(str(child.variable.size) for child in equation.children)
    return f"{equation.normalize!r} over children of sizes {sizes}"
