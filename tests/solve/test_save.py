"""Results that are saved and loaded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import FileError
from pfn.files import read_file, write_file
from tests.network.refusal import refused
from tests.networks import hierarchy, regular_expression, tracking, tracking_scene
from tests.solve.cases import MACHINE, assert_same, chain, numbers, parts_based, states, structured
from tests.test_files import fancy

X2 = states(0, 2, 0, 0, 0, 0, 4, 0, 0, 0, of=6)


def results() -> dict[str, Any]:
    """How to make results of every kind."""
    sparse = scipy.sparse.csr_array(np.where(numbers() < 0.5, 0, numbers()))
    return {
        "machine": lambda: pfn.infer(MACHINE, {"x": states(1, 0, 0)}, iterations=5),
        "one slice": lambda: pfn.infer(MACHINE, {"x": states(1)}, iterations=5),
        "nothing touched": lambda: pfn.infer(MACHINE, {"x": np.full((4, 1), np.nan)}, iterations=1),
        "several equations": lambda: pfn.infer(regular_expression(), {"x2": X2}, iterations=5),
        "known sparse": lambda: pfn.infer(tracking(), {"x1": tracking_scene()["x1"]}, iterations=5),
        "learned sparse, tied, prior": lambda: pfn.learn(chain(), {"y": numbers()}, iterations=5),
        "sequences": lambda: pfn.learn(chain(), {"y": [numbers(), numbers(4, 1), numbers(4, 5)]}, iterations=5),
        "one sequence": lambda: pfn.learn(parts_based(), {"x": [numbers()]}, iterations=5),
        "given parameter": lambda: pfn.infer(parts_based(), {"x": numbers()}, initial={"W": np.ones((4, 2))}),
        "sparse start": lambda: pfn.learn(
            parts_based(), {"x": numbers()}, initial={"W": scipy.sparse.csr_array(np.eye(4, 2))}, iterations=5
        ),
        "sparse data": lambda: pfn.learn(parts_based(), {"x": sparse}, iterations=5),
        "sparse sequences": lambda: pfn.learn(parts_based(), {"x": [sparse, sparse]}, iterations=5),
        "single precision": lambda: pfn.learn(chain(), {"y": numbers()}, dtype="float32", iterations=5),
        "single precision, known": lambda: pfn.infer(tracking(), {"x1": numbers(19, 9)}, dtype="float32", iterations=2),
        "structured terms": lambda: pfn.learn(structured(), {"y": numbers()}, iterations=5),
        "names and labels": lambda: pfn.learn(fancy(), {"Töne der Flöte": numbers(3, 20)}, iterations=5),
        "hierarchy": lambda: pfn.learn(hierarchy(5, (3, 2), 2, (1, 2)), {"x1": numbers(5, 20)}, iterations=5),
        "options": lambda: pfn.learn(
            parts_based(),
            {"x": numbers()},
            method=pfn.Propagate(sparseness={"eq1": pfn.ramp(0, 0.1, start=1, stop=4)}, learn_every={"W": 2}),
            weights={"eq1": np.arange(12)},
            restarts=2,
            iterations=5,
        ),
    }


@pytest.mark.parametrize("kind", results())
def test_a_saved_result_comes_back_exactly(kind: str, tmp_path: Path) -> None:
    result = results()[kind]()
    path = tmp_path / "größe 1.safetensors"
    result.save(path)
    back = pfn.load(path)
    assert_same(back, result)
    assert back.network == result.network
    assert [v.labels for v in back.network.variables] == [v.labels for v in result.network.variables]
    assert dict(back.settings) == dict(result.settings)
    assert (repr(back), back._repr_html_()) == (repr(result), result._repr_html_())
    for name in result.values:
        assert back[name] is back.values[name]


def test_values_in_awkward_memory_come_back_exactly(tmp_path: Path) -> None:
    """Starting values as Fortran, strided and big-endian arrays, in a run that only passes them through."""
    for given in (np.asfortranarray(numbers(4, 2)), numbers(8, 4)[::2, ::-2], numbers(4, 2).astype(">f8")):
        result = pfn.infer(parts_based(), {"x": numbers()}, initial={"W": given}, iterations=1)
        result.save(tmp_path / "file")
        np.testing.assert_array_equal(pfn.load(tmp_path / "file")["W"], given)


def test_paths_may_be_text(tmp_path: Path) -> None:
    result = pfn.infer(MACHINE, {"x": states(1, 0)}, iterations=2)
    result.save(str(tmp_path / "file"))
    assert_same(pfn.load(str(tmp_path / "file")), result)


def test_a_loaded_network_can_be_asked_again(tmp_path: Path) -> None:
    result = pfn.learn(chain(), {"y": numbers()}, iterations=5)
    result.save(tmp_path / "file")
    network = pfn.load(tmp_path / "file").network
    assert_same(pfn.learn(network, {"y": numbers()}, iterations=5), result)


def test_a_loaded_result_is_saved_again_as_the_same_bytes(tmp_path: Path) -> None:
    pfn.learn(chain(), {"y": numbers()}, iterations=5).save(tmp_path / "first")
    pfn.load(tmp_path / "first").save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_a_missing_file(tmp_path: Path) -> None:
    with refused(f"{tmp_path / 'none'}: cannot be read: No such file or directory.", FileError):
        pfn.load(tmp_path / "none")


def test_a_truncated_result(tmp_path: Path) -> None:
    path = tmp_path / "file"
    pfn.learn(chain(), {"y": numbers()}, iterations=5).save(path)
    blob = path.read_bytes()
    for length in range(0, len(blob), 97):
        path.write_bytes(blob[:length])
        with pytest.raises(FileError, match="damaged"):
            pfn.load(path)


def test_a_checkpoint_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "file"
    pfn.infer(MACHINE, {"x": states(1, 0)}, iterations=2, checkpoint=path)
    with refused(
        f"{path}: expected a result, found a checkpoint. "
        "Continue a checkpoint with resume=path in pfn.infer or pfn.learn.",
        FileError,
    ):
        pfn.load(path)


def test_a_result_that_cannot_be_written(tmp_path: Path) -> None:
    result = pfn.infer(MACHINE, {"x": states(1, 0)}, iterations=2)
    with pytest.raises(FileError, match="cannot be written: No such file or directory"):
        result.save(tmp_path / "none" / "file")


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> None:
    arrays, content = read_file(path, "result")
    change(content, arrays)
    write_file(path, "result", arrays, content)


DAMAGES: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "no errors": lambda content, _: content.update(rmse=None),
    "errors in words": lambda content, _: content.update(rmse={"eq1": "small"}),
    "errors of other equations": lambda content, _: content.update(rmse={}),
    "sweeps in words": lambda content, _: content.update(iterations="many"),
    "no settings": lambda content, _: content.update(settings=None),
    "fewer than no sequences": lambda content, _: content["sequences"].update(x=-1),
    "a history of other sweeps": lambda _, arrays: arrays.update({"history/iterations": np.arange(3)}),
    "errors along other sweeps": lambda _, arrays: arrays.update({"history/rmse": np.ones((1, 2))}),
    "one variable that is unique": lambda _, arrays: arrays.update({"unique/x/0": np.ones((1, 1), bool)}),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_result_that_cannot_be(kind: str, tmp_path: Path) -> None:
    """What is loaded can be shown and saved."""
    path = tmp_path / "result"
    pfn.infer(MACHINE, {"x": states(1, 0)}, iterations=5).save(path)
    rewritten(path, lambda *_: None)
    pfn.load(path)
    rewritten(path, DAMAGES[kind])
    with pytest.raises(FileError, match=r"result: the file is damaged \(.*\)\. Write it again\.$"):
        pfn.load(path)
