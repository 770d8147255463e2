"""Asking questions: infer, learn, methods and results."""

from pfn.solve.ask import infer, learn
from pfn.solve.batches import Batches
from pfn.solve.consensus import Consensus
from pfn.solve.exact import Exact
from pfn.solve.exact_solutions import solutions
from pfn.solve.methods import PAPER, Propagate
from pfn.solve.ramps import Ramp, ramp
from pfn.solve.request import Answer, Method, Request
from pfn.solve.result import Result, load
from pfn.solve.streams import SliceValues, Stream, stream
from pfn.solve.substitute import Substitute

__all__ = [
    "PAPER",
    "Answer",
    "Batches",
    "Consensus",
    "Exact",
    "Method",
    "Propagate",
    "Ramp",
    "Request",
    "Result",
    "SliceValues",
    "Stream",
    "Substitute",
    "infer",
    "learn",
    "load",
    "ramp",
    "solutions",
    "stream",
]
