"""Sweeps of any method: criteria to stop, history, progress, checkpoints, what a callback sees."""

from collections.abc import Iterator, Mapping, Sequence
from math import isinf
from typing import Any, Protocol

import numpy as np

from pfn.engines import Errors, Statistics, Stretch
from pfn.errors import FileError, NumericalError
from pfn.solve.checkpoints import Checkpoint
from pfn.solve.data import largest_value
from pfn.solve.history import Recorder
from pfn.solve.processes import Ending, check_same
from pfn.solve.request import Answer, Method, Request
from pfn.solve.settling import FALLING, FITTED, Settling
from pfn.updates.momentum import steps_after

# The divergence has risen for good if it ends at this many times its lowest value: `stop` says so, as fewer sweeps are
# better then, or another method. Sweeps propagate; the mean over lags, for one, need not descend.
RISEN = 1.1
# From this many times on, a warning says so, too.
RISEN_FAR = 1.25
# A rise by less than this share of the first divergence is none: the data are fitted anyway.
NOTHING = 1e-3


class Engine(Protocol):
    """What sweeps need of an engine."""

    @property
    def pace(self) -> int:
        """How many sweeps to ask for at a time."""

    @property
    def entries(self) -> Mapping[str, float]:
        """By equation, the number of entries that its error is the mean over."""

    def advance(self, stretch: Stretch) -> Sequence[Errors | None]:
        """The sweeps of a stretch, up to the first after which a criterion to stop is met; the errors after each."""

    def variable(self, name: str) -> list[Any]:
        """The values of a variable, one array per sequence."""

    def parameter(self, name: str) -> Any:
        """The current matrix of a parameter."""

    def statistics(self, sparseness: Mapping[str, float]) -> dict[str, Statistics]:
        """By learned parameter, what its left update would be made from now; no sweep can follow."""

    def save_state(self) -> dict[str, np.ndarray]:
        """Everything that the next sweep depends on."""

    def load_state(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue where `save_state` left off."""

    def close(self) -> None:
        """Give all memory back but that of the values themselves; no sweep can follow."""


class Values(Mapping[str, Any]):
    """The current values by name, fetched when asked for: what a callback sees."""

    def __init__(self, request: Request, engine: Engine) -> None:
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


class Sweeps:
    """A run: sweeps until every one is done or a criterion to stop is met. Methods say what happens between sweeps."""

    pauses: Sequence[int] = ()
    """Sweeps before which something changes: none of them is passed in one stretch."""

    def __init__(
        self,
        request: Request,
        method: Method,
        engine: Engine,
        *,
        last_change: int = 0,
        rare: int = 0,
        squares: bool = False,
        distance: bool = False,
    ) -> None:
        """A run of the method on an engine.

        - last_change: the sweep with which ramps and releases are over;
        - rare: the longest time, in sweeps, between two updates of a learned parameter;
        - squares: whether what is called divergence is a squared error;
        - distance: whether it is the squared distance between two sets.
        """
        self.request, self.engine = request, engine
        self.names = [e.name for e in request.network.factorizations]
        self.values = Values(request, engine)
        self.recorder = Recorder(self.names)
        self.steps = 0  # sweeps since the momentum began or the divergence rose
        self.lowest = float("inf")  # the lowest divergence in them
        self.done = 0
        self.ran_its_course = False  # whether it ended by itself or by its limit, and not by what the user asked for
        self.past: list[float] = []  # the divergence after every sweep, NaN where it was not measured
        self.errors: Errors | None = None  # after the last sweep, if they were measured
        self.measure = 1 if request.callback else request.measure  # a callback may stop the run after any sweep
        moving = {p.variable.name for e in request.network.factorizations for p in e.parents}
        moving = {name for name in moving if request.observations.hides(name)} | request.learned
        self.last_change = last_change
        self.settling = Settling(request, sorted(moving), max(last_change, rare), squares=squares, distance=distance)
        self.checkpoint = Checkpoint(request, method)
        self.ending = Ending(request)

    def prepare(self) -> None:
        """What is to be done before the next sweep."""

    def resumed(self) -> None:
        """What is to be done after the values of a checkpoint were taken."""

    def sparseness(self, _number: int) -> dict[str, float]:
        """The sparseness of every equation in a sweep."""
        return {}

    def begin(self) -> None:
        """What is to be done before the first sweep."""

    def run(self) -> Answer:
        """Sweep, and give back what there is in the end."""
        try:
            check_same(self.request, self.checkpoint)
            with np.errstate(all="ignore"):  # overflow is looked for in the errors, where the equation is known
                if self.request.resume is None:
                    self.begin()
                else:
                    self._resume()
            return self._sweep_all()
        finally:
            self.engine.close()

    def _sweep_all(self) -> Answer:
        request = self.request
        label = f"sweeps (run {request.restart})" if request.restart else "sweeps"
        self.shown = request.bar.begin(label, request.iterations, self.done)
        stop = self._reason(asked_to_stop=self.ending.asked())
        while stop is None:
            self._sweep()
            answer = bool(request.callback and request.callback(self.done - 1, self.values))
            stop = self._reason(asked_to_stop=self.ending.asked(here=answer))
            if self.checkpoint.due(self.done, last=stop is not None):
                self.checkpoint.write(self._state())
        request.bar.end(self.shown)
        return self._answer(stop)

    def _sweep(self) -> None:
        self.prepare()
        with np.errstate(all="ignore"):  # overflow is looked for in the errors, where the equation is known
            stretch = self._stretch()
            found = self.engine.advance(stretch)
        for errors in found:
            # an engine may have measured them for itself, or for the bar: criteria and history do not depend on that
            self.errors = errors if stretch.measured(self.done) else None
            divergence = errors.divergence if errors else float("nan")
            self.past.append(divergence if self.errors else float("nan"))
            if errors is None:
                self.steps += 1  # where nobody looked, the momentum goes on
            else:
                self.steps, self.lowest = steps_after(self.steps, self.lowest, divergence, stretch.changed(self.done))
                self._check_finite(errors)
            if self.errors:
                self.recorder.add(self.done, self.errors.rmse, self.errors.divergence)
            self.done += 1
        latest = next((errors.largest for errors in reversed(found) if errors and errors.rmse), float("nan"))
        self.request.bar.advance(self.shown, self.done, latest)

    def _stretch(self) -> Stretch:
        """The next sweeps: as many as the engine likes to do at a time, but for what happens between sweeps."""
        request, ends = self.request, [self.request.iterations, self.settling.next_look(self.done), *self.pauses]
        if request.checkpoint is not None:
            ends.append((self.done // request.checkpoint_every + 1) * request.checkpoint_every)
        pace = 1 if request.callback else self.engine.pace
        return Stretch(
            first=self.done,
            count=min(pace, *(end - self.done for end in ends if end > self.done)),
            sparseness=self.sparseness,
            steps=self.steps,
            lowest=self.lowest,
            tolerance=request.tolerance,
            measure=1 if self.ending.interrupted else self.measure,
            ends=ends,
        )

    def _check_finite(self, errors: Errors) -> None:
        for name, error in errors.rmse.items():
            if isinf(error):
                equation = self.request.network[name]
                raise NumericalError(
                    f"{name}: {equation}: the values became infinite in sweep {self.done}. The data or starting "
                    f"values are too large for {self.request.dtype}: scale them "
                    f"down{', or use float64' if self.request.dtype != np.float64 else ''}."
                )

    def _reason(self, *, asked_to_stop: bool = False) -> str | None:
        """Why the run ends now, or None."""
        request = self.request
        if self.ending.interrupted and (self.errors or not self.done):
            return f"interrupted by the user after {self.done} sweeps"
        if self.errors is None:
            return None
        if request.tolerance is not None and self.errors.largest < request.tolerance:
            return f"the RMSE of every equation is below the tolerance {request.tolerance:g}"
        if settled := self.settling.look(self.done, self.values, self.past):
            self.ran_its_course = True
            return settled + self._risen()
        if self.done > request.iterations:
            return f"the checkpoint had more than the {request.iterations} sweeps asked for"
        if self.done == request.iterations:
            self.ran_its_course = True
            return f"all {request.iterations} sweeps were done{self._risen()}"
        if asked_to_stop:
            return f"the callback asked to stop after sweep {self.done - 1}"
        return None

    def _risen(self, least: float = RISEN) -> str:
        """A hint where the divergence ends far above its lowest value, but for that of ramps and releases."""
        measured = self.recorder.divergence
        if self.last_change or not measured:
            return ""
        lowest, rise = min(measured), measured[-1] - min(measured)
        if rise <= max((least - 1) * lowest, NOTHING * measured[0]) or self._fits_to_rounding():
            return ""
        sweeps = self.recorder.iterations[measured.index(lowest)] + 1
        return f"; the divergence was {100 * rise / measured[-1]:.0f} % lower after {sweeps} sweeps"

    def _doubt(self) -> str | None:
        """The reason for which values may be far from right, or None."""
        if self.done == self.request.iterations and self.settling.falling(self.past):
            return f"the divergence still fell by more than {FALLING:.1%} in the second half of the {self.done} sweeps"
        if self._share() > FITTED and (risen := self._risen(RISEN_FAR)):
            return f"{risen.removeprefix('; ')}: sweeps over several levels or lags need not lower it"
        return None

    def _share(self) -> float:
        """The divergence in parts of that of the data from their own means."""
        scale = self.settling.scale
        return self.recorder.divergence[-1] / scale if scale and self.recorder.divergence else float("nan")

    def _fits_to_rounding(self) -> bool:
        """True if nothing but rounding is left of the errors: a rise then says nothing."""
        assert self.errors is not None  # measured after the last sweep
        rounding = np.finfo(self.request.dtype).eps * largest_value(self.request.observations)
        return bool(self.errors.largest <= rounding)

    def _state(self) -> dict[str, np.ndarray]:
        history = self.recorder.finish()
        assert self.errors is not None  # checkpoints are written after a sweep
        return (
            self.engine.save_state()
            | self.settling.save()
            | {
                "done": np.array([self.done]),
                "steps": np.array([self.steps]),
                "lowest": np.array([self.lowest]),
                "errors": np.array([self.errors.divergence, self.errors.squared]),
                "iterations": history.iterations,
                "divergence": history.divergence,
                "rmse": np.array([history[name] for name in self.names]),
            }
        )

    def _resume(self) -> None:
        saved = self.checkpoint.read()
        self.done, self.steps = self.checkpoint.counts(saved)
        self.lowest = float(saved["lowest"][0])
        try:
            self.engine.load_state(saved)
            self.settling.load(saved)
        except (ValueError, IndexError) as error:
            raise FileError(f"{self.request.resume}: the file is damaged: {error}. Start without resume.") from error
        self.resumed()
        for number, divergence, rmse in zip(saved["iterations"], saved["divergence"], saved["rmse"].T, strict=True):
            self.recorder.add(int(number), dict(zip(self.names, map(float, rmse), strict=True)), float(divergence))
        self.past = [float("nan")] * self.done
        for number, divergence in zip(saved["iterations"], saved["divergence"], strict=True):
            self.past[int(number)] = float(divergence)
        last = {name: self.recorder.rmse[name][-1] for name in self.names}
        self.errors = Errors(last, *map(float, saved["errors"]))

    def _answer(self, stop: str) -> Answer:
        assert self.errors is not None or self.done == 0
        entries = self.engine.entries
        statistics = self.engine.statistics(self.sparseness(self.done)) if self.request.keep_statistics else {}
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
            doubt=self._doubt() if self.ran_its_course and not self.request.limited else None,
            share=self._share() if self.ran_its_course and not self.request.limited else float("nan"),
            statistics=statistics,
            entries=entries,
        )
