"""Passes: program → program. Each one may be left out; the results of the sweeps stay the same."""

from collections.abc import Callable, Collection
from dataclasses import replace

from pfn.program.passes.at_once import at_once
from pfn.program.passes.blocks import blocks
from pfn.program.passes.expand import expand
from pfn.program.passes.forward import forward
from pfn.program.passes.in_place import in_place
from pfn.program.passes.inner import inner
from pfn.program.passes.merge import merge
from pfn.program.passes.pack import pack
from pfn.program.passes.prune import prune
from pfn.program.passes.reuse import reuse
from pfn.program.passes.rows import rows
from pfn.program.passes.spread import spread
from pfn.program.passes.turn import turn
from pfn.program.program import Program

Pass = Callable[[Program], Program]

# Those that every backend makes, in this order.
SHARED: dict[str, Pass] = {"reuse": reuse, "prune": prune}

# Those for a backend that performs operations one by one in memory of its own.
IN_MEMORY: dict[str, Pass] = {
    "inner": inner,
    "expand": expand,
    "forward": forward,
    "spread": spread,
    "merge": merge,
    "in_place": in_place,
    "blocks": blocks,
    "pack": pack,
}

# Those for a backend that leaves memory to a compiler.
COMPILED: dict[str, Pass] = {"at_once": at_once, "rows": rows, "turn": turn}


def shared(program: Program, leave_out: Collection[str] = ()) -> Program:
    """The program after the passes for every backend.

    The body comes first, without what measures, which reads no temporary array of it: what only a measurement needs is
    then no work of every sweep.
    """
    body = _made(replace(program, measure=(), errors=()), SHARED, leave_out)
    arrays = {**program.arrays, **body.arrays}
    whole = replace(body, measure=program.measure, errors=program.errors, arrays=arrays)
    return _made(whole, SHARED, leave_out)


def optimise(program: Program, leave_out: Collection[str] = ()) -> Program:
    """The program after all passes for memory but those left out."""
    return _made(shared(program, leave_out), IN_MEMORY, leave_out)


def prepare_to_compile(program: Program, leave_out: Collection[str] = ()) -> Program:
    """The program after all passes for compilers but those left out."""
    return _made(shared(program, leave_out), COMPILED, leave_out)


def _made(program: Program, passes: dict[str, Pass], leave_out: Collection[str]) -> Program:
    for name, work in passes.items():
        program = program if name in leave_out else work(program)
    return program
