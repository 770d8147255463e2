"""What every instrument of a score explains of a spectrum, with sounds that are learned on it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import pfn
from pfn.audio.notes import Note
from pfn.network import t

OFF_HARMONICS = 1e-6
"""Of the fundamental: what templates start from between harmonics, so that learning may find something there."""


class Frames(NamedTuple):
    """The frequencies, in Hz, and the seconds of a spectrogram."""

    frequencies: np.ndarray
    times: np.ndarray


@dataclass(frozen=True)
class Freedom:
    """How freely a score is played.

    - before, after: seconds around a written note in which it may sound, since players and scores differ;
    - colours: spectra of every pitch, such as its attack, what follows, and its softer repetition;
    - rings: slices that a drum rings for once it is struck, by default about half a second;
    - struck: seconds either side of its written onset at which a drum may be struck.
    """

    before: float = 0.05
    after: float = 0.05
    colours: int = 3
    rings: int = 40
    struck: float = 0.05


@dataclass(frozen=True, eq=False)
class Part:
    """One instrument in the network: its variable, its parameters by lag, and where it may be active."""

    variable: pfn.Variable
    parameters: tuple[pfn.Parameter, ...]
    allowed: np.ndarray

    @property
    def terms(self) -> list[Any]:
        """What it adds to the spectrum."""
        return [parameter @ self.variable[t - lag] for lag, parameter in enumerate(self.parameters)]


FREEDOM = Freedom()


def learn_parts(
    magnitude: np.ndarray,
    frames: Frames,
    score: Mapping[str, Sequence[Note]],
    drums: Collection[str],
    *,
    freedom: Freedom = FREEDOM,
    iterations: int,
    seed: int,
    progress: bool | None,
) -> dict[str, np.ndarray]:
    """The magnitudes that each instrument explains.

    A pitch of an instrument has a few spectra, harmonic at first; a drum is a sequence of spectra. Both are learned on
    the mixture, with activations that are observed to be zero where the score has none.
    Who has no note explains nothing.
    """
    rng = np.random.default_rng(seed)
    makers = {name: _drum if name in drums else _pitched for name in score}
    played = {f"part{k}": name for k, name in enumerate(score) if score[name]}
    made = {name: makers[name](key, score[name], frames, freedom, rng) for key, name in played.items()}
    parts = {name: part for name, part in made.items() if np.isnan(part.allowed).any()}
    loudest, silence = float(magnitude.max()), np.zeros_like(magnitude)
    if not (loudest and parts):
        return dict.fromkeys(score, silence)
    spectrum = pfn.Variable("spectrum", len(magnitude))
    network = pfn.Network(pfn.Factorization(spectrum[t], sum(term for part in parts.values() for term in part.terms)))
    data = {spectrum: magnitude / loudest} | {part.variable: part.allowed for part in parts.values()}
    level = 10 * float(magnitude.mean()) / loudest
    start = {part.variable: level * rng.uniform(0.8, 1.2, part.allowed.shape) for part in parts.values()}
    options: dict[str, Any] = {"method": pfn.Substitute(acceleration=None), "dtype": "float32", "seed": seed}
    found = pfn.learn(network, data, initial=start, iterations=iterations, progress=progress, **options)
    return {name: _explained(found, parts[name]) if name in parts else silence for name in score}


def _pitched(name: str, notes: Sequence[Note], frames: Frames, freedom: Freedom, rng: np.random.Generator) -> Part:
    """Spectra of each pitch, which may sound while one of its notes is written."""
    pitches = sorted(freedom.colours * list({note.pitch for note in notes}))
    spectra = np.column_stack([harmonic(pitch, frames.frequencies) + OFF_HARMONICS for pitch in pitches])
    spectra *= rng.uniform(0.8, 1.2, spectra.shape)
    spans = [(note.pitch, note.onset - freedom.before, note.offset + freedom.after) for note in notes]
    variable = pfn.Variable(name, len(pitches), [f"{pitch}.{k % freedom.colours}" for k, pitch in enumerate(pitches)])
    parameter = pfn.Parameter(f"{name}_spectra", spectra / spectra.sum(axis=0), learn=True)
    return Part(variable, (parameter,), _open(pitches, spans, frames))


def _drum(name: str, notes: Sequence[Note], frames: Frames, freedom: Freedom, rng: np.random.Generator) -> Part:
    """A sequence of spectra for each pitch, which starts where one of its notes does."""
    pitches = sorted({note.pitch for note in notes})
    shape = freedom.rings, len(frames.frequencies), len(pitches)
    fading = np.exp(-2 * np.arange(freedom.rings) / freedom.rings)[:, None, None]
    spectra = fading * rng.uniform(0.9, 1.1, shape)
    spectra /= spectra.sum(axis=(0, 1))
    spans = [(note.pitch, note.onset - freedom.struck, note.onset + freedom.struck) for note in notes]
    variable = pfn.Variable(name, len(pitches), [str(pitch) for pitch in pitches])
    parameters = tuple(pfn.Parameter(f"{name}_ring{k}", part, learn=True) for k, part in enumerate(spectra))
    return Part(variable, parameters, _open(pitches, spans, frames))


def harmonic(pitch: int, frequencies: np.ndarray) -> np.ndarray:
    """A spectrum with triangles at the multiples of a pitch, each half a semitone wide, the k-th 1/k high."""
    fundamental, step = 440 * 2 ** ((pitch - 69) / 12), frequencies[1]
    multiples = fundamental * np.arange(1, max(int(frequencies[-1] / fundamental), 1) + 1)
    widths = np.maximum(multiples * (2 ** (1 / 24) - 1), 1.5 * step)
    heights = np.maximum(0, 1 - np.abs(frequencies[:, None] - multiples) / widths) * (fundamental / multiples)
    found: np.ndarray = heights.max(axis=1)
    return found


def _open(pitches: Sequence[int], spans: Sequence[tuple[int, float, float]], frames: Frames) -> np.ndarray:
    """Activations: unknown within the spans of their pitch, zero elsewhere."""
    allowed = np.zeros((len(pitches), len(frames.times)))
    for pitch, begin, end in spans:
        rows = np.flatnonzero(np.equal(pitches, pitch))
        allowed[np.ix_(rows, (frames.times >= begin) & (frames.times <= end))] = np.nan
    return allowed


def _explained(found: pfn.Result, part: Part) -> np.ndarray:
    values = found[part.variable]
    columns = values.shape[1]
    shares = (found[p] @ values[:, : max(columns - lag, 0)] for lag, p in enumerate(part.parameters))
    whole = np.zeros((part.parameters[0].shape[0], columns))
    for lag, share in enumerate(shares):
        whole[:, lag:] += share
    return whole
