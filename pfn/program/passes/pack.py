"""Pack: temporary arrays that are in use at different times share memory."""

from dataclasses import replace
from typing import NamedTuple

from pfn.program.passes.lifetimes import lifetimes
from pfn.program.program import Program

# Arrays begin at multiples of this number of entries: 64 bytes in double precision.
ALIGNMENT_ENTRIES = 8

NEVER = float("inf")


class _Hole(NamedTuple):
    """A free part of the buffer: where, how long, and the moment at which it must be free again."""

    start: int
    size: int
    until: float


def pack(program: Program) -> Program:
    """Give every temporary array a place in one buffer that is free while it is in use.

    Arrays that sweeps hand on keep their places, and lend them while nobody needs what they hold.
    """
    lives = lifetimes(program)
    sizes = {name: -(-array.size // ALIGNMENT_ENTRIES) * ALIGNMENT_ENTRIES for name, array in program.arrays.items()}
    places: dict[str, int] = {}
    top = 0
    for name in lives.handed_on:
        places[name] = top
        top += sizes[name]
    holes = [_Hole(places[n], sizes[n], gap.last) for n, gap in lives.handed_on.items() if gap.first < 0]
    begin: dict[int, list[str]] = {}
    freed: dict[int, list[_Hole]] = {}
    for name, life in lives.within.items():
        begin.setdefault(life.first, []).append(name)
    for name, gap in lives.handed_on.items():
        freed.setdefault(gap.first, []).append(_Hole(places[name], sizes[name], gap.last))
    for moment in range(sum(len(ops) for _, ops in program.timeline)):
        # An operand is still in use while the result of the same operation is written: take first, free afterwards.
        for name in sorted(begin.get(moment, ()), key=lambda name: -sizes[name]):
            last = lives.within[name].last
            fitting = [h for h in holes if h.size >= sizes[name] and last < h.until]
            hole = min(fitting, key=lambda h: (h.size, h.until), default=None)
            if hole is None:
                hole = _Hole(top, sizes[name], NEVER)
                top += sizes[name]
            else:
                holes.remove(hole)
            places[name] = hole.start
            if hole.size > sizes[name]:
                holes.append(_Hole(hole.start + sizes[name], hole.size - sizes[name], hole.until))
            freed.setdefault(last, []).append(_Hole(hole.start, sizes[name], hole.until))
        for hole in freed.get(moment, ()):
            holes = _with_hole(holes, hole)
    return replace(program, places=places, packed=top)


def _with_hole(holes: list[_Hole], new: _Hole) -> list[_Hole]:
    """The holes with one more, joined to those that it touches and that are free as long."""
    for hole in [h for h in holes if h.until == new.until]:
        if hole.start + hole.size == new.start or new.start + new.size == hole.start:
            holes.remove(hole)
            new = _Hole(min(hole.start, new.start), hole.size + new.size, new.until)
    return [*holes, new]
