"""Safe reading and writing: one safetensors file with the arrays, and what describes them as JSON beside them.

Nothing is ever pickled. A file is written under a temporary name and moved into place, so that a run that is
killed leaves the old file or the new one, never half of one.
"""

import json
import os
import stat
import tempfile
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import scipy.sparse as sp
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from pfn.errors import DeclarationError, FileError
from pfn.network import Factorization, Network, Parameter, Shift, Slice, Sum, Term, Variable, Window, decay

# Raised when the content changes in a way that older versions of pfn cannot read.
FORMAT = 1
_KEY = "pfn"
_HINTS = {
    "checkpoint": " Continue a checkpoint with resume=path in pfn.infer or pfn.learn.",
    "result": " Read a result with pfn.load(path).",
}


def write_file(path: Path, kind: str, arrays: Mapping[str, np.ndarray], content: Mapping[str, Any]) -> None:
    """Write arrays and JSON content as one file of that kind, all or nothing."""
    head = json.dumps({"format": FORMAT, "kind": kind, "content": content})
    write_whole(path, save_tensors({name: _plain(array) for name, array in arrays.items()}, metadata={_KEY: head}))


def check_place(path: Path) -> None:
    """Refuse a place that is taken by a device, a pipe or a socket: it would be replaced by a file."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # nothing is there, or writing says what is wrong
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise FileError(f"{path}: cannot be written: it is a device, a pipe or a socket. Give the path of a file.")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of any kind, all or nothing."""
    check_place(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}. Give a path in a folder that exists.") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}.") from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    """The mode that files of this process get (reading it means setting it)."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _plain(array: np.ndarray) -> np.ndarray:
    """C-contiguous and in native byte order: safetensors silently corrupts anything else."""
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


def kind_of(path: Path) -> str:
    """What kind of file of pfn it is."""
    return str(_head(path, _content(path))["kind"])


def read_file(path: Path, kind: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the content of a file of that kind."""
    blob = _content(path)
    head = _head(path, blob)
    found, version, content = head["kind"], head["format"], head["content"]
    if version > FORMAT:
        raise FileError(
            f"{path}: written by a newer version of pfn (format {version}; this one reads up to {FORMAT}). Upgrade pfn."
        )
    if found != kind:
        raise FileError(f"{path}: expected a {kind}, found a {found}.{_HINTS.get(found, '')}")
    try:
        return load_tensors(blob), content
    except (ValueError, safetensors.SafetensorError) as error:
        raise FileError(f"{path}: the file is truncated or damaged ({error}). Write it again.") from error


def _content(path: Path) -> bytes:
    if path.is_char_device():  # such as /dev/zero, which has no end
        raise FileError(f"{path}: expected a file, found a device. Give the path of a file.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}.") from error


def _head(path: Path, blob: bytes) -> dict[str, Any]:
    """What a file says of itself: its kind, the version of the format and the content."""
    try:
        head = json.loads(_metadata(blob)[_KEY])
        if not isinstance(head["format"], int):
            raise TypeError("no version")
        return {name: head[name] for name in ("kind", "format", "content")}
    except (KeyError, ValueError, TypeError, RecursionError, safetensors.SafetensorError) as error:
        raise FileError(f"{path}: expected a file written by pfn, found something else, or a damaged file.") from error


def _metadata(blob: bytes) -> Mapping[str, str]:
    """The metadata of a safetensors file: a length in 8 bytes, then a JSON header that has them."""
    length = int.from_bytes(blob[:8], "little")
    header = json.loads(blob[8 : 8 + length])
    metadata = header["__metadata__"]
    if not isinstance(metadata, dict):
        raise ValueError("no metadata")
    return metadata


