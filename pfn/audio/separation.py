"""Instruments out of a mixture: shares of its spectrum, at its own phase, that add up to it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from pfn import DataError, FileError, OptionError
from pfn.audio.mixtures import Components, Frames, grouped, learn_components, learn_parts
from pfn.audio.notes import Note, checked_notes, later, percussion, read_score
from pfn.audio.recordings import Recording, open_recording
from pfn.audio.sounds import file_names, write_sound
from pfn.audio.spectrograms import Spectrogram, spectrogram
from pfn.solve.checks import check_count

# Seconds of a slice of the spectrum, about: a power of two samples is taken.
SLICE = 0.046

# Shares are those of magnitudes to this power: between those of magnitudes, 1, and of energies, 2.
SHARPNESS = 1.5

# Seconds that are separated at once by a score, and those in which one window gives way to the next.
WINDOW = 90.0
FADE = 1.0

# Seconds that are separated at most without a score: all at once, so that components are the same throughout.
BLIND = 600.0

# Stems and components without a score, by default; there are never fewer components than stems.
PARTS = 2
COMPONENTS = 24

Score = Mapping[str, str | PathLike[str] | Iterable[Note]] | str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Separation:
    """Instruments of a mixture as sounds, made by `separate`.

    - `stems`: by name, samples of the same shape as the mixture; they add up to it;
    - `rate`: samples per second;
    - `components`: without a score, those learned, to be grouped in other ways with `regrouped`; else None.
    """

    stems: Mapping[str, np.ndarray]
    rate: float
    components: Components | None
    _heard: tuple[Spectrogram, ...]

    def regrouped(self, groups: Mapping[str, Iterable[int]]) -> "Separation":
        """The separation with other groups: by name, the numbers of components; the others are "rest"."""
        if self.components is None:
            raise OptionError("a separation by a score has no components to group: its stems are its instruments.")
        return replace(self, stems=_stems(self._heard, self.components.parts(groups)))

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write every stem as a .wav file in a folder; all are made quieter alike if one is too loud for a file."""
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{place}: cannot be made a folder: {error.strerror}. Name another.") from error
        loudest = max(1.0, *(float(np.abs(stem).max()) for stem in self.stems.values()))
        paths = [place / f"{name}.wav" for name in file_names(self.stems)]
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
    parts: int | None = None,
    components: int | None = None,
    sample_rate: float | None = None,
    start: float = 0.0,
    duration: float | None = None,
    iterations: int = 40,
    seed: int = 0,
    progress: bool | None = None,
) -> Separation:
    """The instruments of a recording, as sounds that add up to it.

    With a score, every note may sound only where it is written: elsewhere its activation is observed to be zero.
    Without one, components of similar colour are grouped; `Separation.regrouped` takes groups of your own.

    Parameters
    ----------
    sound
        The path of a file (WAV, FLAC, OGG, MP3), or samples, (samples,) or (samples, channels), with sample_rate.
    notes
        The score: a MIDI file with a track for each instrument, or by the name of every instrument its notes, or a file
        of them (MIDI, CSV, TSV); onsets count from the begin of the sound, whatever part of it is taken.
    drums
        Instruments without pitches; None: those on MIDI's channel of percussion, or of a single pitch throughout.
    parts
        Number of stems without a score; None: 2.
    components
        Number of learned components without a score; None: 24, or `parts` if that is more.
    sample_rate
        Samples per second of samples given directly.
    start
        Second at which to begin.
    duration
        Seconds to take; None: to the end.
    iterations
        Sweeps of learning.
    seed
        Seed of the random numbers.
    progress
        Show a bar; None: when standard error is a terminal.
    """
    recording = open_recording(sound, sample_rate=sample_rate, start=start, duration=duration)
    least, samples = _slice(recording.rate) // 2, round(recording.seconds * recording.rate)
    if samples < least:
        raise DataError(
            f"{recording.name}: expected a sound of at least {least} samples at {recording.rate:g} Hz, found "
            f"{samples}. Give a longer one."
        )
    if notes is None and recording.seconds > BLIND:
        raise DataError(
            f"{recording.name}: without a score at most {BLIND:g} s can be separated at once, found "
            f"{recording.seconds:.4g} s. Take a part with start and duration, or give notes."
        )
    check_count(seed, "seed", 0)
    options: dict[str, Any] = {"iterations": iterations, "seed": seed, "progress": progress}
    if notes is not None:
        if parts is not None or components is not None:
            raise OptionError("parts and components are for separation without a score: leave them out, or notes.")
        score = {name: later(part, -start) for name, part in _score(notes).items()}
        silent = [name for name, part in score.items() if not _within(part, 0.0, recording.seconds)]
        # In a part of a sound, not everyone has to play.
        if silent and ((not start and duration is None) or len(silent) == len(score)):
            raise DataError(
                f"{silent[0]}: none of its notes lies within the {recording.seconds:.4g} s of the sound. "
                "Give notes that count from the begin of the sound, in seconds, or leave it out."
            )
        struck = _percussive(notes, score) if drums is None else _named(drums, score)
        return _by_score(recording, score, struck, options)
    if drums is not None:
        raise OptionError("drums says which instruments of a score have no pitches: give notes too, or leave it out.")
    return _blind(recording, PARTS if parts is None else parts, components, options)


