"""Templates of notes and drums learned from recordings whose notes are known."""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import NamedTuple

import numpy as np

import pfn
from pfn.audio.bands import Bands
from pfn.audio.drums import EARLY, SLICES, DrumTemplates, drum_bands
from pfn.audio.notes import Note, read_notes
from pfn.audio.recordings import open_recording
from pfn.audio.sounds import Sound
from pfn.errors import DataError
from pfn.network import t

Labelled = tuple[str | PathLike[str] | Sound, str | PathLike[str] | Iterable[Note]]
"""A file or a `Sound`, and its notes, or the file that has them."""

HIT = 1
"""Slices either side of its label in which a hit may lie."""

SWEEPS = 40


class Lesson(NamedTuple):
    """A recording to learn from: its spectra, at most 1, and its notes."""

    spectra: np.ndarray
    notes: Sequence[Note]


def learn_drums(recordings: Iterable[Labelled], *, seed: int = 0, progress: bool | None = None) -> DrumTemplates:
    """Templates of all drums that the labels name, from recordings with notes whose pitches are General MIDI numbers.

    A hit may only lie where its label is: everywhere else its activation is observed to be zero.
    """
    lessons, bands = list(_lessons(recordings, drum_bands(), None)), drum_bands()
    pitches = tuple(sorted({note.pitch for lesson in lessons for note in lesson.notes}))
    spectrum, hit = pfn.Variable("spectrum", len(bands.weights)), pfn.Variable("hit", len(pitches))
    parts = [pfn.Parameter(f"drum{k}", shape=(spectrum.size, hit.size)) for k in range(SLICES)]
    network = pfn.Network(pfn.Factorization(spectrum[t], sum(part @ hit[t - k] for k, part in enumerate(parts))))
    data = {
        spectrum: [lesson.spectra for lesson in lessons],
        hit: [_allowed(lesson, pitches, bands.step, EARLY + HIT, HIT - EARLY) for lesson in lessons],
    }
    method = pfn.Substitute(acceleration=None)
    found = pfn.learn(network, data, method=method, iterations=SWEEPS, seed=seed, progress=progress, engine="numpy")
    spectra = np.stack([found[part] for part in parts])
    return DrumTemplates(pitches, spectra / spectra.sum(axis=(0, 1)))


def _lessons(recordings: Iterable[Labelled], bands: Bands, longest: float | None) -> Iterable[Lesson]:
    for sound, given in recordings:
        known = isinstance(sound, Sound)
        heard = open_recording(sound.samples, sample_rate=sound.rate) if known else open_recording(sound)
        seconds = heard.seconds if longest is None else min(heard.seconds, longest)
        spectra = bands.of(heard.part(0.0, seconds, bands.rate))
        notes = read_notes(given) if isinstance(given, str | PathLike) else sorted(given)
        notes = [note for note in notes if note.onset < seconds]
        if not notes or not spectra.any():
            raise DataError(f"{heard.name}: there is {'no note' if not notes else 'only silence'} to learn from.")
        yield Lesson(spectra / spectra.max(), notes)


def _allowed(lesson: Lesson, pitches: Sequence[int], step: float, before: int, after: int) -> np.ndarray:
    """Activations: unknown from so many slices before each onset to so many after it, zero elsewhere."""
    found, rows = np.zeros((len(pitches), lesson.spectra.shape[1])), {pitch: row for row, pitch in enumerate(pitches)}
    for note in lesson.notes:
        if note.pitch in rows:
            middle = round(note.onset / step)
            found[rows[note.pitch], max(middle - before, 0) : max(middle + after + 1, 0)] = np.nan
    return found
