"""WHEN: network → schedule. Inert, comparable, printable as a table."""

from pfn.compiler.compile import compile_network
from pfn.compiler.schedule import Schedule, Step
from pfn.compiler.substitution import Substitution, substitute

__all__ = ["Schedule", "Step", "Substitution", "compile_network", "substitute"]
