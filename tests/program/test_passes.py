"""What each pass does to small programs that are written by hand."""

from collections.abc import Callable
from time import process_time

import numpy as np
import pytest

import pfn
from pfn.program import Array, Lowering, Program, SweepKind, Tape, Tracer
from pfn.program.passes import COMPILED, IN_MEMORY, SHARED, optimise, shared
from tests import networks
from tests.program.runs import by_programs, problem_of

STARTS = {"x": np.ones((2, 3)), "y": np.ones((2, 3))}
DATA = np.arange(6.0).reshape(2, 3)


def written(record: Callable[[Tape, Tracer, Tracer], None], *passes: str) -> Program:
    """A program on the states x and y after these passes."""
    tape = Tape(np.dtype(float), given={name: lambda start=start: start for name, start in STARTS.items()})
    record(tape, tape.state("x"), tape.state("y"))
    program = Program(tape.arrays, tape.section())
    for name in passes:
        program = (SHARED | IN_MEMORY | COMPILED)[name](program)
    return program


def kinds(program: Program) -> dict[str, list[str]]:
    """The operations of every section by what they do."""
    return {name: [op.do for op in ops] for name, ops in program.sections if ops}


def test_what_depends_on_constants_is_done_once() -> None:
    def record(r: Tape, x: Tracer, _: Tracer) -> None:
        r.assign(x, x + (r.constant("data", DATA) * 2.0) / 3.0)

    assert kinds(written(record, "reuse")) == {"once": ["multiply", "divide"], "body": ["add", "copy"]}


def test_the_same_operation_is_done_once_in_a_sweep() -> None:
    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        r.assign(y, (x + 1.0) * (x + 1.0))

    assert kinds(written(record, "reuse"))["body"].count("add") == 0  # x rests: it is done on entering
    assert kinds(written(record, "reuse"))["enter"] == ["add", "multiply"]


def test_what_the_end_of_a_sweep_makes_is_handed_on_to_the_next() -> None:
    def record(r: Tape, x: Tracer, _: Tracer) -> None:
        r.assign(x, x + np.log1p(x))
        r.assign(x, x * np.log1p(x))  # of another x
        r.assign(x, np.sqrt(x))

    program = written(lambda r, x, y: (r.assign(x, x * np.log1p(x)), r.assign(y, np.log1p(x))), "reuse")
    assert kinds(program) == {"enter": ["log1p"], "body": ["multiply", "copy", "log1p", "copy"]}
    assert "enter" not in kinds(written(record, "reuse"))


def test_nothing_is_done_on_entering_that_reads_what_the_sweep_writes_first() -> None:
    """A value that is the same in every sweep, but not before the first."""

    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        r.assign(x, r.constant("data", DATA))
        r.assign(y, y + np.log1p(x))

    assert "enter" not in kinds(written(record, "reuse"))


def test_what_nobody_reads_is_left_out() -> None:
    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        np.log1p(x + 1.0)
        r.assign(y, x)
        r.assign(y, x + y * 0.0)

    assert kinds(written(record, "prune")) == {"body": ["copy", "multiply", "add", "copy"]}

    def overwritten(r: Tape, x: Tracer, y: Tracer) -> None:
        r.assign(y, x * 2.0)
        r.assign(y, x * 3.0)

    assert kinds(written(overwritten, "prune")) == {"body": ["multiply", "copy"]}


def test_a_product_that_is_summed_up_needs_no_array() -> None:
    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        r.assign(x, x * (x * y).sum())

    assert kinds(written(record, "inner"))["body"] == ["inner product", "multiply", "copy"]


def test_results_are_written_where_they_are_copied_to() -> None:
    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        r.assign(x, x * 2.0)
        r.assign(y, r.overlay((2, 3), [np.log1p(x).rows(slice(0, 1)), y.rows(slice(1, 2))], [(0, 0), (1, 0)]))

    program = written(record, "expand", "forward")
    assert str(program.body[0].out) == "x[2×3]"
    assert all(op.do != "overlay" for op in program.ops)


def test_a_result_is_not_written_over_what_is_still_read() -> None:
    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        new = x * 2.0
        r.assign(y, y + x)  # of the old x
        r.assign(x, new)

    assert [str(op.out).split("[")[0] for op in written(record, "forward").body] == ["multiply 1", "y", "x"]


def test_neighbours_of_one_kind_become_one() -> None:
    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        with r.stage():
            for v in (x, y):
                r.chain()
                r.assign(v, np.log1p(v * 2.0))

    program = written(record, "forward", "merge")
    assert [(op.do, op.out.size) for op in program.body] == [("multiply", 12), ("log1p", 12)]


def test_rows_of_another_length_are_not_taken_along() -> None:
    """The columns of a variable that an equation sees are not all of its columns: those beside stay as they are."""

    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        with r.stage():
            for v in (x, y):
                r.chain()
                part = v.columns(slice(0, 2)) * 2.0
                r.assign(v, r.overlay((2, 3), [part, v.columns(slice(2, 3))], [(0, 0), (0, 2)]))

    program = written(record, *SHARED, *IN_MEMORY)
    assert max(op.out.size for op in program.body if op.do == "multiply") == 4


def test_a_result_takes_the_memory_of_an_operand_that_ends() -> None:
    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        r.assign(y, np.log1p(np.sqrt(x * 2.0)) + x)

    program = written(record, "forward", "in_place")
    assert len([array for array in program.arrays.values() if array.kind == "temp"]) == 1


