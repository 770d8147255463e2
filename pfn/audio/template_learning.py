"""Templates of notes and drums learned from recordings whose notes are known."""

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import NamedTuple

import numpy as np

import pfn
from pfn import DataError, OptionError, t
from pfn.audio.bands import Bands, note_bands
from pfn.audio.drums import EARLY as EARLY_HIT
from pfn.audio.drums import SLICES, DrumTemplates, drum_bands
from pfn.audio.machines import LENGTHS, OPTIONS, equalised, flat_start, note_machines
from pfn.audio.notes import Note, checked_notes, read_notes
from pfn.audio.recordings import open_recording
from pfn.audio.sounds import Sound
from pfn.audio.templates import ATTACK, EARLY, NoteTemplates, piano_templates, scaled

# A file or a `Sound`, and its notes, or the file that has them.
Labelled = tuple[str | PathLike[str] | Sound, str | PathLike[str] | Iterable[Note]]

# Seconds of every recording with notes: more changes little.
SECONDS = 120.0
# Seconds before and after its label at which a note may begin.
EARLIEST = 0.06
LATEST = 0.09
# Sweeps before each adjustment of a recording's equaliser, and then to learn templates on all recordings.
EQUALISING = (6, 2, 2)
LEARNING = 24
# Of the typical strength of notes, that a note has at least with learned templates, which explain less of other notes.
LEARNED_THRESHOLD = 0.33

# Slices either side of its label in which a hit of a drum may lie.
HIT = 1
DRUM_SWEEPS = 40


class Lesson(NamedTuple):
    """A recording to learn from: its spectra, at most 1, and its notes."""

    spectra: np.ndarray
    notes: Sequence[Note]


def learn_notes(
    recordings: Iterable[Labelled], *, templates: NoteTemplates | None = None, progress: bool | None = None
) -> NoteTemplates:
    """Templates of notes learned from recordings whose notes are known.

    A note may only begin near its label: everywhere else its paths are observed to be zero. Each recording gets an
    equaliser of its own first, so that templates do not learn its room. Pitches that are not played stay as they were.

    Parameters
    ----------
    recordings
        Pairs of a recording (a file or a `Sound`) and its notes (a file or a list).
    templates
        Templates to start from; None: those of the piano.
    progress
        Show a bar; None: when standard error is a terminal.
    """
    if not isinstance(templates, NoteTemplates | None):
        raise OptionError(
            f"templates must be NoteTemplates to start from, or None: those of the piano, found {templates!r}. "
            "Read them from a file with pfn.audio.load_templates(path)."
        )
    start = piano_templates() if templates is None else templates
    lessons = list(_lessons(recordings, note_bands(), SECONDS))
    equal = [_equalised_lesson(lesson, start) for lesson in lessons]
    count = sum(len(lesson.notes) for lesson in lessons)
    network = note_machines(start, strength=sum(one.activity for one in equal) / count)
    data = {name: [one.data[name] for one in equal] for name in equal[0].data}
    paths = {name: [one.values[name] for one in equal] for name in equal[0].values}
    options = {**OPTIONS, "progress": progress}
    method = pfn.Substitute(acceleration=None)
    found = pfn.learn(network, data, method=method, initial=paths, iterations=LEARNING, **options)
    learned = learned_templates(start, found)
    return NoteTemplates(start.pitches, *scaled(learned.attack, learned.decay), start.fade, LEARNED_THRESHOLD)


def learned_templates(templates: NoteTemplates, found: pfn.Result) -> NoteTemplates:
    """Templates with the spectra that a network of note machines learned."""
    attack = np.stack([found[f"attack{k}"] for k in range(ATTACK)])
    return replace(templates, attack=attack, decay=found["decay"])


class EqualisedLesson(NamedTuple):
    """A lesson without the sound of its room: observations, starting values of the paths, the sum of all notes."""

    data: dict[str, np.ndarray]
    values: dict[str, np.ndarray]
    activity: float


def _equalised_lesson(lesson: Lesson, templates: NoteTemplates) -> EqualisedLesson:
    """The spectra of a lesson divided by the equaliser that is learned from them."""
    step = note_bands().step
    before, after = (round(seconds / step) for seconds in (EARLIEST, LATEST))
    allowed = _allowed(lesson, templates.pitches, step, before + EARLY, after - EARLY)
    data = {"spectrum": lesson.spectra} | {f"held{length:g}": allowed for length in LENGTHS}
    start = flat_start(lesson.spectra, len(templates.pitches))
    found = equalised(templates, data, start, EQUALISING)
    values, gains = {name: found[name] for name in start}, found["equaliser"].diagonal()
    return EqualisedLesson(data | {"spectrum": lesson.spectra / gains[:, None]}, values, float(found["on"].sum()))


