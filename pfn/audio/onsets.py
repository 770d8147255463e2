"""Onsets: maxima of activations, and the moment near each at which the spectrum changes most."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter1d, uniform_filter1d
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann

from pfn.audio.spectrograms import slices

# Spectral flux, in samples at 16 kHz: a window of 32 ms every 2 ms. FLUX_STEPS is in such steps: each is compared with
# the one 16 ms before.
FLUX_WINDOW = 512
FLUX_HOP = 32
FLUX_STEPS = 8

# Of the largest magnitude: changes far below it are not heard as onsets, and the logarithm of zero is not needed.
QUIET = 1e-4

# Seconds by which an onset may be moved.
NEAR = 0.05

# Of a slice's own activation, added to sums of slices: among equal sums the strongest slice counts.
TIE = 1e-5

# Of the strongest maximum: weaker ones are not counted when the typical strength is measured.
FAINT = 0.01

# Slices from its onset on in which the loudness is taken that an event must have a share in.
HEARD = 10


@dataclass(frozen=True)
class Reading:
    """A rule to read events off activations: sums over `around` slices either side, largest within `apart`.

    A maximum counts when it is above `threshold` times the typical strength of maxima plus `moving` times the mean of
    its surroundings, `wide` slices either side. Rows are measured together, or each by itself with `separate`; the
    typical strength is then at least `least` times that of the strongest row, so that a sound that is absent is not
    measured by its own traces. Noise does not count: a maximum is above `stands` times its surroundings,
    and above `share` times the loudness that is heard with it. With `moves`, onsets go to where the spectrum changes
    most nearby.
    """

    threshold: float
    around: int
    apart: int
    moving: float = 0.0
    wide: int = 0
    separate: bool = False
    least: float = 0.0
    stands: float = 0.0
    share: float = 0.0
    moves: bool = True


class Events(NamedTuple):
    """Events: rows and slices of activations, and strengths relative to the strongest."""

    rows: np.ndarray
    columns: np.ndarray
    strengths: np.ndarray


class Maxima(NamedTuple):
    """Maxima of one row: their slices, their heights, and the mean of their surroundings."""

    columns: np.ndarray
    heights: np.ndarray
    around: np.ndarray


def events(activity: np.ndarray, loudness: np.ndarray, reading: Reading) -> Events:
    """The maxima of activations (rows, slices) that count, in order of time; `loudness` (slices,) is that of all."""
    maxima = [_maxima(row, reading) for row in activity]  # row by row: an hour of all rows would be copied many times
    columns, heights, around = (np.concatenate(kind) for kind in zip(*maxima, strict=True))
    counts = [len(found.columns) for found in maxima]
    if reading.separate:
        own = np.array([_typical(row.heights) for row in maxima])
        typicals = np.maximum(own, reading.least * own.max())
    else:
        typicals = np.full(len(maxima), _typical(heights))
    rows, typical = np.repeat(np.arange(len(activity)), counts), np.repeat(typicals, counts)
    counting = heights > reading.threshold * typical + reading.moving * around
    counting &= heights > reading.stands * around
    counting &= heights > reading.share * maximum_filter1d(loudness, HEARD, origin=-(HEARD // 2))[columns]
    order = np.lexsort((rows[counting], columns[counting]))
    strengths = heights / max(heights.max(initial=0.0), np.finfo(float).tiny)
    return Events(*(values[counting][order] for values in (rows, columns, strengths)))


def _maxima(activity: np.ndarray, reading: Reading) -> Maxima:
    """The maxima of one row."""
    size = 2 * reading.around + 1
    summed = uniform_filter1d(activity, size, mode="constant") * size + TIE * activity
    largest = maximum_filter1d(summed, 2 * reading.apart + 1, mode="constant")
    columns = np.flatnonzero((summed >= largest) & (summed > 0))
    columns = columns[np.diff(columns, prepend=-2) > 1]  # of equal ones side by side the first
    around = uniform_filter1d(summed, 2 * reading.wide + 1, mode="nearest") if reading.wide else np.zeros_like(summed)
    return Maxima(columns, summed[columns].astype(float), around[columns])


def _typical(heights: np.ndarray) -> float:
    """The mean of maxima, weighted by their squares: unlike the largest, no single one decides it."""
    loud = heights[heights > FAINT * heights.max(initial=0.0)]
    return float(np.sum(loud**3) / max(np.sum(loud**2), np.finfo(float).tiny))


def spectral_flux(samples: np.ndarray, rate: float, loudest: float) -> np.ndarray:
    """Sums of rises of log magnitudes over the frequencies, every FLUX_HOP samples of (samples, channels) at 16 kHz."""
    transform = ShortTimeFFT(hann(FLUX_WINDOW, sym=False), FLUX_HOP, rate, scale_to="magnitude")
    silence = ((FLUX_STEPS * FLUX_HOP, 0), (0, 0))  # before the beginning, so that something may begin there
    power = sum(np.abs(slices(transform, channel)) ** 2 for channel in np.pad(samples, silence).T)
    logarithms = np.log(np.sqrt(power) + QUIET * loudest)
    rises = np.maximum(logarithms[:, FLUX_STEPS:] - logarithms[:, :-FLUX_STEPS], 0.0).sum(axis=0)
    half = FLUX_STEPS // 2
    return np.pad(rises[half:], (0, half))


def moved(seconds: np.ndarray, flux: np.ndarray, step: float) -> np.ndarray:
    """Onsets moved to the largest flux nearby; `step`: seconds from one value of the flux to the next."""
    reach = round(NEAR / step)
    offsets = np.arange(-reach, reach + 1)
    places = np.rint(seconds / step).astype(int)[:, None] + offsets
    inside = (places >= 0) & (places < len(flux))
    nearby = np.where(inside, flux[np.clip(places, 0, len(flux) - 1)], -1.0)
    best = nearby.argmax(axis=1)
    found: np.ndarray = np.where(inside.any(axis=1), places[np.arange(len(places)), best] * step, seconds)
    return found
