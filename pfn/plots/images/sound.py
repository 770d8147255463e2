"""Pictures of sound: spectrograms with frequencies and seconds, piano rolls."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import Normalize
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

from pfn.audio import Note, Spectrogram, Transcription
from pfn.audio.notes import checked_notes
from pfn.audio.sounds import check_part
from pfn.errors import DataError, OptionError
from pfn.plots.images.heatmaps import Look, add_scale_bar, colours
from pfn.plots.images.named_matrices import checked_matrix
from pfn.plots.pictures import Picture, picture_and_axes
from pfn.solve.checks import check_count, check_positive

# Inches, of a picture of its own.
SPECTROGRAM_SIZE = (7.2, 3.2)
ROLL_SIZE = (9.0, 4.0)

# Hz: from this highest frequency on, the axis counts in kHz.
KILO = 2000.0

# Rows of the spectrum behind a piano roll to a semitone.
ROWS_PER_SEMITONE = 3
# Columns of the spectrum behind a piano roll: more would not be seen.
MOST_COLUMNS = 2000

# Notes found, and true notes.
FOUND = "#7fd4ff"
TRUE = "#ffffff"
# Half the heights of notes found, filled, and of true ones, outlines around them, in semitones.
FOUND_HALF = 0.2
TRUE_HALF = 0.36


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

    Parameters
    ----------
    values
        Spectrogram of `pfn.audio.spectrogram`, or magnitudes (frequencies, slices), such as `result["x1"]`.
    like
        Spectrogram whose frequencies and seconds the magnitudes have; or else `rate`, `window` and `hop`.
    rate
        Samples per second of the sound.
    window
        Window of the transform, in samples.
    hop
        Step of the transform, in samples.
    ax
        Axes to draw into; None: a new picture.
    colormap
        Name of a colormap of matplotlib.
    decibels
        Loudness shown, from the largest magnitude down.
    power
        Show no decibels but the magnitudes, colours following them to this power; 1 is linear.

    Examples
    --------
    >>> import numpy as np, pfn.audio
    >>> hum = np.sin(2 * np.pi * 440 * np.arange(8000) / 8000)
    >>> spectrogram(pfn.audio.spectrogram(hum, rate=8000)).svg()[:5]
    '<?xml'
    """
    magnitude = checked_matrix(values.magnitude if isinstance(values, Spectrogram) else values, "the spectrogram")
    hertz, seconds = _steps(values if isinstance(values, Spectrogram) else like, magnitude, rate, window, hop)
    unit, scale = ("kHz", 1e-3) if len(magnitude) * hertz >= KILO else ("Hz", 1.0)
    largest = float(np.nanmax(magnitude, initial=0.0))
    if power is None:
        check_positive(decibels, "decibels")
        floor = 10 ** (-decibels / 20)
        shown = 20 * np.log10(np.maximum(magnitude / (largest or 1.0), floor))
        norm = Normalize(-decibels, 0.0)
    else:
        shown, norm = magnitude, Look(power=power).norm(largest)
    figure, axes = picture_and_axes(ax, SPECTROGRAM_SIZE)
    drawn = axes.imshow(np.ma.masked_invalid(shown), cmap=colours(colormap), norm=norm, aspect="auto", origin="lower")
    # Each entry is centred at its own second and frequency.
    rows, columns = magnitude.shape
    step = hertz * scale
    drawn.set_extent((-0.5 * seconds, (columns - 0.5) * seconds, -0.5 * step, (rows - 0.5) * step))
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


