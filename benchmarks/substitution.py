"""Substitution or propagation: which is better after as many sweeps, and after as much time?

On the hierarchy of section 6 (the recording of benchmarks/section6.py where it is there, else a mixture made by such a
hierarchy) the error is that of the top-down reconstruction; on the language chain it is the perplexity of a text that
decides nothing.
Seconds are those of the processor, so that other programs on it do not count: use OMP_NUM_THREADS=1.
"""

import argparse
from collections.abc import Callable, Mapping
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import pfn
from benchmarks.language import TEXTS
from benchmarks.section6 import RECORDING
from benchmarks.side_by_side import table
from pfn.audio import spectrogram
from pfn.models import (
    Vocabulary,
    chain_data,
    chain_method,
    chain_model,
    chain_start,
    language_chain,
    spectrogram_hierarchy,
    word_frequencies,
)
from pfn.models.language.learning import Stopping
from pfn.models.language.model import score_predictions
from pfn.models.language.text import distinct_sequences

METHODS = {
    "propagation": pfn.Propagate(),
    "substitution": pfn.Substitute(),
    "propagation, by levels": pfn.Propagate(start="levels"),
    "substitution, by levels": pfn.Substitute(start="levels"),
}


class Run(NamedTuple):
    """After every sweep: the error, and the seconds since the run began."""

    errors: np.ndarray
    seconds: np.ndarray

    def after(self, sweeps: int) -> float:
        """The error after so many sweeps."""
        return float(self.errors[sweeps - 1])

    def within(self, seconds: float) -> float:
        """The error of the last sweep that was done by then."""
        done = int(np.searchsorted(self.seconds, seconds, side="right"))
        return float(self.errors[done - 1]) if done else float("nan")


def clocked(learn: Callable[[Callable[[int, Any], None]], Any]) -> tuple[Any, np.ndarray]:
    """What `learn` gives when it is handed a callback, and the seconds at the end of every sweep."""
    begin, ends = process_time(), []
    result = learn(lambda _sweep, _values: ends.append(process_time() - begin))
    return result, np.array(ends)


def made_up(bins: int = 512, columns: int = 600) -> np.ndarray:
    """Activations of the top, a hundredth of them not zero, through three levels of random sparse sequences."""
    generator = np.random.default_rng(0)
    network = spectrogram_hierarchy(bins)
    values = {p.name: generator.gamma(0.1, size=p.shape) for p in network.parameters}
    top = np.where(generator.random((40, columns)) < 0.01, generator.random((40, columns)), 0)
    X = np.full((bins, columns), np.nan)
    X = pfn.infer(network, {"x1": X}, method=pfn.Substitute(), initial=values | {"x4": top}, iterations=1)["x1"]
    return np.asarray(X / X.max())


