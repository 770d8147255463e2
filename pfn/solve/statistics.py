"""Averages over batches of what left updates are made from: enough to continue learning with new data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.engines import Statistics


@dataclass(frozen=True)
class Memory:
    """Everything that batches leave behind: their number, and by learned parameter the averaged statistics.

    `fixed` has by variable the components with a scale of their own, such as those that were observed in some batch.
    """

    batches: int = 0
    sums: Mapping[str, Statistics] = field(default_factory=dict, repr=False)
    fixed: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    def past(self, share: float) -> dict[str, Statistics]:
        """What counts beside a batch that has this share of the next averages."""
        factor = (1 - share) / share
        return {name: Statistics(*(factor * part for part in sums)) for name, sums in self.sums.items() if factor}

    def with_batch(
        self, found: Mapping[str, Statistics], share: float, observed: Mapping[str, np.ndarray] = MappingProxyType({})
    ) -> "Memory":
        """The averages with one more batch in them; `observed` has the components that were observed in it."""
        fixed = {**self.fixed, **{name: self.fixed.get(name, False) | seen for name, seen in observed.items()}}
        if not self.sums:
            return Memory(self.batches + 1, dict(found), fixed)
        blended = {
            name: Statistics(*((1 - share) * old + share * new for old, new in zip(self.sums[name], sums, strict=True)))
            for name, sums in found.items()
        }
        return Memory(self.batches + 1, blended, fixed)

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Refuse, with a ValueError, statistics that are not those of these parameters; no batch leaves none."""
        if self.batches < 0 or (self.batches == 0) != (not self.sums):
            raise ValueError(f"statistics of {', '.join(self.sums) or 'nothing'} after {self.batches} batches")
        if not self.batches:
            return
        if self.sums.keys() != parameters.keys():
            raise ValueError(f"statistics of {', '.join(self.sums)}")
        for name, matrix in parameters.items():
            wanted = matrix.data.shape if sp.issparse(matrix) else matrix.shape
            products, denominators = self.sums[name]
            if products.shape != wanted or np.broadcast_shapes(denominators.shape, wanted) != wanted:
                raise ValueError(f"the statistics of {name} have the shapes {products.shape}, {denominators.shape}")

    def arrays(self) -> dict[str, np.ndarray]:
        """As arrays of a file."""
        found = {"statistics/batches": np.array([self.batches])}
        for name, sums in self.sums.items():
            found |= {f"statistics/{part}/{name}": array for part, array in sums._asdict().items()}
        return found | {f"statistics/fixed/{name}": components for name, components in self.fixed.items()}


def memory_from(arrays: Mapping[str, np.ndarray]) -> Memory | None:
    """What `Memory.arrays` made; None if it is not there."""
    if "statistics/batches" not in arrays:
        return None
    head = "statistics/products/"
    names = [key.removeprefix(head) for key in arrays if key.startswith(head)]
    sums = {
        name: Statistics(*(np.asarray(arrays[f"statistics/{part}/{name}"]) for part in Statistics._fields))
        for name in names
    }
    head = "statistics/fixed/"
    fixed = {key.removeprefix(head): np.asarray(array) for key, array in arrays.items() if key.startswith(head)}
    return Memory(int(arrays["statistics/batches"][0]), sums, fixed)
