"""The NumPy backend: every operation of a program becomes calls that are bound to their views once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from pfn.program.passes.expand import parts_of_overlay
from pfn.program.program import Array, IndexMap, Op, Pattern, Program, TimeWindow, View
from pfn.updates.windows import WindowSums

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
    for name in (
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "log1p",
        "log",
        "sqrt",
        "power",
        "negative",
    )
} | {"copy": np.positive, "clip": _clip}


def aligned(count: int, dtype: np.dtype[Any]) -> np.ndarray:
    """A flat array of zeros that starts at a multiple of ALIGNMENT_BYTES."""
    raw = np.zeros(count * dtype.itemsize + ALIGNMENT_BYTES, dtype=np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT_BYTES
    return raw[skip : skip + count * dtype.itemsize].view(dtype)


class Threads(Protocol):
    """Threads that share the work of large operations."""

    def for_product(self, multiplications: int) -> int:
        """Number of threads among which to share a product of this number of multiplications."""

    def for_pass(self, entries: int) -> int:
        """Number of threads among which to share a pass over this number of entries."""

    def each(self, work: Callable[[Any], Any], shares: Sequence[Any]) -> list[Any]:
        """The work done for every share, all at the same time."""

    def dot(self, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        """The product a b of two matrices, shared where it is large."""


class RunMemory:
    """The flat memory of arrays, shared by the programs of a run: what is state in one is state in all.

    `threads` share the work of large operations; None: the calling one does everything.
    """

    def __init__(self, dtype: np.dtype[Any], threads: Threads | None = None) -> None:
        self.dtype, self.threads = dtype, threads
        self._shared: dict[str, np.ndarray] = {}
        self._constants: dict[object, tuple[np.ndarray, Any]] = {}
        self._arena = aligned(0, dtype)

    def arena(self, size: int) -> np.ndarray:
        """RunMemory for what does not outlive a sweep: all programs use the same, one at a time."""
        if size > self._arena.size:
            self._arena = aligned(size, self.dtype)
        return self._arena

    def of(self, name: str, array: Array) -> np.ndarray:
        """The memory of a constant, a state, an input or a result."""
        if array.kind == "constant":
            # What is given has the same values in all programs of a run; the identity of a value may be used again only
            # when it is gone, and it is kept here.
            key = array.given or id(array.value)
            if key not in self._constants:
                self._constants[key] = np.ascontiguousarray(array.value).reshape(-1), array.value
            return self._constants[key][0]
        if name not in self._shared:
            self._shared[name] = aligned(array.size, self.dtype)
            if array.value is not None:
                self._shared[name][:] = np.asarray(array.value).reshape(-1)
        return self._shared[name]

    def set_input(self, name: str, value: float) -> None:
        """Set a number before a sweep; programs that do not read it need not be there."""
        if name in self._shared:
            self._shared[name][0] = value

    def result(self, name: str) -> float:
        """A number that a measurement gave."""
        return float(self._shared[name][0])

    def drop(self) -> None:
        """Give everything back; arrays that are in use elsewhere live on there."""
        self._shared, self._constants, self._arena = {}, {}, aligned(0, self.dtype)


class BoundProgram:
    """A program whose operations are calls without arguments."""

    def __init__(self, program: Program, memory: RunMemory) -> None:
        self.program, self._memory = program, memory
        self._arrays: dict[str, np.ndarray] = {}  # flat, by name
        self._views: dict[View, np.ndarray] = {}
        for name, array in program.arrays.items():
            if array.kind != "temp":
                self._arrays[name] = memory.of(name, array)
        with np.errstate(all="ignore"):  # who runs sweeps looks for overflow in the errors
            for call in self._calls(program.once):
                call()
        self.enter, self.body = self._calls(program.enter), self._calls(program.body)
        self.measure, self.errors = self._calls(program.measure), self._calls(program.errors)
        self._views = {}
        # The state lives in memory now: what it started with is not kept a second time.
        states = {n: replace(a, value=None) for n, a in program.arrays.items() if a.kind == "state"}
        self.program = replace(program, arrays={**program.arrays, **states})

    def view(self, view: View) -> np.ndarray:
        """The part of memory that a view is."""
        if view not in self._views:
            if view.array not in self._arrays:
                self._arrays[view.array] = self._temporary(view.array)
            self._views[view] = view.of(self._arrays[view.array])
        return self._views[view]

    def _temporary(self, name: str) -> np.ndarray:
        """Memory for a temporary array: its place in the shared buffer, or its own."""
        size = self.program.arrays[name].size
        if name not in self.program.places:
            return aligned(size, self._memory.dtype)
        return self._memory.arena(self.program.packed)[self.program.places[name] :][:size]

    def _calls(self, ops: Iterable[Op]) -> list[Call]:
        return [call for op in ops for call in self._bound(op)]

    def _bound(self, op: Op) -> list[Call]:
        """The calls of an operation."""
        if op.do == "overlay":
            return self._calls(parts_of_overlay(op))
        if op.do not in BINDERS:
            raise NotImplementedError(f"the NumPy backend does not know the operation {op.do!r}.")
        out = self.view(op.out)
        ins: list[Any] = [self.view(i) if isinstance(i, View) else i for i in op.ins]
        threads = self._memory.threads
        if threads is None:
            return BINDERS[op.do](op, out, *ins)
        if op.do == "dot" and out.ndim == 2 and out.flags.c_contiguous:
            return [partial(threads.dot, ins[0], ins[1], out)]
        if op.do in UFUNCS and threads.for_pass(out.size) > 1:
            return [partial(threads.each, _perform, _shares(op, out, ins, threads.for_pass(out.size)))]
        return BINDERS[op.do](op, out, *ins)


def _perform(calls: list[Call]) -> None:
    for call in calls:
        call()


def _shares(op: Op, out: np.ndarray, ins: list[Any], count: int) -> list[list[Call]]:
    """The calls of an operation entry by entry, by threads: each has some rows, or some entries of a vector."""
    step = -(-out.shape[0] // count)
    found = []
    for start in range(0, out.shape[0], step):
        rows = slice(start, start + step)
        # An operand of one row, or a number, is the same for all rows of the result.
        along = [isinstance(i, np.ndarray) and i.ndim == out.ndim and i.shape[0] == out.shape[0] for i in ins]
        parts = [i[rows] if cut else i for i, cut in zip(ins, along, strict=True)]
        found.append(_ufunc(op, out[rows], *parts))
    return found


def _ufunc(op: Op, out: np.ndarray, *ins: Any) -> list[Call]:
    if op.do == "copy" and not isinstance(op.ins[0], View):
        return [partial(out.fill, ins[0])]
    if op.do == "maximum" and isinstance(op.ins[1], float):
        # A number as an operand makes np.maximum 2.5 to 3 times slower than the ufunc of np.clip.
        return [partial(_clip, ins[0], ins[1], np.inf, out)]
    if op.do in ("maximum", "minimum"):  # NumPy wants a keyword here
        return [partial(UFUNCS[op.do], *ins, out=out)]
    return [partial(UFUNCS[op.do], *ins, out)]


def _where(op: Op, out: np.ndarray, mask: np.ndarray, chosen: Any, other: Any) -> list[Call]:
    """`chosen` where the mask is true, `other` elsewhere; an operand that lies where the result does is not copied."""
    if op.ins[1] == op.out:
        return [_overwrite(out, ~mask, other)]
    if mask.shape[0] == 1 and not isinstance(op.ins[2], View):
        return [partial(np.copyto, out, chosen), _overwrite(out, ~mask, other)]
    copied = [] if op.ins[2] == op.out else [partial(np.copyto, out, other)]
    return [*copied, _overwrite(out, mask, chosen)]


def _overwrite(out: np.ndarray, mask: np.ndarray, values: Any) -> Call:
    """Values, an array or a number, where the mask is true."""
    if mask.shape[0] == 1 and not isinstance(values, np.ndarray):
        return partial(out.__setitem__, (slice(None), np.flatnonzero(mask[0])), values)  # a few columns
    return partial(np.copyto, out, values, where=mask)


def _dot(_op: Op, out: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[Call]:
    return [partial(np.dot, a, b, out) if out.flags.c_contiguous else partial(np.matmul, a, b, out)]


def _inner_product(_op: Op, out: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[Call]:
    return [partial(np.dot, a.reshape(-1), b.reshape(-1), out)]


def _sum(op: Op, out: np.ndarray, x: np.ndarray) -> list[Call]:
    return [partial(np.add.reduce, x, tuple(range(x.ndim)) if op.data is None else op.data, None, out)]


def _sparse_dot(op: Op, out: np.ndarray, entries: np.ndarray, dense: np.ndarray) -> list[Call]:
    pattern: Pattern = op.data
    if csr_matvecs is None or not out.flags.c_contiguous:
        matrix = sp.csr_array((entries, pattern.indices, pattern.indptr), pattern.shape)
        return [lambda: np.copyto(out, matrix @ dense)]
    calls: list[Call] = [partial(out.fill, 0.0)]
    if not dense.flags.c_contiguous:
        copied = np.empty(dense.shape, dense.dtype)
        calls.append(partial(np.copyto, copied, dense))
        dense = copied
    flat = (pattern.indptr, pattern.indices, entries, dense.reshape(-1), out.reshape(-1))
    return [*calls, partial(csr_matvecs, *pattern.shape, dense.shape[1], *flat)]


# Numbers gathered at a time, for rows and for columns of some entries of a product: fewer cost calls, more the cache.
SAMPLED_NUMBERS = 1 << 17


def _sampled_dot(op: Op, out: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[Call]:
    """Entries of the product a b at the places of a pattern."""
    rows, columns, turned = op.data.rows, op.data.indices, np.empty(b.shape[::-1], b.dtype)
    chunk = max(1, SAMPLED_NUMBERS // max(a.shape[1], 1))

    def work() -> None:
        np.copyto(turned, b.T)  # its rows are gathered: they must lie in one piece
        for start in range(0, rows.size, chunk):
            part = slice(start, start + chunk)
            np.einsum("et,et->e", a[rows[part]], turned[columns[part]], out=out[part])

    return [work]


def _take(op: Op, out: np.ndarray, x: np.ndarray) -> list[Call]:
    return [partial(np.take, x, op.data.labels, None, out, "clip")]


def _label_sums(op: Op, out: np.ndarray, x: np.ndarray) -> list[Call]:
    """Sums of the entries with each label, added up in double precision."""
    labels: IndexMap = op.data
    return [lambda: np.copyto(out, np.bincount(labels.labels, weights=x, minlength=labels.count), casting="same_kind")]


def _window(op: Op, out: np.ndarray, x: np.ndarray) -> list[Call]:
    window: TimeWindow = op.data
    sums = WindowSums(window.rates, [window.length], x.shape, window.position)
    if op.do == "window":
        return [lambda: np.copyto(out, sums.apply(x))]
    return [lambda: np.copyto(out, next(sums.adjoint(x)))]


# By operation, what makes its calls from the operation, its result and its operands.
BINDERS: dict[str, Callable[..., list[Call]]] = {
    **dict.fromkeys(UFUNCS, _ufunc),
    "where": _where,
    "dot": _dot,
    "inner product": _inner_product,
    "sum": _sum,
    "sparse dot": _sparse_dot,
    "sampled dot": _sampled_dot,
    "take": _take,
    "label sums": _label_sums,
    "window": _window,
    "window adjoint": _window,
}
