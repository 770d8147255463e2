"""Values that run away: hidden entries that end far above every observation of their variable.

Hidden entries do not count in the divergence. Where few observations hold the components that reach one, sweeps may
raise it without end, while the divergence of the observed entries falls a little. The observations of its variable are
the scale to compare with.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.engines import has_hidden
from pfn.errors import RunawayWarning, warn_user
from pfn.solve.data import Observations

# Hidden values above this many times the largest observation have run away. Runs of known networks whose hidden values
# are right stay below it in 99.9 % of variables. In learning from digits and ratings, the error of hidden values is a
# fifth above the least possible where the largest of them is at this limit.
FACTOR = 5

# The largest of fewer positive observations may be small by chance. Zeros are not counted: they rule entries out, and
# say nothing of the size of a variable.
ENOUGH = 30


class _Peak(NamedTuple):
    """The largest hidden value of a component, and where it is."""

    value: float
    place: str


class Runaways:
    """The largest observations of all variables, and the hidden values that are far above them."""

    def __init__(self) -> None:
        self._observed: dict[str, np.ndarray] = {}  # the largest by component, NaN where there is none
        self._positive: dict[str, int] = {}  # observations above zero, counted up to ENOUGH
        self._peaks: dict[str, dict[int, _Peak]] = {}  # by component
        self._warned: set[str] = set()

    def look_at(self, observations: Observations, values: Mapping[str, Any], *, among: str = "") -> None:
        """Take the values of all variables that were observed; `among` ends the names of places."""
        for name, arrays in observations.arrays.items():
            if not any(map(has_hidden, arrays)):
                continue
            pieces = values[name] if observations.listed else [values[name]]
            for seen in arrays:
                if not sp.issparse(seen):  # sparse data hide nothing
                    self.observe(name, seen)
            for number, (seen, found) in enumerate(zip(arrays, pieces, strict=True)):
                if not sp.issparse(seen):
                    sequence = f" of sequence {number}" if observations.listed else ""
                    self.compare(name, seen, found, among=f"{sequence}{among}")

    def observe(self, name: str, seen: np.ndarray) -> None:
        """Take observations of a variable; NaN is hidden."""
        largest = np.fmax.reduce(seen, axis=1)
        self._observed[name] = np.fmax(self._observed[name], largest) if name in self._observed else largest
        if self._positive.get(name, 0) < ENOUGH:
            self._positive[name] = self._positive.get(name, 0) + int(np.count_nonzero(seen > 0))

    def compare(self, name: str, seen: np.ndarray, values: np.ndarray, *, first: int = 0, among: str = "") -> None:
        """Take the values of columns that were observed as `seen`, numbered from `first`."""
        limit = FACTOR * self._scale(name)
        if not limit or not values.size:
            return
        peaks = self._peaks.setdefault(name, {})
        for component in map(int, np.flatnonzero(np.fmax.reduce(values, axis=1) > limit)):
            hidden = np.array(values[component])
            hidden[: seen.shape[1]][~np.isnan(seen[component])] = 0
            column = int(np.nanargmax(hidden))
            if hidden[column] > max(limit, peaks[component].value if component in peaks else 0):
                peaks[component] = _Peak(
                    float(hidden[column]), f"component {component}, column {first + column}{among}"
                )

    def _scale(self, name: str) -> float:
        """The largest observation of a variable."""
        return float(np.fmax.reduce(self._observed[name], initial=0))

    def warn(self) -> bool:
        """Warn of every variable that has run away, once, with its largest value; true if any has, now or before.

        Components without any observation are left out: their scale may be any.
        """
        for name, peaks in self._peaks.items():
            scale = self._scale(name)
            known = [peak for component, peak in peaks.items() if not np.isnan(self._observed[name][component])]
            value, place = max(known, default=_Peak(0.0, ""))
            if self._positive[name] >= ENOUGH and value > FACTOR * scale and name not in self._warned:
                self._warned.add(name)
                warn_user(
                    RunawayWarning(
                        f"{name} ran away: its hidden value at {place} became {value:.4g}, {value / scale:.3g} times "
                        f"the largest observation of {name}, {scale:.4g}. Use fewer components, fewer sweeps "
                        f"(iterations=…), or a penalty on the parent h of {name}: an equation z = λ h with z "
                        f"observed as zeros, and normalize='columns' in the equation of {name} (without it, its matrix "
                        "grows while h shrinks)."
                    )
                )
        return bool(self._warned)
