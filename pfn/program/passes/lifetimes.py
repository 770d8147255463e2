"""Lifetimes: from when to when temporary arrays hold something that is still to be read.

Moments are the places of operations in the timeline: a sweep and what measures it, one after the other.
"""

from typing import NamedTuple

from pfn.program.program import Program


class Lifetime(NamedTuple):
    """The moments at which an array is touched first and last."""

    first: int
    last: int


class Lifetimes(NamedTuple):
    """Lifetimes of the temporary arrays that may share memory."""

    within: dict[str, Lifetime]
    """Arrays that do not outlive a sweep, measured or not."""
    handed_on: dict[str, Lifetime]
    """Arrays that a sweep takes over from the one before and writes anew for the next: the time between, in which
    nobody needs what they hold, from the last reading of the old values to the writing of the new ones."""


def lifetimes(program: Program) -> Lifetimes:
    """The lifetimes of temporary arrays; those written once for all sweeps have none."""
    once = {op.out.array for op in program.once}
    entering = {op.out.array for op in program.enter}
    within: dict[str, Lifetime] = {}
    touched: dict[str, int] = {}  # by array that is handed on, the moment at which it was touched last
    gaps: dict[str, Lifetime] = {}
    for moment, op in enumerate(op for _, ops in program.timeline for op in ops):
        for view in (*op.reads, op.out):
            name = view.array
            if program.arrays[name].kind != "temp" or name in once:
                continue
            if name not in entering:
                within[name] = Lifetime(within[name].first if name in within else moment, moment)
                continue
            is_new = view is op.out and view.size == program.arrays[name].size and touched.get(name, -1) < moment
            if is_new:  # all of it is written, and this operation did not read it
                gaps[name] = Lifetime(touched.get(name, -1), moment)
            touched[name] = moment
    return Lifetimes(within, gaps)
