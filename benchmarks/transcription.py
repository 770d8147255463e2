"""How many notes of real piano recordings are found, with templates of another piano and with learned ones?

Note onset F at 50 ms, offsets ignored, by mir_eval, over stretches of every piece, and the first seconds of other
pianos; one setting for all. Thresholds were chosen on the first 30 s of the pieces; the numbers of sweeps and how soon
a key may be struck again on their first minute and on the other pianos. Plain NMF has the same templates,
bands, noise, 80 sweeps and reading of notes, with the threshold of the note machines and with that of THRESHOLDS that
is best for it there.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import mir_eval
import numpy as np

import pfn
from benchmarks.side_by_side import alternate, table
from pfn import t
from pfn.audio import Heard, Listener, Note, NoteTemplates, learn_notes, piano_templates, read_notes, transcribe
from pfn.audio.bands import note_bands
from pfn.audio.listeners import Watch
from pfn.audio.machines import NOISES, OPTIONS, NoteMachines, bumps
from pfn.audio.recordings import open_recording

DATA = Path("../shared/data")
OTHERS = {
    "op13 played": DATA / "piano-pathetique-rendered/adagio_m1-8_performance.mid",
    "op13 as written": DATA / "piano-pathetique-rendered/adagio_m1-8_score.mid",
    "K498": DATA / "stems-trios/mozart/piano.csv",
    "Take Five": DATA / "stems-trios/take_five/piano.csv",
}
FOLDS, SWEEPS = 3, 80
THRESHOLDS = (0.35, 0.4, 0.45, 0.5, 0.6)
PLAIN = {**OPTIONS, "method": pfn.Substitute(acceleration=None), "measure": 10}
Pieces = dict[str, tuple[Path, list[Note]]]
Model = Callable[[str], NoteTemplates | Listener]


@dataclass(frozen=True)
class PlainNotes(NoteMachines):
    """The same templates without machines: each note is one spectrum, the mean of its slices.

    What was heard before is remembered, to be read off at other thresholds.
    """

    memory: dict[bytes, Heard] = field(default_factory=dict)

    early = 0

    def hear(self, spectra: np.ndarray, watch: Watch) -> Heard:
        """As before, if it was heard before."""
        key = sha256(spectra.tobytes()).digest()
        if key not in self.memory:
            self.memory[key] = self.listen(spectra)
        watch(self.sweeps, 0.0)
        return self.memory[key]

    def listen(self, spectra: np.ndarray) -> Heard:
        """Activations of plain NMF; a note begins where its activation rises."""
        mean = (self.templates.attack.sum(axis=0) + 40 * self.templates.decay) / 50
        x, note, noise = (pfn.Variable(name, n) for name, n in zip("xhn", (*mean.shape, NOISES), strict=True))
        notes, rest = pfn.Parameter("notes", mean), pfn.Parameter("bumps", bumps(len(mean)))
        network = pfn.Network(pfn.Factorization(x[t], notes @ note[t] + rest @ noise[t]))
        flat = {v: np.full((v.size, spectra.shape[1]), spectra.mean() / v.size) for v in (note, noise)}
        found = pfn.infer(network, {x: spectra}, initial=flat, iterations=SWEEPS, **PLAIN)[note]
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


def row(pieces: Pieces, start: float, seconds: float, model: Model) -> list[float]:
    """F of every piece by the model for it."""
    found = []
    for name, (path, notes) in pieces.items():
        heard = transcribe(path, model=model(name), start=start, duration=seconds, progress=False)
        inside = [note for note in notes if start <= note.onset < start + seconds]
        truth = [note._replace(onset=note.onset - start, offset=note.offset - start) for note in inside]
        found.append(score(list(heard.notes), truth))
    return found


def print_table(title: str, pieces: Pieces, start: float, seconds: float, models: dict[str, Model]) -> None:
    rows = {}
    for name, model in models.items():
        found = row(pieces, start, seconds, model)
        rows[name] = tuple(f"{value:.3f}" for value in (np.mean(found), *found))
    print(table(f"Onset F, {title}", rows, ("mean", *pieces)), flush=True)


def print_times(path: Path, seconds: float) -> None:
    """What it takes to hear a piece, without reading the file and timing the onsets."""
    spectra = note_bands().of(open_recording(path, duration=seconds).part(0.0, seconds, note_bands().rate))
    spectra /= spectra.max()
    plain, machines = PlainNotes(piano_templates()), NoteMachines(piano_templates())
    ways = {"NMF": lambda: plain.listen(spectra), "machines": lambda: machines.hear(spectra, lambda *_: None)}
    spent = alternate(ways, 3)
    print(f"Seconds: NMF {spent['NMF']:.2f}, note machines {spent['machines']:.2f}, ", end="")
    print(f"{spent['machines'] / spent['NMF']:.1f} times as long")


def learned(pieces: Pieces) -> dict[str, NoteTemplates]:
    """For every piece the templates learned from those of the other folds."""
    names = list(pieces)
    folds = [set(names[k::FOLDS]) for k in range(FOLDS)]
    models = [learn_notes([pieces[name] for name in names if name not in fold], progress=False) for fold in folds]
    return {name: model for fold, model in zip(folds, models, strict=True) for name in fold}


def contestants(pieces: Pieces, templates: Callable[[str], NoteTemplates], what: str) -> dict[str, Model]:
    """NMF at the same threshold, NMF at its best on the first 30 s, and the note machines, with the same templates."""
    plain = cache(lambda name: PlainNotes(templates(name)))

    def at(threshold: float) -> Model:
        return lambda name: replace(plain(name), threshold=threshold)

    best = max(THRESHOLDS, key=lambda threshold: np.mean(row(pieces, 0.0, 30.0, at(threshold))))
    return {
        f"NMF{what}": plain,
        f"NMF{what}, its best threshold, {best:g}": at(best),
        f"note machines{what}": templates,
    }


def lasting(pieces: Pieces, start: float) -> Pieces:
    """Those with notes after that many seconds."""
    return {name: (path, notes) for name, (path, notes) in pieces.items() if notes[-1].onset > start}


def main(starts: list[float], seconds: float, count: int | None, learning: bool) -> None:
    paths = sorted((DATA / "piano-maps").glob("*.flac"))[:count]
    pieces = {
        path.stem.split("-", 1)[1].rsplit("_", 1)[0]: (path, read_notes(path.with_suffix(".tsv"))) for path in paths
    }
    shipped = contestants(pieces, lambda _: piano_templates(), "")
    models = shipped
    if learning:
        of = learned(pieces)
        models = shipped | contestants(pieces, lambda name: of[name], ", learned")
    for start in starts:
        title = f"{seconds:g} s of every piece from {start:g} s on"
        print_table(title, lasting(pieces, start), start, seconds, models)
    others = {name: (path.with_suffix(".flac"), read_notes(path)) for name, path in OTHERS.items()}
    print_table(f"first {seconds:g} s of other pianos", others, 0.0, seconds, shipped)
    print_times(paths[0], seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="starts", type=float, nargs="+", default=[0.0, 30.0, 60.0], help="seconds")
    parser.add_argument("--seconds", type=float, default=30.0, help="how many from there on")
    parser.add_argument("--pieces", type=int, help="only so many")
    parser.add_argument("--shipped", action="store_true", help="do not learn on the other pieces, which takes minutes")
    given = parser.parse_args()
    main(given.starts, given.seconds, given.pieces, not given.shipped)
