"""The consensus iteration compiled: many sweeps in one call, on the device that JAX chooses."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from pfn.errors import OptionError
from pfn.exact.consensus import (
    Agreement,
    State,
    agreed,
    begin,
    figures,
    from_saved,
    restart_due,
    restarted,
    saved_form,
    sweep,
)
from pfn.exact.planes import Plane

# At most so many sweeps in one call: then Ctrl-C and the progress bar are looked at.
PACE = 64

# Matrices and inverses are dense here. Beyond so many entries sparse factors with NumPy are faster and fit in memory.
MOST_ENTRIES = 1 << 28


class JaxPlane(NamedTuple):
    """W with the inverse of I + W Wᵀ, or of I + Wᵀ W where that is less work: see `Plane`."""

    matrix: Any
    inverse: Any

    def residual(self, copies: Any) -> Any:
        """X − W H, of X stacked on H."""
        rows = self.matrix.shape[0]
        return copies[:rows] - self.matrix @ copies[rows:]

    def multipliers(self, residual: Any) -> Any:
        """λ."""
        if self.inverse.shape[0] == self.matrix.shape[0]:
            return self.inverse @ residual
        return residual - self.matrix @ (self.inverse @ (self.matrix.T @ residual))

    def lifted(self, multipliers: Any) -> Any:
        """What is to be taken off X stacked on H: λ and −Wᵀ λ."""
        return jnp.concatenate([multipliers, -(self.matrix.T @ multipliers)])


class JaxAgreement(NamedTuple):
    """The set of copies that agree; means are sums of gathered copies, which have the same bits in every run."""

    source: Any
    groups: Any  # for every number of copies that entries have: where the copies of each of these entries lie
    order: Any  # where every entry lies in the groups one after the other
    known: Any
    shapes: Sequence[tuple[int, int]] = ()

    def entries(self, copies: Any) -> Any:
        """y: the mean of the copies, zero where that is negative, the observation where there is one."""
        means = [copies[group].sum(axis=1) / max(group.shape[1], 1) for group in self.groups]
        return agreed(jnp.concatenate(means)[self.order], self.known, jnp)

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
        shapes = [(sum(p.matrix.shape), c.shape[0]) for p, c in zip(self.planes, self.counts, strict=True)]
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

    pace = PACE

    def __init__(self, agreement: Agreement, planes: Sequence[Plane], counts: Sequence[np.ndarray]) -> None:
        """`counts` says how often every column of every equation counts in its error."""
        dtype = agreement.known.dtype
        with _numbers():
            self._data: Data | None = jax.device_put(
                Data(
                    _gathered(agreement),
                    [JaxPlane(*_dense(plane)) for plane in planes],
                    [count.astype(dtype) for count in counts],
                )
            )

    def begin(self, entries: np.ndarray) -> None:
        """Start with copies of these entries."""
        with _numbers():
            self.state: State = _begin(self._data, entries)

    def advance(self, count: int, met: np.ndarray) -> list[np.ndarray]:
        """Sweeps up to the first after which no squared error is above `met`; the figures of each."""
        with _numbers():
            self.state, found, done = _advance(self._data, self.state, np.int32(min(count, PACE)), met)
            return list(np.asarray(found)[: int(done)])

    def entries(self) -> np.ndarray:
        """A copy of all entries."""
        return np.array(self.state.entries)

    def save(self) -> dict[str, np.ndarray]:
        """The state by name."""
        return saved_form(self.state)

    def load(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue with what `save` gave."""
        with _numbers():
            self.state = jax.device_put(from_saved(self.state, saved))

    def close(self) -> None:
        """Keep the entries only."""
        self.state = State(self.state.entries, *[()] * 10)
        self._data = None


def _gathered(agreement: Agreement) -> JaxAgreement:
    mean = agreement.mean
    numbers = np.diff(mean.indptr)
    groups = [
        mean.indices[np.repeat(numbers == number, numbers)].reshape(-1, number).astype(np.int32)
        if number
        else np.zeros((int((numbers == 0).sum()), 0), np.int32)
        for number in np.unique(numbers)
    ]
    order = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
    return JaxAgreement(agreement.source.astype(np.int32), groups, order.astype(np.int32), agreement.known)


def _dense(plane: Plane) -> tuple[np.ndarray, np.ndarray]:
    rows, parents = plane.shape
    entries = rows * parents + min(rows, parents) ** 2
    if entries > MOST_ENTRIES:
        raise OptionError(
            f"Consensus: engine='jax' works with dense matrices of at most {MOST_ENTRIES:,} entries, found an equation "
            f"of {rows} × {parents}, whose matrices have {entries:,}. Use engine='numpy', which keeps them sparse."
        )
    return plane.dense()


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
        after = jax.lax.cond(restart_due(before, now), lambda s: restarted(*sets, s), lambda s: s, now)
        return done + 1, after, found

    def goes_on(loop: tuple[Any, State, Any]) -> Any:
        done, _, found = loop
        return (done < count) & ~((done > 0) & (found[done - 1, :-1] <= met).all())

    found = jnp.zeros((PACE, len(data.counts) + 1), state.copies.dtype)
    done, state, found = jax.lax.while_loop(goes_on, body, (jnp.int32(0), state, found))
    return state, found, done
