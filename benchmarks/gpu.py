"""How fast is a GPU: section 6 at the paper's size and at 2048 × 65,536, the tracking network, plain NMF?

Sweeps are timed after compilation, without the start of a run, and stand beside their bare matrix products: five
an equation with learning (of which joint updates need four), in the same precision. The paper's 800 sweeps are timed
as users see them, call to result.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import jax
import numpy as np

import pfn
from benchmarks.side_by_side import alternate, table
from pfn.engines import Run, Stretch, make_run
from pfn.solve.interruption import Interruption
from pfn.solve.options import make_request
from pfn.solve.progress import Bar
from pfn.solve.propagation import make_problem
from tests.networks import hierarchy, plain_nmf, tracking, tracking_scene

CHILDREN, SEPARATIONS = 4, (1, 4, 16)
PAPER, LARGE = (512, (50, 40, 40), 622), (2048, (256, 256, 256), 65_536)  # rows, components by level, slices
METHODS = {
    "plain": pfn.Propagate(acceleration=None),
    "joint updates": pfn.Propagate(acceleration=None, updates="joint"),
    "momentum": pfn.Propagate(),
    "joint updates, momentum": pfn.Propagate(updates="joint"),
}
PRECISIONS = {"float64": ("float64", "full"), "float32": ("float32", "full"), "TF32": ("float32", "tf32")}


def make(network: pfn.Network, data: dict[str, np.ndarray], kind: str, method: str, *, learning: bool = True) -> Run:
    """A run whose sweeps can be timed alone."""
    dtype, precision = PRECISIONS[kind]
    common = dict.fromkeys(("tolerance", "stall", "weights", "callback", "checkpoint", "resume", "initial"))
    common |= {"iterations": 1, "checkpoint_every": 1, "seed": 0, "engine": "jax", "dtype": dtype}
    common |= {"precision": precision}
    request = make_request(network, data, common, learning=learning, bar=Bar(), interruption=Interruption())
    return make_run("jax", make_problem(request, METHODS[method]))


class Sweeper:
    """So many sweeps more in every call; `rmse` is that of the first equation after all of them."""

    def __init__(self, run: Run, sweeps: int) -> None:
        self._run, self._sweeps, self._past = run, sweeps, list[float]()
        self.rmse = float("nan")

    def __call__(self) -> None:
        """Sweep."""
        first = len(self._past)
        lowest = min(self._past, default=float("inf"))
        stretch = Stretch(first, self._sweeps, sparseness=lambda _number: {}, steps=first, lowest=lowest)
        found = self._run.advance(stretch)
        self._past.extend(errors.divergence for errors in found)
        self.rmse = found[-1].rmse.get("eq1", float("nan"))


@contextmanager
def products(kind: str) -> Iterator[None]:
    """The settings under which products are of this precision."""
    with jax.enable_x64(True), jax.default_matmul_precision("tensorfloat32" if kind == "TF32" else "highest"):
        yield


def bare(shapes: list[tuple[int, int, int]], kind: str, sweeps: int) -> Callable[[], object]:
    """W H, Q Hᵀ, W H, Wᵀ Q, W H of every equation (rows, inner, columns), each of other values."""
    dtype = PRECISIONS[kind][0]

    @jax.jit
    def once(work: list[Any]) -> list[Any]:
        return [(W @ H, Q @ G.T, W @ G, W.T @ Q, V @ H) for W, V, H, G, Q in work]

    with products(kind):
        work = []
        for number, (rows, inner, columns) in enumerate(shapes):
            keys = jax.random.split(jax.random.key(number), 5)
            sizes = ((rows, inner), (rows, inner), (inner, columns), (inner, columns), (rows, columns))
            work.append([jax.random.uniform(key, size, dtype) for key, size in zip(keys, sizes, strict=True)])

    def go() -> None:
        with products(kind):
            for _ in range(sweeps):
                found = once(work)
            jax.block_until_ready(found)

    return go


def section_6(size: tuple[int, tuple[int, ...], int], kinds: list[str], *, sweeps: int, rounds: int) -> None:
    rows, components, slices = size
    network = hierarchy(rows, components, CHILDREN, SEPARATIONS)
    data = {"x1": np.random.default_rng(1).random((rows, slices), np.float32)}
    shapes = [(a, CHILDREN * b, slices) for a, b in zip((rows, *components), components, strict=False)]
    operations = sum(2 * 5 * a * b * c for a, b, c in shapes)
    cells: dict[str, tuple[str, ...]] = {}
    for kind in kinds:
        contestants: dict[str, Callable[[], object]] = {"bare products": bare(shapes, kind, sweeps)}
        for method in METHODS:
            contestants[method] = Sweeper(make(network, data, kind, method), sweeps)
        times = alternate(contestants, rounds)
        for name, time in times.items():
            rate, share = operations * sweeps / time / 1e12, times["bare products"] / time
            error = f"{getattr(contestants[name], 'rmse', float('nan')):.5f}".replace("nan", "")
            cells[f"{kind}, {name}"] = (f"{time / sweeps * 1e3:.3f}", f"{rate:.1f}", f"{100 * share:.0f}", error)
    title = f"One learning sweep of section 6, {rows} × {slices}, levels of {components}, medians of {rounds}"
    error = f"RMSE of eq1 after {(rounds + 1) * sweeps} sweeps"
    print(table(title, cells, ("ms", "Tflop/s of five products", "% of the products' rate", error)), flush=True)


def paper_run(rounds: int) -> None:
    rows, components, slices = PAPER
    network = hierarchy(rows, components, CHILDREN, SEPARATIONS)
    data = {"x1": np.random.default_rng(1).gamma(0.5, size=(rows, slices))}

    def run(kind: str, method: str) -> pfn.Result:
        dtype, precision = PRECISIONS[kind]
        options: dict[str, Any] = {"method": METHODS[method], "dtype": dtype, "precision": precision}
        return pfn.learn(network, data, iterations=800, stall=None, engine="jax", progress=False, **options)

    cells = {}
    for kind in PRECISIONS:
        for method in METHODS:
            begin = perf_counter()
            result = run(kind, method)
            first = perf_counter() - begin
            time = alternate({"": lambda kind=kind, method=method: run(kind, method)}, rounds)[""]
            cells[f"{kind}, {method}"] = (f"{time:.3f}", f"{first - time:.1f}", f"{result.rmse['eq1']:.5f}")
    title = f"800 sweeps of section 6, {rows} × {slices}, call to result, medians of {rounds}"
    print(table(title, cells, ("s", "s to compile", "RMSE of eq1")), flush=True)


def others(rounds: int) -> None:
    scene = {"x1": tracking_scene()["x1"]}
    X = np.random.default_rng(1).random((2048, 8192), np.float32)
    cells = {}
    for kind in PRECISIONS:
        contestants: dict[str, Callable[[], object]] = {"products of NMF": bare([(2048, 256, 8192)], kind, 40)}
        for method in ("plain", "momentum"):
            contestants[f"NMF, {method}"] = Sweeper(make(plain_nmf(2048, 256), {"x": X}, kind, method), 40)
            if kind != "TF32":
                tracker = make(tracking(), scene, kind, method, learning=False)
                contestants[f"tracking, {method}"] = Sweeper(tracker, 40)
        times = alternate(contestants, rounds)
        cells |= {f"{kind}, {name}": (f"{time / 40 * 1e6:.0f}",) for name, time in times.items()}
    print(table(f"One sweep, medians of {rounds}; NMF: 2048 × 8192, 256 components", cells, ("µs",)), flush=True)


def main(rounds: int, tables: list[str]) -> None:
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}", flush=True)
    if "run" in tables:
        paper_run(rounds)
    if "paper" in tables:
        section_6(PAPER, list(PRECISIONS), sweeps=200, rounds=rounds)
    if "others" in tables:
        others(rounds)
    if "large" in tables:
        section_6(LARGE, ["float32", "TF32"], sweeps=8, rounds=min(rounds, 5))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("tables", nargs="*", default=["run", "paper", "others", "large"])
    chosen = parser.parse_args()
    main(chosen.rounds, chosen.tables)
