"""Consensus: Douglas–Rachford splitting with restarted Halpern anchoring, for equations with known parameters.

Every equation has copies of the entries that it ties together. One set has the copies that agree with each other
and with the observations, and are not negative; the other those for which every equation holds, each of them a plane.
A sweep projects on both, all times side by side, and is drawn back to an anchor, ever less, until the anchor is moved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from pfn.exact.copies import Span
from pfn.exact.planes import Plane

# When the anchor is moved (found on the paper's tracker and on random scenes): the distance between the two sets has
# fallen by so much; or by so much, and rises again; or so large a share of all sweeps was made with this anchor.
FALLEN, TURNED, SHARE = 0.05, 0.9, 0.7

# After so many sweeps with an anchor the residuals are taken anew. Where data cannot be fitted the anchor stays for
# thousands of sweeps, and what rounding adds to the residuals leads the copies away: in float32 to three to four times
# the distance after 3000. That is one product more; a sweep has two and a solve, so it costs 3 % at most.
REFRESHED = 16


class Projection(Protocol):
    """What sweeps need of an equation: see `Plane`."""

    def residual(self, copies: Any) -> Any:
        """X − W H, of X stacked on H."""

    def multipliers(self, residual: Any, near: Any, /) -> Any:
        """λ = (I + W Wᵀ)⁻¹ (X − W H), and where it is near to."""

    def lifted(self, multipliers: Any) -> Any:
        """λ stacked on −Wᵀ λ."""


class State(NamedTuple):
    """What a sweep changes; residuals are X − W H, an array (rows, columns) for every equation."""

    entries: Any  # y: all variables
    agreed: Any  # the copies of y
    errors: Any  # their residuals
    copies: Any  # w, one equation after the other
    residuals: Any  # of w
    anchor: Any
    anchored: Any  # residuals of the anchor
    sweeps: Any
    steps: Any  # k: sweeps with this anchor
    distance: Any  # ‖d‖ between the two sets, in the last sweep
    reference: Any  # the same when the anchor was set


@dataclass(frozen=True)
class Agreement:
    """The set of copies that agree: each is the entry that it is a copy of."""

    source: np.ndarray  # where the entry of every copy lies
    known: np.ndarray  # by entry, the observation or NaN
    shapes: Sequence[tuple[int, int]]  # of the copies of every equation
    spans: Sequence[Span]  # of the variables among the entries; one more entry, the last, is zero

    @cached_property
    def mean(self) -> Any:
        """The sparse matrix that takes copies to the means of those of every entry; zero where there are none."""
        shape = (self.known.size, self.source.size)
        counts = np.maximum(np.bincount(self.source, minlength=shape[0]), 1)
        shares = (1 / counts).astype(self.known.dtype)[self.source]
        return sp.csr_array(sp.csc_array((shares, self.source, np.arange(shape[1] + 1)), shape))

    def entries(self, copies: Any) -> Any:
        """y: the mean of the copies, zero where that is negative, the observation where there is one."""
        return agreed(self.mean @ copies, self.known, np)

    def copies(self, entries: Any) -> Any:
        """As many copies as there are of every entry."""
        return entries[self.source]


def agreed(means: Any, known: Any, xp: Any) -> Any:
    """The nearest entries that are not negative and are as observed."""
    return xp.where(xp.isnan(known), xp.maximum(means, 0), known)


def split(flat: Any, shapes: Sequence[tuple[int, int]]) -> list[Any]:
    """A flat array as arrays of these shapes."""
    ends = np.cumsum([rows * columns for rows, columns in shapes]).tolist()
    return [flat[end - r * c : end].reshape(r, c) for end, (r, c) in zip(ends, shapes, strict=True)]


def begin(agreement: Any, planes: Sequence[Projection], entries: Any, xp: Any = np) -> State:
    """The state before the first sweep, in which all copies are those of these entries."""
    copies = agreement.copies(entries)
    y = agreement.entries(copies)
    residuals = _residuals(agreement, planes, copies)
    far = xp.asarray(xp.inf, dtype=copies.dtype)
    here = agreement.copies(y)
    errors = _residuals(agreement, planes, here)
    return State(y, here, errors, copies, residuals, copies, residuals, sweeps=0, steps=0, distance=far, reference=far)


def sweep(agreement: Any, planes: Sequence[Projection], state: State, xp: Any = np) -> State:
    """Project on both sets and go on from there: w ← weight · (w + 2 d) + (1 − weight) · anchor.

    d = P(2 y − w) − y, where P takes the copies of every equation to its plane. The residuals of w need no product:
    they follow from those before. As d tends to zero, λ tends to what y − w is at the children.
    """
    apart = state.agreed - state.copies
    parts = split(apart, agreement.shapes)
    lifted = [
        plane.lifted(plane.multipliers(2 * error - residual, part[: len(error)])).ravel()
        for plane, error, residual, part in zip(planes, state.errors, state.residuals, parts, strict=True)
    ]
    d = apart - xp.concatenate(lifted)
    steps = xp.asarray(state.steps, dtype=d.dtype)
    weight = (steps + 1) / (steps + 2)
    copies = weight * (state.copies + 2 * d) + (1 - weight) * state.anchor
    y = agreement.entries(copies)
    here = agreement.copies(y)
    return state._replace(
        entries=y,
        agreed=here,
        errors=_residuals(agreement, planes, here),
        copies=copies,
        residuals=[
            weight * (residual - 2 * error) + (1 - weight) * anchored
            for residual, error, anchored in zip(state.residuals, state.errors, state.anchored, strict=True)
        ],
        sweeps=state.sweeps + 1,
        steps=state.steps + 1,
        distance=xp.sqrt(xp.vdot(d, d)),
    )


def restart_due(before: State, now: State) -> Any:
    """Whether the anchor is to be moved after the sweep between these two."""
    fell = now.distance <= FALLEN * now.reference
    turned = (now.distance <= TURNED * now.reference) & (now.distance > before.distance)
    return fell | turned | (now.steps >= SHARE * now.sweeps)


def refresh_due(state: State) -> Any:
    """Whether the residuals are to be taken anew."""
    return state.steps % REFRESHED == 0


def refreshed(agreement: Any, planes: Sequence[Projection], state: State) -> State:
    """The same with residuals from the copies themselves, which ends what rounding added."""
    return state._replace(residuals=_residuals(agreement, planes, state.copies))


def restarted(agreement: Any, planes: Sequence[Projection], state: State) -> State:
    """The same with the anchor where the copies are, and with new residuals."""
    state = refreshed(agreement, planes, state)
    return state._replace(
        anchor=state.copies, anchored=state.residuals, steps=0 * state.steps, reference=state.distance
    )


def figures(state: State, counts: Sequence[Any], xp: Any = np) -> Any:
    """The summed squared error of every equation, and the squared distance.

    `counts` says how often every column of an equation counts, or every entry.
    """
    errors = [
        xp.vdot(squares.sum(axis=0) if count.ndim == 1 else squares, count)
        for squares, count in zip(map(xp.square, state.errors), counts, strict=True)
    ]
    return xp.stack([*errors, xp.square(state.distance)])


def saved_form(state: State) -> dict[str, np.ndarray]:
    """The state as arrays by name."""
    saved: dict[str, np.ndarray] = {}
    for field, value in state._asdict().items():
        if isinstance(value, list):
            saved |= {f"consensus {field} {number}": np.array(array) for number, array in enumerate(value)}
        else:
            saved[f"consensus {field}"] = np.array(value)
    return saved


def from_saved(like: State, saved: Mapping[str, np.ndarray]) -> State:
    """The state that `saved_form` was given, which has the shapes of `like`."""

    def taken(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [taken(f"{name} {number}", array) for number, array in enumerate(value)]
        return saved[f"consensus {name}"].reshape(np.shape(value))  # files have no arrays without axes

    return State(*(taken(name, value) for name, value in like._asdict().items()))


class Iteration:
    """A run of sweeps with NumPy."""

    pace = 1
    """How many sweeps are made at a time."""

    def __init__(self, agreement: Agreement, planes: Sequence[Plane], counts: Sequence[np.ndarray]) -> None:
        """`counts` says how often every column of every equation counts in its error, or every entry."""
        self._agreement, self._planes, self._counts = agreement, planes, counts

    def begin(self, entries: np.ndarray) -> None:
        """Start with copies of these entries."""
        self.state = begin(self._agreement, self._planes, entries)

    def advance(self, _count: int, _met: np.ndarray) -> list[np.ndarray]:
        """One sweep, and its figures."""
        sets = self._agreement, self._planes
        before, now = self.state, sweep(*sets, self.state)
        if restart_due(before, now):
            self.state = restarted(*sets, now)
        else:
            self.state = refreshed(*sets, now) if refresh_due(now) else now
        return [figures(now, self._counts)]

    def entries(self) -> np.ndarray:
        """A copy of all entries."""
        return np.array(self.state.entries)

    def save(self) -> dict[str, np.ndarray]:
        """The state by name."""
        return saved_form(self.state)

    def load(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue with what `save` gave."""
        self.state = from_saved(self.state, saved)

    def close(self) -> None:
        """Keep the entries only."""
        self.state = State(self.state.entries, *[()] * 10)
        self._planes = ()


def _residuals(agreement: Any, planes: Sequence[Projection], copies: Any) -> list[Any]:
    parts = split(copies, agreement.shapes)
    return [plane.residual(part) for plane, part in zip(planes, parts, strict=True)]
