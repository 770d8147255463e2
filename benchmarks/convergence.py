"""How many sweeps, and how much time, to equal error: plain sweeps, momentum, starts, consensus, substitution, exact?

Plain sweeps are those of the paper, from a random start. Sweeps, and the ratios of the default to plain, are the median
and the worst over the seeds; what the default start does is no sweep, but in the time. Where all seeds have the same
question, plain sweeps depend little on the seed and are made with one; a run that does not get there within its limit
counts as that many, so ratios to such plain runs are upper bounds. Learning that ends in another, worse minimum than
the plain run never gets there. The recordings are those of data/piano-maps; without them a passage made by code stands
in. Other programs on the same cores? OMP_NUM_THREADS=1.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import pfn
from benchmarks.learning_transitions import MACHINE, SLICES, transitions_found
from benchmarks.side_by_side import table
from pfn.audio import spectrogram
from pfn.automata import StateMachine
from pfn.models import (
    hierarchical_network,
    simulate_targets,
    spectrogram_hierarchy,
    tracking_network,
    transition_network,
)
from pfn.paper.originals import DETERMINISTIC, EXPRESSION, SCENE_LENGTH, TARGETS, UPPER
from pfn.paper.piano import RATE, passage

PLAIN = replace(pfn.PAPER, epsilon=1e-9)
RECORDINGS = Path(__file__).parents[1] / "../shared/data/piano-maps"
SOUNDS = RECORDINGS.parent
PAPER_RECORDING = "MAPS_MUS-pathetique_2_ENSTDkAm.flac"
MOST = 8000  # plain sweeps
MOST_TO_LEARN = 0.55  # of the plain sweeps, wanted


class Question(NamedTuple):
    """Data to be explained, down to an RMSE."""

    network: pfn.Network
    data: dict[str, np.ndarray]


class Contest(NamedTuple):
    """One row: a question for every seed, the RMSE that is wanted, and how many sweeps the defaults may take."""

    question: Callable[[int], Question]
    tolerance: float
    wanted: str


class Reached(NamedTuple):
    """How often, in how many sweeps and seconds a method got there."""

    sweeps: Sequence[int]
    seconds: Sequence[float]
    all: bool

    def __str__(self) -> str:
        mark = "" if self.all else ">"
        return f"{mark}{median(self.sweeps):g} / {max(self.sweeps)}, {1e3 * median(self.seconds):.0f} ms"


def automaton(_seed: int) -> Question:
    X = np.full((4, 10), np.nan)
    X[:, 0] = [1, 0, 0, 0]
    return Question(transition_network(DETERMINISTIC), {"x": X})


def expression(_seed: int) -> Question:
    X = np.full((len(UPPER.states), 10), np.nan)
    for slot, state in ((1, "S2"), (6, "S4")):
        X[:, slot] = UPPER.encode([state])[:, 0]
    return Question(hierarchical_network(EXPRESSION), {"x2": X})


def tracking(_seed: int) -> Question:
    network = tracking_network()
    return Question(network, simulate_targets(network, TARGETS, length=SCENE_LENGTH).observed)


def scene(seed: int) -> Question:
    """Four random targets."""
    network = tracking_network()
    return Question(network, simulate_targets(network, 4, length=30, seed=seed).observed)


def machine(seed: int, *, states: int = 11, slices: int = 60, seen: float = 0.1) -> Question:
    """A walk of less than so many slices through a random machine of at most so many states; a part of it is seen."""
    rng = np.random.default_rng(seed)
    names = [f"S{number}" for number in range(int(rng.integers(4, states + 1)))]
    ring = list(zip(names, names[1:] + names[:1], strict=True))
    more = [tuple(rng.choice(names, 2)) for _ in range(rng.integers(6))]
    found = StateMachine(names, [*dict.fromkeys([*ring, *((str(a), str(b)) for a, b in more)])])
    length = int(rng.integers(20, slices))
    X = found.encode(found.sample(length, rng)).astype(float)
    X[:, rng.permutation(length)[max(1, int(length * seen)) :]] = np.nan
    return Question(transition_network(found), {"x": X})


CONTESTS = {
    "automaton, one observed slice, 1e-4": Contest(automaton, 1e-4, "100"),
    "regular expression, 1e-4": Contest(expression, 1e-4, "120"),
    "tracking, 1e-3": Contest(tracking, 1e-3, "250"),
    "tracking, 1e-4": Contest(tracking, 1e-4, "500"),
    "random scenes, 1e-3": Contest(scene, 1e-3, "0.2 of plain"),
    "random machines, 1e-4": Contest(machine, 1e-4, "0.2 of plain"),
    "larger machines, 1e-4": Contest(partial(machine, states=30, slices=200), 1e-4, "0.2 of plain"),
    "the same, half of it seen": Contest(partial(machine, states=30, slices=200, seen=0.5), 1e-4, "0.2 of plain"),
}
METHODS: dict[str, tuple[Any, int]] = {
    "plain": (PLAIN, MOST),
    "momentum, random start": (pfn.Propagate(start="random"), 1000),
    "default": (pfn.Propagate(), 1000),
    "substitution": (pfn.Substitute(), 1000),
    "consensus": (pfn.Consensus(), 2000),
}


def reached(contest: Contest, method: Any, most: int, seeds: Sequence[int]) -> Reached:
    """Sweeps and seconds to the tolerance, every seed with a question of its own."""
    results, seconds = [], []
    for seed in seeds:
        network, data = contest.question(seed)
        begin = process_time()
        options = {"iterations": most, "tolerance": contest.tolerance, "seed": seed, "progress": False}
        results.append(pfn.infer(network, data, method=method, **options))
        seconds.append(process_time() - begin)
    there = not any(error >= contest.tolerance for result in results for error in result.rmse.values())
    return Reached([result.iterations for result in results], seconds, there)


def inference(seeds: range) -> str:
    rows = {}
    for name, contest in CONTESTS.items():
        alike = contest.wanted.isdigit()  # the same question for every seed
        found = {
            method: reached(contest, *how, seeds[:1] if alike and method in ("plain", "consensus") else seeds)
            for method, how in METHODS.items()
        }
        exact = reached(contest, pfn.Exact(), 1, seeds[:3])
        plain = cycle(found["plain"].sweeps)  # one run, or one for every seed
        ratios = [fast / slow for fast, slow in zip(found["default"].sweeps, plain, strict=False)]
        below = f"{sum(ratio <= 0.2 for ratio in ratios)} of {len(seeds)}"
        cells = [str(one) for one in found.values()] + [f"{1e3 * median(exact.seconds):.0f} ms"]
        rows[name] = (*cells, f"{median(ratios):.3f} / {max(ratios):.3f}", below, contest.wanted)
    header = (*METHODS, "exact", "default / plain", "at most 0.2", "wanted")
    title = f"Inference, seeds {seeds[0]} to {seeds[-1]}: sweeps (median / worst) and processor time to the RMSE"
    return table(title, rows, header)


def divergences(X: np.ndarray, method: Any, *, sweeps: int, seed: int, components: int) -> np.ndarray:
    x, h = pfn.Variable("x", X.shape[0]), pfn.Variable("h", components)
    network = pfn.Network(pfn.Factorization(x, pfn.Parameter("W", shape=(X.shape[0], components)) @ h))
    result = pfn.learn(network, {x: X}, method=method, iterations=sweeps, stall=None, seed=seed, progress=False)
    return np.asarray(result.history.divergence)


def first_below(values: np.ndarray, target: float) -> int:
    """After how many sweeps the target is reached; all of them if never."""
    below = np.flatnonzero(values <= target)
    return int(below[0]) + 1 if below.size else len(values) + 1


def plain_nmf(X: np.ndarray, seeds: int) -> str:
    """Sweeps to the Kullback-Leibler divergence of so many multiplicative updates from the same seed."""
    starts = {"default": pfn.Propagate(), "momentum from a random start": pfn.Propagate(start="random")}
    rng = np.random.default_rng(0)
    mixed = rng.gamma(0.3, 1, (100, 10)) @ rng.gamma(0.3, 1, (10, 200))
    rows = {}
    for name, data, components in (("random matrices", mixed, 10), ("spectrogram", X[:256, :200], 30)):
        plain = [divergences(data, PLAIN, sweeps=300, seed=seed, components=components) for seed in range(seeds)]
        for label, method in starts.items():
            runs = [divergences(data, method, sweeps=300, seed=seed, components=components) for seed in range(seeds)]
            ratios = [
                [first_below(run, ref[n - 1]) / n for run, ref in zip(runs, plain, strict=True)] for n in (100, 300)
            ]
            rows[f"{name}, {label}"] = (*(f"{median(r):.2f} / {max(r):.2f}" for r in ratios), f"{MOST_TO_LEARN}")
    return table(f"Plain NMF, {seeds} seeds: sweeps / multiplicative updates", rows, ("of 100", "of 300", "wanted"))


def recordings(limit: int) -> Iterator[tuple[str, np.ndarray]]:
    """Spectrograms as in section 6, that of the paper's movement first."""
    files = sorted(RECORDINGS.glob("*.flac"), key=lambda file: (file.name != PAPER_RECORDING, file.name))
    for file in files[:limit]:
        yield file.stem, spectrogram(file, duration=15, bins=512, peak=1.0).magnitude
    if not files:
        yield "passage made by code", spectrogram(passage(), rate=RATE, bins=512, peak=1.0).magnitude


