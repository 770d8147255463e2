"""How much memory does learning need, beyond the data?

The promise: at most twice the hidden and learned values (the second time for the momentum), and three times the
largest equation's child matrix.
"""

import tracemalloc

import numpy as np

import pfn
from benchmarks.side_by_side import table
from tests.networks import hierarchy

BINS, SLICES = 512, 622


def measure(network: pfn.Network, X: np.ndarray) -> tuple[float, float]:
    """The peak of a run in bytes, and what was promised, both without the data."""
    pfn.learn(network, {"x1": X}, iterations=1)
    tracemalloc.start()
    result = pfn.learn(network, {"x1": X}, iterations=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    values = sum(result[v].size for v in network.variables if v.name != "x1")
    values += sum(result[p].size for p in network.parameters)
    children = max(e.rows * X.shape[1] for e in network.factorizations)
    return peak, (2 * values + 3 * children) * X.itemsize


def main() -> None:
    X = np.random.default_rng(0).gamma(0.5, size=(BINS, SLICES))
    cases = {
        "512 × 622, 4 × 50 columns": hierarchy(BINS, (50,), 4, (1,)),
        "section 6: 50, 40, 40 components": hierarchy(BINS, (50, 40, 40), 4, (1, 4, 16)),
    }
    rows = {}
    for name, network in cases.items():
        peak, promised = measure(network, X)
        rows[name] = (f"{peak / 1e6:.1f}", f"{promised / 1e6:.1f}", f"{peak / promised:.2f}")
    print(table("Peak memory of pfn.learn beside the data, float64", rows, ("MB", "promised MB", "ratio")))


if __name__ == "__main__":
    main()
