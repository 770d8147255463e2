"""Lifetimes: from when to when temporary arrays hold something that is still to be read."""

from typing import NamedTuple

from pfn.program.program import Program


class Lifetime(NamedTuple):
    """The places of the first and the last operation, of the timeline in a row, that touch an array."""

    first: int
    last: int


def lifetimes(program: Program) -> dict[str, Lifetime]:
    """The lifetimes of the temporary arrays that do not outlive a sweep, measured or not."""
    outlive = {op.out.array for ops in (program.once, program.enter) for op in ops}
    found: dict[str, Lifetime] = {}
    for place, op in enumerate(op for _, ops in program.timeline for op in ops):
        for view in (op.out, *op.reads):
            name = view.array
            if program.arrays[name].kind == "temp" and name not in outlive:
                found[name] = Lifetime(found[name].first if name in found else place, place)
    return found