def section6(found: Sequence[tuple[str, np.ndarray]], seeds: int, plain_sweeps: int) -> str:
    """Sweeps to 0.156 on the recording of the paper's movement, and to the error of plain sweeps."""
    network, rows = spectrogram_hierarchy(512), {}
    contestants = {
        "default": (pfn.Propagate(), 200),
        "joint updates": (pfn.Propagate(updates="joint"), 200),
        "start by levels": (pfn.Propagate(start="levels"), 75),
    }

    def errors(X: np.ndarray, method: Any, sweeps: int, seed: int) -> np.ndarray:
        options = {"iterations": sweeps, "stall": None, "seed": seed, "dtype": "float32", "progress": False}
        return pfn.learn(network, {"x1": X}, method=method, **options).history["eq1"] / np.sqrt(np.mean(X**2))

    for number, (name, X) in enumerate(found):
        plain = errors(X, PLAIN, plain_sweeps, 0)[-1]
        for label, (method, most) in contestants.items():
            runs = [errors(X, method, most, seed) for seed in range(1 if number else seeds)]
            to_paper = [first_below(run, 0.156) for run in runs]
            to_plain = [first_below(run, plain) / plain_sweeps for run in runs]
            rows[f"{name}, {label}"] = (
                f"{median(to_paper):g} / {max(to_paper)}" if name.startswith(PAPER_RECORDING[:-5]) else "",
                f"{median(to_plain):.2f} / {max(to_plain):.2f}",
                {"default": f"200, {MOST_TO_LEARN}", "start by levels": f"60, {MOST_TO_LEARN}"}.get(label, ""),
            )
    header = ("sweeps to 0.156", f"to the error of {plain_sweeps} plain sweeps", "wanted")
    return table(f"Section 6, {seeds} seeds: sweeps (median / worst)", rows, header)


