"""What learning by batches refuses: every message says what was expected, what was found and the way out."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import pfn
from pfn import t
from pfn.files import read_file, write_file

x, y, h = pfn.Variable("x", 3), pfn.Variable("y", 2), pfn.Variable("h", 2)
W, V = pfn.Parameter("W", shape=(3, 2)), pfn.Parameter("V", shape=(2, 2))
NETWORK = pfn.Network(pfn.Factorization(x[t], W @ h[t]))
TWO = pfn.Network(pfn.Factorization(x[t], W @ h[t]), pfn.Factorization(y[t], V @ h[t]))
KNOWN = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("K", np.ones((3, 2))) @ h[t]))
GOOD = {"x": np.ones((3, 4))}
FEW = pfn.Batches(first=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, r"Batches: size must be a whole number >= 1, found 0"),
        ({"size": np.array([1, 2])}, r"Batches: size must be a whole number >= 1, found array"),
        ({"epochs": 1.5}, r"Batches: epochs must be a whole number >= 1, found 1\.5"),
        ({"first": 0}, "Batches: first must be"),
        ({"settle": -1}, "Batches: settle must be a whole number >= 0, found -1"),
        ({"memory": 2}, "Batches: memory must be a number from 0 to 1, found 2"),
        ({"offset": float("inf")}, "Batches: offset must be a number >= 0"),
        ({"shuffle": 3}, "Batches: shuffle must be True or False, found 3"),
    ],
)
def test_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pfn.OptionError, match=message):
        pfn.Batches(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batches": 10}, r"batches must be a pfn\.Batches\(…\), found 10"),
        ({"iterations": 5}, r"iterations=5 cannot be combined.*Batches\(sweeps=…\)"),
        ({"tolerance": 0.1}, "tolerance=0.1 cannot be combined.*callback"),
        ({"stall": 0.1}, "stall=0.1 cannot be combined"),
        ({"restarts": 2}, "restarts=2 cannot be combined"),
        ({"weights": {"eq1": [np.ones(4)]}}, "weights=.*cannot be combined"),
        ({"method": "exact"}, "'propagate', 'substitute', found 'exact'"),
        ({"initial": {h: np.ones((2, 4))}}, "initial: .*parameters only, found h"),
        ({"partial": "model"}, "partial must be a result of pfn.learn or pfn.load, found str"),
    ],
)
def test_options_that_do_not_go_with_it(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pfn.OptionError, match=message):
        pfn.learn(NETWORK, [GOOD], **({"batches": FEW} | options))


def test_results_that_cannot_be_gone_on_from() -> None:
    plain = pfn.learn(NETWORK, GOOD, iterations=2)
    with pytest.raises(pfn.OptionError, match=r"no statistics to go on from.*batches=pfn.Batches()"):
        pfn.learn(NETWORK, GOOD, partial=plain)
    other = pfn.learn(TWO, [GOOD | {"y": np.ones((2, 4))}], batches=FEW)
    with pytest.raises(pfn.OptionError, match="partial: this result belongs to another network"):
        pfn.learn(NETWORK, GOOD, partial=other)
    mine = pfn.learn(NETWORK, GOOD, batches=FEW)
    with pytest.raises(pfn.OptionError, match="partial cannot be combined with initial"):
        pfn.learn(NETWORK, GOOD, partial=mine, initial={W: np.ones((3, 2))})
    with pytest.raises(pfn.OptionError, match=r"every parameter of the network is known\. Use pfn\.infer"):
        pfn.learn(KNOWN, [GOOD])


@pytest.mark.parametrize(
    ("network", "data", "message"),
    [
        (NETWORK, 5, "the data: expected a mapping.*a folder; found int"),
        (NETWORK, np.ones((3, 4)), "the data: expected a mapping.*found ndarray"),
        (NETWORK, [], "the list of sequences is empty"),
        (NETWORK, iter([]), "expected at least one sequence, found none"),
        (NETWORK, [GOOD, 7], r"sequence 1: expected a mapping such as \{x: array\}, a file or an array, found int"),
        (NETWORK, [GOOD, {"x": np.ones((2, 4))}], r"sequence 1: x: expected an array of shape \(3, columns\)"),
        (NETWORK, [GOOD, {"x": -np.ones((3, 4))}], r"sequence 1: x: entries must be finite and non-negative"),
        (NETWORK, [GOOD, {"z": np.ones((3, 4))}], "sequence 1: data for 'z': the network has nothing called z"),
        (NETWORK, [GOOD, {"x": [np.ones((3, 4))]}], "sequence 1: expected one array for every variable, found a list"),
        (TWO, [GOOD, GOOD | {"y": np.ones((2, 4))}], "sequence 1: expected values for x, like.*found x, y.*NaN"),
        (TWO, [np.ones((3, 4))], "sequence 0: an array without a name.*but there are 2: x, y"),
    ],
)
def test_data(network: pfn.Network, data: Any, message: str) -> None:
    with pytest.raises(pfn.DataError, match=message):
        pfn.learn(network, data, batches=FEW)


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(pfn.FileError, match=r"nowhere: cannot be read: No such file.*one file a sequence"):
        pfn.learn(NETWORK, tmp_path / "nowhere")
    with pytest.raises(pfn.FileError, match=r"expected files that end in \.npy, \.npz, \.safetensors, found none"):
        pfn.learn(NETWORK, str(tmp_path))
    np.save(tmp_path / "a.npy", np.array([{"x": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(pfn.FileError, match=r"a\.npy: expected plain arrays of numbers.*pickled objects"):
        pfn.learn(NETWORK, tmp_path)
    (tmp_path / "a.npy").unlink()
    np.savez(tmp_path / "b.npz", x=np.array([None]))
    with pytest.raises(pfn.FileError, match=r"b\.npz: expected plain arrays"):
        pfn.learn(NETWORK, tmp_path)
    for kind in ("npy", "npz", "safetensors"):
        path = tmp_path / f"c.{kind}"
        for content in (b"", b"nothing of the kind"):
            path.write_bytes(content)
            with pytest.raises(pfn.FileError, match=rf"c\.{kind}: "):
                pfn.learn(NETWORK, [path])
    np.savez(tmp_path / "d.npz", x=np.ones((2, 4)))
    with pytest.raises(pfn.DataError, match=r"d\.npz: x: expected an array of shape \(3, columns\)"):
        pfn.learn(NETWORK, [tmp_path / "d.npz"])
    with pytest.raises(pfn.FileError, match=r"d\.txt: expected a file that ends in"):
        pfn.learn(NETWORK, [tmp_path / "d.txt"])


@pytest.mark.parametrize("kind", ["npy", "npz", "safetensors"])
def test_files_with_a_wrong_bit_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    """Whatever numpy and safetensors make of them; files that numpy cannot read are closed (warnings are errors)."""
    path = tmp_path / f"a.{kind}"
    if kind == "safetensors":
        save_file({"x": GOOD["x"]}, path)
    elif kind == "npz":
        np.savez(path, x=GOOD["x"])
    else:
        np.save(path, GOOD["x"])
    content = path.read_bytes()
    for place in range(0, len(content), 2):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x5A]) + content[place + 1 :])
        with suppress(pfn.FileError, pfn.DataError):
            pfn.learn(NETWORK, [path], batches=FEW)


def test_a_checkpoint_that_lacks_something(tmp_path: Path) -> None:
    data, path = [GOOD] * 3, tmp_path / "run.pfn"
    options: Any = {"batches": pfn.Batches(size=1, first=1, sweeps=1)}
    pfn.learn(NETWORK, data, checkpoint=path, callback=lambda number, _: number == 0, **options)
    path.write_bytes(path.read_bytes().replace(b'"counters"', b'"counterz"'))
    with pytest.raises(pfn.FileError, match=r"run\.pfn: the file is damaged: it has no counters"):
        pfn.learn(NETWORK, data, resume=path, **options)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", [10**12, -1])
def test_a_checkpoint_with_counters_that_cannot_be(place: int, value: int, tmp_path: Path) -> None:
    """A batch padded to 10**12 columns, or so many batches passed over, would never end."""
    data, path = [GOOD] * 3, tmp_path / "run.pfn"
    options: Any = {"batches": pfn.Batches(size=1, first=1, sweeps=1)}
    pfn.learn(NETWORK, data, checkpoint=path, callback=lambda number, _: number == 1, **options)
    arrays, content = read_file(path, "checkpoint")
    assert pfn.learn(NETWORK, data, resume=path, **options).memory.batches == 3  # type: ignore[union-attr]
    arrays["counters"][place] = value
    write_file(path, "checkpoint", arrays, content)
    with pytest.raises(pfn.FileError, match=r"run\.pfn: the file is damaged: counters of .* Start without resume"):
        pfn.learn(NETWORK, data, resume=path, **options)


def test_what_the_user_raises_is_not_changed() -> None:
    def sequences() -> Iterator[Any]:
        yield GOOD
        raise LookupError("no more files")

    with pytest.raises(LookupError, match="no more files"):
        pfn.learn(NETWORK, sequences(), batches=FEW)


def test_a_plain_checkpoint_is_another_run(tmp_path: Path) -> None:
    pfn.learn(NETWORK, GOOD, iterations=2, checkpoint=tmp_path / "plain.pfn")
    with pytest.raises(pfn.FileError, match="belongs to another run"):
        pfn.learn(NETWORK, GOOD, batches=FEW, resume=tmp_path / "plain.pfn")


def test_a_checkpoint_of_fewer_sequences_is_another_run(tmp_path: Path) -> None:
    """With one more, all of them would come in another order: some twice, some never."""
    path, options = tmp_path / "run.pfn", pfn.Batches(size=1, first=1, sweeps=1)
    pfn.learn(NETWORK, [GOOD] * 3, checkpoint=path, callback=lambda number, _: number == 0, batches=options)
    with pytest.raises(pfn.FileError, match="belongs to another run"):
        pfn.learn(NETWORK, [GOOD] * 4, resume=path, batches=options)


def test_inference_needs_a_mapping() -> None:
    with pytest.raises(pfn.DataError, match="the data must be a mapping"):
        pfn.infer(KNOWN, [GOOD])  # type: ignore[arg-type]
