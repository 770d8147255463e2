"""Each operation of a program gives on JAX what it gives on NumPy; results are measured where they are wanted."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from pfn.program import Array, IndexMap, Op, Pattern, Program, Tape, Tracer, View
from pfn.program.program import TimeWindow
from pfn.updates.windows import WindowSums
from tests.backends.test_numpy import ELEMENTWISE, MASK, RNG, ROW, Plain, W, X, Y

jax = pytest.importorskip("jax", reason="jax is not installed")

from pfn.backends.jax import BoundProgram, Device, part_of  # noqa: E402
from pfn.engines.jax_devices import numbers  # noqa: E402
from pfn.engines.program_jax import RoundsPilot  # noqa: E402


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with numbers("full"):
        yield


def computed(record: Callable[[Tape], Tracer]) -> np.ndarray:
    """What a program with these operations computes."""
    tape = Tape(np.dtype(float))
    value = tape.elementwise("copy", record(tape))
    state = {"result": np.zeros(value.shape)}
    tape.assign(tape.declare("result", Array(value.shape, "state")), value)
    bound = BoundProgram(Program(tape.arrays, tape.section()), Device())
    return np.asarray(bound.run(RoundsPilot(), state, (np.int32(1), {}))[0]["result"])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_expressions(name: str) -> None:
    formula = ELEMENTWISE[name]
    found = computed(lambda r: formula(r.constant("x", X), r.constant("y", Y)))
    np.testing.assert_allclose(found, formula(X.view(Plain), Y.view(Plain)), rtol=1e-12)


@pytest.mark.parametrize("mask", [MASK, ROW], ids=["entries", "columns"])
def test_where(mask: np.ndarray) -> None:
    both = computed(lambda r: r.where(r.constant("m", mask), r.constant("x", X), r.constant("y", Y)))
    np.testing.assert_array_equal(both, np.where(mask, X, Y))


@pytest.mark.parametrize(
    "boxes", [((0, 0), (4, 0)), ((0, 0), (0, 0)), ((0, 2), (0, 0)), ((4, 1), (2, 0)), ((0, 1), (3, 0))]
)
def test_overlays_add_pieces_at_their_boxes(boxes: tuple[tuple[int, int], ...]) -> None:
    wanted = np.zeros((8, 8))
    for piece, (row, column) in zip((X, Y), boxes, strict=True):
        wanted[row : row + 4, column : column + 6] += piece
    found = computed(lambda r: r.overlay((8, 8), [r.constant("x", X), r.constant("y", Y)], boxes))
    np.testing.assert_allclose(found, wanted)


def test_overlays_put_pieces_in_line() -> None:
    below = computed(lambda r: r.overlay((8, 6), [r.constant("x", X), r.constant("y", Y)], ((0, 0), (4, 0))))
    np.testing.assert_array_equal(below, np.vstack([X, Y]))
    behind = computed(lambda r: r.overlay((4, 12), [r.constant("x", X), r.constant("y", Y)], ((0, 0), (0, 6))))
    np.testing.assert_array_equal(behind, np.hstack([X, Y]))


def test_sparse_matrices() -> None:
    S = sp.csr_array(np.where(RNG.random((5, 4)) < 0.4, RNG.random((5, 4)), 0))
    pattern = Pattern(S.shape, S.indptr, S.indices)
    found = computed(lambda r: r.sparse_dot(r.constant("s", S.data), pattern, r.constant("x", X)))
    np.testing.assert_allclose(found, S @ X)
    sampled = computed(lambda r: r.sampled_dot(r.constant("w", W), r.constant("x", X.T[:4].copy()), pattern))
    np.testing.assert_allclose(sampled, (W @ X.T[:4])[pattern.rows, pattern.indices])


def test_labels() -> None:
    values, labels = RNG.random(7), np.array([0, 2, 2, 1, 0, 2, 2])
    sums = computed(lambda r: r.label_sums(r.constant("v", values), IndexMap(labels, 4)))
    np.testing.assert_allclose(sums, np.bincount(labels, values, 4))
    taken = computed(lambda r: r.take(r.constant("v", values[:3]), IndexMap(labels, 3)))
    np.testing.assert_array_equal(taken, values[labels])


@pytest.mark.parametrize("length", [None, 1, 2, 3, 5, 6, 40])
def test_windows(length: int | None) -> None:
    x, rates = RNG.random((3, 11)), np.array([0.5, 0.9, 1.0])
    position = np.r_[np.arange(7), np.arange(4)]
    window = TimeWindow(rates, length, position)
    sums = WindowSums(rates, [length], x.shape, position)
    np.testing.assert_allclose(computed(lambda r: r.window(r.constant("x", x), window)), sums.apply(x))
    adjoint = computed(lambda r: r.window_adjoint(r.constant("x", x), window))
    np.testing.assert_allclose(adjoint, next(sums.adjoint(x)))


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="does not know the operation 'rotate'"):
        computed(lambda r: r.emit("rotate", (4, 6), r.constant("x", X)))


VIEWS = {
    "all": (View("x", 0, (4, 6), (6, 1)), lambda x: x),
    "rows and columns": (View("x", 8, (2, 3), (6, 1)), lambda x: x[1:3, 2:5]),
    "transposed": (View("x", 6, (6, 3), (1, 6)), lambda x: x[1:].T),
    "one column": (View("x", 3, (4, 1), (6, 1)), lambda x: x[:, 3:4]),
    "one row as a column": (View("x", 12, (6, 1), (1, 1)), lambda x: x[2].reshape(6, 1)),
    "flat": (View("x", 6, (12,), (1,)), lambda x: x[1:3].ravel()),
    "another shape": (View("x", 0, (3, 8), (8, 1)), lambda x: x.reshape(3, 8)),
    "across the end of a row": (View("x", 4, (2, 3), (3, 1)), lambda x: x.ravel()[4:10].reshape(2, 3)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    view, wanted = VIEWS[name]
    np.testing.assert_array_equal(part_of(jax.numpy.asarray(X), view), wanted(X))
    np.testing.assert_array_equal(view.of(X.reshape(-1)), wanted(X))


def test_views_that_are_no_rows_and_columns_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="cannot read View"):
        part_of(jax.numpy.asarray(X), View("x", 0, (4, 3), (6, 2)))


class Counting(NamedTuple):
    """Counts sweeps, measures after every second one, and keeps the sum of what was measured."""

    def begin(self, _control: Any) -> Any:
        return np.int32(0), np.float64(0)

    def goes_on(self, control: Any, progress: Any) -> Any:
        return progress[0] < control

    def inputs(self, _control: Any, progress: Any) -> Any:
        return {"number": progress[0] + 0.0}

    def wants_divergence(self, _control: Any, progress: Any) -> Any:
        return progress[0] % 2 == 1

    def wants_errors(self, _control: Any, _progress: Any) -> Any:
        return False

    def after(self, _control: Any, progress: Any, results: Any) -> Any:
        assert set(results) == {"total"}
        return progress[0] + 1, progress[1] + jax.numpy.nan_to_num(results["total"])


def test_results_are_measured_where_they_are_wanted() -> None:
    """The state grows by the number of each sweep; its sum is measured after the second and fourth."""
    tape = Tape(np.dtype(float))
    state = tape.declare("x", Array((2,), "state"))
    tape.assign(state, state + tape.input("number"))
    body = tape.section()
    tape.assign(tape.declare("total", Array((), "result")), state.sum())
    bound = BoundProgram(Program(tape.arrays, body, tape.section()), Device())
    found, (done, total) = bound.run(Counting(), {"x": np.zeros(2)}, np.int32(4))
    np.testing.assert_array_equal(found["x"], [6, 6])
    assert (int(done), float(total)) == (4, 2 * 1 + 2 * 6)


def test_sums_of_many_single_numbers_are_double() -> None:
    """A divergence is the difference of two such sums, and momentum looks at its last digits."""
    tape, tenth = Tape(np.dtype(np.float32)), round(0.1 * 2**20) / 2**20  # three of them are a single number, exactly
    x = tape.constant("x", np.full((3, 200_001), tenth, np.float32))
    tape.assign(tape.declare("total", Array((), "result")), x.sum() - 60_000.0)
    bound = BoundProgram(Program(tape.arrays, (), tape.section(), dtype=tape.dtype), Device())
    _, (_, total) = bound.run(Counting(), {}, np.int32(2))
    assert float(total) == pytest.approx(3 * 200_001 * tenth - 60_000, rel=1e-9)


def test_what_a_sweep_hands_on_is_carried() -> None:
    """`enter` fills an array that the body reads before it writes it again."""
    tape = Tape(np.dtype(float))
    state = tape.declare("x", Array((2,), "state"))
    handed = tape.emit("add", (2,), state, 1.0)
    enter = tape.section()
    tape.assign(state, state + handed)
    again = Op("multiply", handed.view, (state.view, 10.0))
    program = Program(tape.arrays, (*tape.section(), again), enter=enter)
    found, _ = BoundProgram(program, Device()).run(RoundsPilot(), {"x": np.ones(2)}, (np.int32(2), {}))
    np.testing.assert_array_equal(found["x"], [33, 33])  # 1 + 2, then 3 + 30
