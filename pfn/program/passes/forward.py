"""Forward: a result that is only copied to another place is written there at once."""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from pfn.program.program import Op, Program, View

# Operations whose result may be any part of an array with rows that follow each other; elementwise ones take any part.
INTO_CONTIGUOUS = frozenset(
    {"dot", "sparse dot", "sampled dot", "take", "label sums", "sum", "inner product", "overlay"}
)


def forward(program: Program) -> Program:
    """Leave out copies of temporary arrays that have no other reader."""
    readers = Counter(view.array for op in program.ops for view in op.reads)
    writers = Counter(op.out.array for op in program.ops)
    once_used = {
        name
        for name, array in program.arrays.items()
        if array.kind == "temp" and readers[name] == 1 and writers[name] == 1
    }
    sections = {name: _forwarded(list(ops), program, once_used) for name, ops in program.sections}
    return program.with_sections(sections).without_unused_arrays()


@dataclass
class _Accesses:
    """The places at which the operations of a section read and write an array."""

    reads: list[int] = field(default_factory=list)
    writes: list[tuple[int, View]] = field(default_factory=list)

    def read_between(self, start: int, stop: int) -> bool:
        """Whether an operation after start and before stop reads the array."""
        place = bisect_right(self.reads, start)
        return place < len(self.reads) and self.reads[place] < stop

    def written_between(self, start: int, stop: int, view: View) -> bool:
        """Whether an operation after start and before stop may write entries of the view."""
        return any(start < place < stop and _meet(other, view) for place, other in self.writes)


def _meet(one: View, other: View) -> bool:
    """Whether two views of an array may have an entry in common; rows of one matrix are told apart."""
    return one.offset < other.end and other.offset < one.end


def _forwarded(ops: list[Op], program: Program, once_used: set[str]) -> list[Op]:
    """The operations of a section without the copies that can be left out."""
    accesses: dict[str, _Accesses] = {}
    defined: dict[str, int] = {}
    for place, op in enumerate(ops):
        for view in op.reads:
            accesses.setdefault(view.array, _Accesses()).reads.append(place)
        accesses.setdefault(op.out.array, _Accesses()).writes.append((place, op.out))
        defined[op.out.array] = place
    kept: list[Op | None] = list(ops)
    for place, op in enumerate(ops):
        source = op.ins[0] if op.do == "copy" else None
        if not isinstance(source, View) or source.array not in once_used or source.array not in defined:
            continue
        origin = kept[defined[source.array]]
        if origin is None or not _is_all_of(source, program) or not _can_write(origin, op.out):
            continue
        there, start = accesses[op.out.array], defined[source.array]
        if there.read_between(start, place) or there.written_between(start, place, op.out):
            continue
        target = op.out if op.out.shape == origin.out.shape else op.out.reshaped(origin.out.shape)
        kept[start] = origin._replace(out=target)
        kept[place] = None
        there.writes.append((start, op.out))  # the place is written earlier now
    return [op for op in kept if op is not None]


def _is_all_of(view: View, program: Program) -> bool:
    """Whether the view is all of its array, row by row."""
    return view.offset == 0 and view.contiguous and view.size == program.arrays[view.array].size


def _can_write(op: Op, target: View) -> bool:
    """Whether an operation may have this place as its result, which it may read as well."""
    if op.elementwise:
        if target.shape != op.out.shape and not target.contiguous:
            return False
        shaped = target if target.shape == op.out.shape else target.reshaped(op.out.shape)
        # Entry by entry in place is safe only where the operand read there lies exactly like the result.
        return all(view == shaped or not (view.array == target.array and _meet(view, target)) for view in op.reads)
    return op.do in INTO_CONTIGUOUS and target.contiguous and all(view.array != target.array for view in op.reads)
