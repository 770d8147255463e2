"""What is measured after a sweep: the divergence of all equations together, and the squared errors of each."""

from collections.abc import Mapping, Sequence

from pfn.program.equations import EquationWriter
from pfn.program.program import LARGE_ENTRIES, SMALL_ENTRIES, Array
from pfn.program.tape import Tape, Tracer


def write_divergence(tape: Tape, equations: Sequence[EquationWriter]) -> dict[str, Tracer]:
    """Write down the divergence of all equations, a result; returned are the errors X − R by equation.

    Small equations whose columns count once each lie on top of each other in one column: one formula for all. Of a
    large equation, or one with sparse data, the sum of squared errors is returned in place of the errors: a number.
    """
    alone, together, size = list[list[EquationWriter]](), list[EquationWriter](), 0
    parts: list[Tracer] = []
    found: dict[str, Tracer] = {}
    with tape.stage():
        for work in equations:
            entries = work.equation.rows * work.count
            if work.data is not None:
                tape.chain()
                part, found[work.name] = work.errors_of_sparse_data(work.data)
                parts.append(part)
            elif work.counts.uniform and size + entries <= SMALL_ENTRIES:
                together.append(work)
                size += entries
            else:
                alone.append([work])
        for group in filter(None, [together, *alone]):
            X, R = _sides_of(tape, group)
            error, weights, row = X - R, group[0].weights(), 0
            for work in group:
                rows = slice(row, row := row + work.equation.rows * work.count)
                found[work.name] = error if len(group) == 1 else error.rows(rows)
                if error.view.size >= LARGE_ENTRIES:  # not kept until errors are asked for
                    found[work.name] = _squares(error, weights)
            parts.append(group[0].divergence.value(X, R, group[0].epsilon, weights))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        write_result(tape, "divergence", total)
    return found


def _sides_of(tape: Tape, group: list[EquationWriter]) -> list[Tracer]:
    """Children X and reconstructions R of an equation, or of several in one column."""
    sides: list[tuple[Tracer, Tracer]] = []
    for work in group:
        tape.chain()
        R = work.reconstruction(work.stacked_parents())
        X = tape.stack([X for X, _ in work.child_pairs(R)])
        sides.append((X if X.view.contiguous else tape.elementwise("copy", X), R))
    tape.chain()
    if len(group) == 1:
        return list(sides[0])
    columns = ([x.reshape(x.view.size, 1) for x in side] for side in zip(*sides, strict=True))
    return [tape.stack(column) for column in columns]


def write_squared_errors(tape: Tape, equations: Mapping[str, EquationWriter], errors: Mapping[str, Tracer]) -> None:
    """Write down by equation the sum of squared errors, a result."""
    with tape.stage():
        for name, error in errors.items():
            tape.chain()
            squares = _squares(error, equations[name].weights()) if error.shape else error
            write_result(tape, f"squares {name}", squares)


def _squares(error: Tracer, weights: Tracer | None) -> Tracer:
    """The sum of squares, every column as often as its weight says."""
    return (error * (error if weights is None else error * weights)).sum()


def write_result(tape: Tape, name: str, value: Tracer) -> Tracer:
    """Let a result, an array or a number, take a value."""
    target = tape.declare(name, Array(value.shape, "result"))
    tape.assign(target, value)
    return target
