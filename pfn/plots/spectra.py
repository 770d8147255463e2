"""Spectrograms with frequencies and seconds."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from pfn.audio import Spectrogram
from pfn.errors import DataError, OptionError
from pfn.plots.heatmaps import Look, add_scale_bar, colours
from pfn.plots.matrices import checked_matrix
from pfn.plots.pictures import Picture, picture_and_axes
from pfn.solve.checks import check_count, check_positive

SIZE = (7.2, 3.2)
KILO = 2000.0
"""From this highest frequency on the axis counts in kHz."""


def spectrogram(
    values: Any,
    *,
    like: Spectrogram | None = None,
    rate: float | None = None,
    window: int = 1024,
    hop: int = 386,
    ax: Axes | None = None,
    colormap: str = "hot",
    decibels: float = 60.0,
    power: float | None = None,
) -> Picture:
    """A spectrogram, low frequencies at the bottom, seconds to the right.

    - values: what `pfn.audio.spectrogram` returned, or magnitudes (frequencies, slices), such as `result["x1"]`;
    - like: the spectrogram whose frequencies and seconds magnitudes have; or else
    - rate, window, hop: samples per second, and the window and the step of the transform in samples;
    - ax, colormap: as for `image`;
    - decibels: how many below the largest magnitude are shown;
    - power: show no decibels but the magnitudes, colours following them to this power; 1 is linear.

    >>> import numpy as np, pfn.audio
    >>> hum = np.sin(2 * np.pi * 440 * np.arange(8000) / 8000)
    >>> spectrogram(pfn.audio.spectrogram(hum, rate=8000)).svg()[:5]
    '<?xml'
    """
    magnitude = checked_matrix(values.magnitude if isinstance(values, Spectrogram) else values, "the spectrogram")
    hertz, seconds = _steps(values if isinstance(values, Spectrogram) else like, magnitude, rate, window, hop)
    unit, scale = ("kHz", 1e-3) if len(magnitude) * hertz >= KILO else ("Hz", 1.0)
    shown, norm = _loudness(magnitude, decibels) if power is None else _linear(magnitude, power)
    figure, axes = picture_and_axes(ax, SIZE)
    drawn = axes.imshow(np.ma.masked_invalid(shown), cmap=colours(colormap), norm=norm, aspect="auto", origin="lower")
    drawn.set_extent(_extent(magnitude, seconds, hertz * scale))
    axes.set_xlabel("seconds", fontsize="small")
    axes.set_ylabel(f"frequency ({unit})", fontsize="small")
    axes.tick_params(length=2, labelsize="small")
    add_scale_bar([axes], drawn, unit="dB" if power is None else "")
    return figure


def _steps(
    like: Spectrogram | None, magnitude: np.ndarray, rate: float | None, window: int, hop: int
) -> tuple[float, float]:
    """Hertz from row to row and seconds from column to column."""
    if like is not None:
        if not isinstance(like, Spectrogram) or like.stft.shape != magnitude.shape:
            raise DataError(
                f"the spectrogram: `like` must be a pfn.audio.Spectrogram of the same shape {magnitude.shape}, "
                f"found {like!r}."
            )
        return like.rate / like.window, like.hop / like.rate
    if rate is None:
        raise OptionError(
            "magnitudes alone do not say their frequencies: give like=, the spectrogram they belong to, or rate=, "
            "samples per second."
        )
    check_positive(rate, "rate")
    check_count(window, "window", 1)
    check_count(hop, "hop", 1)
    return rate / window, hop / rate


def _loudness(magnitude: np.ndarray, decibels: float) -> tuple[np.ndarray, Normalize]:
    """Decibels below the largest, and how they become colours."""
    check_positive(decibels, "decibels")
    floor = 10 ** (-decibels / 20)
    loudness = 20 * np.log10(np.maximum(magnitude / (np.nanmax(magnitude, initial=0.0) or 1.0), floor))
    return loudness, Normalize(-decibels, 0.0)


def _linear(magnitude: np.ndarray, power: float) -> tuple[np.ndarray, Normalize]:
    """The magnitudes themselves, and how they become colours."""
    return magnitude, Look(power=power).norm(float(np.nanmax(magnitude, initial=0.0)))


def _extent(magnitude: np.ndarray, seconds: float, frequency: float) -> tuple[float, float, float, float]:
    """Every entry is centred at its own second and frequency."""
    rows, columns = magnitude.shape
    return (-0.5 * seconds, (columns - 0.5) * seconds, -0.5 * frequency, (rows - 0.5) * frequency)
