"""The schedule: the order of work of one sweep, as inert data that prints as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Literal, NamedTuple

from pfn.network import Columns, Network
from pfn.network.tables import html_table, text_table

Action = Literal["left update", "right update", "average parents", "propagate", "average children"]
HEADER = ("pass", "level", "step", "changes", "from")


class Step(NamedTuple):
    """One piece of work.

    `equations` are the names of the equations that it reads (several where a tied parameter merges them, or
    where copies are averaged), `targets` the names of the parameters or variables that it changes.
    """

    action: Action
    level: int
    equations: tuple[str, ...]
    targets: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Schedule:
    """One sweep of Algorithm 1: the steps up the levels, then the steps down."""

    network: Network
    up: tuple[Step, ...]
    down: tuple[Step, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of a sweep in order."""
        return (*self.up, *self.down)

    def columns(self, slices: int) -> Columns:
        """The columns of every equation and variable for T slices."""
        return self.network.columns(slices)

    def __str__(self) -> str:
        return "\n".join(text_table(HEADER, list(self._rows())))

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{html_table(HEADER, list(self._rows()))}"

    def _rows(self) -> Iterator[tuple[str, str, str, str, str]]:
        for direction, steps in (("up", self.up), ("down", self.down)):
            for step in steps:
                source = "; ".join(f"{name}: {self.network[name]}" for name in step.equations)
                if step.action.startswith("average"):
                    source = f"{', '.join(step.equations)}{self._copies(step)}"
                yield direction, str(step.level), step.action, ", ".join(step.targets), source

    def _copies(self, step: Step) -> str:
        role = "parents" if step.action == "average parents" else "children"
        equations = [e for e in self.network.factorizations if e.name in step.equations]
        slices = [piece for e in equations for piece in getattr(e, role)]
        counts = [sum(piece.variable.name == name for piece in slices) for name in step.targets]
        return f" ({', '.join(f'{count} copies' if count > 1 else '1 copy' for count in counts)})"

    def __repr__(self) -> str:
        return f"Schedule of {self.network!r}: {len(self.up)} steps up, {len(self.down)} steps down"
