"""Spectra in bands, which the models of notes and drums observe: fine steps where tones are close, wide ones above."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann

from pfn.audio.spectrograms import slices


@dataclass(frozen=True, eq=False)
class Bands:
    """Spectra of slices centred at samples 0, hop, 2 hop, …, added up in bands, magnitudes to a power.

    `weights` has a row for every band and a column for every frequency of the transform.
    """

    rate: int
    window: int
    hop: int
    power: float
    weights: np.ndarray

    @property
    def step(self) -> float:
        """Seconds from slice to slice."""
        return self.hop / self.rate

    @property
    def frequencies(self) -> np.ndarray:
        """The middle of every band, in Hz."""
        hertz = np.arange(self.weights.shape[1]) * (self.rate / self.window)
        found: np.ndarray = self.weights @ hertz / self.weights.sum(axis=1)
        return found

    def of(self, samples: np.ndarray) -> np.ndarray:
        """Spectra (bands, slices) of samples (samples, channels) at `rate`.

        Channels add up by their power, so that sounds in opposite phase on two channels do not cancel.
        """
        transform = ShortTimeFFT(hann(self.window, sym=False), self.hop, self.rate, scale_to="magnitude")
        channels = (np.abs(slices(transform, channel)) ** 2 for channel in samples.T)
        spectra: np.ndarray = (self.weights @ np.sqrt(sum(channels) / samples.shape[1])) ** self.power
        return spectra


def triangles(hertz: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Bands that rise from one corner to the next and fall to the one after; never less than the nearest frequency."""
    low, middle, high = (corners[k : len(corners) - 2 + k, None] for k in range(3))
    found = np.maximum(0, np.minimum((hertz - low) / (middle - low), (high - hertz) / (high - middle)))
    empty = np.flatnonzero(~found.any(axis=1))
    found[empty, np.abs(hertz - middle[empty]).argmin(axis=1)] = 1
    return np.asarray(found)


@cache
def note_bands() -> Bands:
    """273 bands for notes: every frequency from 25 Hz to 1.5 kHz, above that 36 an octave, to 7.6 kHz."""
    rate, window, low, middle, high, octave = 16_000, 2048, 25.0, 1500.0, 7600.0, 36
    hertz = np.arange(window // 2 + 1) * (rate / window)
    single = np.eye(len(hertz))[(hertz >= low) & (hertz <= middle)]
    corners = middle * 2 ** (np.arange(int(octave * np.log2(high / middle)) + 2) / octave)
    return Bands(rate, window, 256, 0.6, np.vstack([single, triangles(hertz, corners)]))
