"""Is plain NMF with the Kullback-Leibler divergence as fast as what people use, per iteration and to equal error?

All start from the same W and H. Like scikit-learn with tol=0, pfn looks at its errors after the last iteration only;
with momentum it needs the divergence in each, which is counted, and torchnmf cannot but look in every tenth.
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import kl_div

import pfn
from benchmarks.peers import PLAIN, Found, Peer, usable
from benchmarks.side_by_side import alternate, table
from pfn import t

BINS, SLICES, COMPONENTS = 513, 1000, 50
ITERATIONS = 200  # scikit-learn's default
TARGETS = (100, 300)
REFERENCE = 'scikit-learn, solver="mu"'


def problem(dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Data like a spectrogram: more sources than components, gamma-distributed, with a noise floor; a start."""
    generator = np.random.default_rng(0)
    sources = generator.gamma(0.3, size=(BINS, 80)) @ generator.gamma(0.3, size=(80, SLICES))
    X = sources + 0.01 * generator.random((BINS, SLICES))
    scale = np.sqrt(X.mean() / COMPONENTS)
    W, H = (scale * generator.random(shape) for shape in ((BINS, COMPONENTS), (COMPONENTS, SLICES)))
    return X.astype(dtype), W.astype(dtype), H.astype(dtype)


def ours(**options: Any) -> Peer:
    """pfn.learn, from the same start."""
    x, h, W = pfn.Variable("x", BINS), pfn.Variable("h", COMPONENTS), pfn.Parameter("W", shape=(BINS, COMPONENTS))
    network = pfn.Network(pfn.Factorization(x[t], W @ h[t]))

    def run(X: np.ndarray, start: np.ndarray, activations: np.ndarray, iterations: int) -> Found:
        initial = {"W": start, "h": activations}
        common = {"iterations": iterations, "initial": initial, "dtype": X.dtype, "tolerance": None, "stall": None}
        result = pfn.learn(network, {"x": X}, measure=iterations, **common, **options)
        return result["W"], result["h"]

    return run


def four_products(X: np.ndarray, W: np.ndarray, H: np.ndarray, iterations: int) -> Found:
    """What an iteration cannot do without: W H and A Hᵀ for W, W H and Wᵀ A for H."""
    R, left, right = np.empty_like(X), np.empty_like(W), np.empty_like(H)
    for _ in range(iterations):
        np.dot(W, H, out=R)
        np.dot(X, H.T, out=left)
        np.dot(W, H, out=R)
        np.dot(W.T, X, out=right)
    return W, H


PLAIN_SWEEP, MOMENTUM = pfn.Propagate(acceleration=None), pfn.Propagate()
OURS = {
    "pfn, plain sweep": ours(method=PLAIN_SWEEP),
    "pfn, momentum": ours(method=MOMENTUM),
    "pfn, JAX, plain sweep": ours(method=PLAIN_SWEEP, engine="jax"),
    "pfn, JAX, momentum": ours(method=MOMENTUM, engine="jax"),
}


def divergence(X: np.ndarray, found: Found) -> float:
    return float(kl_div(X.astype(float), found[0].astype(float) @ found[1]).sum())


def least_iterations(run: Callable[[int], float], goal: float, most: int) -> int:
    """The fewest iterations that reach the goal, to one in fifty, by bisection; the most if none does."""
    low, high = 0, most
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if run(middle) <= goal else (middle, high)
    return high


def per_iteration(dtype: str, contestants: dict[str, Peer], rounds: int) -> dict[str, float]:
    X, W, H = problem(dtype)
    runs = {name: partial(run, X, W, H, ITERATIONS) for name, run in contestants.items()}
    times = alternate(runs, rounds)
    base = times[REFERENCE] if REFERENCE in times else times["four bare products"]
    rows = {name: (f"{1e3 * s / ITERATIONS:.2f}", f"{s / base:.2f}") for name, s in times.items()}
    title = f"{BINS} × {SLICES}, {COMPONENTS} components, {dtype}, medians of {rounds} runs of {ITERATIONS} iterations"
    print(table(title, rows, ("ms an iteration", f"times {REFERENCE if REFERENCE in times else 'the products'}")))
    return {name: seconds / ITERATIONS for name, seconds in times.items()}


def to_equal_error(dtype: str, contestants: dict[str, Peer], seconds: dict[str, float]) -> None:
    """How many iterations reach the divergence of so many multiplicative updates, and how long they take."""
    X, W, H = problem(dtype)
    rows: dict[str, tuple[str, ...]] = dict.fromkeys(contestants, ())
    for target in TARGETS:
        goal = divergence(X, OURS["pfn, plain sweep"](X, W, H, target))
        for name, run in contestants.items():
            needed = target
            if "momentum" in name:
                needed = least_iterations(lambda n, run=run: divergence(X, run(X, W, H, n)), goal, target)
            ratio = needed * seconds[name] / (target * seconds[REFERENCE]) if REFERENCE in seconds else float("nan")
            rows[name] += (str(needed), f"{ratio:.2f}")
    header = tuple(part for target in TARGETS for part in (f"as good as {target}", f"time, {REFERENCE} = 1"))
    print(table(f"Iterations to the divergence of plain multiplicative updates, {dtype}", rows, header))


def main(rounds: int) -> None:
    peers = usable(PLAIN, *problem("float64"))
    for dtype in ("float32", "float64"):
        contestants = {"four bare products": four_products, **OURS, **peers}
        seconds = per_iteration(dtype, contestants, rounds)
        to_equal_error(dtype, OURS, seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    main(parser.parse_args().rounds)
