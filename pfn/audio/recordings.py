"""Recordings of any length: parts of them at any rate, and the windows in which long ones are heard."""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pfn.audio.samples import check_part, checked_samples
from pfn.audio.sounds import Sound, length_of, read_channels, resampled
from pfn.errors import DataError, OptionError
from pfn.solve.checks import check_positive

LONGEST = 60.0
"""Seconds that are heard at once; longer recordings are heard in windows."""

CORE, BEFORE, AFTER = 40.0, 4.0, 2.0
"""Seconds: what is kept of a window, and what is heard before and after it, so that no note begins at its edge."""

LEAD = 0.16
"""Seconds of silence before a recording, so that a note may begin with it."""

LEAST_RATE = 100.0
"""Samples per second: with fewer there is nothing to hear, but hours of it; more likely they were said in kilohertz."""

MARGIN = 0.1
"""Seconds around a part that are resampled with it, since a filter needs its surroundings."""


class Window(NamedTuple):
    """Seconds: heard from `begin` to `end`, of which `first` to `last` is kept."""

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
        """(samples, channels) between two moments in seconds, at any rate; silence before and after it."""
        lead, early = max(round(-begin * rate), 0), max(begin - MARGIN, 0.0)
        found = resampled(self._cut(early, min(end + MARGIN, self.seconds)), rate).samples
        skip, count = round((max(begin, 0.0) - early) * rate), max(round((end - begin) * rate), 1)
        taken = found[skip : skip + count - lead]
        return np.pad(taken, ((lead, count - lead - len(taken)), (0, 0)))

    def _cut(self, begin: float, end: float) -> Sound:
        first = round((self.start + begin) * self.rate)
        count = max(round((self.start + end) * self.rate) - first, 1)
        if isinstance(self.source, Path):
            return read_channels(self.source, first / self.rate, count / self.rate)
        return Sound(self.source[first : first + count], self.rate)

    def windows(self) -> list[Window]:
        """The whole if it is short, else windows that overlap, each with the seconds that are kept of it."""
        return list(_windows(self.seconds))


def _windows(seconds: float) -> Iterator[Window]:
    if seconds <= LONGEST:
        yield Window(-LEAD, seconds, 0.0, seconds)
        return
    first = 0.0
    while first < seconds:
        last = first + CORE if first + CORE + AFTER < seconds else seconds
        yield Window(first - BEFORE if first else -LEAD, min(last + AFTER, seconds), first, last)
        first = last


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
