"""In place: a result overwrites an operand of the same layout that nobody reads again."""

from pfn.program.passes.lifetimes import lifetimes
from pfn.program.program import Op, Program, View


def in_place(program: Program) -> Program:
    """Give results of elementwise operations the array of an operand whose life ends there."""
    lives = lifetimes(program)
    last = {name: life.last for name, life in lives.items()}
    names: dict[str, str] = {}  # by array, the one whose memory it has

    def renamed(view: View) -> View:
        return view._replace(array=names.get(view.array, view.array))

    sections: dict[str, list[Op]] = {"once": list(program.once), "enter": list(program.enter)}
    place = 0
    for section, ops in program.timeline:
        sections[section] = []
        for op in ops:
            ins = tuple(renamed(i) if isinstance(i, View) else i for i in op.ins)
            out = op.out.array
            if op.elementwise and out in lives and lives[out].first == place and out not in names:
                donor = _donor(op._replace(ins=ins), program, last, place)
                if donor is not None:
                    names[out] = donor
                    last[donor] = lives[out].last
            sections[section].append(Op(op.do, renamed(op.out), ins, op.data))
            place += 1
    return program.with_sections(sections).without_unused_arrays()


def _donor(op: Op, program: Program, last: dict[str, int], place: int) -> str | None:
    """The array of an operand that ends here and that the result, all of its array, may overwrite."""
    size = program.arrays[op.out.array].size
    if not op.out.contiguous or op.out.size != size:
        return None
    for view in op.reads:
        here = [other for other in op.reads if other.array == view.array]
        ends = last.get(view.array) == place and program.arrays[view.array].size == size
        if ends and all(other == op.out._replace(array=view.array) for other in here):
            return view.array
    return None
