"""Asking questions: infer, learn, methods and results."""

from pfn.solve.ask import infer, learn
from pfn.solve.methods import PAPER, Propagate
from pfn.solve.ramps import Ramp, ramp
from pfn.solve.request import Answer, Method, Request
from pfn.solve.result import Result, load

__all__ = [
    "PAPER",
    "Answer",
    "Method",
    "Propagate",
    "Ramp",
    "Request",
    "Result",
    "infer",
    "learn",
    "load",
    "ramp",
]
