"""A sound taken apart by the hierarchy of section 6: each pattern that it finds, as a sound of its own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

import pfn
from pfn.audio.spectrograms import Spectrogram, spectrogram
from pfn.models import spectrogram_hierarchy, top_down

# Added to all shares: a sound that no component explains is shared out equally. Elsewhere it does not matter.
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A spectrogram, and the result of learning on it: made by `decompose`."""

    heard: Spectrogram
    result: pfn.Result

    @property
    def top(self) -> int:
        """The number of the highest level."""
        return len(self.result.network.factorizations) + 1

    def loudest(self, level: int, count: int) -> list[int]:
        """The components of a level that explain most of the sound, the loudest first."""
        parts = (top_down(self.result, level, components=component) for component in range(self._size(level)))
        energies = np.array([float(np.sum(part**2)) for part in parts])
        return [int(component) for component in np.argsort(-energies, kind="stable")[:count]]

    def sound(self, level: int, components: int | Iterable[int]) -> np.ndarray:
        """Samples of the share that these components of a level have in the sound, at every moment and pitch.

        The shares of all components of a level add up to the sound.
        """
        chosen = set(components) if isinstance(components, Iterable) else {components}
        part = top_down(self.result, level, components=chosen)
        nothing = NOTHING * len(chosen) / self._size(level)
        return self.heard.to_sound(self.heard.magnitude * (part + nothing) / (self._whole[level] + NOTHING))

    @cached_property
    def _whole(self) -> dict[int, np.ndarray]:
        return {level: top_down(self.result, level) for level in range(2, self.top + 1)}

    def _size(self, level: int) -> int:
        return self.result.network.variable(f"x{level}").size


def decompose(
    sound: str | PathLike[str] | Any,
    *,
    rate: float | None = None,
    start: float = 0.0,
    duration: float | None = None,
    sizes: Sequence[int] = (50, 40, 40),
    children: Sequence[int] = (4, 4, 4),
    separations: Sequence[int] = (1, 4, 16),
    iterations: int = 60,
    seed: int = 0,
    progress: bool | None = None,
) -> Decomposition:
    """Learn the patterns of a sound, patterns of these, and so on upwards.

    Parameters
    ----------
    sound
        A file, or samples (samples,) or (samples, channels).
    rate
        Samples per second: of samples given directly, or to resample a file to.
    start
        Second at which to begin.
    duration
        Seconds to take; None: to the end.
    sizes, children, separations
        Levels of the hierarchy, as for `pfn.models.spectrogram_hierarchy`.
    iterations
        Sweeps.
    seed
        Seed of the random numbers.
    progress
        Show a bar; None: when standard error is a terminal.

    Examples
    --------
    >>> time = np.arange(16000) / 8000
    >>> tones = np.sin(2 * np.pi * np.where(time < 1, 440, 660) * time)
    >>> found = decompose(tones, rate=8000, sizes=(2,), children=(4,), separations=(1,), progress=False)
    >>> [found.sound(2, part).shape for part in found.loudest(2, 2)]
    [(16000,), (16000,)]
    """
    heard = spectrogram(sound, rate=rate, start=start, duration=duration, peak=1.0)
    network = spectrogram_hierarchy(len(heard.magnitude), sizes, children, separations)
    method = pfn.Propagate(start="levels")
    result = pfn.learn(
        network, {"x1": heard.magnitude}, method=method, iterations=iterations, seed=seed, progress=progress
    )
    return Decomposition(heard, result)
