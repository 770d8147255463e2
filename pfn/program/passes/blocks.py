"""Blocks: chains of operations on large arrays are done block by block, so that what lies between stays small.

Neighbouring operations entry by entry, and sums over all entries, on arrays of one size are a chain. Each is cut into
blocks of entries, and all operations of the chain are done on one block before the next. Arrays that live within the
chain only are then as large as a block, which fits in the processor's cache, and serve all blocks in turn.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pfn.program.passes.lifetimes import Lifetime, lifetimes
from pfn.program.program import LARGE_ENTRIES, Array, Op, Program, View, whole

# Entries of a block: what fits in the second-level cache of a processor with its neighbours.
BLOCK_ENTRIES = 1 << 15

# The largest number of blocks: more of them cost more calls than their cache gains.
MOST_BLOCKS = 256


def blocks(program: Program) -> Program:
    """Cut chains of operations on large arrays into blocks."""
    program = program.with_sections({name: _gathered(ops) for name, ops in program.sections})
    lives = lifetimes(program).within
    arrays = dict(program.arrays)
    sections: dict[str, list[Op]] = {"once": list(program.once), "enter": list(program.enter)}
    moment = 0
    for section, ops in program.timeline:
        sections[section] = []
        for chain in _chains(ops):
            span = Lifetime(moment, moment + len(chain) - 1)
            moment += len(chain)
            sections[section] += _in_blocks(chain, span, lives, arrays) if len(chain) > 1 else chain
    return replace(program, arrays=arrays).with_sections(sections).without_unused_arrays()


def _gathered(ops: Iterable[Op]) -> list[Op]:
    """The operations with small ones behind the large ones that they stand between, where neither needs the other."""
    found: list[Op] = []
    chain: list[Op] = []
    between: list[Op] = []
    for op in ops:
        if not _is_large(op) and _size(op) < LARGE_ENTRIES:
            between.append(op)
        elif chain and _is_large(op) and _fits(op, chain) and all(_commute(op, other) for other in between):
            chain.append(op)
        else:
            found += [*chain, *between]
            chain, between = ([op], []) if _is_large(op) else ([], [op])
    return [*found, *chain, *between]


def _commute(one: Op, other: Op) -> bool:
    """Whether two operations may change places: neither writes what the other reads or writes."""
    return all(
        a.out.array != b.out.array and a.out.array not in {view.array for view in b.reads}
        for a, b in ((one, other), (other, one))
    )


def _chains(ops: Iterable[Op]) -> Iterator[list[Op]]:
    """Neighbours that can be done block by block together; all others alone."""
    chain: list[Op] = []
    for op in ops:
        if chain and _is_large(op) and _fits(op, chain):
            chain.append(op)
            continue
        if chain:
            yield chain
        chain = [op] if _is_large(op) else []
        if not chain:
            yield [op]
    if chain:
        yield chain


def _size(op: Op) -> int:
    """Number of entries that an operation goes through."""
    return max(view.size for view in (op.out, *op.reads))


def _is_large(op: Op) -> bool:
    """Whether an operation goes through many entries in their order, all of its operands alike."""
    if not (op.elementwise and op.do != "where") and not _is_full_sum(op):
        return False
    size = _size(op)
    alike = all(view.contiguous and view.size == size for view in _arrays_of(op))
    return size >= LARGE_ENTRIES and alike


def _is_full_sum(op: Op) -> bool:
    return op.do == "inner product" or (op.do == "sum" and op.data is None)


def _arrays_of(op: Op) -> list[View]:
    """The operands that are arrays, and the result unless it is a number."""
    return [view for view in (op.out, *op.reads) if view.shape]


def _fits(op: Op, chain: list[Op]) -> bool:
    """Whether an operation can join a chain: of its size, with each block of it reading that block of other results."""
    if _size(op) != _size(chain[0]):
        return False
    for other in chain:
        for one, two in ((op.out, other), *((view, other) for view in op.reads)):
            clashes = one.array == two.out.array and (not one.shape or one.offset != two.out.offset)
            if clashes:
                return False
        if any(v.array == op.out.array and v.offset != op.out.offset for v in other.reads):
            return False
    return True


def _in_blocks(chain: list[Op], span: Lifetime, lives: dict[str, Lifetime], arrays: dict[str, Array]) -> list[Op]:
    """The operations of a chain on one block after the other, then the sums of what sums gave for each block."""
    size = _size(chain[0])
    step = max(BLOCK_ENTRIES, -(-size // MOST_BLOCKS))
    starts = range(0, size, step)
    inner = {
        view.array
        for op in chain
        for view in _arrays_of(op)
        if view.array in lives and span.first <= lives[view.array].first and lives[view.array].last <= span.last
    }
    for name in inner:
        arrays[name] = Array((step,), "temp")
    parts: dict[int, View] = {}  # by place in the chain, the sums of all blocks
    for place, op in enumerate(chain):
        if _is_full_sum(op):
            name = f"{op.out.array} by blocks {span.first + place}"
            arrays[name] = Array((len(starts),), "temp")
            parts[place] = whole(name, (len(starts),))

    def block(view: View, start: int) -> View:
        if not view.shape:
            return view
        offset = 0 if view.array in inner else view.offset + start
        return View(view.array, offset, (min(step, size - start),), (1,))

    found = []
    for number, start in enumerate(starts):
        for place, op in enumerate(chain):
            ins = tuple(block(i, start) if isinstance(i, View) else i for i in op.ins)
            out = block(op.out, start)
            if place in parts:
                out = View(parts[place].array, number, (), ())
            found.append(Op(op.do, out, ins, op.data))
    return found + [Op("sum", chain[place].out, (view,)) for place, view in parts.items()]
