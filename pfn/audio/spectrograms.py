"""Magnitude spectrograms of sounds, and the way back with the phase of the sound they came from."""

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from scipy.signal import ShortTimeFFT
from scipy.signal.windows import hann

from pfn import DataError, OptionError
from pfn.audio.sounds import Sound, check_part, checked_samples, mixed_down, read_sound, resampled
from pfn.solve.checks import check_count, check_positive

# Samples: a shorter Hann window is one sample and its ends.
LEAST_WINDOW = 4


def spectrogram(
    sound: str | PathLike[str] | Any,
    *,
    rate: float | None = None,
    sample_rate: float | None = None,
    start: float = 0.0,
    duration: float | None = None,
    window: int = 1024,
    hop: int = 386,
    bins: int | None = None,
    peak: float | None = None,
) -> "Spectrogram":
    """The short-time Fourier transform of a sound with a Hann window, slices centred at samples 0, hop, 2 hop, …

    The defaults of window and hop give about 41 slices a second at 16 kHz, as in the paper's section 6.

    Parameters
    ----------
    sound
        The path of a file, or samples, (samples,) or (samples, channels); channels are mixed down.
    rate
        Samples per second to work at; None: those of the file, or `sample_rate`.
    sample_rate
        Samples per second of samples given directly; None: they are at `rate` already.
    start
        Second at which to begin.
    duration
        Seconds to take; None: to the end.
    window, hop
        The length of the window and the step from slice to slice, in samples.
    bins
        Keep that many of the window // 2 + 1 frequencies, from the lowest on; None: all.
    peak
        Scale to this largest magnitude (`to_sound` scales back); None: as it is.

    Examples
    --------
    >>> hum = np.sin(2 * np.pi * 440 * np.arange(8000) / 8000)
    >>> found = spectrogram(hum, rate=8000, window=512, hop=128)
    >>> found.magnitude.shape, float(found.frequencies[found.magnitude[:, 30].argmax()])
    ((257, 64), 437.5)
    >>> bool(np.allclose(found.to_sound(), hum))
    True
    """
    check_count(window, "window", LEAST_WINDOW)
    check_count(hop, "hop", 1)
    if hop > window // 2:
        raise OptionError(
            f"hop must be at most half the window, {window // 2}, so that the sound can be put together again, "
            f"found {hop}."
        )
    if bins is not None:
        check_count(bins, "bins", 1)
        if bins > window // 2 + 1:
            raise OptionError(f"bins must be at most window // 2 + 1 = {window // 2 + 1}, found {bins}.")
    if peak is not None:
        check_positive(peak, "peak")
    taken = _taken(sound, rate, sample_rate, start, duration)
    least = (window + 1) // 2
    if len(taken.samples) < least:
        what = str(sound) if isinstance(sound, str | PathLike) else "samples"
        raise DataError(
            f"{what}: a window of {window} needs a sound of at least {least} samples, found {len(taken.samples)} at "
            f"{taken.rate:g} Hz. Give a longer sound or a smaller window."
        )
    stft = slices(_transform(taken.rate, window, hop), taken.samples)[: bins or window // 2 + 1]
    largest = float(np.abs(stft).max())
    silent = largest < np.finfo(float).tiny  # which no factor makes loud
    scale = 1.0 if peak is None or silent else peak / largest
    return Spectrogram(_read_only(stft * scale), taken.rate, window, hop, len(taken.samples), scale)


def _taken(sound: Any, rate: float | None, sample_rate: float | None, start: float, duration: float | None) -> Sound:
    """The part of a file or of samples that is asked for, at the rate to work at, in one channel."""
    if isinstance(sound, str | PathLike):
        if sample_rate is not None:
            raise OptionError(f"{sound}: a file says its own sample_rate, found {sample_rate}. Leave it out.")
        return read_sound(sound, rate=rate, start=start, duration=duration)
    own = rate if sample_rate is None else sample_rate
    if own is None:
        raise OptionError("rate must be given with samples: say how many of them make a second, such as rate=16000.")
    check_positive(own, "rate" if sample_rate is None else "sample_rate")
    taken = Sound(mixed_down(checked_samples(sound, "samples")), own)
    taken = taken if rate is None else resampled(taken, rate)
    check_part(start, duration)
    begin = round(start * taken.rate)
    end = None if duration is None else begin + round(duration * taken.rate)
    return taken._replace(samples=taken.samples[begin:end])


@dataclass(frozen=True, repr=False, eq=False)
class Spectrogram:
    """A spectrogram, made by `spectrogram`: frequencies down, time slices to the right.

    - `magnitude`, `phase`: of the complex values in `stft`, which are `scale` times those of the sound;
    - `frequencies` in Hz, one per row; `times` in seconds, the middles of the slices, one per column;
    - `rate`, `window`, `hop`, and `samples`, the number of samples of the sound.
    """

    stft: np.ndarray
    rate: float
    window: int
    hop: int
    samples: int
    scale: float

    @cached_property
    def magnitude(self) -> np.ndarray:
        """The absolute values, which a network observes."""
        return _read_only(np.abs(self.stft))

    @cached_property
    def phase(self) -> np.ndarray:
        """The angles, from −π to π."""
        return _read_only(np.angle(self.stft))

    @property
    def frequencies(self) -> np.ndarray:
        """The frequency of every row, in Hz."""
        found: np.ndarray = _transform(self.rate, self.window, self.hop).f[: self.stft.shape[0]]
        return found

    @property
    def times(self) -> np.ndarray:
        """The middle of every slice, in seconds."""
        return np.arange(self.stft.shape[1]) * (self.hop / self.rate)

    def to_sound(self, magnitude: Any = None) -> np.ndarray:
        """The samples that have these magnitudes and the phase of this spectrogram, in the least squares sense.

        Without magnitudes the sound itself, up to frequencies that were left out. Write them with `write_sound`.
        """
        values = self.stft if magnitude is None else self._checked(magnitude) * np.exp(1j * self.phase)
        transform = _transform(self.rate, self.window, self.hop)
        padding = ((0, transform.f_pts - values.shape[0]), (0, 0))
        sound = _inverse(transform, np.pad(values / self.scale, padding), self.samples)
        # The slices before the first and after the last are not kept, so fewer than usual add up at both ends.
        ones = _inverse(transform, slices(transform, np.ones(self.samples)), self.samples)
        sound /= ones
        return sound

    def _checked(self, magnitude: Any) -> np.ndarray:
        """Magnitudes as an array; refuse other shapes, and negative or infinite entries."""
        array = np.asarray(magnitude)
        if array.shape != self.stft.shape or array.dtype.kind not in "iuf":
            raise DataError(
                f"magnitude: expected numbers of the shape {self.stft.shape}, like this spectrogram, found "
                f"{array.dtype} of the shape {array.shape}."
            )
        wrong = ~(np.isfinite(array) & (array >= 0))
        if wrong.any():
            row, column = (int(place) for place in np.argwhere(wrong)[0])
            raise DataError(
                f"magnitude: entries must be finite and non-negative, found {array[row, column]} at row {row}, "
                f"column {column}. Replace such entries, for example by 0."
            )
        return array

    def __repr__(self) -> str:
        rows, columns = self.stft.shape
        return f"Spectrogram({rows} frequencies × {columns} slices, {self.samples / self.rate:g} s at {self.rate:g} Hz)"


def _transform(rate: float, window: int, hop: int) -> ShortTimeFFT:
    return ShortTimeFFT(hann(window, sym=False), hop, rate, scale_to="magnitude")


def slices(transform: ShortTimeFFT, samples: np.ndarray) -> np.ndarray:
    """Slices from the one centred at sample 0 to the first centred at or after the end of the samples."""
    count = -(-len(samples) // transform.hop) + 1
    padding = max(transform.hop, transform.m_num - len(samples))  # ShortTimeFFT refuses less than half a window
    found: np.ndarray = transform.stft(np.pad(samples, (0, padding)), 0, count)
    return found


def _inverse(transform: ShortTimeFFT, slices: np.ndarray, samples: int) -> np.ndarray:
    """Samples by overlapping and adding slices with the dual window; slices that were not kept count as zero."""
    missing = max(transform.p_max(samples) - slices.shape[1], 0)
    found: np.ndarray = transform.istft(np.pad(slices, ((0, 0), (-transform.p_min, missing))), 0, samples)
    return found


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
