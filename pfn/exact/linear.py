"""Linear programs with HiGHS, as scipy brings it."""

from time import monotonic
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.linalg import lsmr

from pfn.errors import NumericalError

SOLVERS = (("highs-ds", 10.0), ("highs-ipm", 60.0), ("highs-ds", np.inf))
"""Methods of linprog with the seconds they get. The simplex method is the faster one on what the reduction leaves; on
rare dense programs it runs on without end where the interior point method takes a second, and the other way round."""

DOUBT = 30.0
"""Seconds to find a solution after all where HiGHS said there is none: its presolve is wrong about that at times, from
differences in the last digit."""

DIFFERENT = 1e-6
"""Entries count as different from here on, relative to the largest observation; in float32 from ten times what solvers
may violate."""

SLACK = 10.0
"""How much more a part of a program may violate its rows: the rest is only known as exactly as it was solved."""

ROUGH = 300
"""Iterations of least squares where the time is up: a matter of seconds with millions of unknowns."""


class InfeasibleError(Exception):
    """The solver found that there is no solution."""


class OutOfTimeError(Exception):
    """The time limit was reached."""


class Stop(Protocol):
    """Something that may ask to come to an end."""

    requested: bool


class Deadline:
    """When the time is up: after so many seconds (`None`: never), or when someone asks to stop."""

    def __init__(self, seconds: float | None = None, stop: Stop | None = None) -> None:
        self.end = np.inf if seconds is None else monotonic() + seconds
        self._stop = stop

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return monotonic() >= self.end or (self._stop is not None and self._stop.requested)

    @property
    def left(self) -> float:
        """Seconds left; none left raises OutOfTimeError."""
        if self.over:
            raise OutOfTimeError
        return float(self.end - monotonic())


class Program(NamedTuple):
    """`matrix @ y = values` with `0 <= y <= upper`, to hold up to `tolerance` in every row."""

    matrix: sp.csr_array
    values: np.ndarray
    tolerance: float
    upper: float | np.ndarray = np.inf

    @property
    def different(self) -> float:
        """From here on two values of an entry count as different."""
        return max(DIFFERENT, 10 * self.tolerance)

    def minimum(self, costs: np.ndarray, deadline: Deadline) -> np.ndarray:
        """A vertex at which the costs are least."""
        if not costs.size:
            return self._nothing()
        costs = costs / (np.abs(costs).max() or 1.0)  # solvers take costs below 1e-7 for nothing
        for method, seconds in SOLVERS:
            found = self._solved(costs, method, min(seconds, deadline.left))
            if found.status == 2:
                found = self._solved(costs, method, min(DOUBT, deadline.left), presolve=False)
                if found.status != 0:
                    raise InfeasibleError
            if found.status == 0:
                return np.asarray(np.clip(found.x, 0.0, self.upper) + 0.0)  # no negative zeros
        if found.status == 1:
            raise OutOfTimeError
        raise NumericalError(
            f"the linear solver gave up ({found.message}). Bring the entries of the parameters to about the same size."
        )

    def _solved(self, costs: np.ndarray, method: str, seconds: float, *, presolve: bool = True) -> Any:
        options = {"primal_feasibility_tolerance": self.tolerance, "time_limit": seconds, "presolve": presolve}
        bounds = np.column_stack([np.zeros(costs.size), np.broadcast_to(self.upper, costs.shape)])
        return linprog(costs, A_eq=self.matrix, b_eq=self.values, bounds=bounds, method=method, options=options)

    def close(self) -> np.ndarray:
        """What comes close to a solution where the time is up: least squares, then the signs put right."""
        found = lsmr(self.matrix, self.values, maxiter=ROUGH)[0]
        return np.asarray(np.clip(found, 0.0, self.upper))

    def restricted(self, solution: np.ndarray, free: np.ndarray) -> "Program":
        """The program for some entries only, all others being as in a solution."""
        rest = solution.copy()
        rest[free] = 0.0
        left = self.matrix[:, free]
        values, tolerance = self.values - self.matrix @ rest, SLACK * self.tolerance
        rows = np.flatnonzero((np.diff(left.indptr) > 0) | (np.abs(values) > tolerance))
        return self._replace(matrix=left[rows], values=values[rows], tolerance=tolerance)

    def _nothing(self) -> np.ndarray:
        if np.abs(self.values).max(initial=0.0) > self.tolerance:
            raise InfeasibleError
        return np.zeros(0)
