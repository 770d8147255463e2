"""Recordings of any length: parts of them at any rate, and the windows in which long ones are heard."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pfn import DataError, OptionError
from pfn.audio.sounds import Sound, check_part, checked_samples, length_of, read_channels, resampled
from pfn.solve.checks import check_positive

# Seconds that are heard at once; longer recordings are heard in windows.
LONGEST = 60.0

# Seconds: kept of a window, and heard before and after them, so that no note begins at the edge of a window.
CORE = 40.0
BEFORE = 4.0
AFTER = 2.0

# Seconds of silence before a recording, so that a note may begin with it.
LEAD = 0.16

# Samples per second: with fewer there is nothing to hear, but hours of it; more likely they were given in kilohertz.
LEAST_RATE = 100.0

# Seconds around a part that are resampled with it, since a filter needs its surroundings.
MARGIN = 0.1


class Excerpt(NamedTuple):
    """A window of a recording, in seconds: heard from `begin` to `end`, and kept from `first` to `last`."""

    begin: float
    end: float
    first: float
    last: float


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples (samples, channels), or the file that has them, from `start` on for `seconds`."""

    name: str
    source: Path | np.ndarray
    rate: float
    start: float
    seconds: float

    def part(self, begin: float, end: float, rate: float) -> np.ndarray:
        """Samples (samples, channels) between two moments in seconds, at any rate; silence outside of the recording."""
        lead, early = max(round(-begin * rate), 0), max(begin - MARGIN, 0.0)
        first = round((self.start + early) * self.rate)
        count = max(round((self.start + min(end + MARGIN, self.seconds)) * self.rate) - first, 1)
        if isinstance(self.source, Path):
            taken = read_channels(self.source, first / self.rate, count / self.rate)
        else:
            taken = Sound(self.source[first : first + count], self.rate)
        found = resampled(taken, rate).samples
        skip, wanted = round((max(begin, 0.0) - early) * rate), max(round((end - begin) * rate), 1)
        kept = found[skip : skip + wanted - lead]
        return np.pad(kept, ((lead, wanted - lead - len(kept)), (0, 0)))

    def windows(self) -> list[Excerpt]:
        """The whole of a short recording, else windows that overlap, with the seconds kept of each."""
        if self.seconds <= LONGEST:
            return [Excerpt(-LEAD, self.seconds, 0.0, self.seconds)]
        found, first = [], 0.0
        while first < self.seconds:
            last = first + CORE if first + CORE + AFTER < self.seconds else self.seconds
            found.append(Excerpt(first - BEFORE if first else -LEAD, min(last + AFTER, self.seconds), first, last))
            first = last
        return found


def open_recording(
    sound: str | PathLike[str] | Sound | Any,
    *,
    sample_rate: float | None = None,
    start: float = 0.0,
    duration: float | None = None,
) -> Recording:
    """A file, a `Sound`, or samples (samples,) or (samples, channels) with their rate; or a part of it, in seconds."""
    check_part(start, duration)
    if isinstance(sound, Sound) and sample_rate is None:
        sound, sample_rate = sound
    if isinstance(sound, str | PathLike):
        if sample_rate is not None:
            raise OptionError(f"{sound}: a file says its own sample_rate, found {sample_rate}. Leave it out.")
        source: Path | np.ndarray = Path(sound)
        count, rate = length_of(Path(sound))
        name = str(sound)
    else:
        if sample_rate is None:
            raise OptionError("sample_rate must be given with samples: how many of them make a second, such as 44100.")
        check_positive(sample_rate, "sample_rate")
        samples = checked_samples(sound, "samples")
        source = samples if samples.ndim == 2 else samples[:, None]
        count, rate, name = len(source), sample_rate, "samples"
    if rate < LEAST_RATE:
        raise DataError(
            f"{name}: expected a sample rate of at least {LEAST_RATE:g} per second, found {rate:g}. "
            "Give it in samples per second, such as 44100."
        )
    left = count / rate - start
    if left <= 0:
        raise DataError(
            f"{name}: there are no samples from start={start:g} s on, the sound has {count / rate:g} s. "
            "Give a smaller start, or another sound."
        )
    return Recording(name, source, rate, start, left if duration is None else min(left, duration))