def network_to_json(network: Network) -> dict[str, Any]:
    """The declarations without the arrays they carry."""
    return {
        "name": network.name,
        "variables": [{"name": v.name, "size": v.size, "labels": v.labels} for v in network.variables],
        "parameters": [
            {
                "name": p.name,
                "shape": p.shape,
                "learn": p.learn,
                "known": p.value is not None,
                "prior": p.prior is not None,
                "prior_weight": p.prior_weight,
            }
            | _form(p)
            for p in network.parameters
        ],
        "factorizations": [
            {
                "name": e.name,
                "normalize": e.normalize,
                "children": [[c.variable.name, c.lag] for c in e.children],
                "terms": [
                    [term.parameter.name, term.slice.variable.name, term.slice.lag, *_window(term)] for term in e.terms
                ],
            }
            for e in network.factorizations
        ],
    }


def _form(parameter: Parameter) -> dict[str, Any]:
    """What a parameter has beyond a matrix; nothing for most."""
    if isinstance(parameter, Shift):
        return {"shift": parameter.by}  # its shape says the rest
    return {} if parameter.pattern is None else {"tied": parameter.groups is not None}


def _window(term: Term) -> list[Any]:
    return [] if term.window is None else [{"rates": term.window.rates, "length": term.window.length}]


def network_arrays(network: Network) -> dict[str, np.ndarray]:
    """The arrays that the declarations carry: known values and priors."""
    arrays: dict[str, np.ndarray] = {}
    for parameter in network.parameters:
        if isinstance(parameter, Shift):
            continue
        if parameter.pattern is not None:
            groups = np.zeros(parameter.pattern.nnz, int) if parameter.groups is None else parameter.groups
            pattern, shape = parameter.pattern, parameter.shape
            arrays |= matrix_arrays(
                f"pattern/{parameter.name}", sp.csr_array((groups + 1, pattern.indices, pattern.indptr), shape)
            )
        if parameter.value is not None:
            arrays |= matrix_arrays(f"declared/{parameter.name}", parameter.value)
        if parameter.prior is not None:
            arrays |= matrix_arrays(f"prior/{parameter.name}", parameter.prior)
    return arrays


def network_from_json(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray], path: Path) -> Network:
    """The network that was saved, checked like any other."""
    try:
        variables = {v["name"]: Variable(v["name"], v["size"], v["labels"]) for v in content["variables"]}
        _check_sizes(content, variables, arrays)
        parameters = {p["name"]: _parameter(p, arrays) for p in content["parameters"]}
        equations = [_equation(e, variables, parameters) for e in content["factorizations"]]
        return Network(*equations, name=content["name"])
    except (KeyError, TypeError, ValueError, DeclarationError) as error:
        raise FileError(f"{path}: the network in the file is damaged: {error}.") from error


# Variables up to this size are believed; larger ones are refused if the file has fewer bytes than they have components.
MOST_UNSEEN = 1 << 20


def _check_sizes(
    content: Mapping[str, Any], variables: Mapping[str, Variable], arrays: Mapping[str, np.ndarray]
) -> None:
    """Refuse, with a ValueError, sizes that a few bytes claim, before memory is taken for them."""
    most = max(MOST_UNSEEN, sum(array.nbytes for array in arrays.values()))
    for variable in variables.values():
        if variable.size > most:
            raise ValueError(f"{variable.name} has {variable.size} components, more than the file has bytes")
    sizes: dict[str, tuple[int, int]] = {}
    for equation in content["factorizations"]:
        rows = sum(variables[name].size for name, _ in equation["children"])
        sizes |= {parameter: (rows, variables[parent].size) for parameter, parent, *_ in equation["terms"]}
    for parameter in content["parameters"]:
        name, shape = parameter["name"], tuple(parameter["shape"])
        if shape != sizes[name]:
            raise ValueError(f"{name} has the shape {shape}, but its equation needs {sizes[name]}")
        for role in ("pattern", "declared", "prior"):
            stored = _stored_shape(f"{role}/{name}", arrays)
            if stored not in (None, shape):
                raise ValueError(f"{role} of {name} has the shape {stored} in place of {shape}")


def _stored_shape(name: str, arrays: Mapping[str, np.ndarray]) -> tuple[int, ...] | None:
    """The shape of a matrix that `matrix_arrays` took apart."""
    if name in arrays:
        return arrays[name].shape
    found = next((arrays[f"{name}\n{kind}"] for kind in ("csr", "csc") if f"{name}\n{kind}" in arrays), None)
    return None if found is None else tuple(found.tolist())


