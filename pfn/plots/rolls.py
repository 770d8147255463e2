"""Piano rolls: notes over the spectrum they were heard in, and the true notes beside them."""

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

from pfn.audio import Note, Transcription
from pfn.audio.notes import checked_notes
from pfn.audio.samples import check_part
from pfn.errors import DataError, OptionError
from pfn.plots.heatmaps import colours
from pfn.plots.pictures import Picture, picture_and_axes

SIZE = (9.0, 4.0)
SEMITONES = 3
"""Rows of the spectrum to a semitone."""

MOST_COLUMNS = 2000
"""Columns of the spectrum that are drawn; more would not be seen."""

FOUND, TRUE = "#7fd4ff", "#ffffff"
HIGH, LOW = 0.36, 0.2
"""Half the height, in semitones, of a true note, an outline, and of one that was found."""


def piano_roll(
    found: Transcription,
    truth: Iterable[Note] | None = None,
    *,
    start: float = 0.0,
    duration: float | None = None,
    ax: Axes | None = None,
    colormap: str = "hot",
) -> Picture:
    """The notes that were found, filled, over the spectrum that was heard; the true ones, if given, as outlines.

    - found: what `pfn.audio.transcribe` returned;
    - truth: notes, such as `pfn.audio.read_notes` returns;
    - start, duration: the part to show, in seconds; duration None: to the end;
    - ax, colormap: as for `image`.
    """
    if not isinstance(found, Transcription):
        raise DataError(f"piano_roll needs what pfn.audio.transcribe returns, found {type(found).__name__}.")
    check_part(start, duration)
    if start >= found.seconds:
        raise OptionError(f"start must be less than the {found.seconds:g} s of what was heard, found {start:g}.")
    end = found.seconds if duration is None else min(start + duration, found.seconds)
    known = [] if truth is None else checked_notes(truth, "truth")
    heard, true = ([n for n in notes if n.offset > start and n.onset < end] for notes in (found.notes, known))
    figure, axes = picture_and_axes(ax, SIZE)
    if found.drums:
        _draw_activity(axes, found, (start, end), colormap)
    else:
        _draw_spectrum(axes, found, (start, end), colormap)
        _show_pitches(axes, found, [note.pitch for note in (*heard, *true)])
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
    """Bands at the pitches of their frequencies."""
    rows = np.arange(SEMITONES * (min(found.pitches) - 1), SEMITONES * (max(found.pitches) + 1) + 1) / SEMITONES
    heard = 69 + 12 * np.log2(found.frequencies / 440)
    columns = _columns(found, "spectrum", span).T.astype(float)
    axes.imshow(
        np.stack([np.interp(rows, heard, column) for column in columns], axis=1),
        cmap=colours(colormap),
        aspect="auto",
        origin="lower",
        extent=(*span, rows[0] - 0.5 / SEMITONES, rows[-1] + 0.5 / SEMITONES),
        vmin=0,
    )


def _show_pitches(axes: Axes, found: Transcription, played: Sequence[int]) -> None:
    """Those that are played, an octave around them, and never less than three octaves; a tick to an octave."""
    lowest, highest = min(played, default=60) - 12, max(played, default=60) + 12
    middle = (lowest + highest) // 2
    lowest = max(min(lowest, middle - 18), min(found.pitches))
    highest = min(max(highest, middle + 18), max(found.pitches))
    ticks = [pitch for pitch in found.pitches if lowest <= pitch <= highest and pitch % 12 == 0]
    axes.set_yticks(ticks, [f"C{pitch // 12 - 1}" for pitch in ticks])
    axes.set_ylim(lowest - 1, highest + 1)


def _draw_activity(axes: Axes, found: Transcription, span: tuple[float, float], colormap: str) -> None:
    """How strongly every drum sounds, one row each."""
    rows = _columns(found, "sounds", span).astype(float)
    rows /= np.maximum(rows.max(axis=1, keepdims=True), np.finfo(float).tiny)
    count = len(found.pitches)
    box = (*span, -0.5, count - 0.5)
    axes.imshow(rows, cmap=colours(colormap), aspect="auto", origin="lower", extent=box, interpolation="nearest")
    axes.set_yticks(range(count), found.labels)


def _columns(found: Transcription, name: str, span: tuple[float, float]) -> np.ndarray:
    first, last = (round(second / found.step) for second in span)
    values = found.values[name][:, first : max(last, first + 1)]
    return values[:, :: max(1, values.shape[1] // MOST_COLUMNS)]


def _draw_notes(axes: Axes, found: Transcription, notes: Iterable[Note], *, filled: bool) -> None:
    half = LOW if filled else HIGH
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
