"""Forward: a result that is copied to another place is written there at once.

Where the other place is a part of an array that lies row by row, the temporary array disappears: all operations work on
that part in its stead. That is possible if nobody needs what was there before, nor overwrites it as long as the
temporary array is read. Where rows of the place are apart, a single elementwise operation can write there.
"""

from bisect import bisect_left
from typing import NamedTuple

from pfn.program.program import Op, Program, View


def forward(program: Program) -> Program:
    """Leave out copies of temporary arrays."""
    timeline = _Timeline(program)
    for place, op in enumerate(timeline.ops):
        if op is not None and op.do == "copy" and isinstance(op.ins[0], View):
            timeline.leave_out_copy(place)
    sections, start = {"once": program.once, "enter": program.enter}, 0
    for name, ops in program.timeline:
        sections[name] = tuple(op for op in timeline.ops[start : start + len(ops)] if op is not None)
        start += len(ops)
    return program.with_sections(sections).without_unused_arrays()


class _Access(NamedTuple):
    """An operation, by its place, that reads or writes a part of an array."""

    place: int
    view: View
    writes: bool


class _Timeline:
    """The operations of the timeline in a row, and by array who accesses it, in order."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.ops: list[Op | None] = [op for _, ops in program.timeline for op in ops]
        self._accesses: dict[str, list[_Access]] = {}
        for place, op in enumerate(op for _, ops in program.timeline for op in ops):
            for view in op.reads:
                self._accesses.setdefault(view.array, []).append(_Access(place, view, writes=False))
            self._accesses.setdefault(op.out.array, []).append(_Access(place, op.out, writes=True))
        self._elsewhere = {op.out.array for ops in (program.once, program.enter) for op in ops}

    def leave_out_copy(self, place: int) -> None:
        """Leave a copy out if its source can be written where it goes."""
        op = self.ops[place]
        assert op is not None
        source, target = op.ins[0], op.out
        assert isinstance(source, View)
        array = self._program.arrays[source.array]
        is_whole = source.offset == 0 and source.contiguous and source.size == array.size > 0
        if array.kind != "temp" or source.array in self._elsewhere or not is_whole:
            return
        accesses = self._accesses[source.array]
        if not self._is_free(target, accesses, place):
            return
        if target.contiguous:
            self._move(source.array, target, place)
        elif len(accesses) == 2 and accesses[0].view.shape == target.shape:
            self._write_apart(accesses[0].place, target, place)

    def _is_free(self, target: View, accesses: list[_Access], place: int) -> bool:
        """Whether nobody else accesses the target while the source is in use, but for its first writer in place."""
        first, last = accesses[0].place, accesses[-1].place
        writer = self.ops[first]
        if writer is None or not accesses[0].writes:
            return False
        others = self._accesses[target.array]
        for other in others[bisect_left(others, first, key=lambda access: access.place) :]:
            if other.place > last:
                break
            if other.place == place or not _meet(other.view, target) or (other.place > place and not other.writes):
                continue
            if other.place != first or other.writes or not self._is_in_place(writer, other.view, target):
                return False
        return True

    def _is_in_place(self, op: Op, read: View, target: View) -> bool:
        """Whether an elementwise operation reads exactly the entries that it would write, each for itself."""
        if not op.elementwise or op.out.size != self._program.arrays[op.out.array].size:
            return False
        if target.shape != op.out.shape:
            return target.contiguous and read == target.reshaped(op.out.shape)
        return read == target

    def _move(self, name: str, target: View, place: int) -> None:
        """Let all operations work on the target in place of an array."""

        def moved(view: View) -> View:
            if view.array != name:
                return view
            return view._replace(array=target.array, offset=view.offset + target.offset)

        self.ops[place] = None
        accesses = self._accesses.pop(name)
        for each in {access.place for access in accesses} - {place}:
            op = self.ops[each]
            assert op is not None
            ins = tuple(moved(i) if isinstance(i, View) else i for i in op.ins)
            self.ops[each] = Op(op.do, moved(op.out), ins, op.data)
        kept = [a for a in self._accesses[target.array] if a.place != place]
        kept += [a._replace(view=moved(a.view)) for a in accesses if a.place != place]
        self._accesses[target.array] = sorted(kept, key=lambda access: access.place)

    def _write_apart(self, first: int, target: View, place: int) -> None:
        """Let the only writer of an array write to a target whose rows are apart."""
        writer = self.ops[first]
        if writer is None or not writer.elementwise:
            return
        self.ops[first] = writer._replace(out=target)
        self.ops[place] = None
        others = [a for a in self._accesses[target.array] if a.place != place]
        self._accesses[target.array] = sorted(
            [*others, _Access(first, target, writes=True)], key=lambda access: access.place
        )


def _meet(one: View, other: View) -> bool:
    """Whether two views of an array may have an entry in common."""
    return one.offset < other.end and other.offset < one.end
