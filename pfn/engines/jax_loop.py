"""Many sweeps in one compiled program: a loop on the device that ends where a criterion to stop is met."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from pfn.engines.jax_arrays import Array
from pfn.engines.jax_data import Data
from pfn.engines.jax_equations import Values
from pfn.engines.jax_plan import MERGED_ENTRIES, Level, Plan
from pfn.engines.jax_sweep import Sweep
from pfn.engines.means import Counts
from pfn.engines.stretch import STALL_SWEEPS, stalled
from pfn.updates.momentum import steps_after, strength

Packing = Callable[[Mapping[str, Any]], dict[str, Any]]


class State(NamedTuple):
    """What a sweep changes."""

    values: Mapping[str, Any]
    previous: Mapping[str, Any]  # those before the last sweep; empty without momentum


class Control(NamedTuple):
    """What a stretch of sweeps is told, as numbers."""

    first: Any
    count: Any
    steps: Any
    past: Any  # the divergence after each of the last STALL_SWEEPS sweeps, NaN where there was none
    before: Any
    sparseness: Any  # by sweep and smoothed equation
    changed: Any  # by sweep, whether it is another than in the sweep before
    tolerance: Any
    stall: Any
    stall_from: Any


class _Loop(NamedTuple):
    """What goes from sweep to sweep within a stretch."""

    done: Array
    state: State
    steps: Array
    before: Array
    errors: Array  # by sweep: the RMSE of every equation, the divergence, the squared error
    met: Array  # whether a criterion to stop is met


@partial(jax.jit, static_argnames="plan")
def advance(
    plan: Plan, data: Data, holding: Mapping[str, Array], state: State, control: Control
) -> tuple[State, Array, Array]:
    """Sweeps until all are done or a criterion to stop is met: the values, the errors, how many were done."""
    sweep = Sweep(plan, data, holding)

    def body(loop: _Loop) -> _Loop:
        number = control.first + loop.done
        kept, previous = loop.state
        if plan.accelerated:
            kept, previous = sweep.extrapolated(kept, previous, movable, strength(loop.steps), number)
        values: Values = sweep.restored(unpack(kept)) if plan.accelerated else unpack(kept)
        values = sweep.up(values, number, control.sparseness[loop.done])
        values, reconstructions = sweep.down(values)
        found = sweep.errors(values, reconstructions)
        errors = jax.lax.dynamic_update_index_in_dim(loop.errors, found, loop.done, 0)
        now = found[-2]
        steps = steps_after(loop.steps, loop.before, now, control.changed[loop.done])
        met = _met(control, loop.done, found, errors)
        return _Loop(loop.done + 1, State(pack(values), previous), steps, now, errors, met)

    pack, unpack = _packing(plan, state.values)
    movable = pack(data.movable) if plan.accelerated else {}
    kept = State(pack(state.values), pack(state.previous) if plan.accelerated else {})
    room = jnp.zeros((control.sparseness.shape[0], len(plan.names) + 2))
    start = _Loop(jnp.int32(0), kept, control.steps, control.before, room, met=jnp.bool_(0))
    end = jax.lax.while_loop(lambda loop: (loop.done < control.count) & ~loop.met, body, start)
    before = unpack(end.state.previous) if plan.accelerated else {}
    return State(unpack(end.state.values), before), end.errors, end.done


def _packing(plan: Plan, values: Values) -> tuple[Packing, Packing]:
    """How values are kept between sweeps: small ones in one array, so that momentum is one call; and back."""
    small = sum(array.size for array in values.values()) <= MERGED_ENTRIES
    if not small or any(matrix.every > 1 for matrix in plan.matrices):
        return dict, dict
    _, unravel = ravel_pytree(values)
    return lambda values: {"all": ravel_pytree(dict(values))[0]}, lambda kept: unravel(kept["all"])


def _met(control: Control, done: Array, found: Array, errors: Array) -> Array:
    """Whether the run ends after this sweep, by the errors found; NaN too: it will be refused."""
    largest, now = jnp.max(found[:-2]), found[-2]
    earlier = jnp.where(done < STALL_SWEEPS, control.past[done], errors[done - STALL_SWEEPS, -2])
    settled = control.first + done + 1 >= control.stall_from
    stands = settled & stalled(control.stall, earlier, now)
    met: Array = (largest < control.tolerance) | stands | ~jnp.isfinite(largest)
    return met


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
            return dict(sweep.fit_level(values, number, sparseness, level, own))

        values = jax.lax.fori_loop(0, rounds, body, values)
    return dict(sweep.down(values)[0])
