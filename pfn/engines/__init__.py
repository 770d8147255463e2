"""WHERE: engines that run schedules."""

from pfn.engines.fixed import refuse_dense, refuse_dense_start
from pfn.engines.layout import Layout
from pfn.engines.problem import Errors, Problem, Statistics, dense, has_hidden
from pfn.engines.run import Run, choose_engine, is_installed, make_run, said_everywhere, several_processes
from pfn.engines.stretch import STALL_SWEEPS, Stretch, stalled
from pfn.engines.threads import BLAS

__all__ = [
    "BLAS",
    "STALL_SWEEPS",
    "Errors",
    "Layout",
    "Problem",
    "Run",
    "Statistics",
    "Stretch",
    "choose_engine",
    "dense",
    "has_hidden",
    "is_installed",
    "make_run",
    "refuse_dense",
    "refuse_dense_start",
    "said_everywhere",
    "several_processes",
    "stalled",
]
