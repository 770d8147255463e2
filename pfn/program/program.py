"""A program: the sweeps of a run as a list of primitive operations on views of arrays. Inert, printable as a table.

Backends bind the operations to memory, or interpret them. They know nothing of variables, equations or formulas.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np

from pfn.network.tables import text_table

Kind = Literal["state", "constant", "input", "result", "temp"]

# Operations entry by entry, with the broadcasting of NumPy, which has functions of the same names.
ELEMENTWISE = frozenset(
    {"add", "subtract", "multiply", "divide", "maximum", "minimum", "clip", "log1p", "log", "sqrt", "power", "copy"}
    | {"where", "negative"}
)


# Up to this number of entries, a call costs more than the work of a pass over them.
SMALL_ENTRIES = 1 << 15

# From this number of entries on, an array is worth more than the time of a pass that makes it anew.
LARGE_ENTRIES = 1 << 18


class View(NamedTuple):
    """Part of an array: offset and strides are counted in entries, from the first one of the array."""

    array: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def T(self) -> "View":
        """The transposed view."""
        return self._replace(shape=self.shape[::-1], strides=self.strides[::-1])

    @property
    def size(self) -> int:
        """Number of entries."""
        return _geometry(self.shape, self.strides).size

    @property
    def contiguous(self) -> bool:
        """Whether the entries follow each other in memory, row by row."""
        return _geometry(self.shape, self.strides).contiguous

    @property
    def end(self) -> int:
        """One more than the place of the last entry."""
        return self.offset + _geometry(self.shape, self.strides).extent

    def part(self, axis: int, start: int, stop: int) -> "View":
        """The entries from start to stop along an axis."""
        shape = (*self.shape[:axis], max(stop - start, 0), *self.shape[axis + 1 :])
        return self._replace(offset=self.offset + start * self.strides[axis], shape=shape)

    def rows(self, rows: slice) -> "View":
        """Some rows."""
        return self.part(0, *rows.indices(self.shape[0])[:2])

    def columns(self, columns: slice) -> "View":
        """Some columns."""
        return self.part(1, *columns.indices(self.shape[1])[:2])

    def reshaped(self, shape: tuple[int, ...]) -> "View":
        """The entries in another shape; the view must be contiguous."""
        if not self.contiguous or prod(shape) != self.size:
            raise ValueError(f"{self} cannot have the shape {shape}.")
        return self._replace(shape=shape, strides=steps(shape))

    def of(self, memory: Any) -> Any:
        """The view of a flat NumPy array that holds the array of this view."""
        step = memory.itemsize
        strides = tuple([step * n for n in self.strides])
        return np.ndarray(self.shape, memory.dtype, memory, self.offset * step if self.size else 0, strides)

    def __str__(self) -> str:
        place = f"+{self.offset}" if self.offset else ""
        return f"{self.array}{place}[{'×'.join(map(str, self.shape))}]"


@lru_cache(1 << 14)
def steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous array of this shape."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


class _Geometry(NamedTuple):
    """What passes ask of views again and again: number of entries, order in memory, distance from first to end."""

    size: int
    contiguous: bool
    extent: int


@lru_cache(1 << 14)
def _geometry(shape: tuple[int, ...], strides: tuple[int, ...]) -> _Geometry:
    size = prod(shape)
    pairs = [(length, step) for length, step in zip(shape, strides, strict=True) if length != 1]
    in_order = [step for length, step in zip(shape, steps(shape), strict=True) if length != 1]
    contiguous = size <= 1 or [step for _, step in pairs] == in_order
    return _Geometry(size, contiguous, sum((length - 1) * step for length, step in pairs) + 1 if size else 0)


def whole(name: str, shape: tuple[int, ...]) -> View:
    """The view of all of an array."""
    return View(name, 0, shape, steps(shape))


@dataclass(frozen=True, eq=False)
class Pattern:
    """Where the stored entries of a sparse matrix lie: row by row, as in the CSR format of SciPy."""

    shape: tuple[int, int]
    indptr: np.ndarray
    indices: np.ndarray

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of every stored entry."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))


@dataclass(frozen=True, eq=False)
class IndexMap:
    """A whole number below `count` for every entry of a flat array."""

    labels: np.ndarray
    count: int


@dataclass(frozen=True, eq=False)
class TimeWindow:
    """A geometric window along the columns: Σ rate^j x[t − j] over `length` columns; None: over all of the past.

    `rates` has a number for every row. `position` has the place of every column in its own sequence.
    """

    rates: np.ndarray
    length: int | None
    position: np.ndarray


class Op(NamedTuple):
    """One primitive operation: `out` becomes a function, by name, of the operands, which are views or numbers.

    `data` holds what the operation needs to know beside: an axis, the boxes of an overlay, the pattern of a sparse
    matrix. Patterns, labels and windows are equal to themselves only.
    """

    do: str
    out: View
    ins: tuple[View | float, ...]
    data: Any = None

    @property
    def reads(self) -> Iterator[View]:
        """The operands that are views."""
        return (operand for operand in self.ins if isinstance(operand, View))

    @property
    def elementwise(self) -> bool:
        """Whether every entry of the result depends on the same entry, or broadcast entry, of each operand only."""
        return self.do in ELEMENTWISE

    def __str__(self) -> str:
        operands = ", ".join(str(i) if isinstance(i, View) else f"{i:.6g}" for i in self.ins)
        note = f"; {self.data}" if isinstance(self.data, int | tuple) else ""
        return f"{self.do}({operands}{note})"


@dataclass(frozen=True, eq=False)
class Array:
    """An array of a program, and what becomes of it.

    state       changes from sweep to sweep and is read from outside; `value` is what it starts with
    constant    never changes; `value` is what it holds
    input       a number that is set before a sweep
    result      a number that is read after a measurement
    temp        exists within a sweep, or is handed on to the next one
    """

    shape: tuple[int, ...]
    kind: Kind
    value: Any = None
    given: tuple[str, ...] = ()
    """Where the value depends on the data or the starting values of a run: the names of its parts, end to end."""

    @cached_property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.shape)


@dataclass(frozen=True)
class Program:
    """Everything about the sweeps of a run, as data.

    A backend performs `once` when it binds the program, `enter` before a sweep whose predecessor was not a sweep of
    this very program (or after which values were changed from outside), then `body`, the sweep. After it, `measure`
    gives the divergence where that is wanted, and `errors`, after `measure` only, the errors of all equations. `names`
    says where the state lies, and results that are arrays.
    """

    arrays: Mapping[str, Array]
    body: tuple[Op, ...]
    measure: tuple[Op, ...] = ()
    errors: tuple[Op, ...] = ()
    once: tuple[Op, ...] = ()
    enter: tuple[Op, ...] = ()
    names: Mapping[str, View] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)  # of temporary arrays, in the buffer that they share
    packed: int = 0  # the size of that buffer
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    @property
    def sections(self) -> tuple[tuple[str, tuple[Op, ...]], ...]:
        """The lists of operations by name, in the order in which they are first performed."""
        return ("once", self.once), ("enter", self.enter), *self.timeline

    @property
    def timeline(self) -> tuple[tuple[str, tuple[Op, ...]], ...]:
        """The lists of operations by name that follow each other in a sweep after which everything is measured."""
        return ("body", self.body), ("measure", self.measure), ("errors", self.errors)

    @property
    def ops(self) -> Iterator[Op]:
        """The operations of all sections."""
        return (op for _, ops in self.sections for op in ops)

    def with_sections(self, sections: Mapping[str, Iterable[Op]]) -> "Program":
        """The program with other lists of operations, by the names of the sections."""
        once, enter, body, measure, errors = (
            tuple(sections[name]) for name in ("once", "enter", "body", "measure", "errors")
        )
        return replace(self, once=once, enter=enter, body=body, measure=measure, errors=errors)

    def with_given(self, given: Mapping[str, Callable[[], np.ndarray]] | None) -> "Program":
        """The program for other data and starting values of the same kind; None: without any, to be kept for later."""
        arrays = dict(self.arrays)
        for name, array in self.arrays.items():
            if array.given:
                parts = [given[part]() for part in array.given] if given is not None else []
                value = (
                    parts[0] if len(parts) == 1 else np.concatenate([p.reshape(-1) for p in parts]) if parts else None
                )
                arrays[name] = replace(array, value=value)
        return replace(self, arrays=arrays)

    def without_unused_arrays(self) -> "Program":
        """The program without arrays that no operation touches; state, inputs and what has a name stay."""
        used = {view.array for op in self.ops for view in (op.out, *op.reads)}
        used |= {view.array for view in self.names.values()}
        kept = {name: a for name, a in self.arrays.items() if name in used or a.kind in ("state", "input", "result")}
        return replace(self, arrays=kept)

    def __str__(self) -> str:
        rows = [(name, str(op.out), str(op)) for name, ops in self.sections for op in ops]
        return "\n".join(text_table(("section", "result", "operation"), rows))
