"""Reuse: an operation whose result is there already is left out, within a sweep, from the sweep before, or for ever.

Every value gets a number; operations with the same name, data and numbers of operands give the same value. The body is
read through twice, as if two sweeps followed each other. What the second one finds to have the number of a value that
an array still holds since the first need not be done in every sweep:

- the same operation gave it: nothing that it reads changes, so it is done once, or on entering;
- a later operation of the sweep gave it, such as the reconstruction that the downward pass leaves to the next sweep:
  the array of that one is read, and filled on entering, before the first sweep.

So one rule finds constants, reconstructions handed on, and work that two updates have in common.
"""

from collections.abc import Iterable
from itertools import count
from typing import Any

from pfn.program.program import LARGE_ENTRIES, Array, Op, Program, View


class _Numbers:
    """The numbers of values, and which of them every array holds at one point of a program."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self._arrays = arrays
        self._fresh = count()
        self._numbers: dict[Any, int] = {}
        self._holder: dict[int, str] = {}
        self._content: dict[str, int] = {}
        self._renamed: dict[str, str] = {}

    def renamed(self, op: Op) -> Op:
        """The operation with arrays in place of those that are left out."""
        return _renamed(op, self._renamed)

    def rename(self, name: str, to: str) -> None:
        """From now on read one array in place of another."""
        self._renamed[name] = to

    def _number_of(self, array: str) -> int:
        if array not in self._content:
            self._content[array] = next(self._fresh)
        return self._content[array]

    def _key(self, op: Op) -> Any:
        operands = [(self._number_of(i.array), *i[1:]) if isinstance(i, View) else i for i in op.ins]
        return op.do, op.data, tuple(operands)

    def held(self, op: Op) -> str | None:
        """The temporary array that holds what the operation would give, if there is one that is worth keeping."""
        if not self.may_be_kept(op):
            return None
        number = self._numbers.get(self._key(op))
        holder = None if number is None else self._holder.get(number)
        return holder if holder is not None and self._content.get(holder) == number else None

    def perform(self, op: Op) -> None:
        """Let the array that the operation writes hold its value."""
        if op.do == "copy" and isinstance(op.ins[0], View) and self._is_whole(op.ins[0]) and self._is_whole(op.out):
            number = self._number_of(op.ins[0].array)
        elif self._is_whole(op.out):
            number = self._numbers.setdefault(self._key(op), next(self._fresh))
        else:
            number = next(self._fresh)
        self._content[op.out.array] = number
        if self.is_temporary(op.out):
            self._holder[number] = op.out.array

    def may_be_kept(self, op: Op) -> bool:
        """Whether the result may serve more than once: not if it is large and one pass over constants makes it anew."""
        constant = all(self._arrays[view.array].kind == "constant" for view in op.reads)
        made_anew = op.elementwise and constant and op.out.size >= LARGE_ENTRIES
        return self.is_temporary(op.out) and not made_anew

    def is_temporary(self, out: View) -> bool:
        """Whether an array of its own, that nobody outside reads, is written."""
        return self._arrays[out.array].kind == "temp" and self._is_whole(out)

    def _is_whole(self, view: View) -> bool:
        return view.offset == 0 and view.contiguous and view.size == self._arrays[view.array].size

    def set_inputs(self) -> None:
        """Inputs have other values in every sweep."""
        for name, array in self._arrays.items():
            if array.kind == "input":
                self._content[name] = next(self._fresh)


def _renamed(op: Op, names: dict[str, str]) -> Op:
    if not any(view.array in names for view in op.reads):
        return op
    ins = (i._replace(array=names.get(i.array, i.array)) if isinstance(i, View) else i for i in op.ins)
    return op._replace(ins=tuple(ins))


def reuse(program: Program) -> Program:
    """Leave out operations whose result is there already."""
    numbers = _Numbers(dict(program.arrays))
    for op in program.once:
        numbers.perform(op)
    body = _without_repeated(program.body, numbers)
    position = {op.out.array: place for place, op in enumerate(body)}
    last_read = {view.array: place for place, op in enumerate(body) for view in op.reads}
    read_later = {view.array for op in (*program.measure, *program.errors) for view in op.reads}
    constant = {name for name, array in program.arrays.items() if array.kind == "constant"}
    constant |= {op.out.array for op in program.once}
    once, enter, kept = [*program.once], [*program.enter], list[Op]()
    written: set[str] = set()  # by this sweep so far: on entering, these arrays hold something else
    numbers.set_inputs()
    for place, given in enumerate(body):
        op = numbers.renamed(given)
        holder = numbers.held(op)
        as_on_entering = written.isdisjoint(view.array for view in op.reads)
        if holder == op.out.array and constant.issuperset(view.array for view in op.reads):
            once.append(op)
            constant.add(holder)
        elif holder == op.out.array and as_on_entering:
            enter.append(op)
        elif (
            holder in position
            and as_on_entering
            and place < position[holder]
            # The holder gets its next value then: what is read later must be the old one in its own array.
            and last_read.get(op.out.array, place) < position[holder]
            and op.out.array not in read_later
        ):
            enter.append(op._replace(out=op.out._replace(array=holder)))
            numbers.rename(op.out.array, holder)
            last_read[holder] = max(last_read.get(holder, place), last_read.get(op.out.array, place))
        else:
            numbers.perform(op)
            written.add(op.out.array)
            kept.append(op)
    sections = {"enter": enter, "body": kept}
    for name in ("measure", "errors"):
        sections[name] = []
        for op in _without_repeated(getattr(program, name), numbers):
            if numbers.may_be_kept(op) and constant.issuperset(view.array for view in op.reads):
                once.append(op)
                constant.add(op.out.array)
            else:
                sections[name].append(op)
    return program.with_sections({"once": once, **sections})


def _without_repeated(ops: Iterable[Op], numbers: _Numbers) -> list[Op]:
    """The operations but for those whose result an array holds already."""
    kept = []
    for given in ops:
        op = numbers.renamed(given)
        holder = numbers.held(op)
        if holder is not None:
            numbers.rename(op.out.array, holder)
            continue
        numbers.perform(op)
        kept.append(op)
    return kept
