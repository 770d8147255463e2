"""A window on a stream: one short sequence that is solved again and again, with other values and observations."""

from collections.abc import Mapping

import numpy as np

from pfn.engines.fixed import Held
from pfn.engines.numpy_engine import NumpyRun


class WindowRun(NumpyRun):
    """A run whose values are replaced between sweeps; no variable may be used where it lies (all are `released`)."""

    def take(
        self, values: Mapping[str, np.ndarray], before: Mapping[str, np.ndarray], held: Mapping[str, np.ndarray]
    ) -> None:
        """Begin with these values and, for the momentum, their z; hold these entries, NaN where hidden."""
        for name, array in values.items():
            self._state.arrays[name][...] = array
        if self._problem.accelerated:
            previous = self._state.views(self._state.prepare_momentum())
            for name, array in before.items():
                previous[name][...] = array
        self._held = {name: Held(self._state.arrays[name], array, ~np.isnan(array)) for name, array in held.items()}
        for entries in self._held.values():
            entries.restore()
        for equation in self._equations.values():
            equation.values_changed()

    def values(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """By variable the values now, and the z of momentum (without it, the same)."""
        flat = self._state.flat if self._state.previous is None else self._state.previous
        views = (self._state.views(part) for part in (self._state.flat, flat))
        names = [variable.name for variable in self._network.variables]
        now, before = ({name: view[name].copy() for name in names} for view in views)
        return now, before
