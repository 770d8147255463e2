"""WHEN: schedule → program, the list of operations that a backend runs. Inert, printable as a table."""

from pfn.program.layout import Layout
from pfn.program.lowering import Lowering, SweepKind
from pfn.program.problem import Errors, Problem, Statistics
from pfn.program.program import Array, IndexMap, Op, Pattern, Program, View
from pfn.program.tape import Tape, Tracer

__all__ = [
    "Array",
    "Errors",
    "IndexMap",
    "Layout",
    "Lowering",
    "Op",
    "Pattern",
    "Problem",
    "Program",
    "Statistics",
    "SweepKind",
    "Tape",
    "Tracer",
    "View",
]
