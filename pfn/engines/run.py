"""What every engine offers, and how a run is made by the name of its engine."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import parent_process
from typing import Any, Protocol

import numpy as np

from pfn.engines.problem import Errors, Problem, Statistics
from pfn.engines.stretch import Stretch


class Run(Protocol):
    """The values of a run, and the work of sweeps on them."""

    @property
    def pace(self) -> int:
        """How many sweeps to ask for at a time."""

    @property
    def entries(self) -> Mapping[str, float]:
        """By equation, the number of entries that its error is the mean over."""

    def advance(self, stretch: Stretch) -> Sequence[Errors | None]:
        """The sweeps of a stretch, up to the first after which a criterion to stop is met; the errors after each.

        None where errors were not wanted; they may be given all the same.
        """

    def fit_levels(self, rounds: int, sparseness: Mapping[str, float]) -> None:
        """The start by levels: fit each level to the one below it, from the bottom up, then propagate."""

    def release(self, name: str) -> None:
        """From now on the variable is hidden."""

    def statistics(self, sparseness: Mapping[str, float]) -> dict[str, Statistics]:
        """By learned parameter, what its left update would be made from now; no sweep can follow."""

    def variable(self, name: str) -> list[Any]:
        """The values of a variable, one array per sequence; columns that nothing touches are NaN if hidden."""

    def parameter(self, name: str) -> Any:
        """The current matrix of a parameter."""

    def save_state(self) -> dict[str, np.ndarray]:
        """Everything that the next sweep depends on: values now and, with momentum, before the last sweep."""

    def load_state(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue where `save_state` left off, of this engine or another."""

    def close(self) -> None:
        """Give all memory back but that of the values themselves; no sweep can follow."""


# With an accelerator, "auto" takes JAX where NumPy would compute for longer than JAX compiles, some seconds.
# Without one it takes NumPy: compiled dense products are no faster (benchmarks/jax_engine.py).
WORTH_COMPILING = 2e11

_HOMES = {
    "numpy": ("pfn.engines.program_engine", "make_program_run"),
    "numpy without programs": ("pfn.engines.numpy_engine", "NumpyRun"),  # for what programs do not serve, and for tests
    "jax by programs": ("pfn.engines.program_jax", "make_program_run"),  # not an option of users yet
    "jax": ("pfn.engines.jax_engine", "JaxRun"),
}


def make_run(engine: str, problem: Problem) -> Run:
    """A run of the problem on an engine, which is loaded on first use."""
    module, name = _HOMES[engine]
    run: Run = getattr(import_module(module), name)(problem)
    return run


def choose_engine(engine: str, multiplications: float, *, alone: bool = True) -> str:
    """The engine meant: "auto" goes by the size of the whole run, by what is installed and by the device.

    Runs that are not alone would each take hold of the same device and most of its memory, so that they get NumPy.
    """
    if engine != "auto":
        return engine
    worth_it = alone and parent_process() is None and multiplications > WORTH_COMPILING and is_installed("jax")
    return "jax" if worth_it and import_module("pfn.engines.jax_devices").has_accelerator() else "numpy"


def several_processes(mesh: Any) -> bool:
    """Whether the devices of a mesh belong to several processes, which compute one run together."""
    return mesh is not None and bool(import_module("pfn.engines.jax_devices").several_processes(mesh))


def said_everywhere(mesh: Any, number: int) -> list[int]:
    """What all processes of a run say, each a number, when all of them are asked; this one alone without others."""
    if not several_processes(mesh):
        return [number]
    said: list[int] = import_module("pfn.engines.jax_devices").said_everywhere(mesh, number)
    return said


def is_installed(engine: str) -> bool:
    """Whether what the engine needs is there."""
    return engine != "jax" or find_spec("jax") is not None
