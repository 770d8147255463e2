"""When is the JAX engine faster than NumPy: small networks, large ones, and how long is the compilation?

One sweep of the tracking network against the plain transcription of the paper's algorithm; one learning sweep
of section 6 (512 × 622, levels of 50, 40 and 40, four children each) against its bare products, five an
equation; products with sparse matrices; and sequences of growing length, where NumPy is overtaken.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import jax
import numpy as np
import scipy.sparse

import pfn
from benchmarks.plain_numpy import PlainRun
from benchmarks.side_by_side import alternate, table
from pfn.updates.jax_gathers import GATHER_COST, gathered, make_pattern, product
from tests.networks import hierarchy, tracking, tracking_scene

BINS, SLICES, SIZES, CHILDREN, SEPARATIONS = 512, 622, (50, 40, 40), 4, (1, 4, 16)
TRACKING_SWEEPS, LEARNING_SWEEPS = 1000, 50
RANDOM = pfn.Propagate(start="random")  # for the time of sweeps, without that of the start from the data


def first_call(run: Callable[[], object]) -> float:
    """Seconds of a call that compiles, less those of one that does not."""
    begin = perf_counter()
    run()
    middle = perf_counter()
    run()
    return 2 * middle - begin - perf_counter()


def tracking_sweep(rounds: int) -> None:
    network, scene = tracking(), {"x1": tracking_scene()["x1"]}

    def plain() -> None:
        run = PlainRun(network, scene, 1e-9, seed=0)
        for _ in range(TRACKING_SWEEPS):
            run.sweep()

    def ours(engine: str, dtype: str, **options: Any) -> Callable[[], object]:
        common = {"iterations": TRACKING_SWEEPS, "stall": None, "engine": engine, "dtype": dtype}
        return lambda: pfn.infer(network, scene, **common, **options)

    plainly = replace(RANDOM, acceleration=None)
    kinds = {
        ", errors every 100 sweeps": {"method": plainly, "measure": 100},
        ", errors every sweep": {"method": plainly},
        ", momentum": {"method": RANDOM},
    }
    runs = {
        f"{engine}, {dtype}{kind}": ours(engine, dtype, **options)
        for engine in ("numpy", "jax")
        for dtype in ("float64", "float32")
        for kind, options in kinds.items()
    }
    compiled = {name: f"{first_call(run):.1f}" if name.startswith("jax") else "" for name, run in runs.items()}
    times = alternate({"plain NumPy, float64, no errors": plain, **runs}, rounds)
    base = times["plain NumPy, float64, no errors"]
    rows = {
        name: (f"{time / TRACKING_SWEEPS * 1e6:.0f}", f"{base / time:.2f}", compiled.get(name, ""))
        for name, time in times.items()
    }
    title = f"One sweep of the tracking network, {TRACKING_SWEEPS} sweeps a run, medians of {rounds}"
    print(table(title, rows, ("µs", "times faster", "s to compile")))


def bare_products(dtype: str) -> Callable[[], object]:
    """W H, Q Hᵀ, W H, Wᵀ Q, W H of every equation, by NumPy."""
    generator, work = np.random.default_rng(0), []
    for rows, columns in zip((BINS, *SIZES), SIZES, strict=False):
        W = generator.random((rows, CHILDREN * columns)).astype(dtype)
        H = generator.random((CHILDREN * columns, SLICES)).astype(dtype)
        Q = generator.random((rows, SLICES)).astype(dtype)
        work.append((W, H, Q, np.empty_like(Q), np.empty_like(W), np.empty_like(H)))

    def run() -> None:
        for _ in range(LEARNING_SWEEPS):
            for W, H, Q, R, left, right in work:
                for a, b, out in ((W, H, R), (Q, H.T, left), (W, H, R), (W.T, Q, right), (W, H, R)):
                    np.dot(a, b, out=out)

    return run


def learning_sweep(dtype: str, rounds: int) -> None:
    network = hierarchy(BINS, SIZES, CHILDREN, SEPARATIONS)
    data = {"x1": np.random.default_rng(1).gamma(0.5, size=(BINS, SLICES)).astype(dtype)}

    def ours(engine: str, acceleration: Any) -> Callable[[], object]:
        method = pfn.Propagate(acceleration=acceleration)
        return lambda: pfn.learn(
            network, data, iterations=LEARNING_SWEEPS, stall=None, method=method, engine=engine, dtype=dtype
        )

    runs = {
        f"{engine}{', momentum' if acceleration else ''}": ours(engine, acceleration)
        for engine in ("numpy", "jax")
        for acceleration in (None, "momentum")
    }
    compiled = {name: f"{first_call(run):.1f}" if name.startswith("jax") else "" for name, run in runs.items()}
    times = alternate({"bare products, NumPy": bare_products(dtype), **runs}, rounds)
    base = times["bare products, NumPy"]
    rows = {
        name: (f"{time / LEARNING_SWEEPS * 1e3:.2f}", f"{time / base:.2f}", compiled.get(name, ""))
        for name, time in times.items()
    }
    title = f"One learning sweep of section 6, {dtype}, {LEARNING_SWEEPS} sweeps a run, medians of {rounds}"
    print(table(title, rows, ("ms", "times the products", "s to compile")))


def crossover(rounds: int) -> None:
    """NumPy and JAX, as sequences grow."""
    header = ("NumPy, ms", "JAX, ms", "times faster", "sweeps that repay the compilation")
    network, scene = tracking(), tracking_scene()["x1"]
    rows = {}
    for copies in (1, 8, 64, 512):
        data, sweeps = {"x1": np.tile(scene, copies)}, max(10, 400 // copies)
        question = partial(pfn.infer, network, data, iterations=sweeps, stall=None, method=RANDOM)
        rows[f"T = {data['x1'].shape[1]}"] = by_engine(question, sweeps, rounds)
    print(table(f"Tracking networks of growing length, float64, momentum, medians of {rounds}", rows, header))

    x, h = pfn.Variable("x", 513), pfn.Variable("h", 40)
    plain = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", shape=(x.size, h.size)) @ h))
    rows, sweeps = {}, 16  # in one call of the engine
    for slices in (1000, 4000, 16_000, 64_000):
        X = np.random.default_rng(0).gamma(0.5, size=(x.size, slices)).astype("float32")
        question = partial(pfn.learn, plain, {x: X}, iterations=sweeps, stall=None, method=RANDOM, dtype="float32")
        rows[f"T = {slices}"] = by_engine(question, sweeps, rounds)
    title = f"NMF of growing length, 513 rows, 40 components, float32, momentum, medians of {rounds}"
    print(table(title, rows, header))


def by_engine(question: Callable[..., object], sweeps: int, rounds: int) -> tuple[str, ...]:
    """Milliseconds of a sweep by engine, and when the compilation is repaid."""
    runs = {engine: partial(question, engine=engine) for engine in ("numpy", "jax")}
    jax.clear_caches()  # some have been compiled for another table
    begin = perf_counter()
    runs["jax"]()
    first = perf_counter() - begin
    whole = alternate(runs, rounds)
    times = {name: time / sweeps for name, time in whole.items()}
    compiled, saved = first - whole["jax"], times["numpy"] - times["jax"]
    return (
        f"{times['numpy'] * 1e3:.2f}",
        f"{times['jax'] * 1e3:.2f}",
        f"{times['numpy'] / times['jax']:.2f}",
        f"{compiled / saved:.0f}" if saved > 0 else "never",
    )


def sparse_products(rounds: int) -> None:
    rows = {}
    for shape, stored, columns in (((409, 1000), 3000, 2000), ((409, 1000), 20_000, 500), ((200, 400), 800, 300)):
        generator = np.random.default_rng(0)
        W = scipy.sparse.random_array(shape, density=stored / shape[0] / shape[1], rng=generator, format="csr")
        W, S = W.astype(np.float32), generator.random((shape[1], columns)).astype(np.float32)
        arguments = jax.device_put((make_pattern(W).apply, W.data, S, W.toarray()))
        gather = jax.jit(product)
        dense = jax.jit(lambda W, S: W @ S)
        times = alternate(
            {
                "gathers": lambda gather=gather, a=arguments: gather(*a[:3]).block_until_ready(),
                "dense": lambda dense=dense, a=arguments: dense(a[3], a[2]).block_until_ready(),
                "scipy": lambda W=W, S=S: W @ S,
            },
            rounds,
        )
        cells = tuple(f"{times['dense'] / time:.1f}" for time in times.values())
        rows[f"{shape[0]} × {shape[1]}, {stored} entries, {columns} columns"] = (
            f"{times['dense'] * 1e3:.2f}",
            *cells[::2],
            f"{GATHER_COST * gathered(W) / shape[0] / shape[1]:.2f}",
        )
    title = f"One product with a sparse matrix, float32, medians of {rounds}"
    print(table(title, rows, ("dense, ms", "gathers, times faster", "SciPy, times faster", "estimated share")))


def main(rounds: int, tables: list[str]) -> None:
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}")
    if "tracking" in tables:
        tracking_sweep(rounds)
    if "learning" in tables:
        for dtype in ("float64", "float32"):
            learning_sweep(dtype, rounds)
    if "sparse" in tables:
        sparse_products(rounds)
    if "crossover" in tables:
        crossover(rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("tables", nargs="*", default=["tracking", "learning", "sparse", "crossover"])
    chosen = parser.parse_args()
    main(chosen.rounds, chosen.tables)
