"""How well are instruments separated that were recorded one by one and added up?

SI-SDR in dB, the mean over stems, then over pieces; one setting for all. Score-informed NMF has one spectrum a pitch,
harmonic at first, a flat one a drum, activations that are zero outside the notes ± 0.2 s, shares of energies, and as
many sweeps on the same spectrogram.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.side_by_side import table
from pfn.audio import Note, read_notes, read_sound, separate, spectrogram
from pfn.audio.mixtures import Frames, Freedom, learn_components, learn_parts

TRIOS = Path("../shared/data/stems-trios")
POP = Path("../shared/data/stems-mdb")
PLAIN = Freedom(before=0.2, after=0.2, colours=1, rings=1, struck=0.2)
DRUMS = {"kick", "snare", "ride"}
Stems = dict[str, np.ndarray]


def si_sdr(found: np.ndarray, true: np.ndarray) -> float:
    """Decibels of what is true in the estimate over what is not, whatever its scale."""
    part = (found @ true) / (true @ true) * true
    return float(10 * np.log10((part @ part) / np.sum((found - part) ** 2)))


def mean(found: Stems, true: Stems) -> float:
    return float(np.mean([si_sdr(found[name], true[name]) for name in true]))


def loaded(folder: Path) -> tuple[Stems, float]:
    sounds = {path.stem: read_sound(path) for path in sorted(folder.glob("*.flac"))}
    return {name: sound.samples for name, sound in sounds.items()}, next(iter(sounds.values())).rate


def ideal(stems: Stems, rate: float) -> Stems:
    """The shares that only who has the stems can know."""
    heard = spectrogram(sum(stems.values()), rate=rate, window=2048, hop=512)
    powers = {n: spectrogram(s, rate=rate, window=2048, hop=512).magnitude ** 2 for n, s in stems.items()}
    whole = sum(powers.values()) + np.finfo(float).tiny
    return {name: heard.to_sound(heard.magnitude * power / whole) for name, power in powers.items()}


def by_score(folder: Path, stems: Stems, rate: float) -> Stems:
    notes = {name: folder / f"{name}.csv" for name in stems}
    return dict(separate(sum(stems.values()), sample_rate=rate, notes=notes, progress=False).stems)


def plain(folder: Path, stems: Stems, rate: float) -> Stems:
    """One spectrum a pitch, or a drum, and shares of energies."""
    heard = spectrogram(sum(stems.values()), rate=rate, window=2048, hop=512)
    frames = Frames(heard.frequencies, heard.times)
    score = {name: _as_long_as_written(read_notes(folder / f"{name}.csv"), name) for name in stems}
    options = {"iterations": 40, "seed": 0, "progress": False}
    parts = learn_parts(heard.magnitude, frames, score, DRUMS & stems.keys(), freedom=PLAIN, **options)
    whole = sum(part**2 for part in parts.values()) + np.finfo(float).tiny
    return {name: heard.to_sound(heard.magnitude * part**2 / whole) for name, part in parts.items()}


def _as_long_as_written(notes: list[Note], name: str) -> list[Note]:
    """Notes of drums as a row of strikes, so that they may sound all the time that they are written."""
    if name not in DRUMS:
        return notes
    return [n._replace(onset=float(s)) for n in notes for s in np.arange(n.onset, n.offset + 0.1, 0.1)]


def blind(stems: Stems, rate: float) -> Stems:
    """60 components, each given to the stem that its sound is most alike, by who has the stems."""
    mixture = sum(stems.values())
    heard = spectrogram(mixture, rate=rate, window=2048, hop=512)
    found = learn_components(heard.magnitude, 60, iterations=100, seed=0, progress=False)
    shares = heard.magnitude / (found.spectra @ found.activations + np.finfo(float).tiny)
    pairs = zip(found.spectra.T, found.activations, strict=True)
    sounds = np.array([heard.to_sound(shares * np.outer(spectrum, activation)) for spectrum, activation in pairs])
    owners = np.argmax([sounds @ stem / np.linalg.norm(stem) for stem in stems.values()], axis=0)
    # A stem that gets none is left a whisper of the mixture, as its SI-SDR would else be undefined.
    return {name: sounds[owners == k].sum(axis=0) + 1e-9 * mixture for k, name in enumerate(stems)}


def main() -> None:
    trios = {folder.name: (folder, *loaded(folder)) for folder in sorted(TRIOS.iterdir()) if folder.is_dir()}
    pop = {folder.name: (folder, *loaded(folder)) for folder in sorted(POP.iterdir()) if folder.is_dir()}
    ways = {
        "the mixture itself": lambda _, stems, __: dict.fromkeys(stems, sum(stems.values())),
        "blind NMF, told which is whose": lambda _, stems, rate: blind(stems, rate),
        "score-informed NMF": plain,
        "separate(notes=…)": by_score,
        "ideal shares": lambda _, stems, rate: ideal(stems, rate),
    }
    rows = {}
    for way, of in ways.items():
        found = [mean(of(*piece), piece[1]) for piece in trios.values()]
        needs_score = of in (plain, by_score)
        others = [] if needs_score else [mean(of(*piece), piece[1]) for piece in pop.values()]
        cells = [f"{np.mean(found):.1f}", *(f"{value:.1f}" for value in found)]
        rows[way] = (*cells, *([f"{np.mean(others):.1f}"] if others else ["–"]))
    print(table("SI-SDR, dB", rows, ("trios", *trios, "pop")))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