def convolutive(found: Sequence[tuple[str, np.ndarray]]) -> str:
    """Of 12 components of 10 frames: sweeps to the divergence of so many plain ones, the paper's and pooled ones."""
    network, rows = spectrogram_hierarchy(512, sizes=(12,), children=(10,), separations=(1,)), {}

    def divergence(X: np.ndarray, method: Any) -> np.ndarray:
        options = {"iterations": 300, "stall": None, "seed": 0, "dtype": "float32", "progress": False}
        return np.asarray(pfn.learn(network, {"x1": X}, method=method, **options).history.divergence)

    for name, X in found:
        default = divergence(X, pfn.Propagate())
        plain = [divergence(X, replace(PLAIN, averaging=averaging)) for averaging in ("updated", "pooled")]
        ratios = [f"{first_below(default, run[n - 1]) / n:.2f}" for run in plain for n in (100, 300)]
        rows[name] = (
            *ratios,
            f"{default[-1] / plain[0][-1]:.2f}",
            f"{default[-1] / plain[1][-1]:.2f}",
            f"{MOST_TO_LEARN}",
        )
    header = ("of 100", "of 300", "of 100 pooled", "of 300 pooled", "end / plain", "end / pooled", "wanted")
    return table("Convolutive NMF: sweeps / plain sweeps to equal divergence, and divergence after 300", rows, header)


