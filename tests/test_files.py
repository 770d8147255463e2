"""Files: what is written is read back exactly, and what cannot be read is refused in plain words."""

import json
import os
import stat
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save_file

import pfn
from pfn import FileError, t
from pfn.files import (
    FORMAT,
    matrix_arrays,
    matrix_from_arrays,
    network_arrays,
    network_from_json,
    network_to_json,
    read_file,
    write_file,
)
from tests.network.refusal import refused
from tests.networks import hierarchy, regular_expression, section_2_2, tracking
from tests.solve.cases import MACHINE, chain, dense, numbers, parts_based, states

DTYPES = [np.dtype(kind) for kind in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")]


@st.composite
def awkward_arrays(draw: st.DrawFn) -> Any:
    """Arrays in either byte order, in C or Fortran order, transposed, strided, reversed, empty."""
    dtype = draw(st.sampled_from(DTYPES)).newbyteorder(draw(st.sampled_from("<>")))
    array = draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)))
    if draw(st.booleans()):
        array = np.asfortranarray(array)
    if draw(st.booleans()):
        array = array.T
    steps = [draw(st.sampled_from([1, 2, -1, -2])) for _ in array.shape]
    return array[tuple(slice(None, None, step) for step in steps)]


@given(arrays=st.lists(awkward_arrays(), max_size=4))
def test_arrays_come_back_exactly(arrays: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / f"arrays-{os.getpid()}"
    before = [array.tobytes() for array in arrays]
    write_file(path, "test", {f"a/{number}": array for number, array in enumerate(arrays)}, {})
    found, _ = read_file(path, "test")
    assert len(found) == len(arrays)
    for number, array in enumerate(arrays):
        back = found[f"a/{number}"]
        assert (back.shape, back.dtype) == (array.shape, array.dtype.newbyteorder("="))
        np.testing.assert_array_equal(back, array)
        assert array.tobytes() == before[number]


CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=25)  # every draw is written to disk and waited for
@given(content=st.dictionaries(st.text(max_size=5), CONTENT, max_size=3))
def test_content_comes_back_exactly(content: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / f"content-{os.getpid()}"
    write_file(path, "test", {}, content)
    assert read_file(path, "test")[1] == content


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_matrices_come_back_sparse(kind: str) -> None:
    matrix = getattr(scipy.sparse, f"{kind}_array")(np.where(numbers(5, 7) < 0.6, 0, numbers(5, 7)))
    back = matrix_from_arrays("W", matrix_arrays("W", matrix))
    assert scipy.sparse.issparse(back)
    np.testing.assert_array_equal(back.toarray(), matrix.toarray())


def test_an_empty_sparse_matrix() -> None:
    back = matrix_from_arrays("W", matrix_arrays("W", scipy.sparse.csr_array((3, 4))))
    assert (back.shape, back.nnz) == ((3, 4), 0)


def fancy() -> pfn.Network:
    """Labels, names in several scripts, a network name, priors, every normalization, lags on both sides."""
    t = pfn.t
    x = pfn.Variable("Töne der Flöte", 3, labels=["c′", "d′", "α & <β>"])
    h, v = pfn.Variable("音符", 2), pfn.Variable("🎵", 2)
    W = pfn.Parameter("Ω", shape=(3, 2), prior=numbers(3, 2), prior_weight=0.25)
    V = pfn.Parameter("V", numbers(4, 2).astype(np.float32), learn=True)
    return pfn.Network(
        pfn.Factorization(x[t], W @ h[t] + W @ h[t - 3], name="Gleichung 1", normalize="sequences"),
        pfn.Factorization([h[t], h[t + 2]], V @ v[t], normalize="balanced"),
        name="ein Netz",
    )


NETWORKS = {
    "machine": MACHINE,
    "section 2.2": section_2_2(),
    "expression": regular_expression(),
    "tracking": tracking(),
    "hierarchy": hierarchy(6, (4, 3), 2, (1, 4)),
    "chain": chain(),
    "fancy": fancy(),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_come_back_equal(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name]
    write_file(tmp_path / "file", "test", network_arrays(network), {"network": network_to_json(network)})
    arrays, content = read_file(tmp_path / "file", "test")
    back = network_from_json(content["network"], arrays, tmp_path / "file")
    assert back == network
    assert (str(back), back.name) == (str(network), network.name)
    for ours, theirs in zip(network.parameters, back.parameters, strict=True):
        assert (ours.learn, ours.prior_weight) == (theirs.learn, theirs.prior_weight)
        np.testing.assert_equal([dense(theirs.value), theirs.prior], [dense(ours.value), ours.prior])
        assert getattr(ours.value, "dtype", None) == getattr(theirs.value, "dtype", None)
    assert [v.labels for v in back.variables] == [v.labels for v in network.variables]


def test_names_may_contain_slashes(tmp_path: Path) -> None:
    """W is sparse, so its parts are stored under its name; another parameter is called like one of them."""
    x, h, g = pfn.Variable("x", 4), pfn.Variable("x/0", 2), pfn.Variable("x/1/0", 3)
    sparse = scipy.sparse.csr_array(np.eye(4, 2))
    network = pfn.Network(
        pfn.Factorization(x, pfn.Parameter("W", sparse) @ h + pfn.Parameter("W/data", numbers(4, 3)) @ g)
    )
    result = pfn.infer(network, {"x": [numbers(), numbers()]}, iterations=2)
    result.save(tmp_path / "file")
    back = pfn.load(tmp_path / "file")
    for name in ("W", "W/data"):
        np.testing.assert_array_equal(dense(back[name]), dense(result[name]))
    for name in ("x", "x/0", "x/1/0"):
        np.testing.assert_array_equal(back[name], result[name])


def write_example(path: Path, value: float = 1.0) -> None:
    write_file(path, "test", {"a": np.full(100, value)}, {"words": ["one", "two"]})


def test_missing(tmp_path: Path) -> None:
    with refused(f"{tmp_path / 'none'}: cannot be read: No such file or directory.", FileError):
        read_file(tmp_path / "none", "test")


def test_a_device_without_an_end() -> None:
    with refused("/dev/zero: expected a file, found a device. Give the path of a file.", FileError):
        pfn.load("/dev/zero")


def test_a_folder(tmp_path: Path) -> None:
    with refused(f"{tmp_path}: cannot be read: Is a directory.", FileError):
        read_file(tmp_path, "test")


def test_truncated_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_example(path)
    blob = path.read_bytes()
    for length in [*range(0, len(blob), 97), len(blob) - 1]:
        path.write_bytes(blob[:length])
        with pytest.raises(FileError, match=r"damaged"):
            read_file(path, "test")


def test_longer_than_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_example(path)
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(FileError, match="truncated or damaged"):
        read_file(path, "test")


FOREIGN = {
    "empty": b"",
    "text": b"Dear reader,\nthis is a letter.\n" * 20,
    "json": b'{"__metadata__": {"pfn": 1}}',
    "numpy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
    "zeros": bytes(1000),
    "random": np.random.default_rng(0).bytes(5000),
    "huge header": (2**63 - 1).to_bytes(8, "little") + b"{}",
    "list": (2).to_bytes(8, "little") + b"[]",
    "no text": (4).to_bytes(8, "little") + b"\xff\xfe\xfd\xfc",
    "deep": (200_000).to_bytes(8, "little") + b"[" * 200_000,
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(FOREIGN[kind])
    with refused(f"{path}: expected a file written by pfn, found something else, or a damaged file.", FileError):
        read_file(path, "test")


@pytest.mark.parametrize("metadata", [None, {}, {"pfn": "text"}, {"pfn": "[]"}, {"pfn": "{}"}, {"other": "{}"}])
def test_a_plain_safetensors_file(metadata: dict[str, str] | None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    save_file({"a": np.ones(3)}, path, metadata=metadata)
    with refused(f"{path}: expected a file written by pfn, found something else, or a damaged file.", FileError):
        read_file(path, "test")


def test_another_kind(tmp_path: Path) -> None:
    write_example(tmp_path / "file")
    with refused(f"{tmp_path / 'file'}: expected a result, found a test.", FileError):
        pfn.load(tmp_path / "file")


def test_a_newer_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    with monkeypatch.context() as patch:
        patch.setattr("pfn.files.FORMAT", FORMAT + 1)
        write_example(path)
    message = (
        f"{path}: written by a newer version of pfn (format {FORMAT + 1}; this one reads up to {FORMAT}). Upgrade pfn."
    )
    with refused(message, FileError):
        read_file(path, "test")


@pytest.mark.parametrize("version", ["2", None, [1], 1.5])
def test_a_version_that_is_none(version: Any, tmp_path: Path) -> None:
    path = tmp_path / "file"
    head = json.dumps({"format": version, "kind": "test", "content": {}})
    save_file({"a": np.ones(3)}, path, metadata={"pfn": head})
    with pytest.raises(FileError, match=str(path)):
        read_file(path, "test")


@given(place=st.integers(0), byte=st.integers(0, 255))
def test_one_wrong_byte_is_no_crash(place: int, byte: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Either the byte does not matter to what is read, or the file is refused."""
    folder = tmp_path_factory.getbasetemp()
    path, original = folder / f"broken-{os.getpid()}", folder / f"whole-{os.getpid()}"
    if not original.exists():
        pfn.learn(parts_based(prior=np.ones((4, 2)), prior_weight=1.0), {"x": [numbers(4, 2)] * 2}, iterations=2).save(
            original
        )
    blob = bytearray(original.read_bytes())
    blob[place % len(blob)] = byte
    path.write_bytes(blob)
    with suppress(FileError):
        assert isinstance(pfn.load(path), pfn.Result)


def leftovers(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "none" / "file"
    message = f"{path}: cannot be written: No such file or directory. Give a path in a folder that exists."
    with refused(message, FileError):
        write_example(path)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("kept")
    with pytest.raises(FileError, match="cannot be written: Not a directory"):
        write_example(tmp_path / "text" / "file")
    assert (tmp_path / "text").read_text() == "kept"


def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)  # whoever runs the tests may write everywhere
    with pytest.raises(FileError, match=r"file: cannot be written: Permission denied\."):
        write_example(tmp_path / "file")


def test_a_path_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match=r"folder: cannot be written: Is a directory\."):
        write_example(tmp_path / "folder")
    assert leftovers(tmp_path) == ["folder"]


@pytest.mark.parametrize("kind", ["result", "sound.wav", "notes.mid", "picture.png"])
def test_what_is_no_file_is_not_replaced(kind: str, tmp_path: Path) -> None:
    """A superuser would find a file in place of a device such as /dev/full."""
    path = tmp_path / kind
    os.mkfifo(path)
    result = pfn.infer(MACHINE, {"x": states(1, 0)}, iterations=2)
    write: dict[str, Callable[[], Any]] = {
        "result": lambda: result.save(path),
        "sound.wav": lambda: pfn.audio.write_sound(path, np.zeros(100), 8000),
        "notes.mid": lambda: pfn.audio.write_midi(path, [pfn.audio.Note(0, 1, 60)]),
        "picture.png": lambda: pfn.plots.Picture(figsize=(1, 1)).save(path),
    }
    with refused(f"{path}: cannot be written: it is a device, a pipe or a socket. Give the path of a file.", FileError):
        write[kind]()
    assert path.is_fifo()
    assert leftovers(tmp_path) == [kind]


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace", "pathlib.Path.chmod"])
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file(
    step: str, failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_example(path, 1.0)
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(step, fail)
        expected = FileError if isinstance(failure, OSError) else KeyboardInterrupt
        with pytest.raises(expected, match="No space left on device" if expected is FileError else None):
            write_example(path, 2.0)
    assert path.read_bytes() == before
    assert leftovers(tmp_path) == ["file"]


@pytest.mark.parametrize("kind", ["sound.wav", "notes.mid", "picture.png"])
def test_sounds_notes_and_pictures_are_written_whole_or_not_at_all(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / kind
    path.write_text("old")
    write = {
        "sound.wav": lambda: pfn.audio.write_sound(path, np.zeros(100), 8000),
        "notes.mid": lambda: pfn.audio.write_midi(path, [pfn.audio.Note(0, 1, 60)]),
        "picture.png": lambda: pfn.plots.Picture(figsize=(1, 1)).save(path),
    }[kind]

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(FileError, match=f"{kind}: cannot be written: No space left on device"):
            write()
    assert path.read_text() == "old"
    write()
    assert path.read_bytes()[:3] != b"old"
    assert leftovers(tmp_path) == [kind]


def test_writing_again_replaces_the_file(tmp_path: Path) -> None:
    for value in (1.0, 2.0):
        write_example(tmp_path / "file", value)
    np.testing.assert_array_equal(read_file(tmp_path / "file", "test")[0]["a"], np.full(100, 2.0))
    assert leftovers(tmp_path) == ["file"]


def test_files_get_the_usual_rights(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_example(tmp_path / "file")
    assert stat.filemode((tmp_path / "file").stat().st_mode) == stat.filemode((tmp_path / "other").stat().st_mode)


def test_nothing_is_pickled(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"object|dtype"):  # safetensors knows no objects; that is the point
        write_file(tmp_path / "file", "test", {"a": np.array([states])}, {})
    assert leftovers(tmp_path) == []


def loaded(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> pfn.Result:
    """A result with a shift that was changed in its file."""
    x, h, z = (pfn.Variable(name, size) for name, size in (("x", 4), ("h", 2), ("z", 4)))
    terms = pfn.Parameter("W", shape=(4, 2)) @ h[t] + pfn.shift(z[t], 1)
    pfn.learn(pfn.Network(pfn.Factorization(x[t], terms)), {"x": numbers()}, iterations=2).save(path)
    arrays, content = read_file(path, "result")
    change(content["network"], arrays)
    write_file(path, "result", arrays, content)
    return pfn.load(path)


HUGE = 10**9


def huge_shift(network: dict[str, Any], _: Any) -> None:
    next(p for p in network["parameters"] if "shift" in p)["shape"] = [HUGE, HUGE]


def shift_for_a_matrix(network: dict[str, Any], _: Any) -> None:
    next(p for p in network["parameters"] if p["name"] == "W").update(shape=[HUGE, HUGE], shift=1)


def huge_variables(network: dict[str, Any], arrays: dict[str, Any]) -> None:
    """All sizes agree, and empty arrays have any number of rows."""
    huge_shift(network, arrays)
    for variable in network["variables"]:
        variable["size"] = HUGE
    for parameter in network["parameters"]:
        parameter["shape"] = [HUGE, HUGE]
    arrays |= {name: np.zeros((HUGE, 0)) for name in arrays if name.startswith("value")}


def huge_pattern(network: dict[str, Any], arrays: dict[str, Any]) -> None:
    next(p for p in network["parameters"] if p["name"] == "W").update(tied=False)
    empty = scipy.sparse.csr_array(([], [], [0, 0, 0, 0, 0]), (4, HUGE), dtype=int)
    arrays |= matrix_arrays("pattern/W", empty)


@pytest.mark.parametrize("change", [huge_shift, shift_for_a_matrix, huge_variables, huge_pattern])
def test_a_small_file_takes_little_memory(change: Any, tmp_path: Path) -> None:
    loaded(tmp_path / "file", lambda *_: None)
    tracemalloc.start()
    with pytest.raises(FileError, match=r"file: the network in the file is damaged: .*1000000000"):
        loaded(tmp_path / "file", change)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e8
