"""WHERE: engines that run schedules."""

from pfn.engines.counted import counted_entries, counted_in, filled_in
from pfn.engines.fixed import refuse_dense, refuse_dense_start
from pfn.engines.layout import Layout
from pfn.engines.problem import Errors, Problem, Statistics, dense, has_hidden, largest_error, root_mean
from pfn.engines.run import Run, choose_engine, is_installed, make_run, said_everywhere, several_processes
from pfn.engines.stretch import Stretch
from pfn.engines.threads import BLAS

__all__ = [
    "BLAS",
    "Errors",
    "Layout",
    "Problem",
    "Run",
    "Statistics",
    "Stretch",
    "choose_engine",
    "counted_entries",
    "counted_in",
    "dense",
    "filled_in",
    "has_hidden",
    "is_installed",
    "largest_error",
    "make_run",
    "refuse_dense",
    "refuse_dense_start",
    "root_mean",
    "said_everywhere",
    "several_processes",
]
