"""Criteria by which a run ends by itself, and the doubt about a run whose sweeps ran out before.

The divergence of a run falls like a power of the number of sweeps, not geometrically: its decrease over fifty sweeps
becomes small long before the values are right. So every criterion compares sweep n with sweep n/2, in windows that grow
with the run. A run has settled after n sweeps if

- the divergence has changed by less than the share `stall` of its value since sweep n/2 (from n = 100 on), or
- no entry of a parent or of a learned parameter has changed since sweep n/2 by more than `stall`/100 of the largest
  entry there (at n = 32, 64, 128, …: all else follows from parents and parameters), or
- the divergence is below (`stall`/100)² of that of the data from their own means: they are fitted (from n = 100 on).

Values are to be right in more digits than the divergence: hence the hundredth. The divergence changes with the square
of the values: hence the square. Where the user gave a tolerance and no `stall`, only the first criterion counts: the
tolerance says what is good enough.

With the default, 1e-3, none of these ended a run early in the problems of the paper and in some hundred random ones,
plateaus of thousands of sweeps included (benchmarks/settling.py, benchmarks/convergence.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.solve.data import Observations
from pfn.solve.request import Request

# The default of `stall`: see above.
STALL = 1e-3

# Values count as still, and data as fitted, at this share of `stall`.
STILL = 0.01

# The first sweep after which values are kept; they are compared for the first time after twice as many.
FIRST_VALUES = 16

# The first sweep after which the divergence is judged: before, momentum still builds up.
FIRST_DIVERGENCE = 100

# The divergence is judged each time the number of sweeps has grown by this factor.
GROWTH = 1.25

# Entries of a variable that are compared, evenly spaced if there are more: large runs keep little, and pay little.
COMPARED = 1 << 20

# A run that ended by its limit is doubtful if its divergence still changed by this share in the second half ...
FALLING = 0.005
# ... and is above this share of the data's own: below, they are fitted ...
FITTED = 1e-6
# ... or is above this share of it, ...
BARELY_FITTED = 1e-9
# ... while some value changed by more than this share of the largest in the second half.
MOVING = 0.02

# Data with some per cent of noise end above this share of their own divergence: below, they may be exact, and the run
# stuck.
NEARLY = 1e-2

# Of data that hardly vary, this share of their sum stands for the divergence from their mean.
CONSTANT = 1e-3


class Settling:
    """The criteria of one run.

    - `request`: the question;
    - `moving`: the variables and parameters whose values are compared;
    - `after`: sweeps after which nothing changes from outside any more: ramps, releases, rare updates;
    - `squares`: whether the divergence measured is a squared error;
    - `distance`: whether it is the squared distance of two sets, which settles long before the values do.
    """

    def __init__(
        self, request: Request, moving: Sequence[str], after: int, *, squares: bool = False, distance: bool = False
    ) -> None:
        self._request, self._moving, self._after = request, moving, after
        self._squares, self._distance = squares or distance, distance
        self._kept: dict[str, np.ndarray] = {}
        self._kept_at = 0
        self._motion = np.inf
        self._looks = self._numbers()
        self._next = 0  # after how many sweeps it is looked at next
        self._scale: float | None = None

    def next_look(self, done: int) -> int:
        """The number of sweeps after which the run is looked at next, with errors measured; more than `done`."""
        if self._request.stall is None and self._request.limited:
            return self._request.iterations  # nobody asks
        while self._next <= done:
            self._next = next(self._looks)
        return self._next

    def _numbers(self) -> Iterator[int]:
        """16, 32, 64, 100, 125, 128, …, rounded up to sweeps that are measured."""
        every, doubling, number = self._request.measure, FIRST_VALUES, float(FIRST_DIVERGENCE)
        while True:
            yield -(-min(doubling, int(number)) // every) * every
            if doubling <= number:
                doubling *= 2
            else:
                number *= GROWTH

    def look(self, done: int, values: Mapping[str, Any], past: Sequence[float]) -> str | None:
        """The criterion by which the run has settled by now, or None; `past` has the divergence after every sweep."""
        stall = self._request.stall
        if done != self._next:
            return None
        if done >= 2 * self._kept_at:
            self._compare(done, values)
        if stall is None or done // 2 < self._after:
            return None
        half = f"the last {done - done // 2} sweeps"
        still, enough = STILL * stall, not self._request.to_tolerance
        if enough and done == self._kept_at and self._motion < still:
            return (
                f"nothing moves any more: no value changed by more than {still:g} of its variable's largest in {half}"
            )
        if done < FIRST_DIVERGENCE:
            return None
        if enough and past[-1] < still**2 * self.scale:
            return f"the data are fitted: the divergence is below {still**2:g} of the data's own"
        if not self._distance and _spread(past) < stall * past[-1]:
            return f"the divergence changed by less than {stall:g} of its value in {half}"
        return None

    def _compare(self, done: int, values: Mapping[str, Any]) -> None:
        """Compare with the values kept at half as many sweeps, if there are any, and keep these."""
        found = {name: _sample(values[name]) for name in self._moving}
        if self._kept_at:
            self._motion = max((_motion(self._kept[name], now) for name, now in found.items()), default=0.0)
        self._kept_at, self._kept = done, found

    @property
    def scale(self) -> float:
        """The divergence of the data from the mean of each variable; of data that are constant, their sum."""
        if self._scale is None:
            self._scale = own_divergence(self._request.observations, squares=self._squares)
        return self._scale

    def falling(self, past: Sequence[float]) -> bool:
        """True if a run that was ended by its limit was still on its way."""
        now = past[-1] if past else np.nan
        if not self.scale or not _spread(past) > FALLING * now:
            return False  # where all data are zero, or none are known, there is nothing to compare with
        return bool(now > FITTED * self.scale or (now > BARELY_FITTED * self.scale and self._motion > MOVING))

    def save(self) -> dict[str, np.ndarray]:
        """The state that a checkpoint keeps."""
        return {"settling": np.array([self._kept_at, self._motion])} | {
            f"settling/{name}": array for name, array in self._kept.items()
        }

    def load(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on where `save` left off."""
        if "settling" in saved:
            kept_at, self._motion = map(float, saved["settling"])
            self._kept_at = int(kept_at)
            self._kept = {name: saved[f"settling/{name}"] for name in self._moving if self._kept_at}
        self.next_look(int(saved["done"][0]) - 1)  # a run that had settled has


