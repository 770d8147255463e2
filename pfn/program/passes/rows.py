"""Rows: work on a single column is done on a row, whose entries compilers put into vectors."""

from dataclasses import replace

from pfn.program.program import Op, Program, View


def rows(program: Program) -> Program:
    """Let operations entry by entry, overlays and sums work on rows in place of columns."""
    arrays = dict(program.arrays)
    sections: dict[str, list[Op]] = {}
    for section, ops in program.sections:
        sections[section] = []
        for given in ops:
            op = _on_rows(given)
            sections[section].append(op)
            array = arrays[op.out.array]
            if op is not given and array.kind == "temp" and op.out.shape:
                arrays[op.out.array] = replace(array, shape=op.out.shape)
    return replace(program, arrays=arrays).with_sections(sections)


def _on_rows(op: Op) -> Op:
    """The operation on rows, or as it is where some of its operands are no columns."""
    arrays = [view for view in op.reads if view.shape]
    if not arrays or not all(_is_column(view) for view in arrays):
        return op
    ins = tuple(_as_row(i) if isinstance(i, View) and i.shape else i for i in op.ins)
    if op.elementwise and all(view.shape == op.out.shape for view in arrays):
        return Op(op.do, _as_row(op.out), ins)
    if op.do == "overlay" and _is_column(op.out):
        return Op(op.do, _as_row(op.out), ins, tuple((0, row) for row, _ in op.data))
    return op._replace(ins=ins) if op.do == "sum" and op.data is None else op


def _is_column(view: View) -> bool:
    return len(view.shape) == 2 and view.shape[0] > 1 == view.shape[1] and view.contiguous


def _as_row(view: View) -> View:
    return view.reshaped((1, view.size))
