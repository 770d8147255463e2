"""State machines, hierarchies of them and regular expressions, as matrices of positive factor networks."""

from pfn.automata.expression import RegularExpression, UnknownLetterError
from pfn.automata.hierarchy import Hierarchy
from pfn.automata.learned_machines import machine_from
from pfn.automata.machine import StateMachine
from pfn.automata.paths import StatePath, paths_from

__all__ = [
    "Hierarchy",
    "RegularExpression",
    "StateMachine",
    "StatePath",
    "UnknownLetterError",
    "machine_from",
    "paths_from",
]
