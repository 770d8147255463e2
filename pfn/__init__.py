"""pfn: positive factor networks, coupled non-negative factorizations that are declared, compiled and solved.

The public names load their rooms on first use, so that ``import pfn`` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pfn import audio, automata, models, paper, plots
    from pfn.compiler import Schedule, compile_network
    from pfn.errors import (
        DataError,
        DeclarationError,
        FileError,
        NoExactSolution,
        NotSettledWarning,
        NumericalError,
        OptionError,
        PfnError,
        RunawayWarning,
    )
    from pfn.network import Convolution, Diagonal, Factorization, Network, Parameter, Variable, decay, shift, t
    from pfn.solve import (
        PAPER,
        Batches,
        Consensus,
        Exact,
        Propagate,
        Result,
        Substitute,
        infer,
        learn,
        load,
        ramp,
        solutions,
        stream,
    )

_ROOMS = {
    "pfn.errors": (
        "DataError",
        "DeclarationError",
        "FileError",
        "NoExactSolution",
        "NotSettledWarning",
        "NumericalError",
        "OptionError",
        "PfnError",
        "RunawayWarning",
    ),
    "pfn.network": (
        "Convolution",
        "Diagonal",
        "Factorization",
        "Network",
        "Parameter",
        "Variable",
        "decay",
        "shift",
        "t",
    ),
    "pfn.compiler": ("Schedule", "compile_network"),
    "pfn.solve": (
        "PAPER",
        "Batches",
        "Consensus",
        "Exact",
        "Propagate",
        "Result",
        "Substitute",
        "infer",
        "learn",
        "load",
        "ramp",
        "solutions",
        "stream",
    ),
}
_SUBPACKAGES = ("audio", "automata", "models", "paper", "plots")
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "PAPER",
    "Batches",
    "Consensus",
    "Convolution",
    "DataError",
    "DeclarationError",
    "Diagonal",
    "Exact",
    "Factorization",
    "FileError",
    "Network",
    "NoExactSolution",
    "NotSettledWarning",
    "NumericalError",
    "OptionError",
    "Parameter",
    "PfnError",
    "Propagate",
    "Result",
    "RunawayWarning",
    "Schedule",
    "Substitute",
    "Variable",
    "audio",
    "automata",
    "compile_network",
    "decay",
    "infer",
    "learn",
    "load",
    "models",
    "paper",
    "plots",
    "ramp",
    "shift",
    "solutions",
    "stream",
    "t",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("positive-factor-networks")
    if name in _SUBPACKAGES:
        return import_module(f"pfn.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'pfn' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_SUBPACKAGES, "__version__"})
