"""Sound: samples checked, files read and written, other rates; all use of soundfile and soxr (extra `audio`)."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import chain, count
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pfn import DataError, FileError, OptionError
from pfn.files import write_whole
from pfn.solve.checks import check_count, check_number, check_positive


def checked_samples(samples: Any, what: str) -> np.ndarray:
    """Finite float64 samples, (samples,) or (samples, channels)."""
    try:
        array = np.asarray(samples)
    except ValueError as error:
        raise DataError(f"{what}: expected an array of samples: {error}.") from error
    if array.dtype.kind not in "iuf":
        raise DataError(f"{what}: expected real numbers, found {array.dtype} entries. Convert them to floats.")
    if array.ndim not in (1, 2):
        raise DataError(f"{what}: expected the shape (samples,) or (samples, channels), found {array.shape}.")
    if array.size == 0:
        raise DataError(f"{what}: there are no samples, found the shape {array.shape}. Give at least one.")
    if array.ndim == 2 and array.shape[1] > array.shape[0]:
        raise DataError(
            f"{what}: expected the shape (samples, channels), found {array.shape}, with more channels than samples. "
            "It looks transposed: use samples.T."
        )
    with np.errstate(over="ignore"):  # of a wider kind of float; what is infinite then is refused
        found = array.astype(np.float64)
    check_finite(found, what)
    return found


def check_finite(array: np.ndarray, what: str, first: int = 0) -> None:
    """Refuse samples that are no numbers, or as good as infinite; `first`: the number of the first sample."""
    wrong = ~(np.abs(array) <= LOUDEST)
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0])
        raise DataError(
            f"{what}: samples must be finite, found {array[place]} at sample {first + int(place[0])} "
            f"({int(wrong.sum())} such samples). Replace them, for example by 0, or scale them below {LOUDEST:g}."
        )


def mixed_down(samples: np.ndarray) -> np.ndarray:
    """The mean of all channels."""
    return samples if samples.ndim == 1 else samples.mean(axis=1)


def check_part(start: object, duration: object) -> None:
    """Refuse anything but seconds; a duration may be None, to the end."""
    check_number(start, "start", 0.0, None)
    if duration is not None:
        check_positive(duration, "duration")


# Largest magnitude of a sample: squares of more could not be added up.
LOUDEST = 1e100

FORMATS = {".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG", ".mp3": "MP3"}

# libsndfile's Vorbis encoder keeps a whole call on the stack: long sounds in one call crash it.
BLOCK_SAMPLES = 1 << 16

# Samples per second: that encoder crashes above 200 kHz; other files hold rates of 32 bits.
MOST_VORBIS = 192_000
MOST_RATE = 2**31 - 1

# Characters that names of files cannot have on one system or another, and a length that all systems take.
UNSAFE = re.compile(r"[\x00-\x1f/\\:*?\"<>|]")
LONGEST_NAME = 60


class Sound(NamedTuple):
    """Samples of one channel, (samples,), or of several, (samples, channels), and their rate per second."""

    samples: np.ndarray
    rate: float


def read_sound(
    path: str | PathLike[str], *, rate: float | None = None, start: float = 0.0, duration: float | None = None
) -> Sound:
    """The sound in a file (WAV, FLAC, OGG, MP3 and whatever else soundfile reads), mixed down to one channel.

    Parameters
    ----------
    path
        The file.
    rate
        Samples per second to resample to; None: those of the file.
    start
        Seconds from the beginning of the file.
    duration
        Seconds, or fewer where the file ends; None: to the end.
    """
    check_part(start, duration)
    sound = read_channels(Path(path), start, duration)
    sound = sound._replace(samples=mixed_down(sound.samples))
    return sound if rate is None else resampled(sound, rate)


def read_channels(path: Path, start: float = 0.0, duration: float | None = None) -> Sound:
    """The sound in a file with all its channels, (samples, channels), at the file's own rate."""
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
    """The number of samples in a file, and their rate per second."""
    with _opened(path) as file:
        return file.frames, file.samplerate


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A sound file, open; whatever goes wrong with it is a FileError."""
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
    """A sound at another number of samples per second."""
    check_positive(rate, "rate")
    if rate == sound.rate:
        return sound
    try:
        import soxr
    except (ImportError, OSError) as error:  # OSError: the C library behind it is missing
        raise _missing("soxr", "resampling") from error
    return Sound(np.asarray(soxr.resample(sound.samples, sound.rate, rate)), rate)


def write_sound(path: str | PathLike[str], samples: Any, rate: int) -> None:
    """Write samples to a .wav, .flac, .ogg or .mp3 file.

    Parameters
    ----------
    path
        The file; its ending says the format.
    samples
        Samples (samples,) or (samples, channels) between −1 and 1; louder ones are refused, since files would clip
        them.
    rate
        Samples per second.
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
    kind = FORMATS.get(place.suffix.lower())
    if kind is None:
        raise FileError(f"{place}: the name must end in {', '.join(FORMATS)}, found {place.suffix or 'no ending'}.")
    soundfile, content = _soundfile(), BytesIO()
    try:
        with soundfile.SoundFile(content, "w", int(rate), checked[:1].size, format=kind) as file:
            for begin in range(0, len(checked), BLOCK_SAMPLES):
                file.write(checked[begin : begin + BLOCK_SAMPLES])
    except soundfile.LibsndfileError as error:
        raise FileError(
            f"{place}: {kind} cannot hold {checked[:1].size} channels at {rate} Hz: {error.error_string} "
            "Write a .wav file, or resample."
        ) from error
    write_whole(place, content.getvalue())


def file_names(names: Iterable[str]) -> list[str]:
    """Names for files, as near to the given names as every system allows; all of them different."""
    found: list[str] = []
    for name in names:
        plain = UNSAFE.sub("-", name)[:LONGEST_NAME].strip(" .") or "stem"
        numbered = chain([plain], (f"{plain} {number}" for number in count(2)))
        found.append(next(one for one in numbered if one.lower() not in map(str.lower, found)))
    return found


def _soundfile() -> Any:
    """The package soundfile, or an error that says how to install it."""
    try:
        import soundfile
    except (ImportError, OSError) as error:  # OSError: the C library behind it is missing
        raise _missing("soundfile", "reading and writing sound files") from error
    return soundfile


def _missing(package: str, what: str) -> OptionError:
    return OptionError(
        f'{what} needs {package}, which is not installed. Run: pip install "positive-factor-networks[audio]"'
    )
