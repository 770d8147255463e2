"""Is convolutive NMF (sequences of frames as components) as fast as torchnmf's NMFD and libnmfd?

All minimise the Kullback-Leibler divergence by multiplicative updates from the same start. Within an iteration torchnmf
updates W with the new H, as our sweeps update H with the new W; libnmfd takes both from the same ratios X / (W H), as
ours do with updates="joint". So the table also has the divergence that was reached.
"""

import argparse
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import kl_div

import pfn
from benchmarks.convergence import PLAIN, recordings
from benchmarks.peers import CONVOLUTIVE, Found, Peer, usable
from benchmarks.side_by_side import alternate, table
from tests.networks import hierarchy

ITERATIONS = 60
SWEEPS = {
    "plain sweep": pfn.Propagate(acceleration=None),
    "momentum": pfn.Propagate(),
    "joint updates": pfn.Propagate(acceleration=None, updates="joint"),
}


class Size(NamedTuple):
    """Of the data and of the components."""

    bins: int
    slices: int
    components: int
    frames: int


MUSIC, DRUMS = Size(513, 1000, 20, 10), Size(1025, 2000, 3, 10)


def problem(size: Size, dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gamma-distributed data and a start: W is (bins, components, frames)."""
    generator = np.random.default_rng(0)
    X = generator.gamma(0.5, size=(size.bins, size.slices))
    W = generator.random((size.bins, size.components, size.frames))
    H = generator.random((size.components, size.slices))
    W /= W.sum(axis=(0, 2), keepdims=True)
    return X.astype(dtype), W.astype(dtype), H.astype(dtype)


@cache
def convolutive(size: Size) -> pfn.Network:
    return hierarchy(size.bins, (size.components,), size.frames, (1,))


def ours(method: pfn.Propagate, engine: str) -> Peer:
    def run(X: np.ndarray, W: np.ndarray, H: np.ndarray, iterations: int) -> Found:
        bins, components, frames = W.shape
        network = convolutive(Size(bins, H.shape[1], components, frames))
        initial = {f"W1_{k + 1}": W[:, :, k] for k in range(frames)} | {"x2": H}
        common = {"iterations": iterations, "tolerance": None, "stall": None, "measure": 10, "dtype": X.dtype}
        result = pfn.learn(network, {"x1": X}, method=method, engine=engine, initial=initial, **common)
        return np.stack([result[f"W1_{k + 1}"] for k in range(frames)], axis=2), result["x2"]

    return run


def bare_products(X: np.ndarray, W: np.ndarray, H: np.ndarray, iterations: int) -> Found:
    """W H and A Hᵀ for W, W H and Wᵀ A for H, with the lags of H stacked."""
    stacked = np.tile(H, (W.shape[2], 1))
    flat = np.ascontiguousarray(W.reshape(len(W), -1))
    R, left, right = np.empty_like(X), np.empty_like(flat), np.empty_like(stacked)
    for _ in range(iterations):
        np.dot(flat, stacked, out=R)
        np.dot(X, stacked.T, out=left)
        np.dot(flat, stacked, out=R)
        np.dot(flat.T, X, out=right)
    return W, H


def divergence(X: np.ndarray, W: np.ndarray, H: np.ndarray) -> float:
    """Of X from the convolution, at the best scale: libnmfd factorizes X / sum(X)."""
    R = np.zeros_like(X, dtype=float)
    for k in range(W.shape[2]):
        count = min(H.shape[1], X.shape[1] - k)
        R[:, k : k + count] += W[:, :, k].astype(float) @ H[:, :count]
    R *= X.sum(dtype=float) / R.sum()
    return float(kl_div(X, R).sum())


def on_recordings(files: int, sweeps: int) -> None:
    """What each method of ours ends at, from its own start."""
    methods = {
        "plain sweeps of the paper": PLAIN,
        "pooled": replace(PLAIN, averaging="pooled"),
        "momentum": pfn.Propagate(),
        "joint updates, momentum": pfn.Propagate(updates="joint"),
        "substitution": pfn.Substitute(),
    }
    rows = {}
    for name, X in recordings(files):
        network = convolutive(Size(len(X), X.shape[1], 12, 10))
        options = {"iterations": sweeps, "stall": None, "measure": sweeps, "dtype": "float32", "progress": False}
        runs = [pfn.learn(network, {"x1": X}, method=method, **options) for method in methods.values()]
        rows[name] = tuple(f"{run.history.divergence[-1] / runs[0].history.divergence[-1]:.3f}" for run in runs)
    title = f"Divergence after {sweeps} sweeps, 12 components of 10 frames, of that of plain sweeps"
    print(table(title, rows, tuple(methods)))


def main(rounds: int, dtype: str) -> None:
    contestants = {
        "four bare products": bare_products,
        **{
            f"pfn, {engine}{sweep}": ours(method, {"": "numpy", "JAX, ": "jax"}[engine])
            for engine, (sweep, method) in product(("", "JAX, "), SWEEPS.items())
        },
        **usable(CONVOLUTIVE, *problem(MUSIC, "float64")),
    }
    for size in (MUSIC, DRUMS):
        X, W, H = problem(size, dtype)
        runs = {name: partial(run, X, W, H, ITERATIONS) for name, run in contestants.items()}
        times = alternate(runs, rounds)
        peers = [peer for peer in CONVOLUTIVE if peer in times]
        reached = {name: divergence(X, *run()) for name, run in runs.items() if contestants[name] is not bare_products}
        rows = {
            name: (
                f"{1e3 * seconds / ITERATIONS:.1f}",
                *(f"{times[peer] / seconds:.2f} times" for peer in peers),
                f"{reached[name] / reached['pfn, plain sweep']:.3f}" if name in reached else "",
            )
            for name, seconds in times.items()
        }
        header = ("ms an iteration", *(f"{peer} takes" for peer in peers), "divergence")
        title = (
            f"{size.bins} × {size.slices}, {size.components} components of {size.frames} frames, {dtype}, "
            f"medians of {rounds} runs of {ITERATIONS} iterations"
        )
        print(table(title, rows, header), flush=True)
    on_recordings(files=4, sweeps=100)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    chosen = parser.parse_args()
    main(chosen.rounds, chosen.dtype)
