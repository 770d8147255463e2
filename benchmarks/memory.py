"""How much memory does learning need, beyond the data?

The promise for propagation: at most twice the hidden and learned values (the second time for the momentum), and three
times the largest equation's child matrix. A variable with some hidden entries is hidden in this sense; several
sequences are laid side by side, which takes their data once more. Substitution promises nothing.
"""

import tracemalloc
from typing import Any

import numpy as np

import pfn
from benchmarks.side_by_side import table
from tests.networks import hierarchy

BINS, SLICES = 512, 622


def peak(network: pfn.Network, data: Any, method: str) -> float:
    """The peak of a run in bytes, without the data."""
    pfn.learn(network, {"x1": data}, iterations=1, method=method)
    tracemalloc.start()
    pfn.learn(network, {"x1": data}, iterations=3, method=method)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def promised(network: pfn.Network, data: Any) -> float:
    """What propagation may take."""
    arrays = data if isinstance(data, list) else [data]
    entries = {v.name: v.size * SLICES for v in network.variables}
    observed = entries["x1"]
    if not any(np.isnan(array).any() for array in arrays):
        del entries["x1"]
    values = sum(entries.values()) + sum(p.shape[0] * p.shape[1] for p in network.parameters)
    children = max(e.rows for e in network.factorizations) * SLICES
    side_by_side = observed if len(arrays) > 1 else 0
    return (2 * values + 3 * children + side_by_side) * arrays[0].itemsize


def main() -> None:
    generator = np.random.default_rng(0)
    X = generator.gamma(0.5, size=(BINS, SLICES))
    hidden = np.where(generator.random(X.shape) < 0.01, np.nan, X)
    networks = {
        "512 × 622, 4 × 50 columns": hierarchy(BINS, (50,), 4, (1,)),
        "section 6: 50, 40, 40 components": hierarchy(BINS, (50, 40, 40), 4, (1, 4, 16)),
    }
    kinds: dict[str, Any] = {"": X, ", 1 % hidden": hidden}
    kinds |= {f", {n} sequences": np.array_split(X, n, axis=1) for n in (2, 20)}
    kinds[", 2 sequences, 1 % hidden"] = np.array_split(hidden, 2, axis=1)
    rows = {}
    for name, network in networks.items():
        for kind, data in kinds.items():
            found, most = peak(network, data, "propagate"), promised(network, data)
            other = peak(network, data, "substitute")
            cells = [f"{size / 1e6:.1f}" for size in (found, most)]
            rows[name + kind] = (*cells, f"{found / most:.2f}", f"{other / 1e6:.1f}", f"{other / found:.1f}")
    header = ("MB", "promised MB", "ratio", "substitution MB", "times propagation")
    print(table("Peak memory of pfn.learn beside the data, float64", rows, header))


if __name__ == "__main__":
    main()
