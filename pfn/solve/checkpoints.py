"""Checkpoints: everything the next sweep depends on, in one file that is replaced as a whole."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.errors import FileError
from pfn.files import network_to_json, read_file, write_file
from pfn.solve.batches import Batches
from pfn.solve.request import Method, Request

KIND = "checkpoint"
ENTRIES = 1 << 20  # that are converted at a time
MOST_UNASKED = 1000  # sweeps for each one that the history knows: errors are hardly ever measured more rarely


class Saved(dict[str, np.ndarray]):
    """The arrays of a file, which says so where one is missing."""

    def __init__(self, arrays: dict[str, np.ndarray], path: Path) -> None:
        super().__init__(arrays)
        self._path = path

    def __missing__(self, name: str) -> np.ndarray:
        what = name.replace("\n", ", ")
        raise FileError(f"{self._path}: the file is damaged: it has no {what}. Start without resume.")


class Checkpoint:
    """Writes and reads the checkpoints of one run."""

    def __init__(self, request: Request, method: Method | tuple[Method, Batches, int]) -> None:
        self._request = request
        self._method = method

    def due(self, done: int, *, last: bool) -> bool:
        """Whether to write one after so many sweeps."""
        return self._request.checkpoint is not None and (last or done % self._request.checkpoint_every == 0)

    def write(self, state: dict[str, np.ndarray]) -> None:
        """Replace the file by one with this state."""
        assert self._request.checkpoint is not None  # `due` asked
        write_file(Path(self._request.checkpoint), KIND, state, {"run": self.fingerprint})

    def read(self) -> Saved:
        """The state saved in the file to resume, which must be of the same question."""
        assert self._request.resume is not None  # the caller asked
        path = Path(self._request.resume)
        arrays, content = read_file(path, KIND)
        if content.get("run") != self.fingerprint:
            raise FileError(
                f"{path}: this checkpoint belongs to another run: the network, the data, the starting values, the "
                "weights, the method, the seed and the dtype must be those of the run that wrote it."
            )
        return Saved(arrays, path)

    def counts(self, saved: Mapping[str, np.ndarray]) -> tuple[int, int]:
        """How many sweeps were done, and how many since the momentum began: what the history of the file agrees with.

        A list as long as the sweeps that were done is made from it, so no file may claim what nobody asked for.
        """
        done, steps = (saved[name].ravel() for name in ("done", "steps"))
        measured = saved["iterations"]
        sound = (
            done.shape == steps.shape == (1,)
            and measured.ndim == 1
            and measured.size > 0
            and bool((np.diff(measured, prepend=-1) > 0).all())
            and int(measured[-1]) + 1 == done[0]
            and 0 <= steps[0] <= done[0]
            and saved["divergence"].shape == measured.shape
            and saved["rmse"].shape == (len(self._request.network.factorizations), len(measured))
            and saved["lowest"].shape == (1,)
        )
        if not sound:
            raise FileError(
                f"{self._request.resume}: the file is damaged: {done.tolist()} sweeps, {steps.tolist()} of them since "
                f"the momentum began, and a history of {measured.shape} sweeps do not agree. Start without resume."
            )
        if done[0] > max(self._request.iterations, MOST_UNASKED * len(measured)):
            raise FileError(
                f"{self._request.resume}: the file claims {int(done[0])} sweeps of which it knows {len(measured)}. "
                "Start without resume, or ask for more iterations than that."
            )
        return int(done[0]), int(steps[0])

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal questions."""
        request, digest = self._request, hashlib.blake2b(digest_size=16)
        text = (network_to_json(request.network), self._method, request.seed, request.dtype)
        digest.update(repr((*text, sorted(request.learned), request.observations.lengths)).encode())
        for parameter in request.network.parameters:
            for matrix in (parameter.value, parameter.prior, parameter.pattern, parameter.groups):
                for part in [b"none"] if matrix is None else _content(matrix):
                    digest.update(part)
        for group in (request.observations.arrays, request.weights, request.initial):
            for name, arrays in sorted(group.items()):
                digest.update(name.encode())
                for array in arrays if isinstance(arrays, list | tuple) else [arrays]:
                    for part in _content(array):
                        digest.update(part)
        return digest.hexdigest()


def _content(values: Any) -> Iterator[bytes]:
    """What an array or a sparse matrix holds, hidden and masked entries included, some rows at a time."""
    if sp.issparse(values):
        matrix = sp.csr_array(values)
        yield from (part.tobytes() for part in (matrix.data, matrix.indices, matrix.indptr))
        return
    array = np.ma.atleast_1d(values) if isinstance(values, np.ma.MaskedArray) else np.atleast_1d(values)
    step = max(1, ENTRIES * len(array) // max(array.size, 1))
    for start in range(0, len(array), step):
        part = array[start : start + step]
        yield np.where(np.ma.getmaskarray(part), np.nan, np.asarray(part, dtype=float)).tobytes()
