"""What `infer` and `learn` ask of a method, and what a method gives back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from pfn.engines import Statistics
from pfn.network import Network
from pfn.solve.data import Observations
from pfn.solve.history import History
from pfn.solve.interruption import Interruption
from pfn.solve.progress import Bar
from pfn.solve.runaways import Runaways
from pfn.solve.statistics import Memory

# The most sweeps of an inference, if it does not settle before: of random networks that were wrong after 1000, two
# thirds are right then. A power of two, at which values are compared with those of half as many sweeps.
INFERENCE_LIMIT = 4096

# The most sweeps of learning, whose sweeps cost more and whose divergence may fall very slowly for very long.
LEARNING_LIMIT = 1024

# The sweeps of methods that do not end by themselves.
STEADY_LIMIT = 1000

Callback = Callable[[int, Mapping[str, Any]], object]


@dataclass(frozen=True)
class Request:
    """A question to a network, checked, with the common options."""

    network: Network
    observations: Observations
    learned: frozenset[str]
    initial: Mapping[str, Any]
    weights: Mapping[str, Sequence[np.ndarray]]
    iterations: int
    limited: bool  # whether the user named the number of sweeps
    tolerance: float | None
    stall: float | None
    to_tolerance: bool  # whether a tolerance alone says when values are good enough
    measure: int
    seed: int
    restart: int
    dtype: np.dtype[Any]
    engine: str
    precision: str
    mesh: Any
    callback: Callback | None
    checkpoint: str | None
    checkpoint_every: int
    resume: str | None
    bar: Bar
    interruption: Interruption
    past: Mapping[str, Statistics] = field(default_factory=dict)  # of data seen before, by learned parameter
    keep_statistics: bool = False  # whether those of these data are wanted
    drawn: bool = False  # whether all that the user did not give starts at random, whatever the method says
    room: int = 0  # columns that arrays have at least, in engines that compile: runs of one width share a program

    def generator(self) -> np.random.Generator:
        """The random numbers of this run; run 0 is the plain run with the seed."""
        keys = (self.restart,) if self.restart else ()
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=keys))

    def again(self, restart: int) -> "Request":
        """The question of a restart: with other random numbers, which all runs but the first start from."""
        return replace(self, restart=restart, drawn=restart > 0)


@dataclass(frozen=True)
class Answer:
    """What a method found."""

    values: Mapping[str, Any]  # by variable an array per sequence, by parameter a matrix
    rmse: Mapping[str, float]
    squared_error: float
    history: History
    stop: str
    iterations: int
    interrupted: bool = False
    doubt: str | None = None  # why the values may be far from right, if the user is to be told
    share: float = float("nan")  # of a run that settled or reached its limit: the divergence ÷ the data's own
    unique: Mapping[str, Any] | None = None  # by variable, a boolean array per sequence
    statistics: Mapping[str, Statistics] = field(default_factory=dict)  # if asked for, by learned parameter
    memory: Memory | None = None  # of learning by batches
    entries: Mapping[str, float] = field(default_factory=dict)  # by equation, how many its RMSE is the mean over
    runaways: Runaways | None = None  # of learning by batches, which keeps no values


class Method(Protocol):
    """A way to answer requests: a frozen options object with a name."""

    name: ClassVar[str]

    def check(self, network: Network) -> None:
        """Refuse networks that the method cannot solve, and options that do not fit the network."""

    def run(self, request: Request) -> Answer:
        """Solve."""
