"""The NumPy backend: every operation of a program becomes calls that are bound to their views once."""

from collections.abc import Callable, Iterable, MutableMapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.program.program import Array, Labels, Op, Pattern, Program, View

try:
    # The compiled routine under SciPy's product of a CSR matrix: the operator itself takes 3 µs more for each call.
    from scipy.sparse._sparsetools import csr_matvecs
except ImportError:  # pragma: no cover - a private name, which SciPy may move
    csr_matvecs = None

# The ufunc itself: np.clip adds Python around it. NumPy keeps it in a private module, and np.clip is the same function.
_clip: Any = getattr(getattr(getattr(np, "_core", None), "umath", None), "clip", np.clip)

Call = Callable[[], Any]

# Buffers start at multiples of this many bytes, so that runs give the same bits wherever they are allocated.
ALIGNMENT_BYTES = 64

UFUNCS: dict[str, Any] = {
    name: getattr(np, name)
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "log1p", "log", "sqrt", "power")
} | {"copy": np.positive}


def aligned(count: int, dtype: np.dtype[Any]) -> np.ndarray:
    """A flat array of zeros that starts at a multiple of ALIGNMENT_BYTES."""
    raw = np.zeros(count * dtype.itemsize + ALIGNMENT_BYTES, dtype=np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT_BYTES
    return raw[skip : skip + count * dtype.itemsize].view(dtype)


class Memory:
    """The flat memory of arrays, shared by the programs of a run: what is state in one is state in all."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self._shared: dict[str, np.ndarray] = {}
        self._constants: dict[int, np.ndarray] = {}
        self._arena = aligned(0, dtype)

    def arena(self, size: int) -> np.ndarray:
        """Memory for what does not outlive a sweep: all programs use the same, one at a time."""
        if size > self._arena.size:
            self._arena = aligned(size, self.dtype)
        return self._arena

    def of(self, name: str, array: Array) -> np.ndarray:
        """The memory of a constant, a state, an input or a result."""
        if array.kind == "constant":
            if id(array) not in self._constants:
                # Kept beside the flat view: the identity of a dead array may be given to another one.
                self._constants[id(array)] = np.ascontiguousarray(array.value).reshape(-1)
            return self._constants[id(array)]
        if name not in self._shared:
            self._shared[name] = aligned(array.size, self.dtype)
            if array.value is not None:
                self._shared[name][:] = np.asarray(array.value).reshape(-1)
        return self._shared[name]

    def state(self, name: str) -> np.ndarray:
        """The flat values of an array that a program of this memory has as its state."""
        return self._shared[name]

    def set_input(self, name: str, value: float) -> None:
        """Set a number before a sweep; programs that do not read it need not be there."""
        if name in self._shared:
            self._shared[name][0] = value

    def result(self, name: str) -> float:
        """A number that a measurement gave."""
        return float(self._shared[name][0])

    def drop(self, keep: Iterable[str]) -> None:
        """Give back everything but the shared arrays with these names."""
        self._shared = {name: self._shared[name] for name in keep if name in self._shared}
        self._constants, self._arena = {}, aligned(0, self.dtype)


class BoundProgram:
    """A program whose operations are calls without arguments."""

    def __init__(self, program: Program, memory: Memory) -> None:
        self.program, self._memory = program, memory
        self._own: MutableMapping[str, np.ndarray] = {}
        for name, array in program.arrays.items():
            if array.kind != "temp":
                memory.of(name, array)
        for call in self._calls(program.once):
            call()
        self.enter, self.body, self.measure = (self._calls(ops) for ops in program.sections_of_a_sweep)

    def view(self, view: View) -> np.ndarray:
        """The part of memory that a view is."""
        found: np.ndarray = view.of(self._flat(view.array))
        return found

    def _flat(self, name: str) -> np.ndarray:
        array = self.program.arrays[name]
        if array.kind != "temp":
            return self._memory.of(name, array)
        if name not in self._own:
            self._own[name] = aligned(array.size, self._memory.dtype)
        return self._own[name]

    def _calls(self, ops: Iterable[Op]) -> list[Call]:
        return [call for op in ops for call in self._bound(op)]

    def _bound(self, op: Op) -> list[Call]:
        """The calls of an operation."""
        out = self.view(op.out)
        ins: list[Any] = [self.view(i) if isinstance(i, View) else i for i in op.ins]
        if op.do in UFUNCS or op.do == "clip":
            return [_elementwise(op, out, ins)]
        if op.do == "where":
            return _where(op, out, *ins)
        if op.do == "dot":
            return [_dot(out, *ins)]
        if op.do == "sum":
            return [
                partial(np.add.reduce, ins[0], op.data if op.data is not None else tuple(range(ins[0].ndim)), None, out)
            ]
        if op.do == "overlay":
            return _overlay(out, ins, op.data)
        if op.do == "sparse dot":
            return _sparse_dot(out, ins[0], ins[1], op.data)
        if op.do == "sampled dot":
            return [partial(_sampled_dot, out, ins[0], ins[1], op.data)]
        if op.do == "take":
            return [partial(np.take, ins[0], op.data.labels, None, out, "clip")]
        if op.do == "label sums":
            return [partial(_label_sums, out, ins[0], op.data)]
        raise NotImplementedError(f"the NumPy backend does not know the operation {op.do!r}.")


def _elementwise(op: Op, out: np.ndarray, ins: list[Any]) -> Call:
    if op.do == "copy" and not isinstance(op.ins[0], View):
        return partial(out.fill, ins[0])
    if op.do == "maximum" and isinstance(ins[1], float):
        # A number as an operand makes np.maximum 2.5 to 3 times slower than the ufunc of np.clip.
        return partial(_clip, ins[0], ins[1], np.inf, out)
    if op.do == "clip":
        return partial(_clip, *ins, out)
    return (
        partial(UFUNCS[op.do], *ins, out=out) if op.do in ("maximum", "minimum") else partial(UFUNCS[op.do], *ins, out)
    )


def _where(op: Op, out: np.ndarray, mask: np.ndarray, chosen: Any, other: Any) -> list[Call]:
    """`chosen` where the mask is true, `other` elsewhere; what `out` is already needs no copy."""
    calls: list[Call] = []
    if op.ins[1] == op.out or (mask.shape[0] == 1 and not isinstance(other, np.ndarray)):
        # A row of booleans that is false in few columns: copy everything, then overwrite these columns.
        calls += [] if op.ins[1] == op.out else [partial(np.copyto, out, chosen)]
        if mask.shape[0] == 1:
            return [*calls, partial(out.__setitem__, (slice(None), np.flatnonzero(~mask[0])), other)]
        return [*calls, partial(np.copyto, out, other, where=~mask)]
    calls += [] if op.ins[2] == op.out else [partial(np.copyto, out, other)]
    return [*calls, partial(np.copyto, out, chosen, where=mask)]


def _dot(out: np.ndarray, a: np.ndarray, b: np.ndarray) -> Call:
    if out.flags.c_contiguous:
        return partial(np.dot, a, b, out)
    return partial(np.matmul, a, b, out)


def _overlay(out: np.ndarray, pieces: list[np.ndarray], boxes: tuple[tuple[int, int], ...]) -> list[Call]:
    """The sum of pieces at their boxes: copied where there is none before them, added where there is one everywhere."""
    covered = np.zeros(out.shape, bool)
    calls: list[Call] = []
    zeros = False  # whether something is added, or nothing written, where nothing was before
    for piece, (row, column) in zip(pieces, boxes, strict=True):
        box = slice(row, row + piece.shape[0]), slice(column, column + piece.shape[1])
        before, place = covered[box], out[box]
        zeros |= bool(before.any() and not before.all())
        calls.append(partial(np.add, place, piece, place) if before.any() else partial(np.copyto, place, piece))
        covered[box] = True
    return calls if covered.all() and not zeros else [partial(out.fill, 0.0), *calls]


def _sparse_dot(out: np.ndarray, entries: np.ndarray, dense: np.ndarray, pattern: Pattern) -> list[Call]:
    (rows, columns), width = pattern.shape, dense.shape[1]
    if csr_matvecs is None or not out.flags.c_contiguous:
        matrix = sp.csr_array((entries, pattern.indices, pattern.indptr), pattern.shape)
        return [lambda: np.copyto(out, matrix @ dense)]
    calls: list[Call] = [partial(out.fill, 0.0)]
    if not dense.flags.c_contiguous:
        copied = np.empty(dense.shape, dense.dtype)
        calls.append(partial(np.copyto, copied, dense))
        dense = copied
    flat = (pattern.indptr, pattern.indices, entries, dense.reshape(-1), out.reshape(-1))
    return [*calls, partial(csr_matvecs, rows, columns, width, *flat)]


# Entries of a product that are computed at a time: their rows and columns are gathered into two such arrays.
SAMPLED_ENTRIES = 1 << 20


def _sampled_dot(out: np.ndarray, a: np.ndarray, b: np.ndarray, pattern: Pattern) -> None:
    """Entries of a b at the places of a pattern."""
    rows, columns, turned = pattern.rows, pattern.indices, b.T
    chunk = max(1, SAMPLED_ENTRIES // max(a.shape[1], 1))
    for start in range(0, rows.size, chunk):
        part = slice(start, start + chunk)
        np.einsum("et,et->e", a[rows[part]], turned[columns[part]], out=out[part])


def _label_sums(out: np.ndarray, x: np.ndarray, labels: Labels) -> None:
    """Sums of the entries with each label, added up in double precision."""
    out[:] = np.bincount(labels.labels, weights=x, minlength=labels.count)
