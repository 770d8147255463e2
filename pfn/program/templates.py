"""Programs kept for later runs: those of one network that differ only in data, starting values or weights share them.

Batches, streams, restarts and repeated questions have many short runs of one kind, for which writing a program down and
optimising it takes longer than its sweeps. What depends on the data is put in anew (`Program.with_given`).
"""

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pfn.network import Network
from pfn.program.program import Program

# Programs that are kept for a network: more are made anew. Sequences of many different lengths would fill memory.
MOST_PROGRAMS = 64

_KEPT: dict[int, dict[Any, Program]] = {}  # by the identity of a network, as long as it exists


def program_for(
    network: Network, key: tuple[Any, ...], given: Mapping[str, Callable[[], np.ndarray]], write: Callable[[], Program]
) -> Program:
    """The program with this key, with what is given put in; `write` makes it if there is none yet."""
    if id(network) not in _KEPT:
        _KEPT[id(network)] = {}
        weakref.finalize(network, _KEPT.pop, id(network), None)
    kept = _KEPT[id(network)]
    if key in kept:
        return kept[key].with_given(given)
    program = write()
    if len(kept) >= MOST_PROGRAMS:
        kept.pop(next(iter(kept)))  # the oldest
    kept[key] = program.with_given(None)
    return program
