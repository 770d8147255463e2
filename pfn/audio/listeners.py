"""The protocol of models of sounds in a recording: they explain spectra, and say how activations are read."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

import pfn
from pfn.audio.bands import Bands
from pfn.audio.onsets import Reading

# A callback with the number of sweeps done, and the error then.
Watch = Callable[[int, float], None]


class Heard(NamedTuple):
    """Activations (sounds, slices) of a model: the strength with which a sound begins, and with which it goes on."""

    begins: np.ndarray
    sounds: np.ndarray


def whole(result: pfn.Result) -> pfn.Result:
    """The result of a run that others follow; refuses to go on after Ctrl-C, which ends a run early."""
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def delayed(values: np.ndarray, slices: int) -> np.ndarray:
    """Values (rows, columns) moved that many slices later, zero before."""
    return np.pad(values, ((0, 0), (slices, 0)))[:, : values.shape[1]]


def ringing(values: np.ndarray, slices: int) -> np.ndarray:
    """Sums of values over the last `slices` slices."""
    found: np.ndarray = np.sum([delayed(values, k) for k in range(slices)], axis=0)
    return found


@runtime_checkable
class Listener(Protocol):
    """A model of sounds that add up: notes of an instrument, or drums."""

    @property
    def bands(self) -> Bands:
        """The bands of the spectra that it explains."""

    @property
    def pitches(self) -> tuple[int, ...]:
        """The MIDI number of every sound."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of every sound."""

    @property
    def reading(self) -> Reading:
        """The rule by which events are read off activations."""

    @property
    def sweeps(self) -> int:
        """Number of sweeps for a window."""

    early: int
    """Slices from the beginning of an activation to the onset of the sound."""

    drums: bool

    def hear(self, spectra: np.ndarray, watch: Watch) -> Heard:
        """Explain spectra (bands, slices), at most 1."""
