"""Do the figures of section 6 come out on a piano recording (MAPS, the Pathétique sonata, second movement)?

Shares are of the entries above 1 % of their maximum. An activation in the last slices explains only the
beginning of its sequence, so it may become huge for nothing, and the maximum with it: shares are also given
without the slices at the end whose sequences are cut. Other programs on the same cores? OMP_NUM_THREADS=1.
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import pfn
from benchmarks.side_by_side import table
from pfn.audio import spectrogram
from pfn.models import spectrogram_hierarchy, top_down

RECORDING = Path(__file__).parents[1] / "../shared/data/piano-maps/MAPS_MUS-pathetique_2_ENSTDkAm.flac"
TARGET = 0.156
CUT = {"x2": 3, "x3": 15, "x4": 63}  # slices that one activation spans, less one


class Case(NamedTuple):
    """A row of the table: a method, its sweeps, and the figures to be met.

    `error` of the top-down reconstruction, `shares` of active entries in %, sweeps in which `error` is `reached`.
    """

    method: pfn.Propagate
    sweeps: int
    error: float
    shares: str
    reached: str


SPARSE = replace(pfn.PAPER, sparseness=pfn.ramp(0.0, 0.2, start=400, stop=800))
CASES = {
    "paper settings": Case(pfn.PAPER, 800, 0.156, "14 4.9 1.8", "800"),
    "paper settings, θ to 0.2": Case(SPARSE, 800, 0.44, "2.5 0.8 0.2", ""),
    "momentum": Case(pfn.Propagate(), 200, 0.156, "", "140-180"),
    "momentum, start by levels": Case(pfn.Propagate(start="levels"), 60, 0.156, "", "30-50"),
}


def relative_error(found: np.ndarray, X: np.ndarray) -> float:
    return float(np.linalg.norm(found - X) / np.linalg.norm(X))


def shares(result: pfn.Result, *, cut: bool) -> list[float]:
    """Per cent of the entries of x2, x3, x4 above 1 % of their maximum."""
    values = [result[name][:, : -slices if cut else None] for name, slices in CUT.items()]
    return [100 * float((v > 0.01 * v.max()).mean()) for v in values]


class Outcome(NamedTuple):
    """What one run gave: `inner` are the shares without the slices at the end, `reached` is the sweep."""

    error: float
    shares: list[float]
    inner: list[float]
    reached: float
    seconds: float


def run(X: np.ndarray, case: Case, seed: int, dtype: str) -> Outcome:
    """One run, looking at the error of the first equation, which is that of the top-down reconstruction."""
    size = np.sqrt(np.mean(X**2))
    begin = perf_counter()
    result = pfn.learn(
        spectrogram_hierarchy(512),
        {"x1": X},
        method=case.method,
        iterations=case.sweeps,
        stall=None,
        seed=seed,
        dtype=dtype,
    )
    seconds = perf_counter() - begin
    below = np.flatnonzero(result.history["eq1"] <= TARGET * size)
    reached = float(result.history.iterations[below[0]] + 1) if below.size else float("inf")
    error = relative_error(top_down(result, 4), X)
    return Outcome(error, shares(result, cut=False), shares(result, cut=True), reached, seconds)


def row(case: Case, outcomes: list[Outcome]) -> tuple[str, ...]:
    def middle(values: Any) -> str:
        return " ".join(f"{median(column):.2g}" for column in zip(*values, strict=True))

    errors = [outcome.error for outcome in outcomes]
    reached = [outcome.reached for outcome in outcomes]
    return (
        f"{median(errors):.3f} ({min(errors):.3f}-{max(errors):.3f})",
        f"{case.error}",
        "yes" if median(errors) <= case.error else "NO",
        middle(outcome.shares for outcome in outcomes),
        middle(outcome.inner for outcome in outcomes),
        case.shares,
        f"{median(reached):g} ({min(reached):g}-{max(reached):g})" if case.reached else "",
        case.reached,
        f"{median(outcome.seconds for outcome in outcomes):.1f}",
    )


def main(cases: Mapping[str, Case], seeds: int, dtype: str) -> None:
    if not RECORDING.exists():
        print(f"needs ../shared/data: there is no {RECORDING.name}")
        return
    X = spectrogram(RECORDING, duration=15, bins=512, peak=1.0).magnitude
    rows = {
        f"{name}, {case.sweeps} sweeps": row(case, [run(X, case, seed, dtype) for seed in range(seeds)])
        for name, case in cases.items()
    }
    header = ("error", "wanted", "met", "shares", "without the end", "wanted", f"sweeps to {TARGET}", "wanted", "s")
    print(table(f"Section 6, {X.shape[0]} × {X.shape[1]}, {dtype}: median (range) of {seeds} seeds", rows, header))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the accelerated runs, two seeds, float32")
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    if chosen.quick:
        main({name: case for name, case in CASES.items() if case.method.acceleration}, 2, "float32")
    else:
        main(CASES, chosen.seeds, "float64")
