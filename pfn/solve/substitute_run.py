"""A run of `Substitute`: what is eliminated, starting values, sweeps."""

from typing import TYPE_CHECKING

import numpy as np

from pfn.compiler import compile_network, substitute
from pfn.engines import Problem, refuse_dense_start
from pfn.engines.substituted import SubstitutedRun
from pfn.solve.propagation import LEVEL_ROUNDS
from pfn.solve.request import Answer, Request
from pfn.solve.start import Start
from pfn.solve.sweeps import Sweeps
from pfn.updates import DIVERGENCES

if TYPE_CHECKING:
    from pfn.solve.substitute import Substitute


def run(request: Request, method: "Substitute") -> Answer:
    """Sweep until every sweep is done or a criterion to stop is met."""
    return Substituted(request, method, make_run(request, method)).run()


class Substituted(Sweeps):
    """Sweeps of exact updates."""

    def __init__(self, request: Request, method: "Substitute", engine: SubstitutedRun) -> None:
        rare = [
            *method.learn_every.values(),
            *(number + 1 for numbers in method.learn_at.values() for number in numbers),
        ]
        super().__init__(request, method, engine, rare=max(rare, default=0), squares=method.divergence == "euclidean")
        self._levels = method.start == "levels"
        self._engine = engine

    def begin(self) -> None:
        """The start by levels, if that was asked for."""
        if self._levels:
            self._engine.fit_levels(LEVEL_ROUNDS)


def make_run(request: Request, method: "Substitute") -> SubstitutedRun:
    """The network with all eliminated that can be, at its starting values."""
    hidden = [variable.name for variable in request.network.variables if request.observations.hides(variable.name)]
    keep = [str(name) for name in method.keep]
    problem = _problem(request, method)
    rhythms = {name: problem.rhythm(name) for name in request.learned}
    plan = substitute(request.network, hidden=hidden, learned=rhythms, keep=keep)
    with np.errstate(all="ignore"):  # overflow is looked for in the errors after a sweep
        return SubstitutedRun(problem, plan)


def _problem(request: Request, method: "Substitute") -> Problem:
    refuse_dense_start(request.observations.arrays, ())
    start = Start.of(request, method.initial_scale, from_data=method.start != "random")
    return Problem(
        schedule=compile_network(request.network),
        lengths=request.observations.lengths,
        observed=request.observations.arrays,
        start=start.values(),
        learned=request.learned,
        learn_every={str(name): n for name, n in method.learn_every.items()},
        learn_at={str(name): frozenset(numbers) for name, numbers in method.learn_at.items()},
        adjust={str(name): function for name, function in method.adjust.items()},
        weights=request.weights,
        past=request.past,
        divergence=DIVERGENCES[method.divergence],
        epsilon=method.epsilon,
        accelerated=method.acceleration is not None,
        dtype=request.dtype,
    )
