"""Regular expressions as networks: letters emitted by the states of a machine."""

import pfn
from pfn.automata import RegularExpression
from pfn.models.bases import transition_equation


def expression_network(expression: RegularExpression) -> pfn.Network:
    """The network of a regular expression, with variables `letters`, `states` and `transitions`.

    Its data come from `expression.observe(string)`. A string that matches has an exact solution; one that
    does not has none. `expression.complete(result["letters"])` reads unknown letters off.

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