def nearly_fitted(share: float) -> bool:
    """True if data may be exact and the run stuck: the divergence is a small `share` of the data's own, not tiny."""
    return FITTED < share < NEARLY


def _sample(value: Any) -> np.ndarray:
    """Entries of a variable or parameter, at most `COMPARED` of each array, flat."""
    arrays = value if isinstance(value, list) else [value]
    flat = [np.ravel(array.data if sp.issparse(array) else array) for array in arrays]
    return np.concatenate([part[:: max(1, part.size // COMPARED)] for part in flat]) if flat else np.empty(0)


def _motion(before: np.ndarray, now: np.ndarray) -> float:
    """The largest change, in parts of the largest value; columns that nothing touches are NaN."""
    largest = float(np.fmax.reduce(now, initial=0.0))
    return float(np.fmax.reduce(np.abs(now - before), initial=0.0)) / largest if largest else 0.0


def _spread(past: Sequence[float]) -> float:
    """The largest minus the smallest divergence in the second half of the sweeps; infinite if it was measured once."""
    window = np.asarray(past[len(past) // 2 - 1 :]) if len(past) > 1 else np.empty(0)
    measured = window[~np.isnan(window)]
    return float(measured.max() - measured.min()) if measured.size > 1 else np.inf


def own_divergence(observations: Observations, *, squares: bool = False) -> float:
    """The divergence of the data from the mean of each variable's known entries; of data without any, their sum."""
    total = own = 0.0
    for pieces in observations.arrays.values():
        known, count = list[np.ndarray](), 0
        for piece in pieces:
            entries: Any = piece.data if sp.issparse(piece) else piece[~np.isnan(piece)]
            known.append(entries[entries > 0].astype(float))
            count += piece.shape[0] * piece.shape[1] if sp.issparse(piece) else entries.size
        positive = np.concatenate(known)
        if positive.size:
            mean = positive.sum() / count
            total += float(positive @ positive if squares else positive.sum())
            own += (
                float(((positive - mean) ** 2).sum() + mean**2 * (count - positive.size))
                if squares
                else float((positive * np.log(positive / mean)).sum())
            )
    return max(own, CONSTANT * total)
