"""How are large equations solved fastest in a sweep of consensus: sparse factors, an inverse, or conjugate gradients?

Machines whose states have three random followers each, twenty superposed walks, a third of the slices observed. NumPy
chooses between sparse factors and an inverse, JAX between an inverse and conjugate gradients; here each of the two,
with products by gathers. Before the first sweep, factors or the inverse are made; compilation is not counted.
"""

import argparse
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import jax
import numpy as np
import scipy.sparse

import pfn
from benchmarks.side_by_side import alternate, table
from pfn.exact import planes_jax
from pfn.exact.planes_jax import Gradients, Plane, make_plane

FOLLOWERS, WALKS, SWEEPS = 3, 20, 20
SIZES = [(300, 100), (1000, 30), (1000, 200), (2000, 100), (4000, 50)]  # states, slices
WAYS = {"inverse": lambda *_: True, "gradients": lambda *_: False}


def machine(states: int, slices: int) -> tuple[pfn.Network, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    before, after = np.repeat(np.arange(states), FOLLOWERS), rng.integers(states, size=states * FOLLOWERS)
    places = (np.concatenate([before, states + after]), np.tile(np.arange(before.size), 2))
    W = scipy.sparse.csr_array((np.ones(2 * before.size), places), (2 * states, before.size))
    x, h = pfn.Variable("x", states), pfn.Variable("h", before.size)
    network = pfn.Network(pfn.Factorization([x[pfn.t], x[pfn.t + 1]], pfn.Parameter("W", W) @ h[pfn.t]))
    X, at = np.zeros((states, slices)), rng.integers(states, size=WALKS)
    for column in X.T:
        np.add.at(column, at, 1.0)
        at = after[at * FOLLOWERS + rng.integers(FOLLOWERS, size=WALKS)]
    X[:, np.arange(slices) % 3 > 0] = np.nan
    return network, {"x": X}


def chosen(network: pfn.Network, slices: int) -> str:
    matrix = network.parameters[0].value
    return "gradients" if isinstance(make_plane(Plane(matrix), slices).solver, Gradients) else "inverse"


def compare(states: int, slices: int, rounds: int, count: int) -> tuple[str, ...]:
    """Milliseconds of a sweep, and what comes before the first, from runs of two lengths."""
    network, data = machine(states, slices)

    def run(way: str, sweeps: int) -> None:
        options = {
            "method": "consensus",
            "engine": "jax" if way in WAYS else "numpy",
            "iterations": sweeps,
            "stall": None,
        }
        with patch.object(planes_jax, "_inverse_pays", WAYS.get(way)):
            pfn.infer(network, data, tolerance=None, **options)

    ways = ["factors", *WAYS]
    runs: dict[str, Callable[[], object]] = {
        f"{way} {sweeps}": partial(run, way, sweeps) for way in ways for sweeps in (1, 1 + count)
    }
    times = alternate(runs, rounds)
    first = {way: times[f"{way} 1"] for way in ways}
    each = {way: 1e3 * (times[f"{way} {1 + count}"] - first[way]) / count for way in ways}
    cells = (f"{each[way]:.1f} ({first[way]:.1f})" for way in ways)
    return (*cells, f"{each['inverse'] / each['gradients']:.2f}", chosen(network, slices))


def main(rounds: int, largest: int, sweeps: int) -> None:
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}")
    rows = {
        f"{states} states, {slices} slices": compare(states, slices, rounds, sweeps)
        for states, slices in SIZES
        if states <= largest
    }
    title = f"ms of a sweep (s before the second one), float64, medians of {rounds}"
    header = ("NumPy", "JAX, inverse", "JAX, gradients", "inverse / gradients", "JAX chooses")
    print(table(title, rows, header))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--largest", type=int, default=2000, help="states; 4000 takes minutes")
    parser.add_argument("--sweeps", type=int, default=SWEEPS, help="of the longer runs; on a GPU 200")
    arguments = parser.parse_args()
    main(arguments.rounds, arguments.largest, arguments.sweeps)
