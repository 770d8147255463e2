"""In place: a result overwrites an operand of the same layout that nobody reads again."""

from dataclasses import dataclass

from pfn.program.passes.lifetimes import lifetimes
from pfn.program.program import Op, Program, View


@dataclass
class _Donor:
    """An array whose memory a result may take: from the moment of its last reading until it is written anew."""

    last: int
    until: float


def in_place(program: Program) -> Program:
    """Give results of elementwise operations the array of an operand whose life ends there."""
    lives = lifetimes(program)
    donors = {name: _Donor(life.last, float("inf")) for name, life in lives.within.items()}
    donors |= {name: _Donor(gap.first, gap.last) for name, gap in lives.handed_on.items()}
    names: dict[str, str] = {}  # by array, the one whose memory it has

    def renamed(view: View) -> View:
        return view._replace(array=names.get(view.array, view.array))

    sections: dict[str, list[Op]] = {"once": list(program.once), "enter": list(program.enter)}
    moment = 0
    for section, ops in program.timeline:
        sections[section] = []
        for op in ops:
            ins = tuple(renamed(i) if isinstance(i, View) else i for i in op.ins)
            life = lives.within.get(op.out.array)
            if op.elementwise and life is not None and life.first == moment:
                donor = _donor_of(op._replace(ins=ins), program, donors, moment, life.last)
                if donor is not None:
                    names[op.out.array] = donor
                    donors[donor].last = life.last
            sections[section].append(Op(op.do, renamed(op.out), ins, op.data))
            moment += 1
    return program.with_sections(sections).without_unused_arrays()


def _donor_of(op: Op, program: Program, donors: dict[str, _Donor], moment: int, last: int) -> str | None:
    """The array of an operand that ends here and that the result, all of its array, may overwrite as long as it lives.

    Operands are tried from the last on: a quotient takes the memory of its denominator, most often a reconstruction,
    and leaves that of its numerator to something else.
    """
    size = program.arrays[op.out.array].size
    if not op.out.contiguous or op.out.size != size:
        return None
    for view in reversed(list(op.reads)):
        donor = donors.get(view.array)
        alike = all(v == op.out._replace(array=v.array) for v in op.reads if v.array == view.array)
        alike &= program.arrays[view.array].size == size
        if donor is not None and donor.last == moment and last < donor.until and alike:
            return view.array
    return None
