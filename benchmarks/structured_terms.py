"""What do structured terms cost: a decay against lags, and the note machines of a piano against plain NMF?"""

import argparse

import numpy as np

import pfn
from benchmarks.side_by_side import alternate, table
from pfn import t

ROWS, NOTES, FRAMES, ATTACK = 273, 88, 1900, 10
LENGTHS = (4, 8, 16, 32, 64, 128, np.inf)
SWEEPS = 80


def main(rounds: int) -> None:
    print(table(*decays(rounds), ("ms a sweep", "ratio")))
    print(table(*machines(rounds), ("ms a sweep", "ratio")))


def decays(rounds: int) -> tuple[str, dict[str, tuple[str, str]]]:
    """Sweeps of one equation with a decay of several lengths, and with the same written as lags."""
    generator = np.random.default_rng(0)
    x, h = pfn.Variable("x", 20), pfn.Variable("h", NOTES)
    W, rates = generator.random((20, NOTES)), generator.uniform(0.9, 1, NOTES)
    X = generator.random((20, FRAMES))

    def lags(length: int) -> pfn.Network:
        terms = sum(pfn.Parameter(f"W{j}", W * rates**j) @ h[t - j] for j in range(length))
        return pfn.Network(pfn.Factorization(x[t], terms))

    networks = {"8 lags": lags(8), "32 lags": lags(32)}
    for length in (8, 32, 128, np.inf):
        term = pfn.Parameter("W", W) @ pfn.decay(h[t], rates, length)
        networks[f"decay of {'any' if length == np.inf else length} slices"] = pfn.Network(
            pfn.Factorization(x[t], term)
        )
    times = alternate({name: sweeps_of(network, x, X, pfn.PAPER) for name, network in networks.items()}, rounds)
    return f"One equation, 20 × {FRAMES} from {NOTES} components, medians of {rounds}", rows_of(times, "8 lags")


def machines(rounds: int) -> tuple[str, dict[str, tuple[str, str]]]:
    """Sweeps of the note machines, and of plain NMF with as many rows, notes and frames."""
    generator = np.random.default_rng(0)
    X = generator.random((ROWS, FRAMES))
    W = generator.random((ROWS, NOTES)) ** 8
    spectrum, event = pfn.Variable("spectrum", ROWS), pfn.Variable("event", NOTES)
    nmf = pfn.Network(pfn.Factorization(spectrum[t], pfn.Parameter("W", W) @ event[t]))
    piano = note_machines(spectrum, generator)
    runs = {
        "plain NMF in NumPy, without errors": lambda: plain_nmf(X, W),
        "plain NMF": sweeps_of(nmf, spectrum, X, pfn.PAPER),
        "note machines, substituted": sweeps_of(piano, spectrum, X, pfn.Substitute(acceleration=None)),
    }
    title = f"Note machines: {ROWS} × {FRAMES}, {NOTES} notes, {ATTACK} slices of attack, {len(LENGTHS)} lengths"
    return title, rows_of(alternate(runs, rounds), "plain NMF in NumPy, without errors")


def note_machines(spectrum: pfn.Variable, generator: np.random.Generator) -> pfn.Network:
    """Events start an attack; then a tone decays until the note is let go."""
    clean, noise = pfn.Variable("clean", ROWS), pfn.Variable("noise", 6)
    on, held = pfn.Variable("on", NOTES), pfn.Variable("held", NOTES)
    events = [pfn.Variable(f"event{n}", NOTES) for n in range(len(LENGTHS) + 1)]  # the last without a tone
    attack = [pfn.Parameter(f"attack{k}", generator.random((ROWS, NOTES)) ** 8) for k in range(ATTACK)]
    tone = pfn.Parameter("tone", generator.random((ROWS, NOTES)) ** 8)
    gain, floor = pfn.Diagonal("gain", np.ones(ROWS)), pfn.Parameter("floor", generator.random((ROWS, 6)))
    rates = np.exp(-generator.uniform(0.01, 0.1, NOTES))
    return pfn.Network(
        pfn.Factorization(spectrum[t], gain @ clean[t] + floor @ noise[t]),
        pfn.Factorization(clean[t], sum(attack[k] @ on[t - k] for k in range(ATTACK)) + tone @ held[t]),
        pfn.Factorization(on[t], sum(event[t] for event in events)),
        pfn.Factorization(
            held[t], sum(pfn.decay(e[t - ATTACK], rates, n) for e, n in zip(events, LENGTHS, strict=False))
        ),
    )


def plain_nmf(X: np.ndarray, W: np.ndarray) -> None:
    H, sums = np.ones((W.shape[1], X.shape[1])), W.sum(axis=0)[:, None]
    for _ in range(SWEEPS):
        H *= (W.T @ (X / (W @ H + 1e-9))) / sums


def sweeps_of(network: pfn.Network, x: pfn.Variable, X: np.ndarray, method: object):
    return lambda: pfn.infer(
        network, {x: X}, method=method, iterations=SWEEPS, stall=None, tolerance=None, progress=False
    )


def rows_of(times: dict[str, float], base: str) -> dict[str, tuple[str, str]]:
    return {name: (f"{time / SWEEPS * 1e3:.1f}", f"{time / times[base]:.2f}") for name, time in times.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    main(parser.parse_args().rounds)
