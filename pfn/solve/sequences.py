"""Sequences that come one after the other: out of lists, folders, or anything that can be gone through."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.errors import DataError, OptionError
from pfn.files import read_arrays, sequence_files
from pfn.network import Network
from pfn.solve.batches import Batches
from pfn.solve.data import Observations, check_observations

EXPECTED = (
    "expected a mapping such as {x: array}, a list or another iterable of such mappings (or of files), or a folder"
)


class Item(NamedTuple):
    """A sequence as the user gave it, with its place in the data."""

    number: int
    given: Any


@dataclass(frozen=True)
class Sequences:
    """Data that are read when they are needed: a sequence has a number, or comes when those before it have."""

    network: Network
    dtype: np.dtype[Any]
    given: Any
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)  # labels of rows, by variable without labels

    def __len__(self) -> int:
        """How many there are; 0 if that shows in the end."""
        return len(self.given) if self._numbered else 0

    @property
    def _numbered(self) -> bool:
        """Whether the sequences can be read in any order."""
        return hasattr(self.given, "__len__") and hasattr(self.given, "__getitem__")

    def check_epochs(self, epochs: int) -> None:
        """What can be gone through once is not gone through twice."""
        if epochs > 1 and isinstance(self.given, Iterator):
            raise OptionError(
                f"Batches: epochs={epochs}, but the data are a {type(self.given).__name__}, which can be gone through "
                "once. Give epochs=1, a list, a folder, or an object whose __iter__ begins anew."
            )

    def batches(self, options: Batches, generator: np.random.Generator, skip: int) -> Iterator[Observations]:
        """The batches of an epoch, checked, without the first ones, which are not read where that can be avoided."""
        groups = self._numbered_groups if self._numbered else self._read_groups
        for group in islice(groups(options, generator), skip, None):
            yield self._checked(group)

    def _numbered_groups(self, options: Batches, generator: np.random.Generator) -> Iterator[Iterable[Item]]:
        """Groups in any order; within a group sequences stay in the order given."""
        count = len(self.given)
        order = generator.permutation(count) if options.shuffle else np.arange(count)
        for start in range(0, count, options.size):
            numbers = sorted(order[start : start + options.size].tolist())
            yield (Item(number, self.given[number]) for number in numbers)

    def _read_groups(self, options: Batches, generator: np.random.Generator) -> Iterator[list[Item]]:
        """Groups of what is read from first to last, drawn from a pool that is filled again and again."""
        stream = (Item(number, given) for number, given in enumerate(self.given))
        pool: list[Item] = []
        while True:
            pool += islice(stream, options.size * (options.pool if options.shuffle else 1) - len(pool))
            if not pool:
                return
            chosen = range(min(options.size, len(pool)))
            numbers = set(generator.permutation(len(pool))[: len(chosen)].tolist() if options.shuffle else chosen)
            group = [item for place, item in enumerate(pool) if place in numbers]
            pool = [item for place, item in enumerate(pool) if place not in numbers]
            yield group

    def _checked(self, group: Iterable[Item]) -> Observations:
        found: list[Observations] = []
        for item in group:
            found.append(self._read(item))
            names, wanted = (", ".join(sorted(one.arrays)) for one in (found[-1], found[0]))
            if names != wanted:
                raise DataError(
                    f"{_place(item)}: expected values for {wanted}, like the sequences before it, found {names}. "
                    "Where a variable is hidden in some sequences, give arrays of NaN."
                )
        arrays = {name: [array for one in found for array in one.arrays[name]] for name in found[0].arrays}
        return Observations(arrays, tuple(length for one in found for length in one.lengths), listed=True)

    def _read(self, item: Item) -> Observations:
        """One sequence, checked: its variables by name, or the array of the only bottom variable."""
        given = item.given
        if isinstance(given, str | PathLike):
            given = read_arrays(Path(given))
        if not isinstance(given, Mapping) and _is_matrix(given):
            given = {self._only_bottom(item): given}
        if not isinstance(given, Mapping):
            raise DataError(
                f"{_place(item)}: expected a mapping such as {{x: array}}, a file or an array, "
                f"found {type(given).__name__}."
            )
        try:
            found = check_observations(self.network, given, self.dtype, seen=self.names, place=_place(item))
        except DataError as error:
            raise DataError(f"{_place(item)}: {error}") from error
        if found.listed:
            raise DataError(f"{_place(item)}: expected one array for every variable, found a list.")
        return found

    def _only_bottom(self, item: Item) -> str:
        names = [variable.name for variable in self.network.bottom]
        if len(names) != 1:
            raise DataError(
                f"{_place(item)}: an array without a name stands for the only variable at the bottom of the network, "
                f"but there are {len(names)}: {', '.join(names)}. Give arrays by name, in a mapping or a .npz file."
            )
        return names[0]


def _place(item: Item) -> str:
    return str(item.given) if isinstance(item.given, str | PathLike) else f"sequence {item.number}"


def _is_matrix(given: Any) -> bool:
    """True for one array, sparse matrix or table."""
    return isinstance(given, np.ndarray) or sp.issparse(given) or hasattr(type(given), "to_numpy")


def as_sequences(network: Network, data: Any, dtype: np.dtype[Any]) -> Sequences:
    """The data in any of their forms as sequences."""
    if isinstance(data, str | PathLike):
        return Sequences(network, dtype, sequence_files(Path(data)))
    if isinstance(data, Mapping):
        observations = check_observations(network, data, dtype)
        return Sequences(network, dtype, _by_sequence(observations))
    if _is_matrix(data) or not isinstance(data, Iterable):
        raise DataError(f"the data: {EXPECTED}; found {type(data).__name__}.")
    if isinstance(data, Sequence) and not data:
        raise DataError("the data: the list of sequences is empty. Give at least one.")
    return Sequences(network, dtype, data)


def _by_sequence(observations: Observations) -> list[dict[str, Any]]:
    numbers = range(len(observations.lengths))
    return [{name: arrays[number] for name, arrays in observations.arrays.items()} for number in numbers]
