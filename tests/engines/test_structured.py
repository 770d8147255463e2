"""Structured terms at work: each is what the same thing written with plain variables and matrices gives."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pfn
from pfn import t
from pfn.updates.windows import WindowSums
from tests.engines.comparison import assert_close

RATES = np.array([0.4, 0.9, 1.0])
METHODS: Mapping[str, Any] = {
    "kl": pfn.Propagate(acceleration=None),
    "euclidean": pfn.Propagate(divergence="euclidean", acceleration=None),
    "momentum": pfn.Propagate(),
    "all copies": pfn.Propagate(averaging="all", acceleration=None),
    "substitute": pfn.Substitute(acceleration=None),
    "substitute euclidean": pfn.Substitute(divergence="euclidean"),
}


@pytest.fixture(params=["numpy", "jax"])
def engine(request: pytest.FixtureRequest) -> str:
    """The engines, where they are installed."""
    if request.param == "jax":
        pytest.importorskip("jax", reason="jax is not installed")
    return str(request.param)


def runs(engine: str) -> list[Any]:
    """All methods on NumPy, one on JAX, whose programs take long to compile; it has all formulas from NumPy."""
    return [METHODS["kl"]] if engine == "jax" else list(METHODS.values())


def flat(values: np.ndarray) -> np.ndarray:
    """All columns on top of each other: time as components."""
    return values.T.reshape(-1, 1)


def written_out(W: np.ndarray, rates: np.ndarray, length: int | None, lag: int, columns: int) -> np.ndarray:
    """The matrix from all columns of a parent to all columns of its child, through a decay."""
    rows, size = W.shape
    blocks = np.zeros((columns, rows, columns - lag, size))
    for now in range(columns):
        for j in range(columns if length is None else length):
            if now - lag - j >= 0:
                blocks[now, :, now - lag - j] = W * rates**j
    return blocks.reshape(columns * rows, -1)


@pytest.mark.parametrize("length", [1, 4, None])
def test_a_decay_is_a_matrix_over_all_of_time(engine: str, length: int | None) -> None:
    generator, T, lag = np.random.default_rng(0), 9, 2
    W, V, Y = generator.random((4, 3)), generator.random((4, 2)), generator.random((4, T))
    H, K = generator.random((3, T - lag)), generator.random((2, T))
    y, h, k = pfn.Variable("y", 4), pfn.Variable("h", 3), pfn.Variable("k", 2)
    seen = pfn.decay(h[t - lag], RATES, np.inf if length is None else length)
    network = pfn.Network(pfn.Factorization(y[t], pfn.Parameter("W", W) @ seen + pfn.Parameter("V", V) @ k[t]))
    y1, h1, k1 = pfn.Variable("y", 4 * T), pfn.Variable("h", 3 * (T - lag)), pfn.Variable("k", 2 * T)
    A, B = written_out(W, RATES, length, lag, T), np.kron(np.eye(T), V)
    plain = pfn.Network(pfn.Factorization(y1[t], pfn.Parameter("A", A) @ h1[t] + pfn.Parameter("B", B) @ k1[t]))
    for method in runs(engine):
        options: Any = {"method": method, "iterations": 15, "tolerance": None}
        found = pfn.infer(network, {y: Y}, initial={h: H, k: K}, engine=engine, **options)
        wanted = pfn.infer(plain, {y1: flat(Y)}, initial={h1: flat(H), k1: flat(K)}, **options)
        for name in ("h", "k"):
            assert_close(flat(found[name]), wanted[name], f"{name}, {method}")
        np.testing.assert_allclose(found.history.divergence, wanted.history.divergence, rtol=1e-9)


@pytest.mark.parametrize("length", [1, 2, 5, 13, 20, None])
def test_windows_are_the_same_on_both_engines(length: int | None) -> None:
    pytest.importorskip("jax", reason="jax is not installed")
    window_sums = import_module("pfn.engines.jax_windows").window_sums
    x, position = np.random.default_rng(13).random((3, 13)), np.array([*range(4), *range(9)])
    window = pfn.decay(pfn.Variable("x", 3)[t], RATES, np.inf if length is None else length).window
    sums = WindowSums(RATES, [length], x.shape, position)
    with import_module("jax").enable_x64(True):
        forward, backward = (np.asarray(window_sums(x, window, position, backward=b)) for b in (False, True))
    np.testing.assert_allclose(forward, sums.apply(x), rtol=1e-12)
    np.testing.assert_allclose(backward, next(sums.adjoint(x)), rtol=1e-12)


def test_engines_agree_where_windows_see_nothing() -> None:
    """Sparse data leave zeros behind the ends of windows, and a rest of rounding there would grow."""
    pytest.importorskip("jax", reason="jax is not installed")
    y, h = pfn.Variable("y", 4), pfn.Variable("h", 3)
    for seed in range(20):
        generator = np.random.default_rng(seed)
        W = pfn.Parameter("W", generator.random((4, 3)), learn=True)
        network = pfn.Network(pfn.Factorization(y[t], W @ pfn.decay(h[t - 1], RATES, 3)))
        Y = generator.random((4, 15)) * (generator.random((4, 15)) < 0.2)
        options: Any = {"method": pfn.Propagate(acceleration=None), "iterations": 25, "tolerance": None, "seed": seed}
        found, wanted = (pfn.learn(network, {y: Y}, engine=name, **options) for name in ("jax", "numpy"))
        for name in ("h", "W"):
            assert_close(found[name], wanted[name], f"{name}, seed {seed}")


def two_decays() -> tuple[pfn.Network, pfn.Variable, list[np.ndarray]]:
    """Decays one above the other, and sequences of several lengths."""
    generator = np.random.default_rng(1)
    y, h, g = pfn.Variable("y", 4), pfn.Variable("h", 3), pfn.Variable("g", 3)
    W, V = pfn.Parameter("W", generator.random((4, 3))), pfn.Parameter("V", generator.random((4, 3)), learn=True)
    network = pfn.Network(
        pfn.Factorization(y[t], W @ pfn.decay(h[t - 1], RATES) + V @ h[t]),
        pfn.Factorization(h[t], pfn.decay(g[t], 0.7, 3)),
    )
    return network, y, [generator.random((4, columns)) for columns in (7, 1, 12, 2)]


def test_no_decay_reaches_into_another_sequence() -> None:
    network, y, Y = two_decays()
    h, g = network.variable("h"), network.variable("g")
    generator = np.random.default_rng(11)
    initial = {name: [generator.random((3, Z.shape[1])) for Z in Y] for name in ("h", "g")}
    for method in [METHODS["kl"], METHODS["euclidean"], METHODS["substitute"]]:
        options: Any = {"method": method, "iterations": 10, "tolerance": None}
        together = pfn.infer(network, {y: Y}, initial=initial, **options)
        for number, Z in enumerate(Y):
            own = {name: arrays[number] for name, arrays in initial.items()}
            alone = pfn.infer(network, {y: Z}, initial=own, **options)
            assert_close(together[h][number], alone[h], f"h, {method}")
            assert_close(together[g][number], alone[g], f"g, {method}")


def test_sequences_with_decays_are_the_same_on_jax() -> None:
    pytest.importorskip("jax", reason="jax is not installed")
    network, y, Y = two_decays()
    one, other = (pfn.learn(network, {y: Y}, iterations=25, seed=4, engine=engine) for engine in ("numpy", "jax"))
    for name in ("h", "g", "V"):
        assert_close(other[name], one[name], name)


def test_what_multiplies_a_decay_is_learned_as_from_the_decayed_values(engine: str) -> None:
    generator, T = np.random.default_rng(2), 30
    Y, H = generator.random((4, T)), generator.random((3, T))
    y, h = pfn.Variable("y", 4), pfn.Variable("h", 3)
    W = pfn.Parameter("W", shape=(4, 3))
    network = pfn.Network(pfn.Factorization(y[t], W @ pfn.decay(h[t], RATES, 5), normalize="columns"))
    plain = pfn.Network(pfn.Factorization(y[t], W @ h[t], normalize="columns"))
    seen = np.array(
        [
            [sum(r**j * row[s - j] for j in range(min(5, s + 1))) for s in range(T)]
            for r, row in zip(RATES, H, strict=True)
        ]
    )
    for method in runs(engine):
        options: Any = {"method": method, "iterations": 10, "seed": 3, "tolerance": None}
        found = pfn.learn(network, {y: Y, h: H}, engine=engine, **options)
        assert_close(found[W], pfn.learn(plain, {y: Y, h: seen}, **options)[W], str(method))


MASK = np.random.default_rng(3).random((5, 4)) < 0.5


@pytest.mark.parametrize(
    ("parameter", "normalize"),
    [
        (pfn.Parameter("P", pattern=MASK), None),
        (pfn.Parameter("P", pattern=MASK), "columns"),
        (pfn.Diagonal("P", 4), None),
    ],
)
def test_fixed_zeros_are_those_of_a_start_with_zeros(engine: str, parameter: pfn.Parameter, normalize: Any) -> None:
    """Multiplicative updates leave zeros as they are."""
    assert parameter.pattern is not None
    rows, columns = parameter.shape
    y, h = pfn.Variable("y", rows), pfn.Variable("h", columns)
    network = pfn.Network(
        pfn.Factorization(
            y[t], parameter @ h[t] + pfn.Parameter("V", np.ones((rows, columns))) @ h[t - 1], normalize=normalize
        )
    )
    Y = np.random.default_rng(4).random((rows, 20))
    for method in runs(engine):
        options: Any = {"method": method, "iterations": 12, "seed": 5, "tolerance": None}
        drawn = pfn.learn(network, {y: Y}, engine=engine, **options)
        assert not drawn["P"].toarray()[parameter.pattern.toarray() == 0].any()
        assert (drawn["P"].data > 0).all()
        start = np.where(parameter.pattern.toarray() > 0, np.random.default_rng(6).random((rows, columns)), 0)
        H = np.random.default_rng(7).random((columns, 20))
        dense = pfn.Parameter("P", start, learn=True)
        V = pfn.Parameter("V", np.ones((rows, columns)))
        plain = pfn.Network(pfn.Factorization(y[t], dense @ h[t] + V @ h[t - 1], normalize=normalize))
        found = pfn.learn(network, {y: Y}, initial={"P": start, "h": H}, engine=engine, **options)
        wanted = pfn.learn(plain, {y: Y}, initial={"h": H}, **options)
        assert_close(found["P"], wanted["P"], str(method))
        assert_close(found[h], wanted[h], str(method))


@pytest.mark.parametrize("layout", [{}, {"rows": 6, "first": -1}])
def test_a_kernel_is_learned_as_a_hidden_variable_would_be(engine: str, layout: dict[str, int]) -> None:
    """Σ_k kernel[k] (x moved by k) is linear in the kernel: x, observed, makes the matrix."""
    generator, T, width = np.random.default_rng(8), 15, 3
    kernel = pfn.Convolution("K", width, 6, **layout)
    rows = kernel.shape[0]
    assert kernel.pattern is not None
    assert kernel.groups is not None
    x, y = pfn.Variable("x", 6), pfn.Variable("y", rows)
    X, Y = generator.random((6, T)), generator.random((rows, T))
    moved = np.zeros((T * rows, width))
    for k in range(width):
        one = np.eye(rows, 6, k=-(k + layout.get("first", 0)))
        moved[:, k] = (one @ X).T.ravel()
    y1, k1 = pfn.Variable("y", T * rows), pfn.Variable("k", width)
    plain = pfn.Network(pfn.Factorization(y1[t], pfn.Parameter("A", moved) @ k1[t]))
    start = generator.random(width)
    matrix = sp.csr_array((start[kernel.groups], kernel.pattern.indices, kernel.pattern.indptr), kernel.shape)
    network = pfn.Network(pfn.Factorization(y[t], kernel @ x[t]))
    for method in runs(engine):
        options: Any = {"method": method, "iterations": 12, "tolerance": None}
        found = pfn.learn(network, {x: X, y: Y}, initial={"K": matrix}, engine=engine, **options)["K"]
        wanted = pfn.infer(plain, {y1: flat(Y)}, initial={k1: start[:, None]}, **options)[k1]
        assert_close(found.data[:, None], wanted[kernel.groups], str(method))
    drawn = pfn.learn(network, {x: X, y: Y}, iterations=3, engine=engine)["K"]
    assert len(set(drawn.data)) == width


def test_shifts_and_bare_slices_are_known_matrices(engine: str) -> None:
    generator = np.random.default_rng(9)
    y, h, k = pfn.Variable("y", 5), pfn.Variable("h", 5), pfn.Variable("k", 5)
    network = pfn.Network(pfn.Factorization(y[t], h[t] + pfn.shift(k[t - 1], -2)))
    A, B = pfn.Parameter("A", np.eye(5)), pfn.Parameter("B", np.eye(5, k=2))
    plain = pfn.Network(pfn.Factorization(y[t], A @ h[t] + B @ k[t - 1]))
    Y = generator.random((5, 12))
    for method in runs(engine):
        options: Any = {"method": method, "iterations": 12, "seed": 1, "tolerance": None}
        found, wanted = pfn.infer(network, {y: Y}, engine=engine, **options), pfn.infer(plain, {y: Y}, **options)
        for name in ("h", "k"):
            assert_close(found[name], wanted[name], f"{name}, {method}")


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_no_sweep_of_substitute_raises_the_divergence(divergence: Any) -> None:
    generator = np.random.default_rng(10)
    x, clean, on, off = (pfn.Variable(name, size) for name, size in (("x", 6), ("clean", 6), ("on", 4), ("off", 4)))
    events = [pfn.Variable(f"e{length}", 4) for length in (1, 3, 8)]
    gain, E = pfn.Diagonal("gain", 6), [pfn.Parameter(f"E{k}", shape=(6, 4)) for k in range(3)]
    network = pfn.Network(
        pfn.Factorization(x[t], gain @ clean[t]),
        pfn.Factorization(clean[t], E[0] @ on[t] + E[1] @ on[t - 1] + E[2] @ off[t]),
        pfn.Factorization(on[t], sum(e[t] for e in events)),
        pfn.Factorization(off[t], sum(pfn.decay(e[t - 2], 0.8, n) for e, n in zip(events, (1, 3, 8), strict=True))),
    )
    X = [generator.random((6, columns)) for columns in (25, 3, 11)]
    for acceleration in (None, "momentum"):
        method = pfn.Substitute(divergence=divergence, acceleration=acceleration)
        found = pfn.learn(network, {x: X}, method=method, iterations=40, seed=2)
        assert (np.diff(found.history.divergence) <= 1e-9).all()
        on_, off_ = (np.hstack(found[name]) for name in ("on", "off"))
        parts = found["E0"] @ on_ + found["E2"] @ off_
        assert (np.hstack(found["clean"]) >= parts - 1e-9).all()


@pytest.mark.parametrize("divergence", ["kl", "euclidean"])
def test_large_slices_without_a_parameter_are_those_with_an_identity(divergence: Any) -> None:
    """From some size on they are added without a product, and decays with the same rates together."""
    generator, size = np.random.default_rng(12), 24
    y, on, off = (pfn.Variable(name, size) for name in ("y", "on", "off"))
    events = [pfn.Variable(f"e{n}", size) for n in range(3)]
    rates, lengths = generator.uniform(0.5, 1, size), (2, 9, np.inf)
    W, V = (pfn.Parameter(name, generator.random((size, size)), learn=True) for name in "WV")

    def network(*ones: pfn.Parameter) -> pfn.Network:
        def bare(x: Any) -> Any:
            return ones[0] @ x if ones else x

        return pfn.Network(
            pfn.Factorization(y[t], W @ on[t] + V @ off[t] + bare(events[0][t - 2])),
            pfn.Factorization(on[t], sum((bare(e[t]) for e in events[1:]), bare(events[0]))),
            pfn.Factorization(
                off[t], sum(bare(pfn.decay(e[t - 1], rates, n)) for e, n in zip(events, lengths, strict=True))
            ),
        )

    Y = [generator.random((size, columns)) for columns in (300, 2, 77)]
    method = pfn.Substitute(divergence=divergence)
    one, other = (
        pfn.learn(
            n, {y: Y}, method=method, iterations=6, seed=0, weights={"eq1": [np.arange(Z.shape[1]) % 3 for Z in Y]}
        )
        for n in (network(), network(pfn.Parameter("I", np.eye(size))))
    )
    for name in ("W", "V", "on", "off", "e0", "e1", "e2"):
        assert_close(one[name], other[name], name, 1e-8)


@pytest.mark.parametrize("lengths", [[6], [6, 4, 2, 9]])
def test_a_decay_ends_with_its_sequence_above_later_children(lengths: list[int]) -> None:
    """Compiled programs have slots where an equation does not hold: into those it must not ring on."""
    pytest.importorskip("jax", reason="jax is not installed")
    x, h = pfn.Variable("x", 1), pfn.Variable("h", 1)
    W = pfn.Parameter("W", np.ones((2, 1)))
    network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], W @ pfn.decay(h[t], 0.5, 2)))
    rng = np.random.default_rng(0)
    data = {
        x: [np.full((1, length), np.nan) for length in lengths],
        h: [rng.random((1, length - 1)) for length in lengths],
    }
    method = pfn.Propagate(acceleration=None, start="random")
    one, other = (pfn.infer(network, data, iterations=2, engine=engine, method=method) for engine in ("numpy", "jax"))
    for found, wanted in zip(other["x"], one["x"], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert other.rmse == pytest.approx(one.rmse, rel=1e-9)
