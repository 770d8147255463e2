"""WHERE: engines that run schedules."""

from pfn.engines.numpy_engine import NumpyRun
from pfn.engines.problem import Errors, Problem, dense, has_hidden

__all__ = ["Errors", "NumpyRun", "Problem", "dense", "has_hidden"]
