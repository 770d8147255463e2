"""The last slices of a stream: what was seen of them, their values, and sweeps over them."""

from collections.abc import Mapping
from math import isinf
from typing import Any

import numpy as np

from pfn.compiler import compile_network
from pfn.engines import Problem, Stretch
from pfn.engines.window import WindowRun
from pfn.errors import NumericalError, OptionError
from pfn.network import Network, Parameter, Variable
from pfn.solve.data import Observations, find
from pfn.solve.dtypes import as_dtype
from pfn.solve.methods import Propagate
from pfn.solve.start import Start, named_initial
from pfn.updates import DIVERGENCES
from pfn.updates.momentum import steps_after

# New slices of hidden variables start at this scale: what the slices before them say soon outweighs it.
FRESH = 1e-6


def _context(network: Network) -> int:
    """How many slices equations reach over, besides one; a window needs as many that keep their values."""
    lags = [child.lag for e in network.factorizations for child in e.children]
    for equation in network.factorizations:
        for term in equation.terms:
            length = 1 if term.window is None else term.window.length
            if length is None:
                raise OptionError(
                    f"{equation.name}: {equation}: {term} reaches back to the first slice, which no window holds. "
                    f"Give the decay a length: decay(…, rate, length)."
                )
            lags.append(term.slice.lag - length + 1)
    return max(lags) - min(*lags, 0)


class Window:
    """A window of `size` slices, fewer while the stream begins.

    The first slices of a window that has left the beginning of the stream, its `context`, keep their values: what
    equations reach back to is there, and what came before is in it.
    """

    def __init__(
        self, network: Network, method: Propagate, *, size: int, sweeps: int, seed: int, initial: Any, dtype: Any
    ) -> None:
        self.seen = 0  # frames so far
        self.dtype = as_dtype(dtype)
        self._network, self._method, self._size, self._sweeps = network, method, size, sweeps
        self._generator = np.random.default_rng(seed)
        self._scale = FRESH if method.initial_scale is None else method.initial_scale
        self._parameters = self._known(initial)
        self.context = _context(network)
        self._values = {v.name: np.empty((v.size, 0), self.dtype) for v in network.variables}
        self._before, self._observed = dict(self._values), dict(self._values)
        self._steps = 0  # sweeps since the momentum began or the divergence rose
        self._run: WindowRun | None = None

    def _known(self, initial: Any) -> dict[str, Any]:
        """The matrix of every parameter; a learned one needs a value."""
        nothing = Observations({}, (), listed=False)
        named = named_initial(self._network, initial, nothing)
        for name in named:
            if not isinstance(find(self._network, name, "initial"), Parameter):
                raise OptionError(f"initial: a stream takes values of parameters, found {name}. Push it in frames.")
        return Start(
            network=self._network,
            observations=nothing,
            initial=named,
            learned=frozenset(),
            released=frozenset(),
            scale=self._scale,
            dtype=self.dtype,
            generator=self._generator,
        ).parameters()

    @property
    def length(self) -> int:
        """How many slices there are."""
        return min(self.seen, self._size)

    def push(self, frame: Mapping[str, np.ndarray]) -> None:
        """Take a frame, let the oldest slice go where the window is full, and sweep; or leave all as it was."""
        before = self.seen, self._steps, dict(self._values), dict(self._before), dict(self._observed)
        try:
            self._push(frame)
        except BaseException:
            self.seen, self._steps, self._values, self._before, self._observed = before
            raise

    def _push(self, frame: Mapping[str, np.ndarray]) -> None:
        full = self.seen >= self._size
        self.seen += 1
        for variable in self._network.variables:
            self._append(variable, frame.get(variable.name), full)
        if not full or self._run is None:
            self._run = self._make_run()
        self._run.take(self._values, self._before, self._held(frozen=self.context if self.seen > self._size else 0))
        self._sweep(self._run)

    def _append(self, variable: Variable, given: np.ndarray | None, full: bool) -> None:
        """One more column of observations and, where the variable has it, of values."""
        name, size = variable.name, (variable.size, 1)
        column = np.full(size, np.nan, self.dtype) if given is None else given[:, None]
        self._observed[name] = np.hstack([self._observed[name][:, 1 if full else 0 :], column])
        kept, before = (arrays[name][:, 1 if full else 0 :] for arrays in (self._values, self._before))
        missing = self._width(variable) - kept.shape[1]
        drawn = (1 - self._generator.random((variable.size, missing))) * self._scale
        fresh = drawn.astype(self.dtype)
        self._values[name], self._before[name] = np.hstack([kept, fresh]), np.hstack([before, fresh])

    def _width(self, variable: Variable) -> int:
        """The columns of a variable in the window."""
        if variable in self._network.bottom:
            return self.length
        return self._network.columns(self.length).variables[variable.name].stop

    def _held(self, frozen: int) -> dict[str, np.ndarray]:
        """What no sweep changes, NaN elsewhere: observations, and the values of the first slices."""
        held = {name: array[:, : self._values[name].shape[1]].copy() for name, array in self._observed.items()}
        for name, array in held.items():
            array[:, :frozen] = self._values[name][:, :frozen]
        return held

    def _make_run(self) -> WindowRun:
        method = self._method
        hidden = {name: [np.full_like(values, np.nan)] for name, values in self._values.items()}
        return WindowRun(
            Problem(
                schedule=compile_network(self._network),
                lengths=(self.length,),
                observed=hidden,
                start={name: [values] for name, values in self._values.items()} | self._parameters,
                released=frozenset(hidden),
                averaging=method.averaging,
                divergence=DIVERGENCES[method.divergence],
                epsilon=method.epsilon,
                accelerated=method.acceleration is not None,
                smoothed=frozenset(name for name, value in self._sparseness().items() if value),
                dtype=self.dtype,
            )
        )

    def _sparseness(self) -> dict[str, float]:
        chosen = self._method.sparseness
        names = [equation.name for equation in self._network.factorizations]
        return {name: float(chosen.get(name, 0.0) if isinstance(chosen, Mapping) else chosen) for name in names}  # type: ignore[arg-type]  # ramps were refused

    def _sweep(self, run: WindowRun) -> None:
        sparseness, lowest = self._sparseness(), float("inf")
        with np.errstate(all="ignore"):  # overflow is looked for in the errors, where the equation is known
            for number in range(self._sweeps):
                stretch = Stretch(number, 1, lambda _: sparseness, steps=self._steps, lowest=lowest)
                errors = run.advance(stretch)[-1]
                assert errors is not None  # measured after every sweep
                self._steps, lowest = steps_after(self._steps, lowest, errors.divergence)
                rmse = errors.rmse
        for name, error in rmse.items():
            if isinf(error):
                raise NumericalError(
                    f"{name}: the values became infinite with frame {self.seen - 1}. The frames are too large for "
                    f"{self.dtype}: scale them down."
                )
        self._values, self._before = run.values()

    def slice(self, time: int) -> dict[str, np.ndarray]:
        """The values of all variables at a time; NaN where a variable has none, or has not yet."""
        place = time - (self.seen - self.length)
        return {variable.name: self._column(variable, place, time) for variable in self._network.variables}

    def observed(self, time: int) -> dict[str, np.ndarray]:
        """What was observed of all variables at a time; NaN where hidden."""
        place = time - (self.seen - self.length)
        return {name: array[:, place] for name, array in self._observed.items()}

    def _column(self, variable: Variable, place: int, time: int) -> np.ndarray:
        touched = self._network.columns(self.length).variables[variable.name]
        arrays = self._values if place < touched.stop and time >= touched.start else self._observed
        return arrays[variable.name][:, place].copy()
