"""The consensus iteration compiled: many sweeps in one call, on the device that JAX chooses."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pfn.exact.consensus import (
    Agreement,
    State,
    agreed,
    begin,
    figures,
    from_saved,
    refresh_due,
    refreshed,
    restart_due,
    restarted,
    saved_form,
    sweep,
)
from pfn.exact.padding import Padding
from pfn.exact.planes import Plane
from pfn.exact.planes_jax import JaxPlane, make_plane

# At most so many sweeps in one call, and about so many seconds: then Ctrl-C and the progress bar are looked at.
MOST_SWEEPS, SECONDS = 64, 0.1

# So many in the first call, whose duration is not known yet.
FIRST_SWEEPS = 16


class JaxAgreement(NamedTuple):
    """The set of copies that agree; means are sums of gathered copies, which have the same bits in every run."""

    source: Any
    groups: Any  # for every number of slices that variables have: where the copies of each of their entries lie
    counts: Any  # how many copies these are
    known: Any
    shapes: Sequence[tuple[int, int]] = ()

    def entries(self, copies: Any) -> Any:
        """y: the mean of the copies, zero where that is negative, the observation where there is one."""
        means = [
            copies.at[group].get(mode="fill", fill_value=0).sum(axis=1) / count
            for group, count in zip(self.groups, self.counts, strict=True)
        ]
        return agreed(jnp.concatenate([*means, jnp.zeros(1, copies.dtype)]), self.known, jnp)

    def copies(self, entries: Any) -> Any:
        """As many copies as there are of every entry."""
        return entries[self.source]


class Data(NamedTuple):
    """What does not change from sweep to sweep."""

    agreement: JaxAgreement
    planes: Any
    counts: Any

    def sets(self) -> tuple[JaxAgreement, list[JaxPlane]]:
        """The two sets; the shapes of the copies follow from those of the matrices."""
        shapes = [(sum(p.matrix.shape), c.shape[-1]) for p, c in zip(self.planes, self.counts, strict=True)]
        return self.agreement._replace(shapes=shapes), self.planes


@contextmanager
def _numbers() -> Iterator[None]:
    """Double precision where asked for and products in full precision, here only: the user's settings stay."""
    with (
        jax.enable_x64(True),
        jax.default_matmul_precision("highest"),
        jax.numpy_rank_promotion("allow"),
        jax.numpy_dtype_promotion("standard"),
        jax.debug_nans(False),  # NaN marks what is hidden
        jax.transfer_guard("allow"),
    ):
        yield


class JaxIteration:
    """A run of sweeps on a device."""

    pace = FIRST_SWEEPS
    """How many sweeps are made at a time, at most."""

    def __init__(self, agreement: Agreement, planes: Sequence[Plane], counts: Sequence[np.ndarray]) -> None:
        """`counts` says how often every column of every equation counts in its error, or every entry."""
        dtype = agreement.known.dtype
        self._padding = Padding(agreement.spans, agreement.shapes)
        with _numbers():
            self._data: Data | None = jax.device_put(
                Data(
                    _padded(agreement, self._padding),
                    [make_plane(plane, width) for plane, width in zip(planes, self._padding.widths, strict=True)],
                    [count.astype(dtype) for count in self._padding.columns(counts)],
                )
            )

    def begin(self, entries: np.ndarray) -> None:
        """Start with copies of these entries."""
        with _numbers():
            self.state: State = _begin(self._data, self._padding.entries(entries))

    def advance(self, count: int, met: np.ndarray) -> list[np.ndarray]:
        """Sweeps up to the first after which no squared error is above `met`; the figures of each."""
        begin = perf_counter()
        with _numbers():
            self.state, found, done = _advance(self._data, self.state, np.int32(min(count, self.pace)), met)
            errors = list(np.asarray(found)[: int(done)])
        fitting = int(len(errors) * SECONDS / (perf_counter() - begin))
        # not at once: the first call may have compiled
        self.pace = max(1, self.pace // 2, min(fitting, 4 * self.pace, MOST_SWEEPS))
        return errors

    def entries(self) -> np.ndarray:
        """A copy of all entries."""
        with _numbers():
            return self._padding.cut_entries(np.asarray(self.state.entries))

    def save(self) -> dict[str, np.ndarray]:
        """The state by name."""
        with _numbers():
            return saved_form(self._padding.cut(self.state))

    def load(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue with what `save` gave."""
        with _numbers():
            wide = self._padding.widened(from_saved(self._padding.cut(self.state), saved))
            self.state = jax.tree.map(
                lambda array, like: jax.device_put(np.asarray(array, like.dtype)), wide, self.state
            )

    def close(self) -> None:
        """Keep the entries only."""
        self.state = State(self.state.entries, *[()] * 10)
        self._data = None


def _padded(agreement: Agreement, padding: Padding) -> JaxAgreement:
    known, tables = padding.entries(agreement.known), padding.tables(agreement.source)
    return JaxAgreement(tables.source, tables.copies, [count.astype(known.dtype) for count in tables.counts], known)


@jax.jit
def _begin(data: Data, entries: Any) -> State:
    state = begin(*data.sets(), entries, jnp)
    return state._replace(sweeps=jnp.int32(0), steps=jnp.int32(0))


@jax.jit
def _advance(data: Data, state: State, count: Any, met: Any) -> tuple[State, Any, Any]:
    """At most `count` sweeps: the state, the figures, and how many were made."""
    sets = data.sets()

    def body(loop: tuple[Any, State, Any]) -> tuple[Any, State, Any]:
        done, before, found = loop
        now = sweep(*sets, before, jnp)
        found = found.at[done].set(figures(now, data.counts, jnp))
        due = jnp.where(restart_due(before, now), 2, jnp.where(refresh_due(now), 1, 0))
        ways = [lambda s: s, lambda s: refreshed(*sets, s), lambda s: restarted(*sets, s)]
        after = jax.lax.switch(due, ways, now)
        return done + 1, after, found

    def goes_on(loop: tuple[Any, State, Any]) -> Any:
        done, _, found = loop
        return (done < count) & ~((done > 0) & (found[done - 1, :-1] <= met).all())

    found = jnp.zeros((MOST_SWEEPS, len(data.counts) + 1), state.copies.dtype)
    done, state, found = jax.lax.while_loop(goes_on, body, (jnp.int32(0), state, found))
    return state, found, done