def section6(seeds: int, sweeps: int, *, quick: bool) -> None:
    """The errors of all methods, after sweeps and after seconds."""
    recorded = RECORDING.exists()
    X = spectrogram(RECORDING, duration=15, bins=512, peak=1.0).magnitude if recorded else made_up()
    network, size = spectrogram_hierarchy(512), float(np.sqrt(np.mean(X**2)))
    marks = [sweeps // 8, sweeps // 4, sweeps // 2, sweeps]
    runs: dict[str, list[Run]] = {name: [] for name in METHODS}
    for seed in range(seeds):
        for name, method in METHODS.items():
            options = {
                "method": method,
                "iterations": sweeps,
                "stall": None,
                "seed": seed,
                "dtype": "float32" if quick else "float64",
            }
            result, seconds = clocked(
                lambda note, options=options: pfn.learn(network, {"x1": X}, callback=note, progress=False, **options)
            )
            runs[name].append(Run(result.history["eq1"] / size, seconds))
    limit = min(float(run.seconds[-1]) for each in runs.values() for run in each)
    times = [limit / 4, limit / 2, limit]
    print_errors(f"{'Recording' if recorded else 'Made-up mixture'}, {X.shape[0]} × {X.shape[1]}", runs, marks, times)


def print_errors(title: str, runs: Mapping[str, list[Run]], marks: list[int], times: list[float]) -> None:
    def cells(each: list[Run]) -> list[float]:
        found = [[run.after(mark) for mark in marks] + [run.within(second) for second in times] for run in each]
        return [median(column) for column in zip(*found, strict=True)]

    middle = {name: cells(each) for name, each in runs.items()}
    rows = {name: tuple(f"{error:.3f}" for error in found) for name, found in middle.items()}
    for start in ("", ", by levels"):
        pair = zip(middle[f"substitution{start}"], middle[f"propagation{start}"], strict=True)
        rows[f"ratio{start}"] = tuple(f"{ours / theirs:.2f}" for ours, theirs in pair)
    for name, each in runs.items():
        rows[name] += (f"{1000 * median(run.seconds[-1] / len(run.seconds) for run in each):.0f}",)
    header = (*(f"{mark} sweeps" for mark in marks), *(f"{second:.2g} s" for second in times), "ms a sweep")
    rows = {name: (*found, *[""] * (len(header) - len(found))) for name, found in rows.items()}
    print(table(f"{title}: relative error, median of {len(runs['propagation'])} seeds", rows, header), flush=True)


class Text:
    """Eight tenths of a text to learn from, one to stop on, and one to judge by."""

    def __init__(self, tokens: list[str], features: int) -> None:
        cuts = [len(tokens) * 8 // 10, len(tokens) * 9 // 10]
        self.learned, self.features = tokens[: cuts[0]], features
        self.vocabulary = Vocabulary.of(self.learned, minimum_count=3)
        self.data, self.unigram = (
            chain_data(self.learned, self.vocabulary),
            word_frequencies(self.learned, self.vocabulary),
        )
        parts = (tokens[cuts[0] : cuts[1]], tokens[cuts[1] :])
        self.watched, self.judged = (distinct_sequences(self.vocabulary.encode(part), 2) for part in parts)

    def learn(self, method: Any, seed: int) -> tuple[float, float, float]:
        """The perplexity of the model that is best on the text to stop on, after how many sweeps, and seconds."""
        stopping, ends, looked = Stopping(self.watched), [], [0.0]
        begin = process_time()

        def look(_sweep: int, values: Any) -> bool:
            ends.append(process_time() - begin - looked[0])
            rests = stopping.rests(chain_model(values, self.vocabulary, self.unigram))
            looked[0] = process_time() - begin - ends[-1]
            return rests

        options = {"weights": self.data.weights, "seed": seed, "dtype": "float32", "progress": False}
        options["initial"] = chain_start(self.data, self.unigram, self.features, seed=seed)
        network = language_chain(self.vocabulary, self.features)
        pfn.learn(network, self.data.observed, method=method, callback=look, **options)
        model = stopping.best()
        best = int(np.argmin(model.history))
        return score_predictions(model.probabilities, self.judged).perplexity, best + 1.0, ends[best]


def language(seeds: int, features: int, tokens: int | None) -> None:
    """The perplexity of every method on the last tenth, and how long it takes to get there."""
    text = Text(TEXTS["shakespeare"]()[:tokens], features)
    methods = {"propagation, plain": chain_method(features), "propagation": pfn.Propagate(initial_scale=2 / features)}
    methods |= {"substitution, plain": pfn.Substitute(acceleration=None), "substitution": pfn.Substitute()}
    found = {
        name: [median(column) for column in zip(*(text.learn(method, s) for s in range(seeds)), strict=True)]
        for name, method in methods.items()
    }
    rows = {name: (f"{p:.1f}", f"{sweeps:g}", f"{seconds:.1f}") for name, (p, sweeps, seconds) in found.items()}
    for kind in (", plain", ""):
        pair = zip(found[f"substitution{kind}"], found[f"propagation{kind}"], strict=True)
        rows[f"ratio{kind}"] = tuple(f"{ours / theirs:.2f}" for ours, theirs in pair)
    sizes = f"{len(text.learned):,} tokens, {len(text.vocabulary):,} words, K = {features}"
    print(
        table(
            f"Language chain, {sizes}, median of {seeds} seeds", rows, ("perplexity", "sweeps to it", "seconds to it")
        )
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("section6", "language", "all"), nargs="?", default="all")
    parser.add_argument("--quick", action="store_true", help="one seed, float32, 80 sweeps and 60,000 tokens")
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    count = 1 if chosen.quick else chosen.seeds
    if chosen.part in ("section6", "all"):
        section6(count, 80 if chosen.quick else 400, quick=chosen.quick)
    if chosen.part in ("language", "all"):
        language(count, 40 if chosen.quick else 100, 60_000 if chosen.quick else None)
