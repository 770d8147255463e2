"""Section 3: a state machine as a network, with its transitions known or learned."""

from numbers import Integral

import pfn
from pfn.automata import StateMachine
from pfn.models.bases import transition_equation


def transition_network(
    machine: StateMachine, *, learn_transitions: int | None = None, normalize: str = "subcolumns"
) -> pfn.Network:
    """The network `[x[t]; x[t+1]] = W h[t]`: x holds the states, h the transitions between them.

    The columns of W are the machine's transitions. With `learn_transitions=k` only its states count: W is
    unknown, has k columns, and is normalized after every update: with "subcolumns", so that as much leaves
    as arrives; with "balanced", a column that is not needed may also fade (see `pfn.automata.machine_from`).

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
    _check_count(learn_transitions)
    h = pfn.Variable("h", learn_transitions)
    W = pfn.Parameter("W", shape=(2 * x.size, h.size))
    return pfn.Network(pfn.Factorization([x[pfn.t], x[pfn.t + 1]], W @ h[pfn.t], normalize=normalize))


def _check_count(count: object) -> None:
    if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
        raise pfn.OptionError(
            f"transition_network: learn_transitions must be a number of columns, at least 1, found {count!r}. "
            "Give two more than you expect transitions."
        )
