"""How large a problem is, before it is set up."""

from typing import NamedTuple

from pfn.network import Network, Window

LINEAR, QUADRATIC = 150, 1200
"""Bytes for every entry of the matrix, measured at most: on tracking scenes of 10⁴ to 10⁷ entries."""


class Size(NamedTuple):
    """Entries of all variables, rows and non-zero entries of the matrix, and the memory that this may take."""

    unknowns: int
    equations: int
    entries: int
    bytes: int

    def __str__(self) -> str:
        return (
            f"{self.unknowns:,} unknowns, {self.equations:,} equations with {self.entries:,} entries, "
            f"at most about {self.bytes / 1e9:.2g} GB"
        )


def size_of(network: Network, length: int, *, quadratic: bool) -> Size:
    """The size for T slices, nothing being known; parameters without a value count as full."""
    columns = network.columns(length)
    rows = entries = 0
    for equation in network.factorizations:
        count = columns.equations[equation.name]
        filled = sum(_filled(t.parameter.value, t.parameter.shape) * _reach(t.window, count) for t in equation.terms)
        rows += count * equation.rows
        entries += count * (equation.rows + filled)
    unknowns = sum(variable.size * len(columns.variables[variable.name]) for variable in network.variables)
    return Size(unknowns, rows, entries, entries * (QUADRATIC if quadratic else LINEAR))


def _reach(window: Window | None, count: int) -> int:
    """How many times a term has each of its parent's components at once, at most."""
    return 1 if window is None else count if window.length is None else min(window.length, count)


def _filled(value: object, shape: tuple[int, int]) -> int:
    """How many entries of a matrix are not zero."""
    if value is None:
        return shape[0] * shape[1]
    return int((value != 0).sum())  # type: ignore[attr-defined]  # dense or sparse, both compare so
