"""Which options go with learning by batches."""

from collections.abc import Mapping
from typing import Any

from pfn.errors import OptionError
from pfn.network import Network, Parameter
from pfn.solve.batches import Batches
from pfn.solve.request import Method
from pfn.solve.result import Result

METHODS = ("propagate", "substitute")
# What means something else, or nothing, batch by batch: the value it must have, and what to do instead.
OTHERWISE: Mapping[str, tuple[object, str]] = {
    "iterations": (None, "Give the sweeps of a batch: batches=pfn.Batches(sweeps=…)."),
    "tolerance": (None, "Give a callback that says when to stop."),
    "stall": ("auto", "Give a callback that says when to stop."),
    "restarts": (1, "Run them one by one, with other seeds."),
    "weights": (None, "Leave them out, or learn from all data at once."),
}


def check_batches(
    network: Network, method: Method, batches: object, partial: object, common: Mapping[str, Any]
) -> None:
    """Refuse what cannot be done batch by batch."""
    if batches is not None and not isinstance(batches, Batches):
        raise OptionError(f"batches must be a pfn.Batches(…), found {batches!r}. For the defaults: pfn.Batches().")
    if method.name not in METHODS:
        raise OptionError(f"learning by batches needs one of {', '.join(map(repr, METHODS))}, found {method.name!r}.")
    for option, (usual, remedy) in OTHERWISE.items():
        if common[option] is not usual and common[option] != usual:
            raise OptionError(f"{option}={common[option]!r} cannot be combined with learning by batches. {remedy}")
    if not any(parameter.learn for parameter in network.parameters):
        raise OptionError("learning by batches: every parameter of the network is known. Use pfn.infer.")
    _check_initial(network, common["initial"])
    if partial is not None:
        _check_partial(network, partial, common)


def _check_initial(network: Network, initial: object) -> None:
    for key in initial if isinstance(initial, Mapping) else ():
        item = network[key]
        if not isinstance(item, Parameter):
            raise OptionError(
                f"initial: learning by batches takes starting values of parameters only, found {item.name}: hidden "
                "values of every batch have a start of their own."
            )


def _check_partial(network: Network, partial: object, common: Mapping[str, Any]) -> None:
    if not isinstance(partial, Result):
        raise OptionError(f"partial must be a result of pfn.learn or pfn.load, found {type(partial).__name__}.")
    if partial.memory is None:
        raise OptionError(
            "partial: this result has no statistics to go on from: it was not learned by batches. Learn it with "
            "batches=pfn.Batches(), or start from its parameters: initial={parameter: result[parameter]}."
        )
    if partial.network != network:
        raise OptionError("partial: this result belongs to another network. Use result.network, or learn it anew.")
    if common["initial"] is not None or common["resume"] is not None:
        raise OptionError("partial cannot be combined with initial or resume: it has its own parameters.")
