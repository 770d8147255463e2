"""The parameters while learning goes through batches: what a callback sees, and why variables have no values."""

from collections.abc import Iterator, Mapping
from typing import Any

from pfn.errors import DataError
from pfn.network import Network, Parameter


def not_kept(network: Network, name: str) -> DataError:
    """Why there are no values of a variable, and how to get them."""
    learned = ", ".join(f"{p.name!r}: result[{p.name!r}]" for p in network.parameters if p.learn)
    return DataError(
        f"{name}: values of variables are not kept in learning by batches. Infer them where they are wanted: "
        f"pfn.infer(network, data, initial={{{learned}}})."
    )


class Learned(Mapping[str, Any]):
    """The parameters by object or by name."""

    def __init__(self, network: Network, matrices: Mapping[str, Any]) -> None:
        self._network, self._matrices = network, matrices

    def __getitem__(self, item: Any) -> Any:
        found = self._network[item]
        if not isinstance(found, Parameter):
            raise not_kept(self._network, found.name)
        return self._matrices[found.name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._matrices)

    def __len__(self) -> int:
        return len(self._matrices)
