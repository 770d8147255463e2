"""A run of `Propagate`: start, sweeps with momentum, criteria to stop, checkpoints."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from pfn.compiler import compile_network
from pfn.engines import Errors, NumpyRun, Problem
from pfn.errors import NumericalError
from pfn.solve.checkpoints import Checkpoint
from pfn.solve.history import Recorder
from pfn.solve.ramps import Ramp
from pfn.solve.request import Answer, Request
from pfn.solve.start import Start
from pfn.updates import DIVERGENCES
from pfn.updates.momentum import strength

if TYPE_CHECKING:
    from pfn.solve.methods import Propagate

# Rounds of left and right updates per level in the start by levels (FINDINGS: enough on real spectrograms).
LEVEL_ROUNDS = 30

# Over so many sweeps a stalled run has changed by less than `stall`.
STALL_SWEEPS = 50


class Values(Mapping[str, Any]):
    """The current values by name, fetched when asked for: what a callback sees."""

    def __init__(self, request: Request, engine: NumpyRun) -> None:
        self._request, self._engine = request, engine
        self._variables = [variable.name for variable in request.network.variables]
        self._parameters = [parameter.name for parameter in request.network.parameters]

    def __getitem__(self, item: Any) -> Any:
        name = self._request.network[item].name
        if name in self._parameters:
            return self._engine.parameter(name)
        if name in self._variables:
            return self._request.observations.unwrap(self._engine.variable(name))
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._variables, *self._parameters])

    def __len__(self) -> int:
        return len(self._variables) + len(self._parameters)


def run(request: Request, method: "Propagate") -> Answer:
    """Sweep until every sweep is done or a criterion to stop is met."""
    work = _Run(request, method)
    try:
        return work.sweep_all()
    finally:
        work.engine.close()


class _Run:
    def __init__(self, request: Request, method: "Propagate") -> None:
        self.request, self.method = request, method
        self.names = [e.name for e in request.network.factorizations]
        self.engine = NumpyRun(_problem(request, method))
        self.values = Values(request, self.engine)
        self.recorder = Recorder(self.names)
        self.steps = 0  # sweeps since the momentum began or the divergence rose
        self.done = 0
        self.errors: Errors | None = None
        self.checkpoint = Checkpoint(request, method)
        if request.resume is not None:
            self._resume()
        elif method.start == "levels":
            with np.errstate(all="ignore"):
                self.engine.fit_levels(LEVEL_ROUNDS, self._sparseness(0))

    def sweep_all(self) -> Answer:
        request = self.request
        label = f"sweeps (run {request.restart})" if request.restart else "sweeps"
        self.shown = request.bar.begin(label, request.iterations, self.done)
        stop = self._reason()
        while stop is None:
            self._sweep(self.done)
            self.done += 1
            stop = self._reason(asked_to_stop=bool(request.callback and request.callback(self.done - 1, self.values)))
            if self.checkpoint.due(self.done, last=stop is not None):
                self.checkpoint.write(self._state())
        request.bar.end(self.shown)
        return self._answer(stop)

    def _sweep(self, number: int) -> None:
        for name, sweep in self.method.release.items():
            if number == sweep:
                self.engine.release(str(name))
        before = self.errors
        with np.errstate(all="ignore"):  # overflow is looked for in the errors, where the equation is known
            if self.method.acceleration:
                self.engine.extrapolate(strength(self.steps), number)
            self.errors = self.engine.sweep(number, self._sparseness(number))
        self._check_finite(number)
        rose = before is not None and self.errors.divergence > before.divergence
        self.steps = 0 if rose else self.steps + 1
        self.recorder.add(number, self.errors.rmse, self.errors.divergence)
        self.request.bar.advance(self.shown, number + 1, max(self.errors.rmse.values()))

    def _sparseness(self, number: int) -> dict[str, float]:
        chosen = self.method.sparseness
        each = {name: chosen.get(name, 0.0) if isinstance(chosen, Mapping) else chosen for name in self.names}
        return {name: value.at(number) if isinstance(value, Ramp) else float(value) for name, value in each.items()}

    def _check_finite(self, number: int) -> None:
        assert self.errors is not None  # set by the sweep that was just done
        for name, error in self.errors.rmse.items():
            if not isfinite(error):
                equation = self.request.network[name]
                raise NumericalError(
                    f"{name}: {equation}: the values became {'NaN' if error != error else 'infinite'} in sweep "
                    f"{number}. The data or starting values are too large for {self.request.dtype}: scale them "
                    f"down{', or use float64' if self.request.dtype != np.float64 else ''}."
                )

    def _reason(self, *, asked_to_stop: bool = False) -> str | None:
        """Why the run ends now, or None."""
        request = self.request
        if request.interruption.requested:
            return f"interrupted by the user after {self.done} sweeps"
        if self.errors is None:
            return None
        largest = max(self.errors.rmse.values())
        if request.tolerance is not None and largest < request.tolerance:
            return f"the RMSE of every equation is below the tolerance {request.tolerance:g}"
        if self._stalled():
            return f"the divergence changed by less than {request.stall:g} over {STALL_SWEEPS} sweeps"
        if self.done > request.iterations:
            return f"the checkpoint had more than the {request.iterations} sweeps asked for"
        if self.done == request.iterations:
            return f"all {request.iterations} sweeps were done"
        if asked_to_stop:
            return f"the callback asked to stop after sweep {self.done - 1}"
        return None

    def _stalled(self) -> bool:
        """Whether nothing moves any more; not while a ramp or a release is still to come."""
        past = self.recorder.divergence
        if self.request.stall is None or len(past) <= STALL_SWEEPS or self._changes_to_come():
            return False
        before, now = past[-1 - STALL_SWEEPS], past[-1]
        return abs(before - now) <= self.request.stall * abs(before)

    def _changes_to_come(self) -> bool:
        chosen = self.method.sparseness
        values = chosen.values() if isinstance(chosen, Mapping) else [chosen]
        ends = [value.stop for value in values if isinstance(value, Ramp)] + list(self.method.release.values())
        return any(end + STALL_SWEEPS > self.done for end in ends)

    def _state(self) -> dict[str, np.ndarray]:
        history = self.recorder.finish()
        assert self.errors is not None  # checkpoints are written after a sweep
        return self.engine.save_state() | {
            "done": np.array([self.done]),
            "steps": np.array([self.steps]),
            "errors": np.array([self.errors.divergence, self.errors.squared]),
            "iterations": history.iterations,
            "divergence": history.divergence,
            "rmse": np.array([history[name] for name in self.names]),
        }

    def _resume(self) -> None:
        saved = self.checkpoint.read()
        self.engine.load_state(saved)
        self.done, self.steps = int(saved["done"][0]), int(saved["steps"][0])
        for name, sweep in self.method.release.items():
            if sweep < self.done:
                self.engine.release(str(name))
        for number, divergence, rmse in zip(saved["iterations"], saved["divergence"], saved["rmse"].T, strict=True):
            self.recorder.add(int(number), dict(zip(self.names, map(float, rmse), strict=True)), float(divergence))
        last = {name: self.recorder.rmse[name][-1] for name in self.names}
        self.errors = Errors(last, *map(float, saved["errors"]))

    def _answer(self, stop: str) -> Answer:
        assert self.errors is not None or self.done == 0
        self.engine.close()
        errors = self.errors or Errors(dict.fromkeys(self.names, float("nan")), float("nan"), float("inf"))
        return Answer(
            values={name: self.values[name] for name in self.values},
            rmse=errors.rmse,
            squared_error=errors.squared,
            history=self.recorder.finish(),
            stop=stop,
            iterations=self.done,
            interrupted=stop.startswith("interrupted"),
        )


def _problem(request: Request, method: "Propagate") -> Problem:
    released = frozenset(str(name) for name in method.release)
    start = Start(
        network=request.network,
        observations=request.observations,
        initial=request.initial,
        learned=request.learned,
        released=released,
        scale=method.initial_scale,
        dtype=request.dtype,
        generator=request.generator(),
    )
    return Problem(
        schedule=compile_network(request.network),
        lengths=request.observations.lengths,
        observed=request.observations.arrays,
        start=start.values(),
        learned=request.learned,
        weights=request.weights,
        released=released,
        learn_every={str(name): n for name, n in method.learn_every.items()},
        averaging=method.averaging,
        divergence=DIVERGENCES[method.divergence],
        epsilon=method.epsilon,
        dtype=request.dtype,
    )
