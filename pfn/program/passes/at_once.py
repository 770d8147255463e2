"""At once: what a sweep would hand to the next one, and reads only there, is computed in that one.

To hand an array on spares nothing but where a measurement after the sweep, or another part of it, reads it too. Where
sweeps are seldom measured, it costs a way through memory more.
"""

from pfn.program.program import Program


def at_once(program: Program) -> Program:
    """Compute in the next sweep what nobody reads in the one that writes it; measurements compute it for themselves."""
    body, measure, enter = list(program.body), list(program.measure), []
    for first in program.enter:
        name = first.out.array
        place = next((i for i, op in enumerate(body) if op.out.array == name), None)
        if place is None or any(view.array == name for op in body[place:] for view in op.reads):
            enter.append(first)
            continue
        measure.insert(0, body.pop(place))
        body.insert(0, first)
    sections = {**dict(program.sections), "enter": enter, "body": body, "measure": measure}
    return program.with_sections(sections)
