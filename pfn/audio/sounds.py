"""Sound files in and out, and other sample rates: the one place that uses soundfile and soxr (extra `audio`)."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import chain, count
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pfn.audio.samples import check_finite, check_part, checked_samples, mixed_down
from pfn.errors import FileError, OptionError
from pfn.files import write_whole
from pfn.solve.checks import check_count, check_positive

FORMATS = {".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG", ".mp3": "MP3"}

# libsndfile's Vorbis encoder keeps a whole call on the stack: long sounds in one call crash it.
BLOCK_SAMPLES = 1 << 16

# The same encoder crashes above 200 kHz; other files hold rates of 32 bits.
MOST_VORBIS, MOST_RATE = 192_000, 2**31 - 1


UNSAFE, LONGEST_NAME = re.compile(r"[\x00-\x1f/\\:*?\"<>|]"), 60
"""What names of files cannot have, on one system or another, and about how many characters they can have on all."""


class Sound(NamedTuple):
    """Samples of one channel, (samples,), or of several, (samples, channels), and how many of them make a second."""

    samples: np.ndarray
    rate: float


def read_sound(
    path: str | PathLike[str], *, rate: float | None = None, start: float = 0.0, duration: float | None = None
) -> Sound:
    """The sound in a file (WAV, FLAC, OGG, MP3 and whatever else soundfile reads), mixed down to one channel.

    `rate` resamples it; None keeps the file's own. `start` and `duration` are in seconds; a file that ends
    earlier gives what it has.
    """
    check_part(start, duration)
    sound = read_channels(Path(path), start, duration)
    sound = sound._replace(samples=mixed_down(sound.samples))
    return sound if rate is None else resampled(sound, rate)


def read_channels(path: Path, start: float = 0.0, duration: float | None = None) -> Sound:
    """The same with all channels: samples of the shape (samples, channels), at the file's own rate."""
    with _opened(path) as file:
        own, seconds = file.samplerate, file.frames / file.samplerate
        first = min(round(start * own), file.frames)
        file.seek(first)
        count = -1 if duration is None else min(round(duration * own), file.frames - first)
        samples: np.ndarray = file.read(count, dtype="float64", always_2d=True)
    if not len(samples):
        raise FileError(
            f"{path}: there are no samples from start={start:g} s on, the file has {seconds:g} s. "
            "Give a smaller start, or another file."
        )
    check_finite(samples, str(path), first)
    return Sound(samples, own)


def length_of(path: Path) -> tuple[int, float]:
    """How many samples a file has, and how many of them make a second."""
    with _opened(path) as file:
        return file.frames, file.samplerate


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    soundfile = _soundfile()
    try:
        if not path.is_file():
            raise FileError(f"{path}: expected a sound file, found {'a folder' if path.is_dir() else 'nothing'} there.")
        with soundfile.SoundFile(path) as file:
            yield file
    except (RuntimeError, TypeError, OSError) as error:  # TypeError: soundfile takes some names for headerless data
        raise FileError(
            f"{path}: expected a sound file (WAV, FLAC, OGG, MP3), found something else, or a damaged one: {error}"
        ) from error


def resampled(sound: Sound, rate: float) -> Sound:
    """The same sound with another number of samples per second."""
    check_positive(rate, "rate")
    if rate == sound.rate:
        return sound
    return Sound(np.asarray(_soxr().resample(sound.samples, sound.rate, rate)), rate)


def write_sound(path: str | PathLike[str], samples: Any, rate: int) -> None:
    """Write samples, (samples,) or (samples, channels), to a .wav, .flac, .ogg or .mp3 file.

    Samples lie between −1 and 1; anything louder is refused, since files would clip it.
    """
    check_count(rate, "rate", 1)
    place = Path(path)
    most = MOST_VORBIS if place.suffix.lower() == ".ogg" else MOST_RATE
    if rate > most:
        raise OptionError(
            f"{place}: rate must be at most {most} samples per second in such a file, found {rate}. Resample to less, "
            "or write a .wav file."
        )
    checked = checked_samples(samples, "samples")
    loudest = float(np.abs(checked).max())
    if loudest > 1:
        raise OptionError(
            f"{place}: samples must lie between -1 and 1, found {loudest:g} in magnitude, which would be clipped. "
            "Scale them: samples / abs(samples).max()."
        )
    write_whole(place, _encoded(place, checked, rate))


def file_names(names: Iterable[str]) -> list[str]:
    """Names for files, in the same order, as like these as every system allows; no two of them are the same."""
    found: list[str] = []
    for name in names:
        plain = UNSAFE.sub("-", name)[:LONGEST_NAME].strip(" .") or "stem"
        numbered = chain([plain], (f"{plain} {number}" for number in count(2)))
        found.append(next(one for one in numbered if one.lower() not in map(str.lower, found)))
    return found


def _encoded(path: Path, samples: np.ndarray, rate: int) -> bytes:
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise FileError(f"{path}: the name must end in {', '.join(FORMATS)}, found {path.suffix or 'no ending'}.")
    soundfile, content = _soundfile(), BytesIO()
    try:
        with soundfile.SoundFile(content, "w", int(rate), samples[:1].size, format=kind) as file:
            for begin in range(0, len(samples), BLOCK_SAMPLES):
                file.write(samples[begin : begin + BLOCK_SAMPLES])
    except soundfile.LibsndfileError as error:
        raise FileError(
            f"{path}: {kind} cannot hold {samples[:1].size} channels at {rate} Hz: {error.error_string} "
            "Write a .wav file, or resample."
        ) from error
    return content.getvalue()


def _soundfile() -> Any:
    try:
        import soundfile
    except (ImportError, OSError) as error:  # OSError: the C library behind it is missing
        raise _missing("soundfile", "reading and writing sound files") from error
    return soundfile


def _soxr() -> Any:
    try:
        import soxr
    except (ImportError, OSError) as error:
        raise _missing("soxr", "resampling") from error
    return soxr


def _missing(package: str, what: str) -> OptionError:
    return OptionError(
        f'{what} needs {package}, which is not installed. Run: pip install "positive-factor-networks[audio]"'
    )
