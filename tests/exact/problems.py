"""Random networks with known parameters, and observations that have exact solutions."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.optimize import linprog

import pfn
from pfn.exact import System, assemble
from tests.networks import random_problem


@dataclass(frozen=True)
class Known:
    """A network with a value for every parameter, and observations of one sequence."""

    network: pfn.Network
    data: dict[str, np.ndarray]
    parameters: dict[str, object]  # of those that bring no value

    @property
    def length(self) -> int:
        bottom = [self.data[v.name] for v in self.network.bottom if v.name in self.data]
        return max(array.shape[1] for array in bottom)

    def dense_parameters(self) -> dict[str, np.ndarray]:
        values = {p.name: p.value for p in self.network.parameters} | self.parameters
        return {name: v.toarray() if scipy.sparse.issparse(v) else np.asarray(v) for name, v in values.items()}

    def system(self) -> System:
        return assemble(
            self.network, self.dense_parameters(), self.length, {name: a.shape[1] for name, a in self.data.items()}
        )

    def infer(self, **options) -> pfn.Result:
        return pfn.infer(self.network, self.data, method=pfn.Exact(**options), initial=self.parameters)


def random_known(seed: int) -> Known:
    """Some of everything that a declaration offers, with data that rarely fit."""
    problem = random_problem(seed)
    missing = [p for p in problem.network.parameters if p.value is None]
    rng = np.random.default_rng(seed)
    return Known(problem.network, problem.data, {p.name: rng.random(p.shape) for p in missing})


def solvable(seed: int) -> Known:
    """The same with data that have an exact solution, most of them hidden in some way."""
    known, rng = random_known(seed), np.random.default_rng(seed)
    system = known.system()
    # A vertex in a random direction: some entries zero, some at their bound, and all equations hold.
    vertex = linprog(
        rng.uniform(-1, 0.2, system.matrix.shape[1]),
        A_eq=system.matrix,
        b_eq=np.zeros(system.matrix.shape[0]),
        bounds=(0, 1),
    )
    hidden = {name: np.isnan(array) for name, array in known.data.items()}
    data = {
        name: np.where(mask, np.nan, system.array(vertex.x, name)[:, : mask.shape[1]]) for name, mask in hidden.items()
    }
    return Known(known.network, data, known.parameters)


def flat_known(known: Known) -> tuple[System, np.ndarray]:
    system = known.system()
    return system, system.flat(known.data)
