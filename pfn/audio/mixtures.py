"""Mixtures: the magnitudes of their parts, learned with a score, or without one as groups of components."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

import pfn
from pfn import DataError, t
from pfn.audio.bands import triangles
from pfn.audio.notes import Note

# Of the fundamental, where templates start between harmonics, so that learning may find something there.
OFF_HARMONICS = 1e-6

# Bands, evenly spaced in pitch, by which the colours of components are compared.
COLOURS = 24

REST = "rest"


class Frames(NamedTuple):
    """The frequencies, in Hz, and the seconds of a spectrogram."""

    frequencies: np.ndarray
    times: np.ndarray


@dataclass(frozen=True)
class Freedom:
    """The freedom with which a score is played.

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
class ScorePart:
    """One instrument in the network: its variable, its parameters by lag, and where it may be active."""

    variable: pfn.Variable
    parameters: tuple[pfn.Parameter, ...]
    allowed: np.ndarray

    @property
    def terms(self) -> list[Any]:
        """The terms that it adds to the spectrum."""
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
    """The magnitudes that each instrument explains; one without notes explains nothing.

    A pitch of an instrument has a few spectra, harmonic at first; a drum is a sequence of spectra. Both are learned on
    the mixture, with activations that are observed to be zero where the score has none.
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
    explained = dict.fromkeys(score, silence)
    for name, part in parts.items():
        values = found[part.variable]
        columns = values.shape[1]
        explained[name] = np.zeros((len(magnitude), columns))
        for lag, parameter in enumerate(part.parameters):
            explained[name][:, lag:] += found[parameter] @ values[:, : max(columns - lag, 0)]
    return explained


def _pitched(name: str, notes: Sequence[Note], frames: Frames, freedom: Freedom, rng: np.random.Generator) -> ScorePart:
    """Spectra of each pitch, which may sound while one of its notes is written."""
    pitches = sorted(freedom.colours * list({note.pitch for note in notes}))
    spectra = np.column_stack([harmonic(pitch, frames.frequencies) + OFF_HARMONICS for pitch in pitches])
    spectra *= rng.uniform(0.8, 1.2, spectra.shape)
    spans = [(note.pitch, note.onset - freedom.before, note.offset + freedom.after) for note in notes]
    variable = pfn.Variable(name, len(pitches), [f"{pitch}.{k % freedom.colours}" for k, pitch in enumerate(pitches)])
    parameter = pfn.Parameter(f"{name}_spectra", spectra / spectra.sum(axis=0), learn=True)
    return ScorePart(variable, (parameter,), _open(pitches, spans, frames))


def _drum(name: str, notes: Sequence[Note], frames: Frames, freedom: Freedom, rng: np.random.Generator) -> ScorePart:
    """A sequence of spectra for each pitch, which starts where one of its notes does."""
    pitches = sorted({note.pitch for note in notes})
    shape = freedom.rings, len(frames.frequencies), len(pitches)
    fading = np.exp(-2 * np.arange(freedom.rings) / freedom.rings)[:, None, None]
    spectra = fading * rng.uniform(0.9, 1.1, shape)
    spectra /= spectra.sum(axis=(0, 1))
    spans = [(note.pitch, note.onset - freedom.struck, note.onset + freedom.struck) for note in notes]
    variable = pfn.Variable(name, len(pitches), [str(pitch) for pitch in pitches])
    parameters = tuple(pfn.Parameter(f"{name}_ring{k}", part, learn=True) for k, part in enumerate(spectra))
    return ScorePart(variable, parameters, _open(pitches, spans, frames))


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


@dataclass(frozen=True, eq=False)
class Components:
    """Spectra (frequencies, components), each with the sum 1, and their activations (components, slices)."""

    spectra: np.ndarray
    activations: np.ndarray

    def parts(self, groups: Mapping[str, Iterable[int]]) -> dict[str, np.ndarray]:
        """The magnitudes that each group explains; components in no group join the "rest"."""
        count = self.spectra.shape[1]
        try:
            chosen = {str(name): sorted({index(number) for number in numbers}) for name, numbers in groups.items()}
        except (AttributeError, TypeError):
            chosen = {}
        named = [number for numbers in chosen.values() for number in numbers]
        if not named or len(named) > len(set(named)) or not all(0 <= number < count for number in named):
            raise DataError(
                f"groups: expected numbers of components from 0 to {count - 1} by the name of their group, each in one "
                f"at most, such as {{'mine': [0, 1]}}, found {groups!r}."
            )
        left = sorted(set(range(count)).difference(*chosen.values()))
        if left:
            chosen[REST] = chosen.get(REST, []) + left
        return {name: self.spectra[:, numbers] @ self.activations[numbers] for name, numbers in chosen.items()}


def learn_components(
    magnitude: np.ndarray, count: int, *, iterations: int, seed: int, progress: bool | None
) -> Components:
    """Plain NMF of a spectrum."""
    spectrum, activation = pfn.Variable("spectrum", len(magnitude)), pfn.Variable("activation", count)
    spectra = pfn.Parameter("spectra", shape=(len(magnitude), count))
    network = pfn.Network(pfn.Factorization(spectrum[t], spectra @ activation[t], normalize="columns"))
    loudest = float(magnitude.max()) or 1.0
    found = pfn.learn(
        network, {spectrum: magnitude / loudest}, iterations=iterations, seed=seed, progress=progress, dtype="float32"
    )
    return Components(found[spectra], found[activation])


def grouped(components: Components, frequencies: np.ndarray, parts: int) -> dict[str, list[int]]:
    """Groups of components whose spectra have similar colours, `parts` of them: "part 1" is the lowest."""
    corners = np.geomspace(40.0, max(frequencies[-1], 80.0), COLOURS + 2)
    bands = triangles(frequencies, corners)
    shapes = np.sqrt(bands @ components.spectra / bands.sum(axis=1, keepdims=True))
    shapes /= np.maximum(np.linalg.norm(shapes, axis=0), np.finfo(float).tiny)
    labels = fcluster(linkage(shapes.T, method="ward"), parts, criterion="maxclust")
    centres = frequencies @ components.spectra
    groups = [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
    groups.sort(key=lambda group: float(np.mean(centres[group])))
    return {f"part {number}": group for number, group in enumerate(groups, 1)}
