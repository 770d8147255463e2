"""Section 3: state machines as networks, with known transitions or learned ones."""

from typing import Any

import pfn
from pfn.automata import StateMachine

DENSE_ENTRIES = 1_000_000
"""A transition matrix with more entries than this is stored sparse: nearly all of them are zeros."""

NO_TRANSITION = "none"


def transition_network(
    machine: StateMachine, *, learn_transitions: int | None = None, normalize: str = "subcolumns"
) -> pfn.Network:
    """The network `[x[t]; x[t+1]] = W h[t]`: x holds the states, h the transitions between them.

    The columns of W are the machine's transitions. With `learn_transitions=k` only its states count: W is
    unknown, has k columns, and is normalized as told after every update. ("balanced" lets columns that are
    not needed fade, see `machine_from`.)

    >>> machine = StateMachine(["a", "b"], [("a", "b"), ("b", "a")])
    >>> print(transition_network(machine))
    eq1: [x[t]; x[t+1]] = W h[t]    x: 2; h: 2; W: 4 × 2 known
    >>> print(transition_network(machine, learn_transitions=3))
    eq1: [x[t]; x[t+1]] = W h[t]    x: 2; h: 3; W: 4 × 3 learned; normalize subcolumns
    """
    _check_machine(machine)
    x = pfn.Variable("x", len(machine.states), machine.states)
    if learn_transitions is None:
        return pfn.Network(transition_equation(machine, x, transitions="h", basis="W"))
    _check_count(learn_transitions)
    h = pfn.Variable("h", learn_transitions)
    W = pfn.Parameter("W", shape=(2 * x.size, h.size))
    return pfn.Network(pfn.Factorization([x[pfn.t], x[pfn.t + 1]], W @ h[pfn.t], normalize=normalize))


def transition_equation(
    machine: StateMachine, states: pfn.Variable, *, transitions: str, basis: str
) -> pfn.Factorization:
    """The equation that lets these states change by the machine's transitions only, names as given."""
    labels = machine.transition_labels or (NO_TRANSITION,)
    variable = pfn.Variable(transitions, len(labels), labels)
    parameter = pfn.Parameter(basis, _basis(machine))
    return pfn.Factorization([states[pfn.t], states[pfn.t + 1]], parameter @ variable[pfn.t])


def _basis(machine: StateMachine) -> Any:
    """The transition basis matrix; a machine that cannot move has one column of zeros, which allows nothing."""
    matrix = machine.matrix(sparse=True)
    if not machine.transitions:
        matrix.resize(matrix.shape[0], 1)
    rows, columns = matrix.shape
    return matrix if rows * columns > DENSE_ENTRIES else matrix.toarray()


def _check_machine(machine: object) -> None:
    if not isinstance(machine, StateMachine):
        raise pfn.DeclarationError(
            f"transition_network: machine must be a pfn.automata.StateMachine, found {type(machine).__name__}. "
            "Build one with StateMachine(states, transitions)."
        )


def _check_count(count: object) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise pfn.OptionError(
            f"transition_network: learn_transitions must be a number of columns, at least 1, found {count!r}. "
            "Give one or two more than you expect transitions."
        )
