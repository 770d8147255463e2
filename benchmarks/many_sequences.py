"""Can ten thousand sequences be learned from in bounded memory, and as well as with all of them in memory?

A folder of sequences of 100 to 1,000 slices, echoes of four kinds of events with a little noise, is learned from batch
by batch and, in another process, all at once. Peak memory is what a process needs beyond a small run before it.
With `--quick` there are 500 of them.
"""

import json
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import pfn
from benchmarks.side_by_side import alternate, table
from pfn import t

ROWS, EVENTS, LAGS, HELD_OUT = 12, 4, 2, 50
SWEEPS = 100  # over all data in memory
ROUNDS = 5
BATCHES = pfn.Batches(size=100)
x, event = pfn.Variable("x", ROWS), pfn.Variable("event", EVENTS)
PARTS = [pfn.Parameter(f"W{lag}", shape=(ROWS, EVENTS)) for lag in range(LAGS)]
NETWORK = pfn.Network(
    pfn.Factorization(x[t], sum(PARTS[lag] @ event[t - lag] for lag in range(LAGS)), normalize="sequences")
)


def write(folder: Path, count: int) -> int:
    """Write the sequences, one file each; how many bytes they have."""
    generator = np.random.default_rng(0)
    parts = generator.gamma(0.3, 1, (LAGS, ROWS, EVENTS))
    size = 0
    for number, length in enumerate(generator.integers(100, 1001, count)):
        events = generator.gamma(1, 1, (EVENTS, length)) * (generator.random((EVENTS, length)) < 0.1)
        values = 0.05 * generator.random((ROWS, length))
        for lag in range(LAGS):
            values[:, lag:] += parts[lag] @ events[:, : length - lag]
        np.save(folder / f"{number:05}.npy", values.astype(np.float32))
        size += values.size * 4
    return size


def peak() -> float:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def learn(way: str, folder: str) -> dict[str, Any]:
    """Learn from the folder; seconds, memory, and the error on sequences that were held out."""
    files = sorted(Path(folder).glob("*.npy"))
    test = {x: [np.load(path) for path in files[-HELD_OUT:]]}
    pfn.learn(NETWORK, {x: test[x][:2]}, iterations=2, dtype="float32")
    before, begin = peak(), perf_counter()
    options: dict[str, Any] = {"dtype": "float32", "engine": "numpy"}
    if way == "batches":
        result = pfn.learn(NETWORK, files[:-HELD_OUT], batches=BATCHES, **options)
    else:
        data = {x: [np.load(path) for path in files[:-HELD_OUT]]}
        result = pfn.learn(NETWORK, data, iterations=SWEEPS, stall=None, **options)
    seconds, after = perf_counter() - begin, peak()
    found = pfn.infer(NETWORK, test, initial={part: result[part] for part in PARTS}, iterations=200)
    return {"seconds": seconds, "bytes": after - before, "rmse": found.rmse["eq1"], "sweeps": result.iterations}


def growth(counts: tuple[int, ...]) -> str:
    """Set-up, sweeps and result of learning in memory, by the number of sequences."""
    rows = {}
    for count in counts:
        generator = np.random.default_rng(1)
        X = [generator.random((ROWS, n), dtype=np.float32) for n in generator.integers(100, 1001, count)]
        run = partial(pfn.learn, NETWORK, {x: X}, dtype="float32", engine="numpy")
        seconds = alternate({"one": partial(run, iterations=1), "eleven": partial(run, iterations=11)}, ROUNDS)
        sweep = (seconds["eleven"] - seconds["one"]) / 10
        around = (seconds["one"] - sweep) / sweep
        slices = sum(array.shape[1] for array in X)
        rows[f"{count:,} sequences"] = (f"{slices:,}", f"{1e9 * sweep / slices:.0f}", f"{around:.1f}")
    return table(
        f"All in memory, medians of {ROUNDS}", rows, ("slices", "ns a slice and sweep", "set-up and result, in sweeps")
    )


def main(quick: bool) -> None:
    count = 500 if quick else 10_000
    with tempfile.TemporaryDirectory() as folder:
        size = write(Path(folder), count)
        rows = {}
        for way in ("batches", "all in memory"):
            command = [sys.executable, "-m", "benchmarks.many_sequences", way, folder]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            rows[way] = (
                f"{found['bytes'] / 1e6:.0f}",
                f"{found['bytes'] / size:.2f}",
                f"{found['seconds']:.0f}",
                f"{found['rmse']:.5f}",
            )
    title = f"{count:,} sequences of 100 to 1,000 slices, {size / 1e6:.0f} MB"
    print(table(title, rows, ("peak MB", "of the data", "seconds", "RMSE on held-out sequences")))
    print()
    print(growth((100, 500) if quick else (100, 1_000, 10_000)))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(learn(sys.argv[1], sys.argv[2])))
    else:
        main(quick="--quick" in sys.argv)
