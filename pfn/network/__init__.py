"""WHAT is declared: variables, parameters, equations, networks. Frozen; nothing is computed here."""

from pfn.network.columns import Columns
from pfn.network.factorization import Factorization
from pfn.network.network import Network
from pfn.network.parameter import Parameter
from pfn.network.structured import Convolution, Diagonal, Shift, shift
from pfn.network.sums import Sum
from pfn.network.terms import Term
from pfn.network.time import Time, t
from pfn.network.variable import Slice, Variable
from pfn.network.windows import Decay, Window, decay

__all__ = [
    "Columns",
    "Convolution",
    "Decay",
    "Diagonal",
    "Factorization",
    "Network",
    "Parameter",
    "Shift",
    "Slice",
    "Sum",
    "Term",
    "Time",
    "Variable",
    "Window",
    "decay",
    "shift",
    "t",
]
