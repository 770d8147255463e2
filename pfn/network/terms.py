"""Terms: linear maps of slices, such as `W @ parent`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pfn.network.sums import Summand
from pfn.network.variable import Slice
from pfn.network.windows import Window, windowed

if TYPE_CHECKING:
    from pfn.network.parameter import Parameter


@dataclass(frozen=True, repr=False)
class Term(Summand):
    """A linear map of a slice: a parameter times a parent, which may be seen through a window over its past."""

    parameter: "Parameter"
    slice: Slice
    window: Window | None = None

    @property
    def label(self) -> str:
        """What an arc of the graph says of the map."""
        words = [] if self.window is not None and self.parameter.label == "I" else [self.parameter.label]
        return " ".join([*words, *(["decay"] if self.window is not None else [])])

    def __str__(self) -> str:
        return self.parameter.times(windowed(self.slice, self.window))

    def __repr__(self) -> str:
        return str(self)