def test_arrays_in_use_at_different_times_share_memory() -> None:
    def record(r: Tape, x: Tracer, _: Tracer) -> None:
        for _number in range(5):
            r.assign(x, x.T @ x @ x.T if x.shape == (3, 3) else x * ((x @ x.T) @ x))

    program = written(record, "pack")
    sizes = sum(array.size for name, array in program.arrays.items() if name in program.places)
    assert program.packed < sizes / 3


@pytest.mark.parametrize("name", ["tracking", "section 6"])
def test_programs_print_as_tables(name: str) -> None:
    scene = networks.tracking_scene()["x1"]
    problem = (
        problem_of(pfn.infer, networks.tracking(), {"x1": scene})
        if name == "tracking"
        else problem_of(pfn.learn, networks.hierarchy(8, (4, 3), 3, (1, 2)), {"x1": np.ones((8, 20))})
    )
    kind = SweepKind(problem.learned, frozenset(), frozenset())
    program = shared(Lowering(problem, "numpy").sweep(kind))
    lines = str(program).splitlines()
    assert lines[0].split() == ["section", "result", "operation"]
    assert len(lines) == 1 + sum(len(ops) for _, ops in program.sections)


def test_a_chain_of_many_equations_is_compiled_in_time() -> None:
    """The work of every pass grows about as the number of operations, some 2,200 here."""
    t = pfn.t
    v = [pfn.Variable(f"x{i}", 3) for i in range(61)]
    W = [pfn.Parameter(f"W{i}", np.full((6, 3), 0.5)) for i in range(60)]
    network = pfn.Network(*(pfn.Factorization([v[i][t], v[i][t + 1]], W[i] @ v[i + 1][t]) for i in range(60)))
    problem = problem_of(pfn.infer, network, {"x0": np.ones((3, 70))})
    begin = process_time()
    program = Lowering(problem, "numpy").sweep(SweepKind(frozenset(), frozenset(), frozenset()))
    optimised = optimise(program)
    assert process_time() - begin < 3  # seconds; 0.3 where this was written
    assert len(optimised.body) < len(program.body) / 2


def test_kept_programs_serve_other_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data, weights, starting values and the value of a parameter change; what is hidden and zero does, too."""
    by_programs(monkeypatch)
    t, rng = pfn.t, np.random.default_rng(0)
    x, h = pfn.Variable("x", 5), pfn.Variable("h", 2)
    W = pfn.Parameter("W", shape=(5, 2), prior=np.full((5, 2), 0.3), prior_weight=1.0)

    def network() -> pfn.Network:
        return pfn.Network(pfn.Factorization(x[t], W @ h[t], normalize="columns"))

    kept = network()
    for number in range(6):
        X = rng.random((5, 7))
        if number > 2:
            X[rng.random(X.shape) < 0.3] = np.nan
        options = {"weights": {"eq1": rng.choice([0.5, 1.0, 2.0], size=7)}, "seed": number, "iterations": 9}
        start = {"W": networks.with_zeros(rng, rng.random((5, 2)), 0.3)}
        found, wanted = (pfn.learn(n, {"x": X}, initial=start, **options) for n in (kept, network()))
        for name in ("h", "W", "x"):
            np.testing.assert_array_equal(found[name], wanted[name])


def test_left_operands_that_lie_the_other_way_are_stored_until_they_change() -> None:
    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        W = r.constant("W", DATA)
        r.assign(y, (x @ (x.T @ x)) + (x @ (x.T @ y)) + x @ (W.T @ y))  # one xᵀ for two products, Wᵀ for ever
        r.assign(x, x @ (x.T @ y))
        r.assign(y, x @ (x.T @ y))  # of another x

    found = kinds(written(record, "turn"))
    assert found["once"] == ["store"]
    assert found["body"].count("store") == 2
    assert found["body"][0] == "store"


def test_single_columns_become_rows() -> None:
    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        both = r.stack([x.reshape(6, 1), y.reshape(6, 1)])
        r.assign(r.declare("total", Array((), "result")), (both * both).sum())
        r.assign(y, y * x.columns(slice(0, 1)))  # a column that is broadcast stays one

    overlay, multiply, total, _, broadcast, _ = written(record, "rows").body
    assert (overlay.out.shape, overlay.data) == ((1, 12), ((0, 0), (0, 6)))
    assert {view.shape for op in (multiply, total) for view in op.reads} == {(1, 12)}
    assert [view.shape for view in broadcast.reads] == [(2, 3), (2, 1)]


def test_what_only_the_next_sweep_reads_is_computed_there() -> None:
    def record(r: Tape, x: Tracer, y: Tracer) -> None:
        r.assign(x, x * np.log1p(x))
        r.assign(y, np.log1p(x))

    handed_on = written(lambda r, x, _: (r.assign(x, x * np.log1p(x)), np.log1p(x)), "reuse")
    assert kinds(handed_on) == {"enter": ["log1p"], "body": ["multiply", "copy", "log1p"]}
    alone = COMPILED["at_once"](handed_on)
    assert kinds(alone) == {"body": ["log1p", "multiply", "copy"], "measure": ["log1p"]}
    read_twice = written(record, "reuse", "at_once")  # y reads it in this sweep: it is handed on all the same
    assert kinds(read_twice)["enter"] == ["log1p"]
