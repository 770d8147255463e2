"""How many notes of real piano recordings are found, with templates of another piano and with learned ones?

Note onset F at 50 ms, offsets ignored, by mir_eval, over the first seconds of every piece; one setting for all. Plain
NMF has the same templates, bands, noise and reading of notes; its time is that of as many sweeps.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from time import process_time

import mir_eval
import numpy as np

import pfn
from benchmarks.side_by_side import table
from pfn import t
from pfn.audio import Heard, Note, NoteTemplates, learn_notes, piano_templates, read_notes, transcribe
from pfn.audio.listeners import Watch
from pfn.audio.machines import NOISES, OPTIONS, NoteMachines, bumps

MAPS = Path("../shared/data/piano-maps")
FOLDS = 3
BEST_FOR_NMF = 0.4
"""The best threshold of 0.2, 0.25, 0.3, 0.35, 0.4 and 0.5 on these pieces; "NMF" has that of the note machines."""

Pieces = dict[str, tuple[Path, list[Note]]]


class PlainNotes(NoteMachines):
    """The same templates without machines: each note is one spectrum, the mean of its slices."""

    early = 0

    def hear(self, spectra: np.ndarray, watch: Watch) -> Heard:
        """Activations of plain NMF; a note begins where its activation rises."""
        mean = (self.templates.attack.sum(axis=0) + 40 * self.templates.decay) / 50
        x, note, noise = (pfn.Variable(name, n) for name, n in zip("xhn", (*mean.shape, NOISES), strict=True))
        notes, rest = pfn.Parameter("notes", mean), pfn.Parameter("bumps", bumps(len(mean)))
        network = pfn.Network(pfn.Factorization(x[t], notes @ note[t] + rest @ noise[t]))
        flat = {v: np.full((v.size, spectra.shape[1]), spectra.mean() / v.size) for v in (note, noise)}
        found = pfn.infer(network, {x: spectra}, initial=flat, iterations=self.sweeps, **OPTIONS)[note]
        watch(self.sweeps, 0.0)
        rises = np.maximum(found - np.pad(found, ((0, 0), (2, 0)))[:, :-2], 0)
        return Heard(rises, found)


def score(found: list[Note], truth: list[Note]) -> float:
    """F of onsets at 50 ms."""
    intervals, pitches = zip(*((_interval(notes), _hertz(notes)) for notes in (truth, found)), strict=True)
    if not len(found):
        return 0.0
    measures = mir_eval.transcription.precision_recall_f1_overlap(
        intervals[0], pitches[0], intervals[1], pitches[1], offset_ratio=None
    )
    return float(measures[2])


def _interval(notes: list[Note]) -> np.ndarray:
    return np.array([(note.onset, max(note.offset, note.onset + 0.01)) for note in notes]).reshape(-1, 2)


def _hertz(notes: list[Note]) -> np.ndarray:
    return np.array([440 * 2 ** ((note.pitch - 69) / 12) for note in notes])


def row(pieces: Pieces, seconds: float, model: Callable[[str], object]) -> tuple[list[float], float]:
    """F of every piece by the model for it, and the processor seconds of all."""
    found, begin = [], process_time()
    for name, (path, truth) in pieces.items():
        heard = transcribe(path, model=model(name), duration=seconds, progress=False)  # type: ignore[arg-type]
        found.append(score(list(heard.notes), [note for note in truth if note.onset < seconds]))
    return found, process_time() - begin


def learned(pieces: Pieces) -> dict[str, NoteTemplates]:
    """For every piece the templates learned from those of the other folds."""
    names = list(pieces)
    folds = [set(names[k::FOLDS]) for k in range(FOLDS)]
    models = [learn_notes([pieces[name] for name in names if name not in fold], progress=False) for fold in folds]
    return {name: model for fold, model in zip(folds, models, strict=True) for name in fold}


def main(seconds: float, count: int | None, learning: bool) -> None:
    paths = sorted(MAPS.glob("*.flac"))[:count]
    pieces = {
        path.stem.split("-", 1)[1].rsplit("_", 1)[0]: (path, read_notes(path.with_suffix(".tsv"))) for path in paths
    }
    plain, shipped = PlainNotes(piano_templates()), piano_templates()
    best = PlainNotes(piano_templates(), BEST_FOR_NMF)
    models: dict[str, Callable[[str], object]] = {
        "NMF": lambda _: plain,
        "NMF, its best threshold": lambda _: best,
        "note machines": lambda _: shipped,
    }
    if learning:
        of = learned(pieces)
        models |= {"NMF, learned": lambda name: PlainNotes(of[name]), "note machines, learned": lambda name: of[name]}
    rows = {}
    for name, model in models.items():
        found, spent = row(pieces, seconds, model)
        rows[name] = (f"{np.mean(found):.3f}", *(f"{value:.3f}" for value in found), f"{spent / len(found):.1f}")
    print(table(f"Onset F, first {seconds:g} s of every piece", rows, ("mean", *pieces, "s a piece")))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--pieces", type=int, help="only so many")
    parser.add_argument("--learn", action="store_true", help="also learn on the other pieces (minutes)")
    given = parser.parse_args()
    main(given.seconds, given.pieces, given.learn)
