"""Spread: small constants that are broadcast are stored in full, so that operations on them can be merged."""

from pfn.program.program import SMALL_ENTRIES, Array, Op, Program, View, whole


def spread(program: Program) -> Program:
    """Store broadcast constants of small operations in full, where an operation of the same kind is next to them."""
    arrays = dict(program.arrays)
    constant = {name for name, array in arrays.items() if array.kind == "constant"}
    constant |= {op.out.array for op in program.once}
    full: dict[tuple[View, tuple[int, ...]], View] = {}
    once = list(program.once)
    sections: dict[str, list[Op]] = {}

    def in_full(operand: View | float, shape: tuple[int, ...]) -> View | float:
        if not isinstance(operand, View) or operand.shape in ((), shape) or operand.array not in constant:
            return operand
        if (operand, shape) not in full:
            name = f"{operand} in full {len(full)}"
            arrays[name] = Array(shape, "temp")
            full[operand, shape] = whole(name, shape)
            once.append(Op("copy", full[operand, shape], (operand,)))
        return full[operand, shape]

    for section, ops in program.timeline:
        sections[section] = []
        for place, op in enumerate(ops):
            alike = any(other.do == op.do for other in (*ops[max(place - 1, 0) : place], *ops[place + 1 : place + 2]))
            if alike and op.elementwise and op.do != "where" and op.out.size <= SMALL_ENTRIES:
                op = op._replace(ins=tuple(in_full(i, op.out.shape) for i in op.ins))  # noqa: PLW2901
            sections[section].append(op)
    program = Program(**{**vars(program), "arrays": arrays})
    return program.with_sections({"once": once, "enter": program.enter, **sections})
