"""Convex quadratic programs with Clarabel (extra `qp`), and those without squares with HiGHS.

Of the solvers measured (`benchmarks/quadratic_solvers.py`) PIQP is twice as fast, but knows no time limit; OSQP and
HiGHS are many times slower.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.errors import NumericalError, OptionError
from pfn.exact.linear import Deadline, InfeasibleError, OutOfTimeError, Program

ACCURACY = 1e-9
"""Relative gap and infeasibility at which the solver stops: an order below what counts as equal."""


class Quadratic(NamedTuple):
    """Minimise Σ squares · z² + costs · z over `matrix @ z = values`, z >= 0 except where `free`."""

    squares: np.ndarray
    costs: np.ndarray
    matrix: sp.csr_array
    values: np.ndarray
    free: np.ndarray

    def minimum(self, deadline: Deadline) -> np.ndarray:
        """The minimum; where the time is up, the best point so far."""
        if not self.squares.any():
            return self._linear(deadline)
        clarabel = _solver()
        rows, size = self.matrix.shape
        bounded = np.flatnonzero(~self.free)
        signs = sp.csr_array((-np.ones(bounded.size), (np.arange(bounded.size), bounded)), (bounded.size, size))
        answer = clarabel.DefaultSolver(
            sp.diags(2.0 * self.squares, format="csc"),
            self.costs,
            sp.csc_matrix(sp.vstack([self.matrix, signs], format="csc")),
            np.concatenate([self.values, np.zeros(bounded.size)]),
            [clarabel.ZeroConeT(rows), clarabel.NonnegativeConeT(bounded.size)],
            _settings(clarabel, deadline),
        ).solve()
        return self._checked(answer, clarabel)

    def _linear(self, deadline: Deadline) -> np.ndarray:
        """Free entries as differences of two that are not."""
        matrix = sp.csr_array(sp.hstack([self.matrix, -self.matrix[:, self.free]], format="csr"))
        costs = np.concatenate([self.costs, -self.costs[self.free]])
        found = Program(matrix, self.values, ACCURACY).minimum(costs, deadline)
        z, minus = np.split(found, [self.costs.size])
        z[self.free] -= minus
        return z

    def _checked(self, answer: Any, clarabel: Any) -> np.ndarray:
        status = answer.status
        kinds = clarabel.SolverStatus
        if status in (kinds.PrimalInfeasible, kinds.AlmostPrimalInfeasible):
            raise InfeasibleError
        if status == kinds.MaxTime and not len(answer.x):
            raise OutOfTimeError
        if status not in (kinds.Solved, kinds.AlmostSolved, kinds.MaxTime, kinds.InsufficientProgress):
            raise NumericalError(
                f"the quadratic solver gave up ({status}). Bring the data to a maximum of about 1, or the weights to "
                "the size of the noise."
            )
        z = np.array(answer.x)
        return np.where(self.free, z, np.maximum(z, 0.0))


def _solver() -> Any:
    try:
        import clarabel  # type: ignore[import-untyped]  # it ships no type information
    except ImportError as error:
        raise OptionError(
            "Exact: squared errors need the quadratic solver, which is not installed. "
            "Install it with: pip install 'positive-factor-networks[qp]'; noise 'l1' does without."
        ) from error
    return clarabel


def _settings(clarabel: Any, deadline: Deadline) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = deadline.left
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
    return settings
