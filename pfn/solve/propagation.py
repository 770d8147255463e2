"""A run of `Propagate`: start, releases and ramps between the sweeps."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pfn.compiler import compile_network
from pfn.engines import Problem, Run, make_run, refuse_dense_start
from pfn.solve.ramps import Ramp
from pfn.solve.request import Answer, Request
from pfn.solve.start import Start
from pfn.solve.sweeps import Sweeps
from pfn.solve.weights import refuse_unequal_weights
from pfn.updates import DIVERGENCES

if TYPE_CHECKING:
    from pfn.solve.methods import Propagate

# Rounds of left and right updates per level in the start by levels, each about the work of a sweep. On section 6 all of
# twenty seeds are then at 0.156 in 7 sweeps, half of them in 3; with 15 rounds five seeds took up to 13.
LEVEL_ROUNDS = 30


def run(request: Request, method: "Propagate") -> Answer:
    """Sweep until every sweep is done or a criterion to stop is met."""
    refuse_unequal_weights(request.network, request.observations, request.weights, released=[*map(str, method.release)])
    return Propagation(request, method, make_run(request.engine, make_problem(request, method))).run()


class Propagation(Sweeps):
    """Sweeps of Algorithm 1, with what changes between them."""

    def __init__(self, request: Request, method: "Propagate", engine: Run) -> None:
        super().__init__(
            request,
            method,
            engine,
            last_change=_last_change(method),
            rare=max(method.learn_every.values(), default=0),
            squares=method.divergence == "euclidean",
        )
        self.method, self._engine = method, engine
        self.pauses = tuple(method.release.values())
        chosen = method.sparseness
        each = {name: chosen.get(name, 0.0) if isinstance(chosen, Mapping) else chosen for name in self.names}
        self._ramps = {name: value for name, value in each.items() if isinstance(value, Ramp)}
        self._steady = {name: float(value) for name, value in each.items() if not isinstance(value, Ramp)}

    def begin(self) -> None:
        """The start by levels, if that was asked for."""
        if self.method.start == "levels":
            self._engine.fit_levels(LEVEL_ROUNDS, self.sparseness(0))

    def prepare(self) -> None:
        """Release what is to be released now."""
        for name, sweep in self.method.release.items():
            if self.done == sweep:
                self._engine.release(str(name))

    def resumed(self) -> None:
        """Release what was released before."""
        for name, sweep in self.method.release.items():
            if sweep < self.done:
                self._engine.release(str(name))

    def sparseness(self, number: int) -> dict[str, float]:
        """The sparseness of every equation in a sweep."""
        if not self._ramps:
            return self._steady
        return self._steady | {name: ramp.at(number) for name, ramp in self._ramps.items()}


def make_problem(request: Request, method: "Propagate") -> Problem:
    """What the engine is given."""
    released = frozenset(str(name) for name in method.release)
    refuse_dense_start(request.observations.arrays, released)
    start = Start.of(request, method.initial_scale, released=released, from_data=method.start != "random", quiet=True)
    return Problem(
        schedule=compile_network(request.network),
        lengths=request.observations.lengths,
        observed=request.observations.arrays,
        start=start.values(),
        learned=request.learned,
        weights=request.weights,
        past=request.past,
        released=released,
        learn_every={str(name): n for name, n in method.learn_every.items()},
        joint=method.updates == "joint",
        averaging=method.averaging,
        divergence=DIVERGENCES[method.divergence],
        epsilon=method.epsilon,
        accelerated=method.acceleration is not None,
        smoothed=smoothed(request, method),
        dtype=request.dtype,
        precision=request.precision,
        room=request.room,
        mesh=request.mesh,
    )


def _last_change(method: "Propagate") -> int:
    """The sweep with which the last ramp and release are over."""
    chosen = method.sparseness
    values = chosen.values() if isinstance(chosen, Mapping) else [chosen]
    ends = [value.stop for value in values if isinstance(value, Ramp)]
    return max([*ends, *method.release.values()], default=0)


def smoothed(request: Request, method: "Propagate") -> frozenset[str]:
    """The equations that have sparseness in some sweep."""
    chosen = method.sparseness
    names = [equation.name for equation in request.network.factorizations]
    each = {name: chosen.get(name, 0.0) if isinstance(chosen, Mapping) else chosen for name in names}
    return frozenset(
        name for name, value in each.items() if (max(value.first, value.last) if isinstance(value, Ramp) else value)
    )
