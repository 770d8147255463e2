"""WHERE: engines that run schedules."""

from pfn.engines.numpy_engine import NumpyRun
from pfn.engines.problem import Errors, Problem

__all__ = ["Errors", "NumpyRun", "Problem"]
