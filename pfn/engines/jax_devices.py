"""Which devices compute, how precisely, and where arrays lie: on one device, or by columns over a mesh of them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from pfn.engines.problem import Problem
from pfn.errors import OptionError

# TF32 came with this generation of NVIDIA's GPUs.
TF32_SINCE = 8.0

# What JAX calls the precision of products. Its own default rounds to TF32 on GPUs and to bfloat16 on TPUs.
PRECISIONS = {"full": "highest", "tf32": "tensorfloat32"}


def has_accelerator() -> bool:
    """Whether JAX computes on something else than the processor."""
    return bool(jax.default_backend() != "cpu")


@contextmanager
def numbers(precision: str) -> Iterator[None]:
    """Double precision where asked for and products as precise as asked for, here only: the user's settings stay.

    Strict ones do not reach in: rows are added to matrices here, NaN marks what is not known, numbers go to the device.
    """
    with (
        jax.enable_x64(True),
        jax.default_matmul_precision(PRECISIONS[precision]),
        jax.numpy_rank_promotion("allow"),
        jax.numpy_dtype_promotion("standard"),
        jax.debug_nans(False),
        jax.transfer_guard("allow"),
    ):
        yield


def check_devices(problem: Problem) -> None:
    """Refuse what is no mesh, and TF32 on devices that do not have it."""
    if problem.mesh is not None and not isinstance(problem.mesh, Mesh):
        raise OptionError(f"mesh must be a jax.sharding.Mesh, found {problem.mesh!r}. Make one with jax.make_mesh.")
    if problem.precision == "tf32":
        chosen = jax.device_put(np.zeros(())).devices() if problem.mesh is None else problem.mesh.devices.flat
        device = next(iter(chosen))
        if not _has_tf32(device):
            raise OptionError(
                f"precision='tf32' needs an NVIDIA GPU of the Ampere generation or later, found {device}. "
                "Leave precision out: float32 products are then computed in full."
            )


def _has_tf32(device: Any) -> bool:
    capability = str(getattr(device, "compute_capability", ""))
    return device.platform == "gpu" and capability.replace(".", "").isdigit() and float(capability) >= TF32_SINCE


class Devices:
    """One device, or a mesh over which columns are spread and on which everything else is repeated."""

    def __init__(self, mesh: Mesh | None) -> None:
        # a mesh with the same devices, on which the compiler finds out what has to be exchanged
        self._mesh = None if mesh is None else Mesh(mesh.devices, mesh.axis_names)
        self.count = 1 if mesh is None else prod(mesh.shape.values())
        self.several_processes = mesh is not None and len({device.process_index for device in mesh.devices.flat}) > 1

    def put(self, arrays: Mapping[str, Any], by_columns: Collection[str]) -> dict[str, Any]:
        """Arrays, or trees of them, on the devices; the last axis of those named is columns."""
        if self._mesh is None:
            return dict(jax.device_put(dict(arrays)))
        return {
            name: jax.tree.map(lambda array, name=name: self._spread(np.asarray(array), name in by_columns), tree)
            for name, tree in arrays.items()
        }

    def _spread(self, array: np.ndarray, by_columns: bool) -> Any:
        sharding = self.sharding(array.ndim if by_columns else 0)
        return jax.make_array_from_callback(array.shape, sharding, lambda place: array[place])

    def kept(self, values: Mapping[str, Any], by_columns: Collection[str]) -> dict[str, Any]:
        """The same values, which a compiled program is to leave where `put` would put them."""
        if self._mesh is None:
            return dict(values)
        constrain: Callable[..., Any] = jax.lax.with_sharding_constraint
        return {
            name: constrain(array, self.sharding(array.ndim if name in by_columns else 0))
            for name, array in values.items()
        }

    def sharding(self, axes: int) -> NamedSharding:
        """How an array with so many axes is spread, by its last one; with none, it is repeated."""
        assert self._mesh is not None
        names = (*[None] * (axes - 1), self._mesh.axis_names) if axes else ()
        return NamedSharding(self._mesh, PartitionSpec(*names))  # type: ignore[no-untyped-call]

    def begin_to_fetch(self, arrays: Iterable[Any]) -> None:
        """Let them all be copied to the host at the same time; `fetched` waits for one after the other."""
        if not self.several_processes:
            with jax.transfer_guard("allow"):
                for array in arrays:
                    array.copy_to_host_async()

    def fetched(self, array: Any) -> np.ndarray:
        """The whole array on the host, in every process."""
        if self.several_processes and not array.is_fully_replicated:
            array = jax.jit(lambda same: same, out_shardings=self.sharding(0))(array)
        with jax.transfer_guard("allow"):
            return np.asarray(array)


def several_processes(mesh: Any) -> bool:
    """Whether the devices of a mesh belong to several processes, which compute together."""
    return isinstance(mesh, Mesh) and Devices(mesh).several_processes


def said_everywhere(mesh: Mesh, number: int) -> list[int]:
    """The number that every process of a mesh gives, for each of its devices. All processes have to ask."""
    devices = Devices(mesh)
    with numbers("full"):
        shape, sharding = (devices.count,), devices.sharding(1)
        own = np.full(shape, number)
        each = jax.make_array_from_callback(shape, sharding, lambda place: own[place])
        return [int(said) for said in devices.fetched(each)]
