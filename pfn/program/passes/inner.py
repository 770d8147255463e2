"""Inner products: the sum of all entries of a product of two arrays needs no array for the product."""

from collections import Counter

from pfn.program.program import Op, Program


def inner(program: Program) -> Program:
    """Make a multiplication whose result is only summed up one operation."""
    readers = Counter(view.array for op in program.ops for view in op.reads)
    sections: dict[str, list[Op]] = {}
    for name, ops in program.sections:
        products = {op.out.array: place for place, op in enumerate(ops) if _is_plain_product(op, program)}
        kept: list[Op | None] = list(ops)
        for place, op in enumerate(ops):
            operand = op.ins[0] if op.do == "sum" and op.data is None else None
            array = getattr(operand, "array", None)
            if array in products and readers[array] == 1 and operand == ops[products[array]].out:
                kept[products[array]] = None
                kept[place] = Op("inner product", op.out, ops[products[array]].ins)
        sections[name] = [op for op in kept if op is not None]
    return program.with_sections(sections).without_unused_arrays()


def _is_plain_product(op: Op, program: Program) -> bool:
    """Whether it multiplies two contiguous arrays of one shape into a temporary one."""
    alike = all(view.shape == op.out.shape and view.contiguous for view in op.reads)
    return op.do == "multiply" and len(list(op.reads)) == 2 and alike and program.arrays[op.out.array].kind == "temp"
