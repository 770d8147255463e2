"""The tape: formulas called with tracers write operations down on it, each result in an array of its own."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np

from pfn.program.program import Array, IndexMap, Op, Pattern, TimeWindow, View, whole

Box = tuple[int, int]  # the row and the column at which a piece begins

UFUNCS = {np.positive: "copy"} | {
    getattr(np, name): name
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "log1p", "log", "sqrt", "power")
}


class Tracer:
    """Stands for the values of a view while a formula is called: every operation on it is recorded.

    Knows the operators of NumPy, the ufuncs in `UFUNCS`, `np.clip`, and the methods below.
    """

    def __init__(self, tape: "Tape", view: View) -> None:
        self.tape, self.view = tape, view

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.view.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of all numbers of the program."""
        return self.tape.dtype

    @property
    def T(self) -> "Tracer":
        """The transposed matrix."""
        return Tracer(self.tape, self.view.T)

    def rows(self, rows: slice) -> "Tracer":
        """Some rows."""
        return Tracer(self.tape, self.view.rows(rows))

    def columns(self, columns: slice) -> "Tracer":
        """Some columns."""
        return Tracer(self.tape, self.view.columns(columns))

    def reshape(self, *shape: int) -> "Tracer":
        """The entries in another shape."""
        return Tracer(self.tape, self.view.reshaped(shape))

    def sum(self, axis: int | None = None, *, keepdims: bool = False) -> "Tracer":
        """The sum over an axis, or over all entries."""
        kept = () if axis is None else tuple(n for i, n in enumerate(self.shape) if i != axis)
        found = self.tape.emit("sum", kept, self, data=axis)
        return found.reshape(*(1 if i == axis else n for i, n in enumerate(self.shape))) if keepdims else found

    def mean(self, axis: int, *, keepdims: bool = False) -> "Tracer":
        """The mean over an axis."""
        return self.sum(axis, keepdims=keepdims) * (1 / max(self.shape[axis], 1))

    def __add__(self, other: Any) -> "Tracer":
        return self.tape.elementwise("add", self, other)

    def __radd__(self, other: Any) -> "Tracer":
        return self.tape.elementwise("add", other, self)

    def __sub__(self, other: Any) -> "Tracer":
        return self.tape.elementwise("subtract", self, other)

    def __rsub__(self, other: Any) -> "Tracer":
        return self.tape.elementwise("subtract", other, self)

    def __mul__(self, other: Any) -> "Tracer":
        return self.tape.elementwise("multiply", self, other)

    def __rmul__(self, other: Any) -> "Tracer":
        return self.tape.elementwise("multiply", other, self)

    def __truediv__(self, other: Any) -> "Tracer":
        return self.tape.elementwise("divide", self, other)

    def __rtruediv__(self, other: Any) -> "Tracer":
        return self.tape.elementwise("divide", other, self)

    def __pow__(self, other: Any) -> "Tracer":
        return self.tape.elementwise("power", self, other)

    def __rpow__(self, other: Any) -> "Tracer":
        return self.tape.elementwise("power", other, self)

    def __neg__(self) -> "Tracer":
        return self.tape.elementwise("negative", self)

    def __matmul__(self, other: "Tracer") -> "Tracer":
        # What is no tracer may know its product with one: the field of sparse data does.
        return self.tape.dot(self, other) if isinstance(other, Tracer) else NotImplemented

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        return self.tape.elementwise(UFUNCS[ufunc], *inputs)

    def __array_function__(self, function: Any, _types: Any, inputs: Any, options: Any) -> Any:
        if function is not np.clip or options:
            return NotImplemented
        return self.tape.elementwise("clip", *inputs)