def piano_roll(
    found: Transcription,
    truth: Iterable[Note] | None = None,
    *,
    start: float = 0.0,
    duration: float | None = None,
    ax: Axes | None = None,
    colormap: str = "hot",
) -> Picture:
    """A piano roll: notes found, filled, over the spectrum that was heard; true notes, if given, as outlines.

    Parameters
    ----------
    found
        Transcription of `pfn.audio.transcribe`.
    truth
        True notes, such as those of `pfn.audio.read_notes`.
    start
        Second at which the picture begins.
    duration
        Seconds shown; None: to the end.
    ax
        Axes to draw into; None: a new picture.
    colormap
        Name of a colormap of matplotlib.
    """
    if not isinstance(found, Transcription):
        raise DataError(f"piano_roll needs what pfn.audio.transcribe returns, found {type(found).__name__}.")
    check_part(start, duration)
    if start >= found.seconds:
        raise OptionError(f"start must be less than the {found.seconds:g} s of what was heard, found {start:g}.")
    end = found.seconds if duration is None else min(start + duration, found.seconds)
    known = [] if truth is None else checked_notes(truth, "truth")
    heard, true = ([n for n in notes if n.offset > start and n.onset < end] for notes in (found.notes, known))
    figure, axes = picture_and_axes(ax, ROLL_SIZE)
    if found.drums:
        _draw_activity(axes, found, (start, end), colormap)
    else:
        _draw_spectrum(axes, found, (start, end), colormap)
        # The notes with an octave around them, and never less than three octaves; a tick to an octave.
        played = [note.pitch for note in (*heard, *true)]
        lowest, highest = min(played, default=60) - 12, max(played, default=60) + 12
        middle = (lowest + highest) // 2
        lowest = max(min(lowest, middle - 18), min(found.pitches))
        highest = min(max(highest, middle + 18), max(found.pitches))
        ticks = [pitch for pitch in found.pitches if lowest <= pitch <= highest and pitch % 12 == 0]
        axes.set_yticks(ticks, [f"C{pitch // 12 - 1}" for pitch in ticks])
        axes.set_ylim(lowest - 1, highest + 1)
    _draw_notes(axes, found, heard, filled=True)
    if truth is not None:
        _draw_notes(axes, found, true, filled=False)
        names = [Patch(color=FOUND, label="found"), Patch(edgecolor=TRUE, facecolor="none", label="true")]
        axes.legend(handles=names, loc="upper right", fontsize="x-small", facecolor="black", labelcolor="white")
    axes.set_xlim(start, end)
    axes.set_xlabel("seconds", fontsize="small")
    axes.tick_params(length=2, labelsize="small")
    return figure


def _draw_spectrum(axes: Axes, found: Transcription, span: tuple[float, float], colormap: str) -> None:
    """The spectrum with its bands at the pitches of their frequencies."""
    lowest, highest = min(found.pitches), max(found.pitches)
    rows = np.arange(ROWS_PER_SEMITONE * (lowest - 1), ROWS_PER_SEMITONE * (highest + 1) + 1) / ROWS_PER_SEMITONE
    heard = 69 + 12 * np.log2(found.frequencies / 440)
    columns = _columns(found, "spectrum", span).T.astype(float)
    half = 0.5 / ROWS_PER_SEMITONE
    axes.imshow(
        np.stack([np.interp(rows, heard, column) for column in columns], axis=1),
        cmap=colours(colormap),
        aspect="auto",
        origin="lower",
        extent=(*span, rows[0] - half, rows[-1] + half),
        vmin=0,
    )


def _draw_activity(axes: Axes, found: Transcription, span: tuple[float, float], colormap: str) -> None:
    """The loudness of every drum over time, one row each, relative to its loudest moment."""
    rows = _columns(found, "sounds", span).astype(float)
    rows /= np.maximum(rows.max(axis=1, keepdims=True), np.finfo(float).tiny)  # a silent drum stays 0
    count = len(found.pitches)
    box = (*span, -0.5, count - 0.5)
    axes.imshow(rows, cmap=colours(colormap), aspect="auto", origin="lower", extent=box, interpolation="nearest")
    axes.set_yticks(range(count), found.labels)


def _columns(found: Transcription, name: str, span: tuple[float, float]) -> np.ndarray:
    """The slices of some values within a span of seconds, every second or third one of many."""
    first, last = (round(second / found.step) for second in span)
    values = found.values[name][:, first : max(last, first + 1)]
    return values[:, :: max(1, values.shape[1] // MOST_COLUMNS)]


def _draw_notes(axes: Axes, found: Transcription, notes: Iterable[Note], *, filled: bool) -> None:
    """Notes as boxes: filled if they were found, outlines if they are the true ones."""
    half = FOUND_HALF if filled else TRUE_HALF
    places = {pitch: place for place, pitch in enumerate(found.pitches)} if found.drums else None
    boxes = [
        Rectangle((note.onset, place - half), note.offset - note.onset, 2 * half)
        for note in notes
        for place in [note.pitch if places is None else places.get(note.pitch)]
        if place is not None
    ]
    inside, outline = (FOUND, "black") if filled else ("none", TRUE)
    # A row of drums is nearly white where they sound, which hides white outlines.
    shadow = [withStroke(linewidth=1.7, foreground="black")] if found.drums and not filled else []
    drawn = PatchCollection(boxes, linewidth=0.7, facecolor=inside, edgecolor=outline, path_effects=shadow)
    axes.add_collection(drawn)
