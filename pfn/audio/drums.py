"""Drums: every drum is a sequence of spectra over a few slices, which adapts to the recording."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import pfn
from pfn import FileError, t
from pfn.audio.bands import Bands, triangles
from pfn.audio.listeners import Heard, Watch, ringing, whole
from pfn.audio.onsets import Reading
from pfn.audio.templates import check_spectra
from pfn.files import read_file, write_file

KIND = "set of drum templates"

# Drums by their General MIDI numbers; each stands for all of its kind.
DRUMS = {36: "kick", 38: "snare", 42: "hi-hat", 45: "tom", 49: "cymbal", 56: "other"}

# Slices of a hit, and those among them before the onset, where the window already sees it.
SLICES = 10
EARLY = 2

# Sweeps with the templates as they are, then sweeps in which they adapt to the recording.
LISTEN = 10
ADAPT = 50

# Weight of the templates against adapting, as an activity, which is less than one loud hit.
PRIOR = 1.0

# Of the typical strength of a drum's hits, that a hit has at least.
THRESHOLD = 0.4

# Of the strongest drum's typical hit, that a drum's typical hit has at least, or the drum is absent.
LEAST = 0.1
# Ratio of a hit to the mean of its surroundings, at least: noise that goes on stays below.
STANDS = 2.0


@cache
def drum_bands() -> Bands:
    """80 bands from 30 Hz to 18 kHz, evenly spaced below 200 Hz and by ratios above, every 10 ms."""
    rate, window, bend = 44_100, 2048, 200.0
    hertz = np.arange(window // 2 + 1) * (rate / window)
    corners = bend * np.expm1(np.linspace(np.log1p(30 / bend), np.log1p(18_000 / bend), 82))
    return Bands(rate, window, 441, 0.6, triangles(hertz, corners))


@dataclass(frozen=True, eq=False)
class DrumTemplates:
    """Spectra of drums: `spectra` (slices, bands, drums), each drum's sum 1; `pitches` are General MIDI numbers."""

    pitches: tuple[int, ...]
    spectra: np.ndarray

    def save(self, path: str | PathLike[str]) -> None:
        """Write the templates to a file that `load_drums` reads."""
        write_file(Path(path), KIND, {"spectra": self.spectra, "pitches": np.array(self.pitches)}, {})

    def __repr__(self) -> str:
        return f"DrumTemplates({', '.join(DRUMS.get(pitch, str(pitch)) for pitch in self.pitches)})"


def load_drums(path: str | PathLike[str]) -> DrumTemplates:
    """Read templates that `DrumTemplates.save` wrote.

    Parameters
    ----------
    path
        The file.
    """
    arrays, _ = read_file(Path(path), KIND)
    try:
        spectra, pitches = np.asarray(arrays["spectra"], float), tuple(int(pitch) for pitch in arrays["pitches"])
        check_spectra(pitches, spectra, (SLICES, len(drum_bands().weights)))
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path}: the file is damaged ({error!r}). Write it again.") from error
    return DrumTemplates(pitches, spectra)


@cache
def drum_templates() -> DrumTemplates:
    """The templates that come with the package: drums of the FluidR3 SoundFont."""
    with as_file(files("pfn.audio") / "data" / "drums.safetensors") as path:
        return load_drums(path)


def drum_network(spectra: np.ndarray, *, prior_weight: float | None = None) -> pfn.Network:
    """The network of all drums' hits, each a sequence of spectra that is learned from `spectra` on."""
    spectrum, hit = pfn.Variable("spectrum", spectra.shape[1]), pfn.Variable("hit", spectra.shape[2])
    parts = [
        pfn.Parameter(
            f"drum{k}", part, learn=True, prior=part, prior_weight=PRIOR if prior_weight is None else prior_weight
        )
        for k, part in enumerate(spectra)
    ]
    return pfn.Network(pfn.Factorization(spectrum[t], sum(part @ hit[t - k] for k, part in enumerate(parts))))


@dataclass(frozen=True)
class Drums:
    """The listener for drums, by templates that adapt to the recording."""

    templates: DrumTemplates
    threshold: float | None = None

    early = EARLY
    drums = True
    sweeps = LISTEN + ADAPT

    @property
    def bands(self) -> Bands:
        """The bands of the spectra that it explains."""
        return drum_bands()

    @property
    def pitches(self) -> tuple[int, ...]:
        """General MIDI numbers."""
        return self.templates.pitches

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the drums."""
        return tuple(DRUMS.get(pitch, f"drum {pitch}") for pitch in self.pitches)

    @property
    def reading(self) -> Reading:
        """The rule by which hits are read off."""
        return Reading(
            self.threshold or THRESHOLD,
            around=1,
            apart=6,
            moving=0.25,
            wide=30,
            separate=True,
            least=LEAST,
            stands=STANDS,
            moves=False,
        )

    def hear(self, spectra: np.ndarray, watch: Watch) -> Heard:
        """Hits, first by the templates as they are, then with templates that adapt."""
        known = self.templates.spectra
        # One more drum, flat at first, adapts to whatever else is heard.
        rest = np.full((*known.shape[:2], 1), 1 / known[:, :, 0].size)
        network = drum_network(np.concatenate([known, rest], axis=2))
        data, method = {"spectrum": spectra}, pfn.Substitute(acceleration=None)
        flat = np.full((len(self.pitches) + 1, spectra.shape[1]), spectra.mean())
        options: dict[str, Any] = {"method": method, "progress": False, "engine": "numpy"}
        first = whole(pfn.infer(network, data, initial={"hit": flat}, iterations=LISTEN, **options))
        watch(LISTEN, max(first.rmse.values()))
        found = whole(pfn.learn(network, data, initial={"hit": first["hit"]}, iterations=ADAPT, **options))
        watch(self.sweeps, max(found.rmse.values()))
        hits = found["hit"][:-1]
        return Heard(hits, ringing(hits, SLICES))