def as_constant(value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """The value of a constant as it lies in memory: booleans stay booleans, other numbers get the program's type."""
    array = np.asarray(value)
    return np.ascontiguousarray(array, None if array.dtype == bool else dtype)


class Tape:
    """The operations and arrays of a program while it is written.

    `constants` may be shared by the tapes of several programs: what has the same name is the same array. `given`
    has by name what depends on the data and the starting values of a run.
    """

    def __init__(
        self,
        dtype: np.dtype[Any],
        constants: MutableMapping[str, Array] | None = None,
        given: Mapping[str, Callable[[], np.ndarray]] = MappingProxyType({}),
    ) -> None:
        self.dtype, self._given = dtype, given
        self.arrays: dict[str, Array] = {}
        self.ops: list[Op] = []
        self._chains: list[int] = []  # of every operation, where its chain begins
        self._chain = 0
        self._constants = {} if constants is None else constants
        self._count = 0

    # --- arrays

    def declare(self, name: str, array: Array) -> Tracer:
        """An array by its name; one that is there already is taken as it is."""
        self.arrays.setdefault(name, array)
        return Tracer(self, whole(name, self.arrays[name].shape))

    def constant(self, name: str, value: Any, given: tuple[str, ...] = ()) -> Tracer:
        """An array that never changes; booleans stay booleans, other numbers get the type of the program."""
        if name not in self._constants:
            shape, kept = np.shape(value), as_constant(value, self.dtype)
            self._constants[name] = Array(shape, "constant", kept.reshape(shape), given)
        return self.declare(name, self._constants[name])

    def given(self, name: str) -> Tracer:
        """An array that never changes in a run, but is another one with other data or starting values."""
        found = name in self._constants
        return self.constant(name, None if found else self._given[name](), (name,))

    def state(self, name: str) -> Tracer:
        """An array that changes from sweep to sweep."""
        if name in self.arrays:
            return self.declare(name, self.arrays[name])
        start = self._given[name]()
        return self.declare(name, Array(start.shape, "state", start, (name,)))

    def input(self, name: str) -> Tracer:
        """A number that is set before a sweep."""
        return self.declare(name, Array((), "input"))

    # --- operations

    def emit(self, do: str, shape: tuple[int, ...], *operands: Any, data: Any = None) -> Tracer:
        """Write an operation down whose result is a new array."""
        self._count += 1
        name = f"{do} {self._count}"
        self.arrays[name] = Array(shape, "temp")
        out = whole(name, shape)
        self._write(Op(do, out, tuple(o.view if isinstance(o, Tracer) else float(o) for o in operands), data))
        return Tracer(self, out)

    def assign(self, target: Tracer, value: Tracer) -> None:
        """Let an array, all of it, take these values."""
        self._write(Op("copy", target.view, (value.view.reshaped(target.shape),)))

    def _write(self, op: Op) -> None:
        self.ops.append(op)
        self._chains.append(self._chain)

    def elementwise(self, do: str, *operands: Any) -> Tracer:
        """An operation entry by entry, with the broadcasting of NumPy."""
        shape = np.broadcast_shapes(*(o.shape for o in operands if isinstance(o, Tracer)))
        return self.emit(do, shape, *operands)

    def where(self, mask: Tracer, chosen: Tracer, other: Tracer | float) -> Tracer:
        """`chosen` where the mask is true, `other` elsewhere."""
        return self.elementwise("where", mask, chosen, other)

    def dot(self, a: Tracer, b: Tracer) -> Tracer:
        """The product of two matrices, or of a matrix and a vector."""
        return self.emit("dot", (*a.shape[:1], *b.shape[1:]), a, b)

    def overlay(self, shape: tuple[int, ...], pieces: Sequence[Tracer], boxes: Sequence[Box]) -> Tracer:
        """The sum of pieces, each with its first entry at the row and column of its box; zero where there is none."""
        if len(pieces) == 1 and pieces[0].shape == shape:
            return pieces[0]
        return self.emit("overlay", shape, *pieces, data=tuple(boxes))

    def stack(self, pieces: Sequence[Tracer]) -> Tracer:
        """Matrices of the same number of columns on top of each other."""
        boxes, row = [], 0
        for piece in pieces:
            boxes.append((row, 0))
            row += piece.shape[0]
        return self.overlay((row, pieces[0].shape[1]), pieces, boxes)

    def sparse_dot(self, entries: Tracer, pattern: Pattern, dense: Tracer) -> Tracer:
        """The product of a sparse matrix, given by its stored entries and their pattern, and a dense one."""
        return self.emit("sparse dot", (pattern.shape[0], dense.shape[1]), entries, dense, data=pattern)

    def sampled_dot(self, a: Tracer, b: Tracer, pattern: Pattern) -> Tracer:
        """The entries of the product a b at the places of a pattern only."""
        return self.emit("sampled dot", (pattern.indices.size,), a, b, data=pattern)

    def take(self, x: Tracer, places: IndexMap) -> Tracer:
        """For every label the entry of x at that place."""
        return self.emit("take", (places.labels.size,), x, data=places)

    def label_sums(self, x: Tracer, places: IndexMap) -> Tracer:
        """For every label from 0 on, the sum of the entries of x that have it."""
        return self.emit("label sums", (places.count,), x, data=places)

    def window(self, x: Tracer, window: TimeWindow) -> Tracer:
        """What is seen of the columns of x through a window."""
        return self.emit("window", x.shape, x, data=window)

    def window_adjoint(self, x: Tracer, window: TimeWindow) -> Tracer:
        """At every column, what all columns that see it through the window have."""
        return self.emit("window adjoint", x.shape, x, data=window)

    # --- order

    def chain(self) -> None:
        """Here begins the same formula for another operand: another equation, child or parent."""
        self._chain = len(self.ops)

    @contextmanager
    def stage(self) -> Iterator[None]:
        """Chains of operations that do not depend on each other lie side by side in what is recorded here.

        First the operations that depend on no other of the stage, then those that depend on these, and so on; among
        them those of one kind, and the first of its kind in every chain before the second of any. So one formula that
        is called for several equations has its operations next to each other, where a pass can make them one.
        """
        start = len(self.ops)
        self.chain()
        yield
        ranked: list[tuple[int, int, int, Op]] = []
        written: dict[str, int] = {}  # by array, the rank of its last writer
        read: dict[str, int] = {}  # by array, the highest rank of its readers since
        kinds: dict[str, int] = {}
        numbers = Counter[tuple[int, str]]()  # by chain and kind, how many operations there were
        for op, chain in zip(self.ops[start:], self._chains[start:], strict=True):
            names = [view.array for view in op.reads]
            before = [written[name] for name in (*names, op.out.array) if name in written]
            before += [read[op.out.array]] if op.out.array in read else []
            rank = 1 + max(before, default=-1)
            for name in names:
                read[name] = max(read.get(name, 0), rank)
            written[op.out.array] = rank
            read.pop(op.out.array, None)
            numbers[chain, op.do] += 1
            ranked.append((rank, kinds.setdefault(op.do, len(kinds)), numbers[chain, op.do], op))
        self.ops[start:] = [op for *_, op in sorted(ranked, key=lambda item: item[:3])]

    def section(self) -> tuple[Op, ...]:
        """The operations recorded since the last section, which ends here."""
        ops, self.ops, self._chains = tuple(self.ops), [], []
        return ops
