"""Observations with errors: the structure is exact, and what was observed is only close; or the other way round."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.exact.linear import Deadline
from pfn.exact.quadratic import Quadratic
from pfn.exact.reduction import Reduced, reduce


class Noise(NamedTuple):
    """What is minimised: errors of the noisy observations, plus weights times the entries of y."""

    known: np.ndarray
    """Entries observed without error; NaN elsewhere."""
    observed: np.ndarray
    """Entries observed with error; NaN elsewhere."""
    squared: np.ndarray
    """Of the noisy entries, which count with their square rather than their size."""
    background: np.ndarray
    """For every entry, the number of the background that is added to it, −1 for none."""
    weights: np.ndarray
    """The penalty of every entry of y."""
    size: float = 1.0
    """The price of errors that count by size, against 1 for squared ones."""

    @property
    def backgrounds(self) -> int:
        """How many there are."""
        return int(self.background.max(initial=-1)) + 1

    def part(self, entries: np.ndarray) -> "Noise":
        """The same for some of the entries."""
        return self._replace(**{name: getattr(self, name)[entries] for name in self._fields[:5]})


class Question(NamedTuple):
    """Equations, the time of every row, the noise of what they explain, and the slice of time of every entry."""

    matrix: sp.csr_array
    times: np.ndarray
    noise: Noise
    slices: np.ndarray

    def between(self, start: int, stop: int) -> tuple["Question", np.ndarray]:
        """The equations from start to stop, with the entries that they have."""
        rows = np.flatnonzero((self.times >= start) & (self.times < stop))
        part = self.matrix[rows]
        entries = np.unique(part.indices)
        return Question(part[:, entries], self.times[rows], self.noise.part(entries), self.slices[entries]), entries

    def of(self, entries: np.ndarray, background: np.ndarray) -> "Question":
        """The equations of these entries, all others being zero and the backgrounds known."""
        part = self.matrix[:, entries]
        rows = np.flatnonzero(np.diff(part.indptr))
        noise = self.noise.part(entries)
        observed = noise.observed - np.append(background, 0.0)[noise.background]
        noise = noise._replace(observed=observed, background=np.full(entries.shape, -1))
        return Question(part[rows], self.times[rows], noise, self.slices[entries])


class Denoised(NamedTuple):
    """The values, the backgrounds, and the errors of the noisy entries (NaN elsewhere): observed − explained."""

    y: np.ndarray
    background: np.ndarray
    errors: np.ndarray

    @property
    def squares(self) -> float:
        """The summed square of the errors."""
        return float(np.nansum(self.errors**2))


def denoise(matrix: sp.csr_array, noise: Noise, deadline: Deadline, dead: np.ndarray | None = None) -> Denoised:
    """The best exact structure behind noisy observations; entries in `dead` are held at zero."""
    known = noise.known if dead is None else np.where(dead & np.isnan(noise.known), 0.0, noise.known)
    reduced = reduce(matrix, known)
    z = program_of(reduced, noise).minimum(deadline)
    y, rest = reduced.whole(z[: reduced.unknown.size]), z[reduced.unknown.size :]
    background = rest[: noise.backgrounds]
    shift = np.append(background, 0.0)[noise.background]
    return Denoised(y, background, noise.observed - y - shift)


def program_of(reduced: Reduced, noise: Noise) -> Quadratic:
    """Unknowns: hidden entries, backgrounds, errors squared, errors above and below that count by size."""
    noisy = np.flatnonzero(~np.isnan(noise.observed))
    squared = noise.squared[noisy]
    unit = sp.eye_array(noisy.size, format="csc")
    errors = [unit[:, squared], unit[:, ~squared], -unit[:, ~squared]]
    explained = _indicator(
        np.searchsorted(reduced.unknown, noisy), np.isin(noisy, reduced.unknown), reduced.unknown.size
    )
    floor = _indicator(noise.background[noisy], noise.background[noisy] >= 0, noise.backgrounds)
    hidden = [reduced.matrix, None, None]
    sizes = (reduced.unknown.size, noise.backgrounds, int(squared.sum()), 2 * int((~squared).sum()))
    return Quadratic(
        squares=np.repeat([0.0, 0.0, 1.0, 0.0], sizes),
        costs=np.concatenate([noise.weights[reduced.unknown], np.repeat([0.0, 0.0, noise.size], sizes[1:])]),
        matrix=sp.csr_array(sp.block_array([hidden, [explained, floor, sp.hstack(errors)]], format="csr")),
        values=np.concatenate([reduced.values, noise.observed[noisy]]),
        free=np.repeat([False, False, True, False], sizes),
    )


def _indicator(columns: np.ndarray, where: np.ndarray, width: int) -> sp.csr_array:
    """A one in these columns, in the rows where there is one."""
    rows = np.flatnonzero(where)
    return sp.csr_array((np.ones(rows.size), (rows, columns[rows])), (where.size, width))


def soften(
    matrix: sp.csr_array, known: np.ndarray, importance: np.ndarray, costs: np.ndarray, deadline: Deadline
) -> np.ndarray:
    """The y with the least squared errors of all equations (the paper's cost), rows counted by importance."""
    reduced = reduce(matrix, known, zeros=False)
    rows, unknowns = reduced.matrix.shape
    program = Quadratic(
        squares=np.concatenate([np.zeros(unknowns), importance[reduced.rows]]),
        costs=np.concatenate([costs[reduced.unknown], np.zeros(rows)]),
        matrix=sp.csr_array(sp.hstack([reduced.matrix, -sp.eye_array(rows)], format="csr")),
        values=reduced.values,
        free=np.repeat([False, True], [unknowns, rows]),
    )
    return reduced.whole(program.minimum(deadline)[:unknowns])
