"""Expand: overlays become copies and additions into the parts of their result, which other passes can work on."""

import numpy as np

from pfn.program.program import Op, Program, View


def expand(program: Program) -> Program:
    """Write overlays as operations on parts of arrays."""
    sections = {
        name: [part for op in ops for part in (parts_of_overlay(op) if op.do == "overlay" else [op])]
        for name, ops in program.sections
    }
    return program.with_sections(sections)


def parts_of_overlay(op: Op) -> list[Op]:
    """A piece is copied where no other one lies before it, and added where others do; the rest becomes zero."""
    covered = np.zeros(op.out.shape, bool)
    found, zeros_first = list[Op](), False
    for view, (row, column) in zip(op.ins, op.data, strict=True):
        assert isinstance(view, View)  # pieces are arrays
        place = op.out.part(0, row, row + view.shape[0]).part(1, column, column + view.shape[1])
        before = covered[row : row + view.shape[0], column : column + view.shape[1]]
        adds = bool(before.any())
        zeros_first |= adds and not before.all()
        found.append(Op("add", place, (place, view)) if adds else Op("copy", place, (view,)))
        before[...] = True
    return found if covered.all() and not zeros_first else [Op("copy", op.out, (0.0,)), *found]
