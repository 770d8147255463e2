"""Components of a spectrum learned without a score, and groups of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import index

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

import pfn
from pfn.audio.bands import triangles
from pfn.errors import DataError
from pfn.network import t

COLOURS = 24
"""Bands, evenly spaced in pitch, by which the colours of components are compared."""

REST = "rest"


@dataclass(frozen=True, eq=False)
class Components:
    """Spectra (frequencies, components), each with the sum 1, and their activations (components, slices)."""

    spectra: np.ndarray
    activations: np.ndarray

    def parts(self, groups: Mapping[str, Iterable[int]]) -> dict[str, np.ndarray]:
        """The magnitudes that each group explains; components in no group join the "rest"."""
        chosen = self._checked(groups)
        left = sorted(set(range(self.spectra.shape[1])).difference(*chosen.values()))
        if left:
            chosen[REST] = chosen.get(REST, []) + left
        return {name: self.spectra[:, numbers] @ self.activations[numbers] for name, numbers in chosen.items()}

    def _checked(self, groups: Mapping[str, Iterable[int]]) -> dict[str, list[int]]:
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
        return chosen


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
    """So many groups of components whose spectra have similar colours: "part 1" is the lowest."""
    corners = np.geomspace(40.0, max(frequencies[-1], 80.0), COLOURS + 2)
    bands = triangles(frequencies, corners)
    shapes = np.sqrt(bands @ components.spectra / bands.sum(axis=1, keepdims=True))
    shapes /= np.maximum(np.linalg.norm(shapes, axis=0), np.finfo(float).tiny)
    labels = fcluster(linkage(shapes.T, method="ward"), parts, criterion="maxclust")
    centres = frequencies @ components.spectra
    groups = [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
    groups.sort(key=lambda group: float(np.mean(centres[group])))
    return {f"part {number}": group for number, group in enumerate(groups, 1)}
