"""Sound made by code: notes like those of a piano."""

from collections.abc import Sequence

import numpy as np

RATE = 8000


def note(pitch: int, seconds: float, rate: int = RATE) -> np.ndarray:
    """Eight harmonics of a MIDI pitch, each softer than the one below it and fading faster."""
    time = np.arange(round(seconds * rate)) / rate
    frequency = 440 * 2 ** ((pitch - 69) / 12)
    return sum(0.6**h * np.sin(2 * np.pi * h * frequency * time) * np.exp(-3 * np.sqrt(h) * time) for h in range(1, 9))


def melody(pitches: Sequence[int], each: float = 0.25, rate: int = RATE) -> np.ndarray:
    """One note after the other, each sounding on for three times as long, at most 0.5 loud."""
    step = round(each * rate)
    sound = np.zeros(step * (len(pitches) + 2))
    for place, pitch in enumerate(pitches):
        sound[place * step : (place + 3) * step] += note(pitch, 3 * step / rate, rate)
    return 0.5 * sound / np.abs(sound).max()