def learn_drums(recordings: Iterable[Labelled], *, seed: int = 0, progress: bool | None = None) -> DrumTemplates:
    """Templates of all drums that the labels name, learned from recordings whose hits are known.

    A hit may only lie where its label is: everywhere else its activation is observed to be zero.

    Parameters
    ----------
    recordings
        Pairs of a recording (a file or a `Sound`) and its notes (a file or a list), with General MIDI numbers.
    seed
        Seed of the random numbers.
    progress
        Show a bar; None: when standard error is a terminal.
    """
    lessons, bands = list(_lessons(recordings, drum_bands(), None)), drum_bands()
    pitches = tuple(sorted({note.pitch for lesson in lessons for note in lesson.notes}))
    spectrum, hit = pfn.Variable("spectrum", len(bands.weights)), pfn.Variable("hit", len(pitches))
    # The mean spectra around the hits of every drum, (slices, bands, drums), each drum's sum 1.
    start = np.full((SLICES, len(lessons[0].spectra), len(pitches)), np.finfo(float).eps)
    for lesson in lessons:
        later = np.pad(lesson.spectra, ((0, 0), (EARLY_HIT, SLICES)))
        for note in lesson.notes:
            place = max(round(note.onset / bands.step), 0)
            start[:, :, pitches.index(note.pitch)] += later[:, place : place + SLICES].T
    start /= start.sum(axis=(0, 1))
    parts = [pfn.Parameter(f"drum{k}", value, learn=True) for k, value in enumerate(start)]
    network = pfn.Network(pfn.Factorization(spectrum[t], sum(part @ hit[t - k] for k, part in enumerate(parts))))
    data = {
        spectrum: [lesson.spectra for lesson in lessons],
        hit: [_allowed(lesson, pitches, bands.step, EARLY_HIT + HIT, HIT - EARLY_HIT) for lesson in lessons],
    }
    method = pfn.Substitute(acceleration=None)
    found = pfn.learn(
        network, data, method=method, iterations=DRUM_SWEEPS, seed=seed, progress=progress, engine="numpy"
    )
    spectra = np.stack([found[part] for part in parts])
    return DrumTemplates(pitches, spectra / spectra.sum(axis=(0, 1)))


def _lessons(recordings: Iterable[Labelled], bands: Bands, longest: float | None) -> Iterable[Lesson]:
    """Lessons of recordings, of which the first `longest` seconds are taken."""
    pairs = list(recordings) if isinstance(recordings, Iterable) else []
    fit = (isinstance(one, tuple | list) and len(one) == 2 and not isinstance(one, Sound) for one in pairs)
    if not pairs or not all(fit):
        raise DataError(
            f"recordings: expected pairs of a recording and its notes, such as [('song.flac', 'song.mid')], "
            f"found {reprlib.repr(recordings)}."
        )
    for sound, given in pairs:
        heard = open_recording(sound)
        seconds = heard.seconds if longest is None else min(heard.seconds, longest)
        spectra = bands.of(heard.part(0.0, seconds, bands.rate))
        notes = read_notes(given) if isinstance(given, str | PathLike) else checked_notes(given, heard.name)
        notes = [note for note in notes if -EARLIEST < note.onset < seconds]
        if not notes or not spectra.any():
            raise DataError(
                f"{heard.name}: there is {'no note' if not notes else 'only silence'} to learn from in its "
                f"{seconds:.4g} s. Leave it out, or give the notes that belong to it."
            )
        yield Lesson(spectra / spectra.max(), notes)


def _allowed(lesson: Lesson, pitches: Sequence[int], step: float, before: int, after: int) -> np.ndarray:
    """Activations: unknown from `before` slices before each onset to `after` slices after it, zero elsewhere."""
    found, rows = np.zeros((len(pitches), lesson.spectra.shape[1])), {pitch: row for row, pitch in enumerate(pitches)}
    for note in lesson.notes:
        if note.pitch in rows:
            middle = round(note.onset / step)
            found[rows[note.pitch], max(middle - before, 0) : max(middle + after + 1, 0)] = np.nan
    return found