def _parameter(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Parameter:
    name = content["name"]
    if "shift" in content:
        return Shift(content["shape"][1], content["shift"], content["shape"][0])
    pattern = matrix_from_arrays(f"pattern/{name}", arrays) if "tied" in content else None
    tied = content.get("tied", False)
    return Parameter(
        name,
        matrix_from_arrays(f"declared/{name}", arrays) if content["known"] else None,
        shape=tuple(content["shape"]),
        learn=content["learn"],
        prior=matrix_from_arrays(f"prior/{name}", arrays) if content["prior"] else None,
        prior_weight=content["prior_weight"],
        pattern=None if pattern is None or tied else pattern.astype(bool),
        tied=pattern if tied else None,
    )


def _equation(
    content: Mapping[str, Any], variables: Mapping[str, Variable], parameters: Mapping[str, Parameter]
) -> Factorization:
    children = [Slice(variables[name], lag) for name, lag in content["children"]]
    terms = tuple(
        Term(parameters[p], Slice(variables[v], lag), *(_window_of(Slice(variables[v], lag), w) for w in window))
        for p, v, lag, *window in content["terms"]
    )
    return Factorization(children, Sum(terms), name=content["name"], normalize=content["normalize"])


def _window_of(piece: Slice, content: Mapping[str, Any]) -> Window:
    rates, length = content["rates"], content["length"]
    return decay(piece, rates[0] if len(rates) == 1 else rates, inf if length is None else length).window


def matrix_arrays(name: str, matrix: Any) -> dict[str, np.ndarray]:
    """A dense or sparse matrix as arrays of a file."""
    if not sp.issparse(matrix):
        return {name: np.asarray(matrix)}
    if matrix.format != "csc":
        matrix = sp.csr_array(matrix)
    parts = ("data", "indices", "indptr")  # no name contains a line break, so no other array is called so
    return {f"{name}\n{part}": getattr(matrix, part) for part in parts} | {
        f"{name}\n{matrix.format}": np.array(matrix.shape)
    }


def matrix_from_arrays(name: str, arrays: Mapping[str, np.ndarray]) -> Any:
    """The matrix that `matrix_arrays` took apart."""
    if name in arrays:
        return arrays[name]
    kind, order = (sp.csc_array, "csc") if f"{name}\ncsc" in arrays else (sp.csr_array, "csr")
    data, indices, indptr = (arrays[f"{name}\n{part}"] for part in ("data", "indices", "indptr"))
    matrix = kind((data, indices, indptr), shape=tuple(arrays[f"{name}\n{order}"].tolist()))
    matrix.check_format(full_check=True)  # indices out of range would crash later, without a word
    return matrix


SEQUENCE_FILES = (".npy", ".npz", ".safetensors")


def sequence_files(folder: Path) -> list[Path]:
    """The files of a folder that hold arrays, ordered by name."""
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix in SEQUENCE_FILES)
    except OSError as error:
        raise FileError(
            f"{folder}: cannot be read: {error.strerror}. Give a folder with one file a sequence."
        ) from error
    if not found:
        raise FileError(f"{folder}: expected files that end in {', '.join(SEQUENCE_FILES)}, found none.")
    return found


def read_arrays(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """What a .npz or .safetensors file holds, by name, or the array of a .npy file; pickled objects are refused."""
    if path.suffix not in SEQUENCE_FILES:
        raise FileError(f"{path}: expected a file that ends in {', '.join(SEQUENCE_FILES)}.")
    try:
        if path.suffix == ".safetensors":
            return dict(load_tensors(path.read_bytes()))
        with path.open("rb") as file:  # numpy leaves damaged files open
            loaded = np.load(file, allow_pickle=False)
            return {name: loaded[name] for name in loaded.files} if path.suffix == ".npz" else np.asarray(loaded)
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except Exception as error:  # what a damaged file makes numpy raise has many names
        raise FileError(
            f"{path}: expected plain arrays of numbers, found a damaged file or pickled objects ({error}). "
            "Write it again with numpy.savez, numpy.save or safetensors."
        ) from error
