"""Notes as machines: off, ten states of attack, a state that fades, off again; many at once explain a spectrum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from typing import Any

import numpy as np
from scipy.ndimage import convolve1d
from scipy.signal.windows import hann

import pfn
from pfn import t
from pfn.audio.bands import Bands, note_bands
from pfn.audio.listeners import Heard, Watch, ringing, whole
from pfn.audio.onsets import Reading, events
from pfn.audio.templates import ATTACK, EARLY, NoteTemplates

# Slices for which a note may fade before it is released.
LENGTHS: tuple[float, ...] = (0, 4, 8, 16, 32, 64, 128, inf)

# Smooth bumps along the bands, which together explain what is no note.
NOISES = 6

# Sweeps: up to each adjustment of the equaliser, then while templates adapt to the instrument, then as they are.
EQUALISE = (10, 10)
ADAPT = 8
EXPLAIN = 10

# Of the loudness, that a note has at least. From 0.03 on notes of music are lost, below 0.02 noise has some.
SHARE = 0.025

# Slices between two strokes of a key, each spread over two either side: an eighth of a second at least.
AGAIN = 6

# Bands over which the equaliser is smoothed, so that it follows the room and not the notes.
SMOOTH = 25

# Weights of the templates against what is learned, in notes; decays last many more slices than attacks.
ATTACKS = 2
DECAYS = 16

NAMES = ("C", "C♯", "D", "E♭", "E", "F", "F♯", "G", "G♯", "A", "B♭", "B")

OPTIONS: Mapping[str, Any] = {"progress": False, "engine": "numpy", "dtype": "float32", "measure": 50}


def note_machines(templates: NoteTemplates, *, equaliser: Any = None, strength: float | None = None) -> pfn.Network:
    """The network of all notes: their beginnings, their fading, their sounds, and noise.

    A note that begins at t and fades for l slices is `held{l}[t]`: one path through its machine. Everything else
    follows from the paths, so `pfn.Substitute` solves for them alone.

    Parameters
    ----------
    templates
        Spectra of the notes.
    equaliser
        Gains, one for every band, or None: 1. `pfn.learn` learns them, unless there is a `strength`.
    strength
        Activation of a typical note. With it `pfn.learn` learns the templates instead, against which those given weigh
        as some notes of that strength.
    """
    bands, count = templates.decay.shape
    spectrum, clean = pfn.Variable("spectrum", bands), pfn.Variable("clean", bands)
    on, fading = (pfn.Variable(name, count, note_names(templates.pitches)) for name in ("on", "fading"))
    noise, held = pfn.Variable("noise", NOISES), [pfn.Variable(f"held{length:g}", count) for length in LENGTHS]
    values = np.ones(bands) if equaliser is None else equaliser
    gains = pfn.Diagonal("equaliser", values, learn=strength is None)
    attack = [_spectra(f"attack{k}", part, strength, ATTACKS) for k, part in enumerate(templates.attack)]
    steady, rates = _spectra("decay", templates.decay, strength, DECAYS), templates.fade.tolist()
    fades = [pfn.decay(h[t - ATTACK], rates, length) for h, length in zip(held, LENGTHS, strict=True) if length]
    return pfn.Network(
        pfn.Factorization(spectrum[t], gains @ clean[t] + pfn.Parameter("bumps", bumps(bands)) @ noise[t]),
        pfn.Factorization(clean[t], sum(part @ on[t - k] for k, part in enumerate(attack)) + steady @ fading[t]),
        pfn.Factorization(on[t], sum(h[t] for h in held)),
        pfn.Factorization(fading[t], sum(fades)),
    )


def _spectra(name: str, value: np.ndarray, strength: float | None, notes: float) -> pfn.Parameter:
    """A known parameter, or without a strength of None one to be learned, with a prior of that many notes."""
    if strength is None:
        return pfn.Parameter(name, value)
    return pfn.Parameter(name, value, learn=True, prior=value, prior_weight=notes * strength)


def note_names(pitches: tuple[int, ...]) -> tuple[str, ...]:
    """Names such as C4 of MIDI numbers."""
    return tuple(f"{NAMES[pitch % 12]}{pitch // 12 - 1}" for pitch in pitches)


def bumps(bands: int) -> np.ndarray:
    """Overlapping triangles (bands, NOISES) that add up to 1 everywhere."""
    middles = np.linspace(0, bands - 1, NOISES)
    found: np.ndarray = np.maximum(0, 1 - np.abs(np.arange(bands)[:, None] - middles) / middles[1])
    return found


def smoothed(gains: np.ndarray) -> np.ndarray:
    """Gains smoothed over the bands, with a mean of 1."""
    window = hann(SMOOTH + 2)[1:-1]
    smooth = convolve1d(gains, window / window.sum(), mode="nearest")
    found: np.ndarray = smooth / smooth.mean()
    return found


def flat_start(spectra: np.ndarray, notes: int) -> dict[str, np.ndarray]:
    """Equal paths, and noise, which together explain about as much as there is."""
    level, slices = float(spectra.mean()), spectra.shape[1]
    paths = {f"held{length:g}": np.full((notes, slices), level / (notes * len(LENGTHS))) for length in LENGTHS}
    return paths | {"noise": np.full((NOISES, slices), level / 10)}


@dataclass(frozen=True)
class NoteMachines:
    """The listener for notes of an instrument, by templates of them."""

    templates: NoteTemplates
    threshold: float | None = None

    early = EARLY
    drums = False
    sweeps = sum(EQUALISE) + ADAPT + EXPLAIN

    @property
    def bands(self) -> Bands:
        """The bands of the spectra that it explains."""
        return note_bands()

    @property
    def pitches(self) -> tuple[int, ...]:
        """MIDI numbers."""
        return self.templates.pitches

    @property
    def labels(self) -> tuple[str, ...]:
        """Names such as C4."""
        return note_names(self.pitches)

    @property
    def reading(self) -> Reading:
        """The rule by which notes are read off."""
        return Reading(self.threshold or self.templates.threshold, around=2, apart=AGAIN, share=SHARE)

    def hear(self, spectra: np.ndarray, watch: Watch) -> Heard:
        """The paths that explain the spectra best, with an equaliser and templates that adapt to the recording."""
        data, start = {"spectrum": spectra}, flat_start(spectra, len(self.pitches))
        found = whole(equalised(self.templates, data, start, EQUALISE))
        watch(sum(EQUALISE), max(found.rmse.values()))
        on, gains = found["on"], found["equaliser"].diagonal()
        count = len(events(on, spectra.sum(axis=0), self.reading).rows)
        strength = float(on.sum()) / max(count, 1)  # of a note in the mean
        network = note_machines(self.templates, equaliser=gains, strength=strength)
        method = pfn.Substitute(learn_at={p: range(ADAPT) for p in network.parameters if p.learn})
        start = {name: found[name] for name in start}
        found = whole(pfn.learn(network, data, method=method, initial=start, iterations=ADAPT + EXPLAIN, **OPTIONS))
        watch(self.sweeps, max(found.rmse.values()))
        return Heard(found["on"], ringing(found["on"], ATTACK) + found["fading"])


def equalised(
    templates: NoteTemplates, data: Mapping[str, Any], start: Mapping[str, Any], sweeps: Sequence[int]
) -> pfn.Result:
    """The result for some data, with an equaliser that is learned and smoothed after each number of sweeps."""
    numbers = [end - 1 for end in accumulate(sweeps)]
    method = pfn.Substitute(learn_at={"equaliser": numbers}, adjust={"equaliser": smoothed})
    network = note_machines(templates)
    return pfn.learn(network, data, method=method, initial=start, iterations=sum(sweeps), **OPTIONS)
