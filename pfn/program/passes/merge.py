"""Merge: neighbouring operations of one kind become one, on arrays that are laid side by side for them.

1. Arrays that neighbours of one kind read or write at the same operand are joined to runs, each array right behind the
   other, as far as that asks for no array at two places. State arrays are one run, in their order, in every program,
   and so is what momentum remembers of them.
2. The arrays of a run become one array.
3. Neighbours whose operands lie end to end become one operation on all of it.

Only whole operands that lie row by row take part: what is beside them is not touched. (Rows of different lengths must
not be taken for rows of one matrix, however alike their shapes are.)
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from pfn.program.program import LARGE_ENTRIES, SMALL_ENTRIES, Array, Op, Program, View


class _Runs:
    """Which array lies right behind which other one."""

    def __init__(self, program: Program) -> None:
        self._arrays = program.arrays
        self._run: dict[str, list[str]] = {name: [name] for name in program.arrays}
        # Only arrays that live equally long may lie side by side.
        self._life = {name: _life_of(name, array) for name, array in program.arrays.items()}
        self._life |= {op.out.array: "done once" for op in program.once}
        self._life |= {op.out.array: "handed on" for op in program.enter}
        for life in ("state", "state of momentum"):
            for one, other in pairwise(name for name in program.arrays if self._life[name] == life):
                self._join(one, other)

    def _join(self, one: str, other: str) -> None:
        run = self._run[one]
        run += self._run[other]
        for name in self._run[other]:
            self._run[name] = run

    def lay_end_to_end(self, one: View, other: View) -> bool:
        """Let a view lie right behind another one, if that can be."""
        if one == other and not one.shape:
            return True  # the same number for both
        if one.array == other.array:
            return one.end == other.offset
        if one.end != self._arrays[one.array].size or other.offset:
            return False
        run, behind = self._run[one.array], self._run[other.array]
        if run is behind:
            place = run.index(one.array)
            return run[place + 1 : place + 2] == [other.array]
        if self._life[one.array] != self._life[other.array] or run[-1] != one.array or behind[0] != other.array:
            return False
        self._join(one.array, other.array)
        return True

    def places(self) -> dict[str, tuple[tuple[str, ...], int]]:
        """By array the run it is in, if it has others, and where in it the array begins."""
        found: dict[str, tuple[tuple[str, ...], int]] = {}
        for name, run in self._run.items():
            if name == run[0] and len(run) > 1:
                start = 0
                for member in run:
                    found[member] = tuple(run), start
                    start += self._arrays[member].size
        return found


def _life_of(name: str, array: Array) -> str:
    """The kind of an array; arrays that must not be moved are alone, large constants too: they are not copied."""
    if array.kind == "constant" and array.size <= SMALL_ENTRIES and not np.issubdtype(array.value.dtype, np.bool_):
        return "constant given" if array.given else "constant"
    if array.kind == "state":  # values outlive the run, what momentum remembers does not
        return "state of momentum" if name.startswith("before ") else "state"
    return array.kind if array.kind == "temp" else f"alone: {name}"


def merge(program: Program) -> Program:
    """Make neighbouring operations of one kind one."""
    runs = _Runs(program)
    for _, ops in program.timeline:
        for one, other in pairwise(ops):
            if _alike(one, other):
                pairs = zip((one.out, *one.reads), (other.out, *other.reads), strict=True)
                all(runs.lay_end_to_end(a, b) for a, b in pairs)
    program = _side_by_side(program, runs.places())
    return program.with_sections({name: _merged(ops) for name, ops in program.sections})


def _alike(one: Op, other: Op) -> bool:
    """Whether two operations differ only in where their operands lie, and do not read each other's results."""
    return (
        one.elementwise
        and one.do == other.do
        and _numbers(one) == _numbers(other)
        # Large arrays are better alone: they can be used in place, and block by block.
        and max(one.out.size, other.out.size) < LARGE_ENTRIES
        and all(_is_flat(view, op) for op in (one, other) for view in (op.out, *op.reads))
        and one.out.array not in {view.array for view in other.reads if _meet(view, one.out)}
    )


def _numbers(op: Op) -> tuple[float | None, ...]:
    """The numbers among the operands, None for views; a view of a number counts as itself."""
    return tuple(None if isinstance(i, View) else i for i in op.ins)


def _is_flat(view: View, op: Op) -> bool:
    return not view.shape or (view.contiguous and view.shape == op.out.shape and view.size > 0)


def _meet(one: View, other: View) -> bool:
    return one.array == other.array and one.offset < other.end and other.offset < one.end


def _side_by_side(program: Program, places: Mapping[str, tuple[tuple[str, ...], int]]) -> Program:
    """The program with one array for every run."""
    arrays = {name: array for name, array in program.arrays.items() if name not in places}
    names: dict[tuple[str, ...], str] = {}
    for run, _ in places.values():
        if run not in names:
            members = [program.arrays[name] for name in run]
            names[run] = _life_of(run[0], members[0]) if members[0].kind == "state" else f"{run[0]} … {run[-1]}"
            flat = [np.asarray(member.value).reshape(-1) for member in members if member.value is not None]
            value = np.concatenate(flat) if flat else None
            given = sum((member.given for member in members), ())
            arrays[names[run]] = Array((sum(m.size for m in members),), members[0].kind, value, given)

    def moved(view: View) -> View:
        if view.array not in places:
            return view
        run, start = places[view.array]
        return view._replace(array=names[run], offset=view.offset + start)

    sections = {
        section: [
            Op(op.do, moved(op.out), tuple(moved(i) if isinstance(i, View) else i for i in op.ins), op.data)
            for op in ops
        ]
        for section, ops in program.sections
    }
    known = {name: moved(view) for name, view in program.names.items()}
    return replace(program, arrays=arrays, names=known).with_sections(sections)


def _merged(ops: Iterable[Op]) -> list[Op]:
    """Neighbours whose operands lie end to end made one."""
    found: list[Op] = []
    for op in ops:
        joined = _joined(found[-1], op) if found and _alike(found[-1], op) else None
        if joined is None:
            found.append(op)
        else:
            found[-1] = joined
    return found


def _joined(one: Op, other: Op) -> Op | None:
    """One operation on what both work on, or None where that does not lie end to end."""
    views: list[View | float] = []
    for a, b in zip((one.out, *one.ins), (other.out, *other.ins), strict=True):
        if not isinstance(a, View) or not isinstance(b, View) or (not a.shape and a == b):
            views.append(a)
        elif a.array == b.array and a.shape and a.end == b.offset:
            views.append(View(a.array, a.offset, (a.size + b.size,), (1,)))
        else:
            return None
    out = views[0]
    assert isinstance(out, View)  # results are arrays
    return Op(one.do, out, tuple(views[1:]), one.data)
