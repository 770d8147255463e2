"""Makes the templates that come with the package, pfn/audio/data, out of recorded notes and drums."""

import argparse
import csv
from pathlib import Path

import numpy as np

from pfn.audio import DrumTemplates, Note, NoteTemplates, isolated_templates, learn_drums

DATA = Path("../shared/data")
OUT = Path("pfn/audio/data")
CLASSES = {"KD": 36, "SD": 38, "HH": 42, "CY": 49}


def piano() -> NoteTemplates:
    """From 30 notes of the Salamander Grand Piano, files named after their MIDI pitches."""
    notes = {int(path.name[:3]): path for path in sorted((DATA / "piano-notes-salamander").glob("*.flac"))}
    found = isolated_templates(notes)
    small = (array.astype(np.float16) for array in (found.attack, found.decay))
    return NoteTemplates(found.pitches, *small, found.fade, found.threshold)


def drums() -> DrumTemplates:
    """From loops in which every class of drums has a file of its own."""
    stems = [path for path in sorted((DATA / "drums-rendered").glob("*/*.flac")) if path.stem in CLASSES]
    found = learn_drums(((path, hits(path)) for path in stems), progress=False)
    return DrumTemplates(found.pitches, found.spectra.astype(np.float32))


def hits(stem: Path) -> list[Note]:
    """The labels of one class, each as one drum."""
    with (stem.parent / "onsets.csv").open(encoding="utf-8") as file:
        onsets = [float(row["onset_s"]) for row in csv.DictReader(file) if row["class"] == stem.stem]
    return [Note(onset, onset + 0.1, CLASSES[stem.stem]) for onset in onsets]


def main() -> None:
    piano().save(OUT / "piano.safetensors")
    drums().save(OUT / "drums.safetensors")
    for path in OUT.glob("*.safetensors"):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
