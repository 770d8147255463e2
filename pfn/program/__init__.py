"""WHEN: schedule → program, the list of operations that a backend runs. Inert, printable as a table."""

from pfn.program.layout import Layout
from pfn.program.lowering import Lowering, SweepKind
from pfn.program.problem import Errors, Problem, Statistics
from pfn.program.program import Array, Labels, Op, Pattern, Program, View
from pfn.program.recorder import Recorder, Tracer

__all__ = [
    "Array",
    "Errors",
    "Labels",
    "Layout",
    "Lowering",
    "Op",
    "Pattern",
    "Problem",
    "Program",
    "Recorder",
    "Statistics",
    "SweepKind",
    "Tracer",
    "View",
]
