"""Networks of transitions: state machines (section 3), regular expressions, and hierarchies of machines (section 4)."""

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import scipy.sparse

import pfn
from pfn.automata import Hierarchy, RegularExpression, StateMachine
from pfn.network import Slice

# A basis with more entries (8 MB) is stored sparse: nearly all of them are zeros.
DENSE_ENTRIES = 1_000_000

# Label of the column of zeros in a basis that would have no column.
NOTHING = "none"


def transition_network(
    machine: StateMachine, *, learn_transitions: int | None = None, normalize: str = "subcolumns"
) -> pfn.Network:
    """The network `[x[t]; x[t+1]] = W h[t]`: x holds the states, h the transitions between them.

    Parameters
    ----------
    machine
        The machine, whose transitions are the columns of W.
    learn_transitions
        Number of columns of W, which is then unknown: only the states of the machine count.
    normalize
        Normalization of a learned W after every update: with "subcolumns" as much leaves as arrives; with "balanced"
        a column that is not needed may also fade (see `pfn.automata.machine_from`).

    Examples
    --------
    >>> machine = StateMachine(["a", "b"], [("a", "b"), ("b", "a")])
    >>> print(transition_network(machine))
    eq1: [x[t]; x[t+1]] = W h[t]    x: 2; h: 2; W: 4 × 2 known
    >>> print(transition_network(machine, learn_transitions=3))
    eq1: [x[t]; x[t+1]] = W h[t]    x: 2; h: 3; W: 4 × 3 learned; normalize subcolumns
    """
    if not isinstance(machine, StateMachine):
        raise pfn.DeclarationError(
            f"transition_network: machine must be a pfn.automata.StateMachine, found {type(machine).__name__}. "
            "Build one with StateMachine(states, transitions)."
        )
    x = pfn.Variable("x", len(machine.states), machine.states)
    if learn_transitions is None:
        return pfn.Network(transition_equation(machine, x, basis="W", activations="h"))
    if not isinstance(learn_transitions, Integral) or isinstance(learn_transitions, bool) or learn_transitions < 1:
        raise pfn.OptionError(
            "transition_network: learn_transitions must be a number of columns, at least 1, found "
            f"{learn_transitions!r}. Give two more than you expect transitions."
        )
    h = pfn.Variable("h", learn_transitions)
    W = pfn.Parameter("W", shape=(2 * x.size, h.size))
    return pfn.Network(pfn.Factorization([x[pfn.t], x[pfn.t + 1]], W @ h[pfn.t], normalize=normalize))


def expression_network(expression: RegularExpression) -> pfn.Network:
    """The network of a regular expression, with variables `letters`, `states` and `transitions`.

    Its data come from `expression.observe(string)`. A string that matches has an exact solution; one that
    does not has none. `expression.complete(result["letters"])` reads unknown letters off.

    Parameters
    ----------
    expression
        The expression; its machine has a state for every position of a letter.

    Examples
    --------
    >>> expression = RegularExpression("a+b")
    >>> network = expression_network(expression)
    >>> print(network)
    eq1: letters[t] = E states[t]                          letters: 2; states: 2; E: 2 × 2 known
    eq2: [states[t]; states[t+1]] = W transitions[t]    states: 2; transitions: 2; W: 4 × 2 known
    >>> expression.complete(pfn.infer(network, expression.observe("a??"))["letters"])
    'aab'
    """
    if not isinstance(expression, RegularExpression):
        raise pfn.DeclarationError(
            "expression_network: expression must be a pfn.automata.RegularExpression, found "
            f"{type(expression).__name__}. Write RegularExpression(pattern)."
        )
    letters = pfn.Variable("letters", len(expression.alphabet), expression.alphabet)
    states = pfn.Variable("states", len(expression.machine.states), expression.machine.states)
    emission = pfn.Parameter("E", expression.emission)
    return pfn.Network(
        pfn.Factorization(letters[pfn.t], emission @ states[pfn.t]),
        transition_equation(expression.machine, states, basis="W", activations="transitions"),
    )


def hierarchical_network(hierarchy: Hierarchy) -> pfn.Network:
    """The network of a hierarchy: each level as in section 3, its transitions coupled to those of the level above.

    Level k has states `xk`, transitions `hk` and the parameter `Wk`, from the lowest up; two levels are
    coupled by `v` and `U`, more by `v1`, `U1`, `v2`, `U2`, ….

    Parameters
    ----------
    hierarchy
        The machines of all levels.

    Examples
    --------
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
    levels = [
        transition_equation(
            machine,
            pfn.Variable(f"x{number}", len(machine.states), machine.states),
            basis=f"W{number}",
            activations=f"h{number}",
        )
        for number, machine in enumerate(hierarchy.levels, start=1)
    ]
    matrices = hierarchy.matrices
    couplings = [
        basis_equation(
            [*above.parents, *below.parents],
            matrices[name],
            [upper if lower is None else f"{upper} & {lower}" for upper, lower in pairs],
            basis=name,
            activations=name.replace("U", "v"),
        )
        for (name, pairs), (below, above) in zip(hierarchy.couplings.items(), pairwise(levels), strict=True)
    ]
    return pfn.Network(*levels, *couplings)


def transition_equation(
    machine: StateMachine, states: pfn.Variable, *, basis: str, activations: str
) -> pfn.Factorization:
    """`[states[t]; states[t+1]] = basis activations[t]`, the columns the machine's transitions (section 3.1)."""
    return basis_equation(
        [states[pfn.t], states[pfn.t + 1]],
        machine.matrix(sparse=True),
        machine.transition_labels,
        basis=basis,
        activations=activations,
    )


def basis_equation(
    children: Sequence[Slice], matrix: Any, labels: Sequence[str], *, basis: str, activations: str
) -> pfn.Factorization:
    """`children = basis activations[t]` with a known matrix and a label for each of its columns.

    A matrix without columns, which a parameter cannot have, gets one of zeros: it allows nothing either.
    """
    known = scipy.sparse.csr_array(matrix)
    rows, columns = known.shape
    if not columns:
        known.resize(rows, 1)
    W = pfn.Parameter(basis, known if rows * columns > DENSE_ENTRIES else known.toarray())
    h = pfn.Variable(activations, W.shape[1], labels or (NOTHING,))
    return pfn.Factorization(list(children), W @ h[pfn.t])
