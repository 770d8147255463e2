"""What every model of sounds in a recording can do: hear spectra, and say what its activations mean."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from pfn.audio.bands import Bands
from pfn.audio.onsets import Reading
from pfn.solve import Result

Watch = Callable[[int, float], None]
"""Told how many sweeps are done, and the error then."""


class Heard(NamedTuple):
    """Of every sound of a model at every slice: how strongly it begins, and how strongly it goes on."""

    begins: np.ndarray
    sounds: np.ndarray


def whole(result: Result) -> Result:
    """The result of a run that others follow, unless Ctrl-C ended it: then they must not."""
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def delayed(values: np.ndarray, slices: int) -> np.ndarray:
    """Values (rows, columns) so many columns later, zero before."""
    return np.pad(values, ((0, 0), (slices, 0)))[:, : values.shape[1]]


def ringing(values: np.ndarray, slices: int) -> np.ndarray:
    """The sum of values and of what they were in the slices before, so many in all."""
    found: np.ndarray = np.sum([delayed(values, k) for k in range(slices)], axis=0)
    return found


@runtime_checkable
class Listener(Protocol):
    """A model of sounds that add up: notes of an instrument, or drums."""

    @property
    def bands(self) -> Bands:
        """In which spectra it hears."""

    @property
    def pitches(self) -> tuple[int, ...]:
        """The MIDI number of every sound."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What every sound is called."""

    @property
    def reading(self) -> Reading:
        """How events are read off what it hears."""

    @property
    def sweeps(self) -> int:
        """How many it takes for a window."""

    early: int
    """Slices from the begin of an activation to the onset of the sound."""

    drums: bool

    def hear(self, spectra: np.ndarray, watch: Watch) -> Heard:
        """Explain spectra (bands, slices), at most 1."""
