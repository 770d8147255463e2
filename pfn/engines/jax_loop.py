"""Many sweeps in one compiled program: a loop on the device that ends where a criterion to stop is met."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from pfn.engines.jax_arrays import Array
from pfn.engines.jax_data import Data
from pfn.engines.jax_equations import Values
from pfn.engines.jax_plan import Level, Plan
from pfn.engines.jax_sweep import Sweep
from pfn.engines.means import Counts
from pfn.engines.stretch import STALL_SWEEPS, stalled
from pfn.updates.momentum import steps_after, strength


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
    tolerance: Any
    stall: Any
    stall_from: Any


class _Loop(NamedTuple):
    """What goes from sweep to sweep within a stretch."""

    done: Array
    flat: Array  # all values, one after the other
    previous: Array
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
        flat, previous = loop.flat, loop.previous
        if plan.accelerated:
            flat, previous = sweep.extrapolated(flat, previous, strength(loop.steps), number)
        values = sweep.restored(unravel(flat)) if plan.accelerated else unravel(flat)
        values = sweep.up(values, number, control.sparseness[loop.done])
        values, reconstructions = sweep.down(values)
        found = sweep.errors(values, reconstructions)
        errors = jax.lax.dynamic_update_index_in_dim(loop.errors, found, loop.done, 0)
        now = found[-2]
        steps = steps_after(loop.steps, loop.before, now)
        met = _met(control, loop.done, found, errors)
        return _Loop(loop.done + 1, ravel_pytree(values)[0], previous, steps, now, errors, met)

    flat, unravel = ravel_pytree(state.values)
    previous, unravel_previous = ravel_pytree(state.previous)
    room = jnp.zeros((control.sparseness.shape[0], len(plan.names) + 2))
    start = _Loop(jnp.int32(0), flat, previous, control.steps, control.before, room, met=jnp.bool_(0))
    end = jax.lax.while_loop(lambda loop: (loop.done < control.count) & ~loop.met, body, start)
    return State(unravel(end.flat), unravel_previous(end.previous)), end.errors, end.done


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
