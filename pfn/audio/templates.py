"""Templates of the notes of an instrument, slice by slice: made from isolated notes, or read from files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from numbers import Integral
from os import PathLike
from pathlib import Path

import numpy as np

from pfn import DataError, FileError
from pfn.audio.bands import Bands, note_bands
from pfn.audio.notes import HIGHEST
from pfn.audio.recordings import open_recording
from pfn.audio.sounds import Sound, mixed_down, resampled
from pfn.files import read_file, write_file
from pfn.solve.checks import check_number

KIND = "set of note templates"

# Slices of an attack, and those among them before the onset, where the window already sees it.
ATTACK = 10
EARLY = 3

# Seconds after the onset up to which the spectrum of the decay is averaged.
STEADY = 0.8

PIANO = range(21, 109)

# Of the typical strength of notes, that a note has at least, with templates from isolated notes.
THRESHOLD = 0.3


@dataclass(frozen=True, eq=False)
class NoteTemplates:
    """Spectra of notes, in the bands of `pfn.audio`'s note models.

    - pitches: MIDI numbers, one for every note;
    - attack: (slices, bands, notes), from a few slices before the onset on;
    - decay: (bands, notes), the spectrum after the attack, and fade (notes,), the share of it left a slice later;
    - threshold: the least strength of a note, relative to the typical strength of notes.
    """

    pitches: tuple[int, ...]
    attack: np.ndarray
    decay: np.ndarray
    fade: np.ndarray
    threshold: float = THRESHOLD

    def save(self, path: str | PathLike[str]) -> None:
        """Write the templates to a file, which `load_templates` reads, and `transcribe` takes as a model."""
        arrays = {"attack": self.attack, "decay": self.decay, "fade": self.fade, "pitches": np.array(self.pitches)}
        write_file(Path(path), KIND, arrays, {"threshold": self.threshold})

    def __repr__(self) -> str:
        return f"NoteTemplates({len(self.pitches)} notes from {min(self.pitches)} to {max(self.pitches)})"


def load_templates(path: str | PathLike[str]) -> NoteTemplates:
    """Read templates that `NoteTemplates.save` wrote.

    Parameters
    ----------
    path
        The file.
    """
    arrays, content = read_file(Path(path), KIND)
    try:
        attack, decay, fade = (np.asarray(arrays[name], np.float32) for name in ("attack", "decay", "fade"))
        pitches, threshold = tuple(int(pitch) for pitch in arrays["pitches"]), float(content["threshold"])
        bands = len(note_bands().weights)
        check_spectra(pitches, attack, (ATTACK, bands))
        check_spectra(pitches, decay, (bands,))
        check_spectra(pitches, fade, ())
        if not (fade.max() < 1 and threshold > 0):
            raise ValueError(f"a fade of {fade.max():g} and a threshold of {threshold:g}")
        return NoteTemplates(pitches, attack, decay, fade, threshold)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path}: the file is damaged ({error!r}). Write it again.") from error


def check_spectra(pitches: tuple[int, ...], values: np.ndarray, shape: tuple[int, ...]) -> None:
    """Refuse arrays of a damaged file: pitches that are none, another shape, entries that are no magnitudes."""
    if not pitches or list(pitches) != sorted(set(pitches)) or pitches[0] < 0 or pitches[-1] > HIGHEST:
        raise ValueError(f"pitches that are not distinct MIDI numbers from 0 to {HIGHEST} in order")
    if values.shape != (*shape, len(pitches)):
        raise ValueError(f"an array of the shape {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("entries that are negative or no numbers")


@cache
def piano_templates() -> NoteTemplates:
    """The templates of the package: a Yamaha C5, from the Salamander Grand Piano of Alexander Holm (CC BY 3.0)."""
    with as_file(files("pfn.audio") / "data" / "piano.safetensors") as path:
        return load_templates(path)


def isolated_templates(
    notes: Mapping[int, str | PathLike[str] | Sound], *, pitches: Iterable[int] = PIANO, onset: float | None = None
) -> NoteTemplates:
    """Templates from recordings of single notes.

    Parameters
    ----------
    notes
        Recordings by MIDI pitch.
    pitches
        Pitches wanted; for a missing one the nearest recording is played faster or slower.
    onset
        Second at which the note begins in every recording; None: where it first reaches 2 % of its peak.
    """
    if not isinstance(notes, Mapping) or not notes:
        raise DataError("notes must map MIDI pitches to recordings of single notes, such as {60: 'c4.wav'}.")
    _check_pitches(notes, "notes")
    wanted, bands = tuple(_check_pitches(pitches, "pitches")), note_bands()
    if onset is not None:
        check_number(onset, "onset", 0.0, None)
    sounds = {}
    for pitch, sound in notes.items():
        recording = open_recording(sound)
        sounds[pitch] = mixed_down(recording.part(0.0, recording.seconds, bands.rate))
    parts = []
    for pitch in wanted:
        near = min((abs(known - pitch), known) for known in sounds)[1]
        faster = resampled(Sound(sounds[near], 2 ** ((pitch - near) / 12)), 1.0).samples
        parts.append(_template(faster, bands, onset))
    attack, decay, fade = (np.stack(kind, axis=-1).astype(np.float32) for kind in zip(*parts, strict=True))
    return NoteTemplates(wanted, attack, decay, fade)


def _check_pitches(pitches: Iterable[int], what: str) -> list[int]:
    """MIDI numbers from the lowest on; refuse others, and repeated ones."""
    found = list(pitches) if isinstance(pitches, Iterable) else []
    if (
        not found
        or len(found) > len(set(found))
        or not all(isinstance(pitch, Integral) and 0 <= pitch <= HIGHEST for pitch in found)
    ):
        raise DataError(f"{what}: expected MIDI numbers from 0 to {HIGHEST}, each once, found {found or pitches!r}.")
    return sorted(map(int, found))


def _template(samples: np.ndarray, bands: Bands, onset: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Attack, decay and fade of one note."""
    loud = np.abs(samples) >= 0.02 * np.abs(samples).max(initial=0.0)
    if not samples.any():
        raise DataError("notes: a recording of a single note is silent. Leave it out; neighbours take its place.")
    begin = int(loud.argmax()) if onset is None else round(onset * bands.rate)
    lead = EARLY * bands.hop + bands.window
    lead += -(lead + begin) % bands.hop  # the onset in the middle of a slice
    if begin >= len(samples) or not samples[begin:].any():
        raise DataError(
            f"notes: nothing follows onset={begin / bands.rate:g} s in a recording of a single note, which has "
            f"{len(samples) / bands.rate:g} s. Give a smaller onset, or None."
        )
    spectra = bands.of(np.pad(samples, (lead, bands.rate))[:, None])
    first = (lead + begin) // bands.hop - EARLY
    attack = spectra[:, first : first + ATTACK]
    steady = spectra[:, first + ATTACK : first + EARLY + round(STEADY / bands.step)]
    slope = np.polyfit(np.arange(steady.shape[1]), np.log(steady.sum(axis=0) + np.finfo(float).tiny), 1)[0]
    fade = np.minimum(np.exp(slope), 1 - 1e-4)
    return *scaled(attack.T, steady.mean(axis=1)), fade


def scaled(attack: np.ndarray, decay: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Attacks (slices, bands, …) and decays (bands, …), scaled: over `STEADY` seconds a slice sums to 1 in the mean."""
    steady = round(STEADY / note_bands().step) + EARLY - ATTACK
    mean = (attack.sum(axis=(0, 1)) + steady * decay.sum(axis=0)) / (ATTACK + steady)
    return attack / mean, decay / mean
