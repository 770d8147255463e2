"""The network as a convex program: matrix, solvers, uniqueness."""

from pfn.exact.consensus import Agreement, Iteration
from pfn.exact.copies import Copies
from pfn.exact.inference import Asked, Solved, any_solution, distinct, nearly, refuse, solve, superposition
from pfn.exact.linear import Deadline, InfeasibleError, OutOfTimeError
from pfn.exact.noisy import Noise, Question, soften
from pfn.exact.penalty import weighted
from pfn.exact.planes import Plane
from pfn.exact.size import Size, size_of
from pfn.exact.support import explain
from pfn.exact.system import System, assemble
from pfn.exact.windows import Window

__all__ = [
    "Agreement",
    "Asked",
    "Copies",
    "Deadline",
    "InfeasibleError",
    "Iteration",
    "Noise",
    "OutOfTimeError",
    "Plane",
    "Question",
    "Size",
    "Solved",
    "System",
    "Window",
    "any_solution",
    "assemble",
    "distinct",
    "explain",
    "nearly",
    "refuse",
    "size_of",
    "soften",
    "solve",
    "superposition",
    "weighted",
]
