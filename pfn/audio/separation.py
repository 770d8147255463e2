"""Instruments out of a mixture: shares of its spectrum, at its own phase, that add up to it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from pfn.audio.components import Components, grouped, learn_components
from pfn.audio.notes import Note, checked_notes, read_score
from pfn.audio.recordings import open_recording
from pfn.audio.scores import Frames, learn_parts
from pfn.audio.sounds import write_sound
from pfn.audio.spectrograms import Spectrogram, spectrogram
from pfn.errors import DataError, FileError, OptionError
from pfn.solve.ramps import check_count

SLICE = 0.046
"""About how many seconds a slice of the spectrum lasts; a power of two samples is taken."""

SHARPNESS = 1.5
"""Shares are those of magnitudes to this power: between those of magnitudes, 1, and of energies, 2."""

UNSAFE = re.compile(r"[\x00-\x1f/\\\\:*?\"<>|]")
"""What names of files cannot have, on one system or another."""

Score = Mapping[str, str | PathLike[str] | Iterable[Note]] | str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Separation:
    """What `separate` returns.

    - `stems`: by name, samples of the same shape as the mixture; they add up to it;
    - `rate`: samples per second;
    - `components`: without a score, what was learned, to be grouped in other ways with `regrouped`; else None.
    """

    stems: Mapping[str, np.ndarray]
    rate: float
    components: Components | None
    _heard: tuple[Spectrogram, ...]

    def regrouped(self, groups: Mapping[str, Iterable[int]]) -> "Separation":
        """The same components in groups of your own: by name, the numbers of components; the others are "rest"."""
        if self.components is None:
            raise OptionError("a separation by a score has no components to group: its stems are its instruments.")
        return _separation(self._heard, self.components.parts(groups), self.rate, self.components)

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write every stem as a .wav file in a folder; all are made quieter alike if one is too loud for a file."""
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{place}: cannot be made a folder: {error.strerror}. Name another.") from error
        loudest = max(1.0, *(float(np.abs(stem).max()) for stem in self.stems.values()))
        paths = [place / f"{UNSAFE.sub('-', name)}.wav" for name in self.stems]
        for path, stem in zip(paths, self.stems.values(), strict=True):
            write_sound(path, stem / loudest, round(self.rate))
        return paths

    def __repr__(self) -> str:
        return f"Separation({', '.join(self.stems)})"


def separate(
    sound: str | PathLike[str] | Any,
    *,
    notes: Score | None = None,
    drums: Iterable[str] | None = None,
    parts: int = 2,
    components: int = 24,
    sample_rate: float | None = None,
    start: float = 0.0,
    duration: float | None = None,
    iterations: int = 60,
    seed: int = 0,
    progress: bool | None = None,
) -> Separation:
    """The instruments of a recording, as sounds that add up to it.

    - sound: the path of a file (WAV, FLAC, OGG, MP3), or samples, (samples,) or (samples, channels), with sample_rate;
    - notes: the score: a MIDI file with a track for each instrument, or by the name of every instrument its notes, or a
      file of them (MIDI, CSV, TSV); onsets count from `start`;
    - drums: instruments without pitches; None: those that play a single pitch throughout;
    - parts, components: without a score, how many stems to make, and of how many learned components;
    - start, duration: the part to take, in seconds; duration None: to the end;
    - iterations, seed, progress: of the learning.

    With a score, every note may sound only where it is written: elsewhere its activation is observed to be zero.
    Without one, components of similar colour are grouped; `Separation.regrouped` takes groups of your own.
    """
    heard, rate = _heard(sound, sample_rate, start, duration)
    magnitude = np.sqrt(sum(channel.magnitude**2 for channel in heard) / len(heard))
    options: dict[str, Any] = {"iterations": iterations, "seed": seed, "progress": progress}
    if notes is None:
        if drums is not None:
            raise OptionError(
                "drums says which instruments of a score have no pitches: give notes too, or leave it out."
            )
        check_count(parts, "parts", 2)
        check_count(components, "components", parts)
        found = learn_components(magnitude, components, **options)
        return _separation(heard, found.parts(grouped(found, heard[0].frequencies, parts)), rate, found)
    score = _score(notes)
    unpitched = _drums(drums, score)
    frames = Frames(heard[0].frequencies, heard[0].times)
    return _separation(heard, learn_parts(magnitude, frames, score, unpitched, **options), rate, None)


def _heard(sound: Any, sample_rate: float | None, start: float, duration: float | None) -> tuple[Any, float]:
    """A spectrogram for each channel, and the rate."""
    recording = open_recording(sound, sample_rate=sample_rate, start=start, duration=duration)
    samples = recording.part(0.0, recording.seconds, recording.rate)
    window = 2 ** max(round(np.log2(SLICE * recording.rate)), 2)
    if len(samples) < window // 2:
        raise DataError(
            f"{recording.name}: expected a sound of at least {window // 2} samples at {recording.rate:g} Hz, found "
            f"{len(samples)}. Give a longer one."
        )
    channels = [spectrogram(channel, rate=recording.rate, window=window, hop=window // 4) for channel in samples.T]
    return tuple(channels), recording.rate


def _score(notes: Score) -> dict[str, list[Note]]:
    if isinstance(notes, str | PathLike):
        found = read_score(notes)
    elif isinstance(notes, Mapping):
        found = {
            str(name): [note for part in read_score(given).values() for note in part]
            if isinstance(given, str | PathLike)
            else checked_notes(given, f"notes of {name}")
            for name, given in notes.items()
        }
    else:
        raise DataError(f"notes must be a MIDI file, or map instruments to their notes, found {type(notes).__name__}.")
    empty = [name for name, part in found.items() if not part]
    if len(found) < 2 or empty:
        raise DataError(
            f"notes: expected notes of at least two instruments, found {', '.join(found) or 'none'}"
            f"{f', of which {empty[0]} has no notes' if empty else ''}. Give a file, or a list, for every instrument."
        )
    return found


def _drums(drums: Iterable[str] | None, score: Mapping[str, list[Note]]) -> frozenset[str]:
    if drums is None:
        return frozenset(name for name, part in score.items() if len({note.pitch for note in part}) == 1)
    chosen = frozenset([drums] if isinstance(drums, str) else drums)
    if not chosen <= score.keys():
        raise OptionError(f"drums: expected names among {', '.join(score)}, found {', '.join(chosen - score.keys())}.")
    return chosen


def _separation(
    heard: tuple[Spectrogram, ...], parts: Mapping[str, np.ndarray], rate: float, components: Components | None
) -> Separation:
    """Stems from the magnitudes that each of them explains."""
    powers = {name: part.astype(float) ** SHARPNESS for name, part in parts.items()}
    whole = sum(powers.values())
    nothing = np.finfo(float).tiny  # where nothing explains anything, the shares are equal
    stems = {}
    for name, power in powers.items():
        share = (power + nothing / len(powers)) / (whole + nothing)
        channels = [channel.to_sound(channel.magnitude * share) for channel in heard]
        stems[name] = channels[0] if len(channels) == 1 else np.column_stack(channels)
    return Separation(stems, rate, components, heard)
