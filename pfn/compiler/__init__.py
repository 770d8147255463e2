"""WHEN: network → schedule. Inert, comparable, printable as a table."""

from pfn.compiler.compile import compile_network
from pfn.compiler.schedule import Schedule, Step

__all__ = ["Schedule", "Step", "compile_network"]
