"""From a recording to its notes: heard in windows, read off as a whole."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pfn import OptionError
from pfn.audio.drums import KIND, Drums, DrumTemplates, drum_templates, load_drums
from pfn.audio.listeners import Heard, Listener, delayed
from pfn.audio.machines import NoteMachines
from pfn.audio.notes import Note, write_midi
from pfn.audio.onsets import FLUX_HOP, Events, events, moved, spectral_flux
from pfn.audio.recordings import Excerpt, Recording, open_recording
from pfn.audio.templates import NoteTemplates, load_templates, piano_templates
from pfn.files import kind_of
from pfn.solve.checks import check_positive
from pfn.solve.progress import Bar, make_bar

# Sounds that never get louder than this, 100 dB below full scale, or that last fewer seconds, have no notes.
SILENT = 1e-5
SHORT = 0.1
# Of the loudest band: windows that are never louder are not listened to.
INAUDIBLE = 1e-6

# Samples per second at which changes of the spectrum are measured.
FLUX_RATE = 16_000
# Slices from its onset within which a note is strongest.
RISING = 12

# A note ends where less than RELEASED of it is left after AFTER slices, or less than LEFT of what it was at its
# strongest: sounds fade slowly until they are released.
RELEASED = 0.7
AFTER = 3
LEFT = 0.1

# The models that come with the package, by name.
MODELS: dict[str, Callable[[], NoteTemplates | DrumTemplates]] = {"piano": piano_templates, "drums": drum_templates}


@dataclass(frozen=True, eq=False)
class Transcription:
    """The notes of a recording, made by `transcribe`.

    - `notes`: in the order in which they begin; onsets and offsets in seconds from the begin of what was heard;
    - `values`: by name, arrays with a column every `step` seconds: `"spectrum"` (bands, columns), `"begins"` and
      `"sounds"` (pitches, columns), the strength with which a sound begins, and with which it goes on;
    - `pitches`, `labels`: the MIDI number and the name of every row of the latter two;
    - `frequencies`: the middles of the bands, in Hz;
    - `seconds`: the length of the sound; `drums`: whether pitches stand for drums.
    """

    notes: Sequence[Note]
    values: Mapping[str, np.ndarray]
    step: float
    seconds: float
    pitches: tuple[int, ...]
    labels: tuple[str, ...]
    frequencies: np.ndarray
    drums: bool

    def to_midi(self, path: str | PathLike[str]) -> None:
        """Write the notes as a MIDI file, exact to the millisecond."""
        write_midi(path, self.notes, drums=self.drums)

    def __repr__(self) -> str:
        return f"Transcription({len(self.notes)} notes in {self.seconds:.4g} s)"


class Loudest(NamedTuple):
    """The largest values of a recording: of its bands, and of its samples."""

    band: float
    sample: float


class HeardSpan(NamedTuple):
    """Values kept of a window, or of a whole recording, along time."""

    spectrum: np.ndarray
    begins: np.ndarray
    sounds: np.ndarray
    flux: np.ndarray


def transcribe(
    sound: str | PathLike[str] | Any,
    *,
    sample_rate: float | None = None,
    model: str | NoteTemplates | DrumTemplates | Listener = "piano",
    start: float = 0.0,
    duration: float | None = None,
    threshold: float | None = None,
    progress: bool | None = None,
) -> Transcription:
    """The notes of a recording, with onsets, offsets, pitches and strengths.

    Long recordings are heard in overlapping windows, so that memory hardly grows with their length.

    Parameters
    ----------
    sound
        The path of a file (WAV, FLAC, OGG, MP3), or samples, (samples,) or (samples, channels).
    sample_rate
        Samples per second of samples given directly.
    model
        "piano", "drums", or templates of your own: `learn_notes`, `learn_drums`, `load_templates`, `load_drums`.
    start
        Second at which to begin.
    duration
        Seconds to take; None: to the end.
    threshold
        Least strength of a note, relative to the typical strength of notes; None: that of the templates.
    progress
        Show a bar; None: when standard error is a terminal.
    """
    if threshold is not None:
        check_positive(threshold, "threshold")
    if isinstance(model, str) and model in MODELS:
        model = MODELS[model]()
    if isinstance(model, NoteTemplates):
        listener: Listener = NoteMachines(model, threshold)
    elif isinstance(model, DrumTemplates):
        listener = Drums(model, threshold)
    elif isinstance(model, Listener):
        listener = model
    else:
        raise OptionError(
            f'model must be "piano", "drums", or templates such as pfn.audio.learn_notes returns, found {model!r}. '
            "Read templates from a file with pfn.audio.load_templates(path)."
        )
    recording = open_recording(sound, sample_rate=sample_rate, start=start, duration=duration)
    windows = recording.windows()
    loudest = Loudest(0.0, 0.0)
    for window in windows:
        samples = recording.part(window.first, window.last, listener.bands.rate)
        found = listener.bands.of(samples).max(), np.abs(samples).max(initial=0.0)
        loudest = Loudest(*np.maximum(loudest, found))
    with make_bar(progress) as bar:
        if loudest.sample > SILENT and recording.seconds > SHORT:
            # All spans as one. Of each kind they are let go as soon as it is joined, or an hour would be there twice.
            kinds = [list(kind) for kind in zip(*_spans(recording, windows, listener, loudest, bar), strict=True)]
            values = HeardSpan(*(np.concatenate(kinds.pop(0), axis=-1) for _ in HeardSpan._fields))
        else:
            columns = int(np.ceil(recording.seconds / listener.bands.step)) + 1
            spectrum = np.zeros((len(listener.bands.weights), columns), np.float16)
            values = HeardSpan(spectrum, *_nothing(listener, columns), flux=np.zeros(1))
    return _read(recording, listener, values)


def templates_named(name: str) -> NoteTemplates | DrumTemplates:
    """The templates of a model that comes with the package, or those in a file."""
    if name in MODELS:
        return MODELS[name]()
    if not Path(name).is_file():
        raise OptionError(f"model: expected piano, drums or a file of templates, found {name!r}, which is no file.")
    return load_drums(name) if kind_of(Path(name)) == KIND else load_templates(name)


def _spans(
    recording: Recording, windows: Sequence[Excerpt], listener: Listener, loudest: Loudest, bar: Bar
) -> Iterator[HeardSpan]:
    """The values of every window in turn."""
    run = bar.begin("listening", listener.sweeps * len(windows))
    for number, window in enumerate(windows):

        def watch(sweeps: int, error: float, done: int = number * listener.sweeps) -> None:
            bar.advance(run, done + sweeps, error)

        last = number + 1 == len(windows)
        spectra = listener.bands.of(recording.part(window.begin, window.end, listener.bands.rate)) / loudest.band
        audible = spectra.max(initial=0.0) > INAUDIBLE
        heard = listener.hear(spectra, watch) if audible else _nothing(listener, spectra.shape[1])
        flux = spectral_flux(recording.part(window.begin, window.end, FLUX_RATE), FLUX_RATE, loudest.sample)
        kept, fine = (_kept(window, step, last=last) for step in (listener.bands.step, FLUX_HOP / FLUX_RATE))
        # Single precision, and half of it for values that are only looked at: an hour takes about 250 MB.
        yield HeardSpan(
            spectra[:, kept].astype(np.float16),
            delayed(heard.begins, listener.early)[:, kept].astype(np.float32),
            heard.sounds[:, kept].astype(np.float16),
            flux[fine].astype(np.float32),
        )
    bar.end(run)


def _nothing(listener: Listener, columns: int) -> Heard:
    """Activations of silence."""
    zeros = np.zeros((len(listener.pitches), columns), np.float32)
    return Heard(zeros, zeros)


def _kept(window: Excerpt, step: float, *, last: bool) -> slice:
    """The slices of a window that are kept; of the last window all to the end."""
    first = round((window.first - window.begin) / step)
    return slice(first, None if last else first + round((window.last - window.first) / step))


def _read(recording: Recording, listener: Listener, values: HeardSpan) -> Transcription:
    """Notes read off the activations."""
    spectrum, begins, sounds, flux = values
    loudness = spectrum.sum(axis=0, dtype=np.float32)
    found, step = events(begins, loudness, listener.reading), listener.bands.step
    onsets = found.columns * step
    if listener.reading.moves:
        onsets = moved(onsets, flux, FLUX_HOP / FLUX_RATE)
    ends = np.maximum(releases(found, sounds) * step, onsets + step)
    notes = sorted(
        Note(
            float(onset), float(min(end, max(recording.seconds, onset + step))), listener.pitches[row], float(strength)
        )
        for onset, end, row, strength in zip(onsets, ends, found.rows, found.strengths, strict=True)
    )
    return Transcription(
        notes=tuple(notes),
        values={"spectrum": spectrum, "begins": begins, "sounds": sounds},
        step=step,
        seconds=recording.seconds,
        pitches=listener.pitches,
        labels=listener.labels,
        frequencies=listener.bands.frequencies,
        drums=listener.drums,
    )


def releases(found: Events, sounds: np.ndarray) -> np.ndarray:
    """The slices at which events are over: released, nearly silent, or at the next event of their sound."""
    ends = np.empty(len(found.rows))
    following: dict[int, int] = {}
    for place in range(len(found.rows) - 1, -1, -1):
        row, column = int(found.rows[place]), int(found.columns[place])
        limit = following.get(row, sounds.shape[1])
        following[row] = column
        level = sounds[row, column:limit].astype(float)
        peak = int(level[:RISING].argmax())
        over = level[peak:] < LEFT * level[peak]
        over[:-AFTER] |= level[peak + AFTER :] < RELEASED * level[peak:-AFTER]
        ends[place] = column + peak + (int(over.argmax()) if over.any() else len(over))
    return ends