def sounds(limit: int) -> Iterator[tuple[str, np.ndarray]]:
    """Ten seconds each of speech, singing, a trumpet, a whale, a bird and drums, first of all the song of a finch."""
    finch = SOUNDS / "songbird-seqnmf/songbird.npz"
    if finch.exists():
        yield "finch", np.load(finch)["SONG"][:, :1500].astype(float)
    folders = ("speech-librispeech", "voice-vocadito", "sounds-cc", "drums-mdb")
    files = [file for folder in folders for file in sorted((SOUNDS / folder).glob("*.[of][gl]*"))]
    for file in files[:limit]:
        yield file.stem[:20], spectrogram(file, duration=10, bins=256, peak=1.0).magnitude


def learning(limit: int, seeds: int) -> str:
    """Of sounds of all kinds: sweeps to the divergence of so many plain ones from the same seed."""
    networks: dict[str, dict[str, Any]] = {
        "20 spectra": {"sizes": (20,), "children": (1,), "separations": (1,)},
        "6 sequences of 8": {"sizes": (6,), "children": (8,), "separations": (1,)},
    }

    def ratios(network: pfn.Network, X: np.ndarray, seed: int) -> list[float]:
        options = {"iterations": 300, "stall": None, "seed": seed, "dtype": "float32", "progress": False}
        plain, default = (
            np.asarray(pfn.learn(network, {"x1": X}, method=method, **options).history.divergence)
            for method in (PLAIN, pfn.Propagate())
        )
        sweeps = [first_below(default, plain[n - 1]) for n in (100, 300)]
        shares = [sweeps[0] / 100, sweeps[1] / 300]
        never = [count > len(default) for count in sweeps]
        return [*np.where(never, np.inf, shares), default[-1] / plain[-1]]

    rows = {}
    for name, X in sounds(limit):
        for kind, levels in networks.items():
            network = spectrogram_hierarchy(len(X), **levels)
            found = np.array([ratios(network, X, seed) for seed in range(seeds)])
            met = int((found[:, :2] <= MOST_TO_LEARN).all(axis=1).sum())
            cells = [f"{np.median(column):.2f} / {column.max():.2f}".replace("inf", "never") for column in found.T]
            rows[f"{name}, {kind}"] = (*cells, f"{met} of {seeds}")
    title = f"Learning from other sounds, {seeds} seeds: sweeps / plain sweeps to equal divergence (median / worst)"
    return table(title, rows, ("of 100", "of 300", "divergence after 300", f"at most {MOST_TO_LEARN}"))


def transitions(seeds: int) -> str:
    """In how many single runs all six transitions are learned."""

    def found(columns: int, strengths: Sequence[float], start: Any, seed: int) -> bool:
        rng = np.random.default_rng(seed)
        X = sum(strength * MACHINE.encode(MACHINE.sample(SLICES, rng)) for strength in strengths)
        network, method = transition_network(MACHINE, learn_transitions=columns), pfn.Propagate(start=start)
        result = pfn.learn(network, {"x": X}, method=method, iterations=250, stall=None, seed=seed, progress=False)
        return transitions_found(result["W"]) == len(MACHINE.transitions)

    cases = {"one walk, R = 8": (8, [1]), "one walk, R = 6": (6, [1]), "mixture of three, R = 8": (8, [0.5, 1, 1.5])}
    rows = {
        name: tuple(f"{sum(found(*case, start, s) for s in range(seeds))} of {seeds}" for start in ("random", "data"))
        for name, case in cases.items()
    }
    return table("All six transitions in one run of 250 sweeps, by start", rows, ("random", "data"))


def main(chosen: argparse.Namespace) -> None:
    pieces, seeds = list(recordings(chosen.recordings)), chosen.spectrogram_seeds
    tables: list[Callable[[], str]] = [
        lambda: inference(range(chosen.first, chosen.first + chosen.seeds)),
        lambda: plain_nmf(pieces[0][1], chosen.seeds),
        lambda: transitions(chosen.seeds),
        lambda: section6(pieces, seeds, chosen.plain_sweeps),
        lambda: convolutive(pieces),
        lambda: learning(chosen.sounds, seeds),
    ]
    for make in tables:
        print(make(), end="\n" if make is tables[-1] else "\n\n", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="seed of the inference")
    parser.add_argument("--spectrogram-seeds", type=int, default=20)
    parser.add_argument("--recordings", type=int, default=2, help="of a piano")
    parser.add_argument("--sounds", type=int, default=8, help="of other kinds, beside the song of a finch")
    parser.add_argument("--plain-sweeps", type=int, default=300, help="of section 6 on each recording")
    main(parser.parse_args())
