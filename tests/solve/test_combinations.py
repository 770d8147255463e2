"""Structured terms with every method and option: each is the same thing written with plain matrices."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pfn
from pfn import t
from tests.engines.comparison import assert_close
from tests.solve.cases import assert_same, dense, structured

MASK = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0]], bool)
METHODS = [
    pfn.Propagate(),
    pfn.Propagate(averaging="all", divergence="euclidean"),
    pfn.Propagate(sparseness=0.2, learn_every={"P": 3}, release={"y": 6}),
    pfn.Propagate(start="levels"),
    pfn.Propagate(start="random", acceleration=None),
    pfn.Substitute(),
    pfn.Substitute(divergence="euclidean", start="levels"),
]
SEQUENCES = [np.random.default_rng(length).random((4, length)) for length in (9, 3, 1, 14, 6, 2)]
LEARNED = ("c", "K", "P")  # the diagonal, the kernel and the pattern of `structured`


@pytest.mark.parametrize("seed", range(24))
def test_fixed_zeros_are_those_of_a_dense_start(seed: int) -> None:
    """A pattern or a diagonal, below another level, with options drawn at random."""
    generator = np.random.default_rng(seed)
    method: Any = METHODS[seed % len(METHODS)]
    P = pfn.Diagonal("P", 5) if generator.random() < 0.5 else pfn.Parameter("P", pattern=MASK)
    assert P.pattern is not None
    start = P.pattern.toarray() * generator.random(P.shape)
    y, h, k, top = (pfn.Variable(*v) for v in (("y", 5), ("h", P.shape[1]), ("k", 2), ("top", 2)))
    V, U = pfn.Parameter("V", generator.random((5, 2))), pfn.Parameter("U", generator.random((2, 2)))
    normalize: Any = generator.choice([None, "columns"])
    one, other = (
        pfn.Network(
            pfn.Factorization(y[t], parameter @ h[t] + V @ k[t - 1], normalize=normalize),
            pfn.Factorization(k[t], U @ top[t]),
        )
        for parameter in (P, pfn.Parameter("P", start, learn=True))
    )
    Y = [generator.random((5, length)) for length in (9, 1, 14)]
    times = [np.arange(piece.shape[1]) % 3 for piece in Y]
    # k[t] is in column t of eq2 and in column t + 1 of eq1, which need one weight
    weights = {"eq1": times, "eq2": [time[1:] for time in times]} if generator.random() < 0.5 else None
    options: Any = {"method": method, "iterations": 12, "seed": seed, "weights": weights}
    found = pfn.learn(one, {y: Y}, initial={"P": start}, **options)
    wanted = pfn.learn(other, {y: Y}, **options)
    for name in ("P", "h", "k", "top"):
        assert_close(found[name], dense(wanted[name]), name, 1e-8)
    drawn = pfn.learn(one, {y: Y}, **options)["P"]
    np.testing.assert_array_equal(drawn.indices, P.pattern.indices)


def known(*, written_out: bool) -> pfn.Network:
    """A decay, a diagonal, a convolution and a shift, all known; or the matrices that they are."""
    generator = np.random.default_rng(0)
    W, gains, rates = generator.random((6, 3)), generator.random(6) + 0.5, np.array([0.5, 0.9, 1.0])
    y, h, k, z = (pfn.Variable(*v) for v in (("y", 6), ("h", 3), ("k", 6), ("z", 6)))
    if not written_out:
        return pfn.Network(
            pfn.Factorization(
                y[t], pfn.Parameter("W", W) @ pfn.decay(h[t - 1], rates, 3) + pfn.Diagonal("G", gains) @ k[t]
            ),
            pfn.Factorization(
                k[t], pfn.Convolution("K", [1, 2, 1], 6, rows=6, first=-1) @ z[t] + pfn.shift(z[t - 1], 2)
            ),
        )
    past: Any = sum(pfn.Parameter(f"W{j}", W * rates**j) @ h[t - 1 - j] for j in range(3))
    blur = np.eye(6, k=1) + 2 * np.eye(6) + np.eye(6, k=-1)
    return pfn.Network(
        pfn.Factorization(y[t], past + pfn.Parameter("G", np.diag(gains)) @ k[t]),
        pfn.Factorization(k[t], pfn.Parameter("K", blur) @ z[t] + pfn.Parameter("S", np.eye(6, k=-2)) @ z[t - 1]),
    )


def scene() -> dict[str, np.ndarray]:
    """Values for which the equations of `known` hold."""
    generator, T = np.random.default_rng(1), 14
    H = generator.random((3, T - 1)) * (generator.random((3, T - 1)) < 0.4)
    Z = generator.random((6, T)) * (generator.random((6, T)) < 0.2)
    network = known(written_out=True)
    K = network["K"].value @ Z
    K[:, 1:] += network["S"].value @ Z[:, :-1]
    Y = network["G"].value @ K
    for j in range(3):
        Y[:, 1 + j :] += network[f"W{j}"].value @ H[:, : T - 1 - j]
    return {"y": Y, "h": H, "k": K, "z": Z}


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [
        (pfn.Exact(), 1e-9),
        (pfn.Exact(window=6, overlap=2), 1e-9),
        (pfn.Exact(prefer="spread"), 1e-5),
        (pfn.Exact(noise={"y": "l2"}), 1e-4),
        (pfn.Exact(structure="soft"), 1e-4),
        (pfn.Substitute(start="random"), 1e-8),
        (pfn.Substitute(start="random", keep=["k"], acceleration=None), 1e-8),
    ],
    ids=str,
)
def test_known_structure_is_what_is_written_out(method: Any, tolerance: float) -> None:
    truth = scene()
    noise = 1 + 0.05 * np.random.default_rng(2).random(truth["y"].shape)
    exact = isinstance(method, pfn.Exact) and not method.noise and method.structure == "exact"
    Y = truth["y"] if exact else truth["y"] * noise
    options: Any = {"method": method, "iterations": 25}
    if not isinstance(method, pfn.Exact):
        options["initial"] = {name: [np.ones_like(truth[name]), np.ones_like(truth[name])] for name in ("h", "z")}
    hidden = np.where(np.arange(14) == 5, np.nan, Y)
    one, other = (pfn.infer(known(written_out=plain), {"y": [Y, hidden]}, **options) for plain in (False, True))
    for name in ("h", "k", "z"):
        for found, wanted in zip(one[name], other[name], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_consensus_solves_the_equations_of_structure() -> None:
    """Of all that has no decay."""
    generator = np.random.default_rng(3)
    y, z, h, u = (pfn.Variable(*v) for v in (("y", 6), ("z", 6), ("h", 3), ("u", 3)))
    pattern = sp.csr_array(np.vstack([MASK, MASK[:1]]) * generator.random((6, 3)))
    network = pfn.Network(
        pfn.Factorization(
            y[t], pfn.Diagonal("G", generator.random(6) + 0.5) @ z[t] + pfn.Parameter("P", pattern) @ h[t - 1]
        ),
        pfn.Factorization(z[t], pfn.Convolution("K", [1, 2], 3, rows=6) @ u[t] + pfn.shift(u[t - 1], 1, 6)),
    )
    U, H = generator.random((3, 12)), generator.random((3, 11))
    Z = network["K"].value @ U
    Z[1:4, 1:] += U[:, :-1]
    Y = network["G"].value @ Z
    Y[:, 1:] += pattern @ H
    found = pfn.infer(network, {y: [Y[:, :5], Y]}, method="consensus", iterations=3000)
    U, H, Z = (found[name][1] for name in ("u", "h", "z"))
    explained = network["G"].value @ Z
    explained[:, 1:] += pattern @ H
    moved = network["K"].value @ U
    moved[1:4, 1:] += U[:, :-1]
    np.testing.assert_allclose(explained, Y, atol=3e-3)
    np.testing.assert_allclose(moved, Z, atol=3e-3)


@pytest.mark.parametrize("start", ["random", "levels", "data"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", [pfn.Propagate, pfn.Substitute])
def test_a_run_with_structure_goes_on_from_its_checkpoint(method: Any, dtype: str, start: Any, tmp_path: Path) -> None:
    network, path = structured(), tmp_path / "run.pfn"
    options: Any = {"method": method(start=start), "dtype": dtype, "iterations": 20, "seed": 1}
    pfn.learn(network, {"y": SEQUENCES}, checkpoint=path, callback=lambda number, _: number == 7, **options)
    resumed = pfn.learn(network, {"y": SEQUENCES}, resume=path, **options)
    assert_same(resumed, pfn.learn(network, {"y": SEQUENCES}, **options))
    resumed.save(path)
    loaded = pfn.load(path)
    assert_same(resumed, loaded)
    assert loaded.network == network


@pytest.mark.parametrize(
    "method", [pfn.Propagate(), pfn.Propagate(start="levels", sparseness=0.1, averaging="all"), pfn.Substitute()]
)
def test_structure_is_learned_by_batches(method: Any, tmp_path: Path) -> None:
    """One batch of all is plain learning; a half, saved, and what follows is the whole; ties stay."""
    network, data = structured(), [{"y": Y} for Y in SEQUENCES]
    options: Any = {"method": method, "seed": 1}
    one = pfn.learn(network, data, batches=pfn.Batches(size=10, first=6), **options)
    plain = pfn.learn(network, {"y": SEQUENCES}, iterations=6, **options)
    batches = pfn.Batches(size=2, first=6, sweeps=3, settle=2, shuffle=False)
    pfn.learn(network, data[:4], batches=batches, **options).save(tmp_path / "half.pfn")
    half = pfn.load(tmp_path / "half.pfn")
    rest = pfn.learn(network, data[4:], partial=half, batches=batches, **options)
    whole = pfn.learn(network, data, batches=batches, **options)
    for name in LEARNED:
        assert_close(one[name], dense(plain[name]), name)
        assert_close(rest[name], dense(whole[name]), name)
    assert len(set(whole["K"].data)) == 3


def test_structure_with_many_options_is_the_same_on_jax() -> None:
    """Values learned, and the statistics that the next batch would go on from."""
    pytest.importorskip("jax", reason="jax is not installed")
    method = pfn.Propagate(start="levels", sparseness=0.2, learn_every={"K": 3}, release={"y": 6}, initial_scale=1.0)
    data, batches = [{"y": Y} for Y in SEQUENCES], pfn.Batches(size=10, first=15)
    one, other = (
        pfn.learn(structured(), data, method=method, batches=batches, engine=engine) for engine in ("numpy", "jax")
    )
    assert one.memory is not None
    assert other.memory is not None
    for name in LEARNED:
        assert_close(other[name], dense(one[name]), name)
        for found, wanted in zip(other.memory.sums[name], one.memory.sums[name], strict=True):
            assert_close(found, wanted, f"statistics of {name}")


@pytest.mark.parametrize(
    "parameter", [pfn.Diagonal("P", 5), pfn.Convolution("P", 3, 3), pfn.Parameter("P", pattern=MASK)], ids=repr
)
def test_slices_of_the_data_do_not_fill_fixed_zeros(parameter: pfn.Parameter) -> None:
    y, h = pfn.Variable("y", 5), pfn.Variable("h", parameter.shape[1])
    network = pfn.Network(pfn.Factorization(y[t], parameter @ h[t]))
    Y = np.random.default_rng(4).random((5, 20))
    one, other = (
        pfn.learn(network, {y: Y}, method=pfn.Propagate(start=start), iterations=3) for start in ("data", "random")
    )
    assert_same(one, other)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("method", "engine"), [(pfn.Propagate(), "numpy"), (pfn.Substitute(), "numpy"), (pfn.Propagate(), "jax")]
)
def test_what_was_learned_tied_can_be_used(method: Any, engine: str, dtype: str) -> None:
    """Normalizing rounds tied entries differently: they are made equal again."""
    if engine == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    y, h = pfn.Variable("y", 4), pfn.Variable("h", 3)
    P = pfn.Parameter("P", tied=[[1, 2, 3], [2, 3, 1], [3, 1, 2], [4, 4, 4]])
    network = pfn.Network(pfn.Factorization(y[t], P @ h[t], normalize="columns"))
    Y = np.random.default_rng(5).random((4, 30))
    learned = pfn.learn(network, {y: Y}, method=method, engine=engine, iterations=60, dtype=dtype)["P"]
    used = pfn.infer(network, {y: Y}, initial={P: learned}, iterations=1, dtype=dtype)["P"]
    assert len(set(learned.data)) == 4
    np.testing.assert_array_equal(dense(used), dense(learned))
    frames = pfn.stream(network, Y.T[:3], initial={P: learned}, dtype=dtype)
    assert [values.time for values in frames] == [0, 1, 2]
