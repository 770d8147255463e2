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
from pfn.audio.bands import Bands, note_bands
from pfn.audio.listeners import Heard, Watch, ringing, whole
from pfn.audio.onsets import Reading, events
from pfn.audio.templates import ATTACK, EARLY, NoteTemplates
from pfn.network import t

LENGTHS: tuple[float, ...] = (0, 4, 8, 16, 32, 64, 128, inf)
"""Slices for which a note may fade before it is released."""

NOISES = 6
"""Smooth bumps along the bands that together explain what is no note."""

EQUALISE, ADAPT, EXPLAIN = (10, 10), 8, 10
"""Sweeps: up to each adjustment of the equaliser, then while templates adapt to the instrument, then as they are."""

SHARE = 0.025
"""Of the loudness: what a note has at least. From 0.03 on notes of music are lost, below 0.02 noise has some."""

AGAIN = 6
"""Slices between two strokes of a key, each spread over two either side: an eighth of a second at least."""

SMOOTH = 25
"""Bands over which the equaliser is smoothed, so that it follows the room and not the notes."""

ATTACKS, DECAYS = 2, 16
"""Notes that hold templates against what is learned; those of decays are in many more slices than those of attacks."""

NAMES = ("C", "C♯", "D", "E♭", "E", "F", "F♯", "G", "G♯", "A", "B♭", "B")


def note_machines(templates: NoteTemplates, *, equaliser: Any = None, strength: float | None = None) -> pfn.Network:
    """The network of all notes: which begin, how long they fade, what they sound like, and noise.

    A note that begins at t and fades for l slices is `held{l}[t]`: one path through its machine. Everything else
    follows from the paths, so `pfn.Substitute` solves for them alone. `equaliser` has a gain for every band, which
    `pfn.learn` learns. Given the `strength` of a typical note it learns the templates instead, which hold against that
    as some notes of that strength would.
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
    """Templates as they are, or to be learned, held by so many notes of that strength."""
    if strength is None:
        return pfn.Parameter(name, value)
    return pfn.Parameter(name, value, learn=True, prior=value, prior_weight=notes * strength)


def note_names(pitches: tuple[int, ...]) -> tuple[str, ...]:
    """Names such as C4 of MIDI numbers."""
    return tuple(f"{NAMES[pitch % 12]}{pitch // 12 - 1}" for pitch in pitches)


def bumps(bands: int) -> np.ndarray:
    """Triangles that overlap and add up to 1 everywhere."""
    middles = np.linspace(0, bands - 1, NOISES)
    found: np.ndarray = np.maximum(0, 1 - np.abs(np.arange(bands)[:, None] - middles) / middles[1])
    return found


def smoothed(gains: np.ndarray) -> np.ndarray:
    """Gains as smooth as a room makes them, 1 in the mean."""
    window = hann(SMOOTH + 2)[1:-1]
    smooth = convolve1d(gains, window / window.sum(), mode="nearest")
    found: np.ndarray = smooth / smooth.mean()
    return found


def flat_start(spectra: np.ndarray, notes: int) -> dict[str, np.ndarray]:
    """Paths all alike, and noise, that together explain about as much as there is."""
    level, slices = float(spectra.mean()), spectra.shape[1]
    paths = {f"held{length:g}": np.full((notes, slices), level / (notes * len(LENGTHS))) for length in LENGTHS}
    return paths | {"noise": np.full((NOISES, slices), level / 10)}


@dataclass(frozen=True)
class NoteMachines:
    """Hears the notes of an instrument by templates of them."""

    templates: NoteTemplates
    threshold: float | None = None

    early = EARLY
    drums = False
    sweeps = sum(EQUALISE) + ADAPT + EXPLAIN

    @property
    def bands(self) -> Bands:
        """In which spectra it hears."""
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
        """How notes are read off."""
        return Reading(self.threshold or self.templates.threshold, around=2, apart=AGAIN, share=SHARE)

    def hear(self, spectra: np.ndarray, watch: Watch) -> Heard:
        """Which paths explain the spectra best, by an equaliser and templates that adapt to what is heard."""
        data, start = {"spectrum": spectra}, flat_start(spectra, len(self.pitches))
        found = whole(equalised(self.templates, data, start, EQUALISE))
        watch(sum(EQUALISE), max(found.rmse.values()))
        strength, gains = self._strength(found["on"], spectra), found["equaliser"].diagonal()
        network = note_machines(self.templates, equaliser=gains, strength=strength)
        method = pfn.Substitute(learn_at={p: range(ADAPT) for p in network.parameters if p.learn})
        start = {name: found[name] for name in start}
        found = whole(pfn.learn(network, data, method=method, initial=start, iterations=ADAPT + EXPLAIN, **OPTIONS))
        watch(self.sweeps, max(found.rmse.values()))
        return Heard(found["on"], ringing(found["on"], ATTACK) + found["fading"])

    def _strength(self, on: np.ndarray, spectra: np.ndarray) -> float:
        """How strongly a note begins in the mean."""
        return float(on.sum()) / max(len(events(on, spectra.sum(axis=0), self.reading).rows), 1)


OPTIONS: Mapping[str, Any] = {"progress": False, "engine": "numpy", "dtype": "float32", "measure": 50}


def equalised(
    templates: NoteTemplates, data: Mapping[str, Any], start: Mapping[str, Any], sweeps: Sequence[int]
) -> pfn.Result:
    """What explains the data, with an equaliser that is adjusted after each of these numbers of sweeps, smoothly."""
    numbers = [end - 1 for end in accumulate(sweeps)]
    method = pfn.Substitute(learn_at={"equaliser": numbers}, adjust={"equaliser": smoothed})
    network = note_machines(templates)
    return pfn.learn(network, data, method=method, initial=start, iterations=sum(sweeps), **OPTIONS)
