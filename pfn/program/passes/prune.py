"""Prune: operations whose result nobody reads are left out."""

from collections import Counter

from pfn.program.program import Op, Program


def prune(program: Program) -> Program:
    """Leave out what nobody reads: temporary arrays, and values of the state that are overwritten unread."""
    sections = {name: list(ops) for name, ops in program.sections}
    sections["body"] = _without_overwritten(sections["body"], program)
    readers = Counter(view.array for ops in sections.values() for op in ops for view in op.reads)
    # An operation may be unread only because its reader is left out: go through backwards until nothing changes.
    changed = True
    while changed:
        changed = False
        for name in ("errors", "measure", "body", "enter", "once"):
            kept: list[Op] = []
            for op in reversed(sections[name]):
                if program.arrays[op.out.array].kind == "temp" and not readers[op.out.array]:
                    readers.subtract(view.array for view in op.reads)
                    changed = True
                else:
                    kept.append(op)
            sections[name] = kept[::-1]
    return program.with_sections(sections).without_unused_arrays()


def _without_overwritten(body: list[Op], program: Program) -> list[Op]:
    """The body without copies into the state that the next access overwrites as a whole."""
    overwritten: set[str] = set()  # arrays whose next access, read backwards, is such a write
    kept = []
    for op in reversed(body):
        name = op.out.array
        full = op.out.contiguous and op.out.size == program.arrays[name].size
        reads = {view.array for view in op.reads}
        if program.arrays[name].kind == "state" and name in overwritten:
            continue
        if full and name not in reads:
            overwritten.add(name)
        overwritten -= reads
        kept.append(op)
    return kept[::-1]
