"""Pack: temporary arrays that are in use at different times share memory."""

from bisect import insort
from dataclasses import replace

from pfn.program.passes.lifetimes import lifetimes
from pfn.program.program import Program

# Arrays begin at multiples of this number of entries: 64 bytes in double precision.
ALIGNMENT_ENTRIES = 8


def pack(program: Program) -> Program:
    """Give every temporary array a place in one buffer, the lowest that is free while it is in use."""
    lives = lifetimes(program)
    begin: dict[int, list[str]] = {}
    end: dict[int, list[str]] = {}
    for name, life in lives.items():
        begin.setdefault(life.first, []).append(name)
        end.setdefault(life.last, []).append(name)
    places: dict[str, int] = {}
    holes: list[tuple[int, int]] = []  # free parts below the top: where, and how long
    top = 0
    for moment in range(sum(len(ops) for _, ops in program.timeline)):
        # An operand is still in use while the result of the same operation is written: begin first, end afterwards.
        for name in sorted(begin.get(moment, ()), key=lambda name: -program.arrays[name].size):
            size = _rounded(program.arrays[name].size)
            hole = min((h for h in holes if h[1] >= size), key=lambda h: h[1], default=None)
            if hole is None:
                places[name] = top
                top += size
                continue
            places[name] = hole[0]
            holes.remove(hole)
            if hole[1] > size:
                insort(holes, (hole[0] + size, hole[1] - size))
        for name in end.get(moment, ()):
            holes = _with_hole(holes, places[name], _rounded(program.arrays[name].size))
    return replace(program, places=places, packed=top)


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT_ENTRIES) * ALIGNMENT_ENTRIES


def _with_hole(holes: list[tuple[int, int]], start: int, size: int) -> list[tuple[int, int]]:
    """The free parts with one more, joined to those that it touches."""
    insort(holes, (start, size))
    joined: list[tuple[int, int]] = []
    for begin, length in holes:
        if joined and sum(joined[-1]) == begin:
            joined[-1] = (joined[-1][0], joined[-1][1] + length)
        else:
            joined.append((begin, length))
    return joined
