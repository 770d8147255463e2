"""The JAX backend: programs are interpreted while XLA compiles them; many sweeps are one loop on the device.

    program ──bind──▶ recipe (what is compiled) + arguments (its numbers) ──run──▶ a compiled loop of sweeps

Nothing is done in place: every operation makes a new array of its natural shape, and only the state, and what a sweep
hands to the next one, goes round the loop. Recipes without numbers are equal where the work is the same, so that runs
of the same kind share one compiled loop. What happens between sweeps is decided on the device, too, by a pilot.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

from pfn.program.program import Array, IndexMap, Op, Pattern, Program, TimeWindow, View
from pfn.updates import jax_gathers

DeviceArray = jax.Array
Values = dict[str, Any]  # arrays by name
TableData = tuple[int | None, Any]  # what is compiled of the data of an operation, and what are arguments


class Table(NamedTuple):
    """Stands in a recipe for data of an operation that are arguments: their place, and what is compiled of them."""

    place: int
    size: int | None


@dataclass(frozen=True)
class Recipe:
    """What is compiled of a program: operations and shapes, without any numbers. Equal recipes share compiled code."""

    sections: tuple[tuple[str, tuple[Op, ...]], ...]
    shapes: tuple[tuple[str, tuple[int, ...], str], ...]
    """Name, shape and kind of every array."""
    dtype: str

    @cached_property
    def _hash(self) -> int:
        return hash((self.sections, self.shapes, self.dtype))

    def __hash__(self) -> int:
        return self._hash  # of hundreds of operations: once, not at every call

    @cached_property
    def section(self) -> dict[str, tuple[Op, ...]]:
        """The operations of every section."""
        return dict(self.sections)

    @cached_property
    def shape(self) -> dict[str, tuple[int, ...]]:
        """The natural shape of every array."""
        return {name: shape for name, shape, _ in self.shapes}

    def of_kind(self, *kinds: str) -> list[str]:
        """The arrays of these kinds."""
        return [name for name, _, kind in self.shapes if kind in kinds]


class Arguments(NamedTuple):
    """The numbers of a bound program that no sweep changes."""

    constants: Values
    """Constants, and the results of the section `once`."""
    tables: tuple[Any, ...]
    """Where the entries of sparse matrices lie, labels, windows."""


class Pilot(Protocol):
    """What happens between sweeps, on the device. Hashable; a pilot is compiled with the recipe that it flies.

    `control` are the numbers that a call is given; `progress` are those that change from sweep to sweep.
    """

    def begin(self, control: Any) -> Any:
        """The progress before the first sweep."""

    def goes_on(self, control: Any, progress: Any) -> Any:
        """Whether there is another sweep."""

    def inputs(self, control: Any, progress: Any) -> Values:
        """The inputs of the next sweep."""

    def wants_divergence(self, control: Any, progress: Any) -> Any:
        """Whether the divergence is measured after it: True or False where that is always so, else a number."""

    def wants_errors(self, control: Any, progress: Any) -> Any:
        """Whether the errors of all equations are measured after it; they need the divergence."""

    def after(self, control: Any, progress: Any, results: Values) -> Any:
        """The progress after a sweep, from its results: NaN where they were not measured."""


@dataclass
class Device:
    """What the programs of a run have in common on the device: constants and tables, each put there once."""

    _constants: dict[Any, tuple[Array, DeviceArray]] = field(default_factory=dict)
    _tables: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def constant(self, array: Array) -> DeviceArray:
        """The values of a constant."""
        key = (array.given, array.shape) if array.given else id(array)  # programs have what is given each for itself
        if key not in self._constants:
            # Kept beside its values: the identity of a dead array may be given to another one.
            self._constants[key] = array, jax.device_put(np.asarray(array.value).reshape(array.shape))
        return self._constants[key][1]

    def table(self, data: Pattern | IndexMap | TimeWindow) -> Any:
        """What operations need of data beside their operands, as arrays."""
        if id(data) not in self._tables:
            self._tables[id(data)] = data, jax.device_put(_table_of(data))
        return self._tables[id(data)][1]


def _table_of(data: Pattern | IndexMap | TimeWindow) -> Any:
    if isinstance(data, Pattern):
        return jax_gathers.make_pattern(
            sp.csr_array((np.ones(data.indices.size), data.indices, data.indptr), data.shape)
        )
    if isinstance(data, IndexMap):
        return data.labels.astype(np.int32)
    return data.rates, data.position.astype(np.int32)


def _size_of(data: Pattern | IndexMap | TimeWindow) -> int | None:
    """What code is compiled for, of data that are arguments but for that."""
    if isinstance(data, IndexMap):
        return data.count
    return data.length if isinstance(data, TimeWindow) else None


class BoundProgram:
    """A program, its recipe, and its numbers on the device."""

    def __init__(self, program: Program, device: Device) -> None:
        self.program = program
        tables: dict[int, Table] = {}
        arguments: list[Any] = []

        def without_numbers(op: Op) -> Op:
            if not isinstance(op.data, Pattern | IndexMap | TimeWindow):
                return op
            if id(op.data) not in tables:
                tables[id(op.data)] = Table(len(arguments), _size_of(op.data))
                arguments.append(device.table(op.data))
            return op._replace(data=tables[id(op.data)])

        sections = tuple((name, tuple(map(without_numbers, ops))) for name, ops in program.sections)
        shapes = tuple((name, array.shape, array.kind) for name, array in program.arrays.items())
        self.recipe = Recipe(sections, shapes, program.dtype.name)
        constants = {name: device.constant(array) for name, array in program.arrays.items() if array.kind == "constant"}
        self._arguments = Arguments(constants, tuple(arguments))
        if program.once:
            made = _once(self.recipe, self._arguments)
            self._arguments = self._arguments._replace(constants={**constants, **made})

    def run(self, pilot: Pilot, state: Mapping[str, Any], control: Any) -> tuple[Values, Any]:
        """Sweeps until the pilot ends them: state and results after the last one, and the progress then."""
        found: tuple[Values, Any] = _sweeps(self.recipe, pilot, self._arguments, dict(state), control)
        return found


@partial(jax.jit, static_argnames="recipe")
def _once(recipe: Recipe, arguments: Arguments) -> Values:
    """What never changes, of what is computed."""
    ops = recipe.section["once"]
    values = _Interpreter(recipe, arguments.tables).perform(ops, arguments.constants)
    return {op.out.array: values[op.out.array] for op in ops}


@partial(jax.jit, static_argnames=("recipe", "pilot"))
def _sweeps(recipe: Recipe, pilot: Pilot, arguments: Arguments, state: Values, control: Any) -> tuple[Values, Any]:
    """The loop of sweeps."""
    interpreter = _Interpreter(recipe, arguments.tables)
    body = recipe.section["body"]
    zeros = {name: jnp.zeros(recipe.shape[name], recipe.dtype) for name in _results_of(recipe, "body")}
    entered = interpreter.perform(recipe.section["enter"], {**arguments.constants, **state})
    written = {op.out.array for op in body}
    handed_on = {op.out.array for op in recipe.section["enter"]} & written
    carried = {**state, **{name: entered[name] for name in sorted(handed_on)}, **zeros}

    def sweep(loop: tuple[Values, Any]) -> tuple[Values, Any]:
        carried, progress = loop
        inputs = pilot.inputs(control, progress)
        values = interpreter.perform(body, {**entered, **carried, **inputs})
        divergence, errors = pilot.wants_divergence(control, progress), pilot.wants_errors(control, progress)
        results = interpreter.measured(("measure", divergence), ("errors", errors), values=values)
        return {name: values[name] for name in carried}, pilot.after(control, progress, results)

    def goes_on(loop: tuple[Values, Any]) -> Any:
        return pilot.goes_on(control, loop[1])

    carried, progress = jax.lax.while_loop(goes_on, sweep, (carried, pilot.begin(control)))
    return {name: carried[name] for name in (*state, *zeros)}, progress


def _results_of(recipe: Recipe, section: str) -> list[str]:
    """The results that a section gives."""
    results = set(recipe.of_kind("result"))
    return [op.out.array for op in recipe.section[section] if op.out.array in results]


class _Interpreter:
    """Performs operations while they are traced."""

    def __init__(self, recipe: Recipe, tables: tuple[Any, ...]) -> None:
        self._recipe, self._tables, self._dtype = recipe, tables, np.dtype(recipe.dtype)

    def perform(self, ops: Iterable[Op], values: Mapping[str, Any]) -> Values:
        """The values after some operations."""
        held = dict(values)
        for op in ops:
            ins = [self._operand(i, held, op) for i in op.ins]
            data = (op.data.size, self._tables[op.data.place]) if isinstance(op.data, Table) else op.data
            if op.do not in FUNCTIONS:
                raise NotImplementedError(f"the JAX backend does not know the operation {op.do!r}.")
            new = FUNCTIONS[op.do](op, data, *ins)
            shape = self._recipe.shape[op.out.array]
            if new.shape != shape:
                new = jnp.broadcast_to(new, op.out.shape).reshape(shape)
            held[op.out.array] = new
        return held

    def _operand(self, operand: View | float, held: Values, op: Op) -> Any:
        """The values of a view, or a number.

        Numbers that are sums of many stay in double precision until an array is computed with them.
        """
        if not isinstance(operand, View):
            return operand
        value = held[operand.array]
        if not operand.shape:
            return value.astype(self._dtype) if op.out.shape else value
        return part_of(value, operand)

    def measured(self, *sections: tuple[str, Any], values: Values) -> Values:
        """The results of sections that follow each other, each where it is wanted and those before it were."""
        if not sections:
            return {}
        (section, wanted), *rest = sections
        names = [name for each, _ in sections for name in _results_of(self._recipe, each)]

        def found(values: Values) -> Values:
            after = self.perform(self._recipe.section[section], values)
            mine = {name: after[name].astype(float) for name in _results_of(self._recipe, section)}
            return {**mine, **self.measured(*rest, values=after)}

        nothing = {name: jnp.full((), jnp.nan) for name in names}
        if isinstance(wanted, bool):
            return found(values) if wanted else nothing
        results: Values = jax.lax.cond(wanted, lambda: found(values), lambda: nothing)
        return results


def part_of(value: Any, view: View) -> Any:
    """The part of an array that a view is: rows and columns, transposed, or in another shape."""
    for seen, turned in ((view, False), (view.T, True)):
        box = _box(value.shape, seen)
        if box is not None:
            whole = all(stop - start == size for (start, stop), size in zip(box, value.shape, strict=True))
            inside = value if whole else jax.lax.slice(value, *zip(*box, strict=True))
            return inside.T if turned else inside
    if not view.contiguous:
        raise NotImplementedError(f"the JAX backend cannot read {view!r} of an array of the shape {value.shape}.")
    flat = value.reshape(-1)
    if view.size != flat.size:
        flat = jax.lax.slice(flat, (view.offset,), (view.offset + view.size,))
    return flat.reshape(view.shape)


def _box(shape: tuple[int, ...], view: View) -> list[tuple[int, int]] | None:
    """Where a view begins and ends along every axis of an array, if it is some of its rows and columns."""
    if len(shape) != len(view.shape):
        return None
    found, rest = [], view.offset
    for axis, (length, step) in enumerate(zip(view.shape, view.strides, strict=True)):
        natural = int(np.prod(shape[axis + 1 :], dtype=int))
        if length != 1 and step != natural:
            return None
        start, rest = divmod(rest, natural) if natural else (0, 0)
        found.append((start, start + length))
    inside = all(stop <= size for (_, stop), size in zip(found, shape, strict=True))
    return found if inside else None


# --- operations


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _op, _data, *ins: function(*ins)


def _copy(op: Op, _data: Any, x: Any) -> Any:
    return x if isinstance(op.ins[0], View) else jnp.full(op.out.shape, x)


def _sum(_op: Op, axis: Any, x: Any) -> Any:
    """Sums over one axis; all of an array in double precision, but for the sums of its columns."""
    if axis is not None or x.ndim < 2:
        return jnp.sum(x, axis=axis, dtype=x.dtype if axis is not None else float)
    return jnp.sum(jnp.sum(x, axis=0), dtype=float)


def _overlay(op: Op, boxes: tuple[tuple[int, int], ...], *pieces: Any) -> Any:
    """Pieces side by side or on top of each other where they fill everything, else their sum with zeros around each."""
    for axis in (0, 1):
        ends = [box[axis] + piece.shape[axis] for box, piece in zip(boxes, pieces, strict=True)]
        others = {(box[1 - axis], piece.shape[1 - axis]) for box, piece in zip(boxes, pieces, strict=True)}
        in_line = [box[axis] for box in boxes] == [0, *ends[:-1]] and ends[-1] == op.out.shape[axis]
        if in_line and others == {(0, op.out.shape[1 - axis])}:
            return jnp.concatenate(pieces, axis)
    total: Any = 0.0
    for (row, column), piece in zip(boxes, pieces, strict=True):
        below, behind = op.out.shape[0] - row - piece.shape[0], op.out.shape[1] - column - piece.shape[1]
        around = ((row, below), (column, behind))
        total = total + (jnp.pad(piece, around) if any(map(any, around)) else piece)
    return total


def _store(_op: Op, _data: Any, x: Any) -> Any:
    """The values, written to memory: the compiler would compute or turn them again at each of their uses."""
    return jax.lax.optimization_barrier(x)  # type: ignore[no-untyped-call]


def _sparse_dot(_op: Op, data: TableData, entries: Any, dense: Any) -> Any:
    return jax_gathers.product(data[1].apply, entries, dense)


def _sampled_dot(_op: Op, data: TableData, a: Any, b: Any) -> Any:
    return jax_gathers.inner_products(data[1], a, b.T)


def _take(_op: Op, data: TableData, x: Any) -> Any:
    return x[data[1]]


def _label_sums(_op: Op, data: TableData, x: Any) -> Any:
    count, labels = data
    return jax.ops.segment_sum(x, labels, count)


def _window(op: Op, data: TableData, x: Any) -> Any:
    """A window by doubling: two side by side are one twice as long; the binary digits of a length say which to join.

    Nothing is taken away again, so that sums keep their digits in single precision, too.
    """
    width, (length, (rates, position)) = x.shape[1], data
    length = 1 << (width - 1).bit_length() if length is None else min(length, width)
    rate, backward = rates[:, None].astype(x.dtype), op.do == "window adjoint"

    def joined(near: Any, far: Any, by: int) -> Any:
        """The window `near`, and `far` beyond it, `by` columns away in the same sequence."""
        if by >= width:
            return near
        if backward:
            seen = jnp.where(position[None, by:width] >= by, far[:, by:], 0)
            return near + jnp.pad(rate**by * seen, ((0, 0), (0, by)))
        seen = jnp.where(position[None, by:width] >= by, far[:, : width - by], 0)
        return near + jnp.pad(rate**by * seen, ((0, 0), (by, 0)))

    part, size = x, 1
    total, covered = x, length & 1
    while 2 * size <= length:
        part, size = joined(part, part, size), 2 * size
        if length & size:
            total, covered = (joined(total, part, covered) if covered else part), covered + size
    return total


# By operation, what performs it: a function of the operation, its data and its operands.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: _elementwise(getattr(jnp, name))
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "clip", "where")
} | {
    **{name: _elementwise(getattr(jnp, name)) for name in ("log1p", "log", "sqrt", "power", "negative")},
    "copy": _copy,
    "store": _store,
    "dot": lambda _op, _data, a, b: a @ b,
    "sum": _sum,
    "overlay": _overlay,
    "sparse dot": _sparse_dot,
    "sampled dot": _sampled_dot,
    "take": _take,
    "label sums": _label_sums,
    "window": _window,
    "window adjoint": _window,
}