def _blind(recording: Recording, parts: int, components: int | None, options: Mapping[str, Any]) -> Separation:
    """Components learned on the whole, in groups of similar colour."""
    check_count(parts, "parts", 2)
    count = max(COMPONENTS, parts) if components is None else components
    check_count(count, "components", parts)
    heard = _heard(recording, 0.0, recording.seconds)
    found = learn_components(_magnitude(heard), count, **options)
    groups = grouped(found, heard[0].frequencies, parts)
    return Separation(_stems(heard, found.parts(groups)), recording.rate, found, heard)


def _by_score(
    recording: Recording, score: Mapping[str, list[Note]], drums: frozenset[str], options: Mapping[str, Any]
) -> Separation:
    """Window by window, each with sounds of its own; where two overlap, one fades out as the other fades in."""
    rate, whole = recording.rate, round(recording.seconds * recording.rate)
    stems: dict[str, np.ndarray] = {}
    for begin, end, fades in faded(whole, round(WINDOW * rate), round(FADE * rate)):
        heard = _heard(recording, begin / rate, end / rate)
        played = {name: _within(notes, begin / rate, end / rate) for name, notes in score.items()}
        frames = Frames(heard[0].frequencies, heard[0].times)
        parts = learn_parts(_magnitude(heard), frames, played, drums, **options)
        for name, stem in _stems(heard, parts).items():
            into = stems.setdefault(name, np.zeros((whole, *stem.shape[1:])))
            into[begin:end] += (stem.T * fades).T
    return Separation(stems, rate, None, ())


def _within(notes: Iterable[Note], begin: float, end: float) -> list[Note]:
    """The notes that sound between two moments, in seconds from the first of them."""
    return later((note for note in notes if note.offset >= begin and note.onset <= end), -begin)


def faded(samples: int, window: int, fade: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """Windows over a number of samples, none much longer than `window`, with gains that add up to 1 everywhere."""
    count = max(1, -(-(samples - fade) // (window - fade)))
    edges = np.rint(np.linspace(0, samples - fade, count + 1)).astype(int)
    rise = (np.arange(fade) + 0.5) / fade
    for number, (begin, end) in enumerate(pairwise(edges.tolist())):
        gains = np.ones(end + fade - begin)
        if number:
            gains[:fade] = rise
        if number + 1 < count:
            gains[-fade:] = 1 - rise
        yield begin, end + fade, gains


def _magnitude(heard: Sequence[Spectrogram]) -> np.ndarray:
    """Magnitudes of all channels together: the root of their mean power."""
    found: np.ndarray = np.sqrt(sum(channel.magnitude**2 for channel in heard) / len(heard))
    return found


def _heard(recording: Recording, begin: float, end: float) -> tuple[Spectrogram, ...]:
    """A spectrogram for each channel, between two moments."""
    samples, window = recording.part(begin, end, recording.rate), _slice(recording.rate)
    return tuple(spectrogram(channel, rate=recording.rate, window=window, hop=window // 4) for channel in samples.T)


def _slice(rate: float) -> int:
    """Samples of a slice of the spectrum."""
    return int(2 ** max(round(np.log2(SLICE * rate)), 2))


def _score(notes: Score) -> dict[str, list[Note]]:
    """The notes of every instrument, out of files where they are in files."""
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


def _percussive(notes: Score, score: Mapping[str, list[Note]]) -> frozenset[str]:
    """Instruments without pitches: on MIDI's channel of percussion, or of a single pitch throughout."""
    one = {name for name, part in score.items() if len({note.pitch for note in part}) == 1}
    if isinstance(notes, str | PathLike):
        return frozenset(one | percussion(notes))
    files = {str(name): given for name, given in notes.items() if isinstance(given, str | PathLike)}
    return frozenset(one | {name for name, given in files.items() if percussion(given) == read_score(given).keys()})


def _named(drums: Iterable[str], score: Mapping[str, list[Note]]) -> frozenset[str]:
    """The instruments that the user names as drums."""
    named = [drums] if isinstance(drums, str) or not isinstance(drums, Iterable) else list(drums)
    if unknown := [name for name in named if name not in score]:
        raise OptionError(f"drums: expected names among {', '.join(score)}, found {unknown[0]!r}.")
    return frozenset(named)


def _stems(heard: tuple[Spectrogram, ...], parts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Samples of each part, from the magnitudes that it explains."""
    powers = {name: part.astype(float) ** SHARPNESS for name, part in parts.items()}
    whole = sum(powers.values())
    nothing = np.finfo(float).tiny  # where no part explains anything, the shares are equal
    stems = {}
    for name, power in powers.items():
        share = (power + nothing / len(powers)) / (whole + nothing)
        channels = [channel.to_sound(channel.magnitude * share) for channel in heard]
        stems[name] = channels[0] if len(channels) == 1 else np.column_stack(channels)
    return stems
