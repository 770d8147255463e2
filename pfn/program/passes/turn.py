"""Turn: left operands of products that lie the other way are written to memory as they are needed.

Compilers for processors take up to twice as long for a product whose left operand is a transposed matrix, and leave
that operand as it is unless they are told to store it.
"""

from pfn.program.program import Array, Op, Program, View, whole


def turn(program: Program) -> Program:
    """Store transposed left operands of products; those of constants once for all sweeps."""
    arrays, once = dict(program.arrays), list(program.once)
    constant = {name for name, array in arrays.items() if array.kind == "constant"} | {op.out.array for op in once}
    for_ever: dict[View, View] = {}
    sections: dict[str, list[Op]] = {"once": once}
    for section, ops in program.sections[1:]:
        sections[section] = []
        stored: dict[View, View] = {}
        for op in ops:
            left = op.ins[0] if op.do == "dot" else None
            if not isinstance(left, View) or left.contiguous or not left.T.contiguous:
                sections[section].append(op)
            else:
                found, work = (for_ever, once) if left.array in constant else (stored, sections[section])
                if left not in found:
                    found[left] = whole(f"{left.array} turned {len(arrays)}", left.shape)
                    arrays[found[left].array] = Array(left.shape, "temp")
                    work.append(Op("store", found[left], (left,)))
                sections[section].append(op._replace(ins=(found[left], *op.ins[1:])))
            # What was stored of an array before it is written again is old.
            stored = {view: copy for view, copy in stored.items() if view.array != op.out.array}
    return Program(**{**vars(program), "arrays": arrays}).with_sections(sections)
