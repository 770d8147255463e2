"""Many sweeps in one compiled program: a loop on the device that ends where a criterion to stop is met."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from pfn.engines.jax_arrays import Array
from pfn.engines.jax_data import Data
from pfn.engines.jax_devices import Devices, has_accelerator
from pfn.engines.jax_equations import Equations, Statistics, Turn, Values
from pfn.engines.jax_learning import statistics as learning_statistics
from pfn.engines.jax_plan import MERGED_ENTRIES, Equation, Level, Plan, stacked
from pfn.engines.jax_sweep import Sweep
from pfn.engines.means import Counts
from pfn.updates.momentum import steps_after, strength

# The squared error of a sweep after which none was measured.
UNMEASURED = -1.0

Packing = Callable[[Mapping[str, Any]], dict[str, Any]]


class State(NamedTuple):
    """What a sweep changes."""

    values: Mapping[str, Any]
    previous: Mapping[str, Any]  # the z of momentum, from before the last sweep; empty without it


class Control(NamedTuple):
    """What a stretch of sweeps is told, as numbers."""

    first: Any
    count: Any
    steps: Any
    lowest: Any
    sparseness: Any  # by sweep and smoothed equation
    changed: Any  # by sweep, whether it is another than in the sweep before
    tolerance: Any
    measure: Any


class _Loop(NamedTuple):
    """What goes from sweep to sweep within a stretch."""

    done: Array
    state: State
    steps: Array
    lowest: Array
    errors: Array  # by sweep: the RMSE of every equation, the divergence, the squared error
    met: Array  # whether a criterion to stop is met
    fresh: Values  # W S of the equations of which the next sweep is told


class _Sweeps:
    """The sweeps of a stretch: how they begin, what one of them changes, what is left in the end."""

    def __init__(self, sweep: Sweep, plan: Plan, data: Data, values: Values, control: Control, *, always: bool) -> None:
        self._sweep, self._plan, self._control = sweep, plan, control
        self._devices, self._always = Devices(plan.mesh), always
        self._handed_on = _handed_on(plan, always=always)
        self._pack, self._unpack = _packing(plan, values)
        self._movable = self._pack(data.movable) if plan.accelerated else {}

    def begin(self, state: State) -> _Loop:
        """Before the first."""
        plan, control = self._plan, self._control
        kept = State(self._pack(state.values), self._pack(state.previous) if plan.accelerated else {})
        room = jnp.zeros((control.sparseness.shape[0], len(plan.names) + 2))
        fresh = self._sweep.reconstructions(state.values, self._handed_on)
        return _Loop(jnp.int32(0), kept, control.steps, control.lowest, room, met=jnp.bool_(0), fresh=fresh)

    def one(self, loop: _Loop) -> _Loop:
        """The next, with momentum before it and errors after it where that is due."""
        plan, control, sweep = self._plan, self._control, self._sweep
        number, (kept, previous) = control.first + loop.done, loop.state
        if plan.accelerated:
            kept, previous = sweep.extrapolated(kept, previous, self._movable, strength(loop.steps), number)
        values: Values = sweep.restored(self._unpack(kept)) if plan.accelerated else self._unpack(kept)
        values = sweep.up(values, sweep.turn(number, control.sparseness[loop.done], loop.fresh))
        values, R = sweep.down(values)
        values = self._devices.kept(values, plan.changing)
        fresh = {name: R[name] for name in self._handed_on}
        found = sweep.errors(values, R) if self._always else self._errors_if_due(values, fresh, loop.done)
        errors = jax.lax.dynamic_update_index_in_dim(loop.errors, found, loop.done, 0)
        steps, lowest = loop.steps, loop.lowest
        if plan.accelerated:
            steps, lowest = steps_after(steps, lowest, found[-2], control.changed[loop.done], xp=jnp)
        new = State(self._pack(values), previous)
        return _Loop(loop.done + 1, new, steps, lowest, errors, loop.met, fresh)

    def _errors_if_due(self, values: Values, known: Values, done: Array) -> Array:
        """The errors after a sweep, where W S of some equations is known; what stands for none if they are not due."""
        others = [equation.name for equation in self._plan.equations if equation.name not in known]

        def measured() -> Array:
            return self._sweep.errors(values, {**self._sweep.reconstructions(values, others), **known})

        shape = jax.eval_shape(measured)
        unmeasured = jnp.full(shape.shape, jnp.nan, shape.dtype).at[-1].set(UNMEASURED)
        found: Array = jax.lax.cond(_is_due(self._control, done), measured, lambda: unmeasured)
        return found

    def end(self, loop: _Loop) -> State:
        """After the last."""
        plan, (values, previous) = self._plan, loop.state
        both = (self._unpack(values), self._unpack(previous) if plan.accelerated else {})
        return State(*(self._devices.kept(arrays, plan.changing) for arrays in both))


@partial(jax.jit, static_argnames=("plan", "unasked", "always"))
def advance(
    plan: Plan, data: Data, holding: Mapping[str, Array], state: State, control: Control, *, unasked: int, always: bool
) -> tuple[State, Array, Array]:
    """Sweeps until all are done or a criterion to stop is met: the values, the errors, how many were done.

    Errors are measured always, or after the sweeps that are due. The criteria are looked at after every `unasked`
    sweeps, which are written out one after the other.
    """
    sweeps = _Sweeps(Sweep(plan, data, holding), plan, data, state.values, control, always=always)

    def several(loop: _Loop) -> _Loop:
        for _ in range(unasked):
            loop = sweeps.one(loop)
        last = loop.done - 1
        return loop._replace(met=_is_due(control, last) & _met(control, last, loop.errors))

    loop = sweeps.begin(state)
    if unasked > 1:
        loop = jax.lax.fori_loop(0, control.count % unasked, lambda _, loop: sweeps.one(loop), loop)
    loop = jax.lax.while_loop(lambda loop: (loop.done < control.count) & ~loop.met, several, loop)
    return sweeps.end(loop), loop.errors, loop.done


def _packing(plan: Plan, values: Values) -> tuple[Packing, Packing]:
    """How values are kept between sweeps: small variables as one flat array, so that momentum is one loop; and back."""
    parents = [parent.variable.name for equation in plan.equations for parent in equation.parents]
    names = [name for name in dict.fromkeys([*parents, *plan.changing]) if name in plan.changing]
    sizes = [values[name].size for name in names]
    if not plan.accelerated or not names or plan.mesh is not None or sum(sizes) > MERGED_ENTRIES:
        return dict, dict
    places = dict(zip(names, stacked(sizes), strict=True))

    def pack(values: Mapping[str, Any]) -> dict[str, Any]:
        others = {name: array for name, array in values.items() if name not in places}
        return {"variables": jnp.concatenate([values[name].ravel() for name in names]), **others}

    def unpack(kept: Mapping[str, Any]) -> dict[str, Any]:
        others = {name: array for name, array in kept.items() if name != "variables"}
        flat, shapes = kept["variables"], {name: values[name].shape for name in names}
        return others | {name: flat[place].reshape(shapes[name]) for name, place in places.items()}

    return pack, unpack


def _is_due(control: Control, done: Array) -> Any:
    """Whether errors are measured after this sweep; the last of a stretch may be the last of all."""
    return ((control.first + done + 1) % control.measure == 0) | (done + 1 == control.count)


def _handed_on(plan: Plan, *, always: bool) -> tuple[str, ...]:
    """The equations whose W S a sweep hands on to the next: none with momentum, which moves all values in between.

    W S of observed children is needed only for errors and for the next ratios. Where errors are not measured after
    every sweep, processors compute it there: the ratios overwrite it, and to carry a large one through memory takes as
    long as the product.
    """
    if plan.accelerated:
        return ()
    spared = not always and not has_accelerator()
    return tuple(e.name for e in plan.equations if not spared or _has_changing_child(e, plan))


def _has_changing_child(equation: Equation, plan: Plan) -> bool:
    return any(child.variable.name in plan.changing for child in equation.children)


def _met(control: Control, done: Array, errors: Array) -> Array:
    """Whether the run ends after this sweep, by the errors found; infinite ones too: they will be refused."""
    rmse = errors[done, :-2]
    largest = jnp.max(jnp.where(jnp.isnan(rmse), 0, rmse))  # NaN where no entry of an equation counts
    met: Array = (largest < control.tolerance) | ~jnp.isfinite(largest)
    return met


@partial(jax.jit, static_argnames="plan")
def statistics(plan: Plan, data: Data, values: Values, sparseness: Mapping[str, Any]) -> dict[str, Statistics]:
    """By learned matrix, the numerator and denominator that its next left update would have."""
    equations, found = Equations(plan, data), dict[str, Statistics]()
    turn = Turn(jnp.int32(0), sparseness, fresh={})
    for step in (step for level in plan.levels for step in level.learning):
        matrices = [matrix for matrix in plan.matrices if matrix.parameters[0] in step.targets]
        found |= learning_statistics(step, equations, turn, matrices, values)
    return found


@partial(jax.jit, static_argnames="plan")
def fit_levels(
    plan: Plan,
    data: Data,
    holding: Mapping[str, Array],
    values: Values,
    *,
    counts: list[dict[str, Counts]],
    rounds: Any,
    sparseness: Any,
) -> Values:
    """The start by levels: rounds of updates of each level from the bottom up, then the downward pass."""
    sweep = Sweep(plan, data, holding)
    for level, own in zip(plan.levels, counts, strict=True):

        def body(number: Array, values: Values, level: Level = level, own: Mapping[str, Counts] = own) -> Values:
            return dict(sweep.fit_level(values, sweep.turn(number, sparseness, {}), level, own))

        values = jax.lax.fori_loop(0, rounds, body, values)
    return Devices(plan.mesh).kept(sweep.down(values)[0], plan.changing)
