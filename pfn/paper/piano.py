"""A short piano-like passage made by code: something to decompose where no recording is at hand."""

import numpy as np
import numpy.typing as npt

RATE = 16_000

# Broken chords in A flat major under a slow melody, in MIDI numbers; each chord lasts two seconds.
CHORDS = ((44, 51, 56, 60), (43, 51, 58, 61), (44, 53, 56, 60), (46, 51, 55, 61))
MELODY = ((0, 72, 2), (2, 70, 2), (4, 75, 3), (7, 73, 1), (8, 72, 2), (10, 70, 1), (11, 68, 3))


def passage(seconds: float = 15.0) -> npt.NDArray[np.float64]:
    """The passage as samples at 16 kHz, repeated as long as asked for."""
    sound = np.zeros(round(seconds * RATE))
    for start, pitch, length, strength in _score(seconds):
        begin = round(start * RATE)
        played = strength * _note(pitch, length)[: sound.size - begin]
        sound[begin : begin + played.size] += played
    scaled: npt.NDArray[np.float64] = sound / np.abs(sound).max() * 0.9
    return scaled


def _score(seconds: float) -> list[tuple[float, int, float, float]]:
    """Start, pitch, length and strength of all notes: sixteenths below, the melody above."""
    notes = []
    for step in range(int(seconds / 0.25)):
        chord = CHORDS[int(step * 0.25 // 2) % len(CHORDS)]
        place = (0, 1, 2, 3, 2, 1, 2, 3)[step % 8]
        notes.append((step * 0.25, chord[place], 0.9, 0.5 if step % 8 else 0.8))
    for verse in range(int(seconds // 14) + 1):
        notes += [(14 * verse + start, pitch, length + 0.8, 1.0) for start, pitch, length in MELODY]
    return [note for note in notes if note[0] < seconds]


def _note(pitch: int, seconds: float) -> npt.NDArray[np.float64]:
    """A struck string: slightly stretched partials, the higher ones weaker and sooner gone, a soft end."""
    time = np.arange(round(seconds * RATE)) / RATE
    fundamental = 440 * 2 ** ((pitch - 69) / 12)
    partials = np.arange(1, min(16, int(0.45 * RATE / fundamental)))
    frequencies = fundamental * partials * np.sqrt(1 + 4e-4 * partials**2)
    loudness = partials**-1.2 * np.exp(-time[:, None] * (1.2 + 0.5 * partials))
    tone = (loudness * np.sin(2 * np.pi * frequencies * time[:, None])).sum(axis=1)
    ends = np.minimum(1, np.minimum(time / 0.004, (time[-1] - time) / 0.06))
    sound: npt.NDArray[np.float64] = tone * ends * fundamental**-0.3
    return sound
