"""How close is learning on a spectrogram (512 × 622, 4 × 50 columns) to its five bare matrix products?"""

import argparse
from collections.abc import Callable

import numpy as np

import pfn
from benchmarks.side_by_side import alternate, table
from tests.networks import hierarchy

BINS, SLICES, EVENTS, LAGS = 512, 622, 50, 4
SWEEPS = 100


def five_products(dtype: str) -> Callable[[], None]:
    """W H, Q Hᵀ, W H, Wᵀ Q, W H, into buffers."""
    generator = np.random.default_rng(0)
    W = generator.random((BINS, LAGS * EVENTS)).astype(dtype)
    H = generator.random((LAGS * EVENTS, SLICES)).astype(dtype)
    Q, R = np.empty((BINS, SLICES), dtype), np.empty((BINS, SLICES), dtype)
    left, right = np.empty_like(W), np.empty_like(H)
    Q[:] = generator.random(Q.shape)

    def run() -> None:
        for _ in range(SWEEPS):
            np.dot(W, H, out=R)
            np.dot(Q, H.T, out=left)
            np.dot(W, H, out=R)
            np.dot(W.T, Q, out=right)
            np.dot(W, H, out=R)

    return run


def main(rounds: int) -> None:
    network = hierarchy(BINS, (EVENTS,), LAGS, (1,))
    X = np.random.default_rng(1).gamma(0.5, size=(BINS, SLICES))
    for dtype in ("float64", "float32"):
        data = {"x1": X.astype(dtype)}

        def learn(method: pfn.Propagate, data: dict[str, np.ndarray] = data, dtype: str = dtype) -> pfn.Result:
            return pfn.learn(network, data, iterations=SWEEPS, stall=None, method=method, dtype=dtype)

        times = alternate(
            {
                "five bare products": five_products(dtype),
                "pfn.learn, plain sweep": lambda: learn(pfn.Propagate(acceleration=None)),
                "pfn.learn, sweep with momentum": lambda: learn(pfn.Propagate()),
            },
            rounds,
        )
        base = times["five bare products"]
        rows = {name: (f"{t / SWEEPS * 1e3:.2f}", f"{t / base:.2f}") for name, t in times.items()}
        print(
            table(
                f"One learning sweep, {dtype}, medians of {rounds} runs of {SWEEPS}",
                rows,
                ("ms", "times the products"),
            )
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    main(parser.parse_args().rounds)
