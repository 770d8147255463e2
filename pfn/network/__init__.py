"""WHAT is declared: variables, parameters, equations, networks. Frozen; nothing is computed here."""

from pfn.network.columns import Columns
from pfn.network.factorization import Factorization
from pfn.network.network import Network
from pfn.network.parameter import Parameter
from pfn.network.terms import Sum, Term
from pfn.network.time import Time, t
from pfn.network.variable import Slice, Variable

__all__ = [
    "Columns",
    "Factorization",
    "Network",
    "Parameter",
    "Slice",
    "Sum",
    "Term",
    "Time",
    "Variable",
    "t",
]
