"""Which explanation of noisy data to believe: the weight of the penalty, and the support that is left of it."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.errors import OptionError
from pfn.exact.inference import Asked
from pfn.exact.linear import InfeasibleError, OutOfTimeError, Program
from pfn.exact.noisy import Denoised, Noise, denoise
from pfn.exact.windows import Window, first_times

TIES = 0.02
"""Every entry costs a random share, up to this, of the penalty: of several ways to say the same, one is chosen, while
an interior point would take a little of each, too little of any to be kept."""

PRUNING = (0.05, 0.1, 0.2, 0.4, 0.8, 1.2)
"""Entries below so many standard deviations of the noise are given up, step by step: what the smallest ones held goes
over to the others, where one high threshold would cut both of two halves."""

TRIES = 3
"""So many ways to break ties are tried: one may cut a weak explanation that another keeps."""

PRICE = 3.0
"""What an active entry costs when such ways are compared, in variances of the noise: less than a true one explains."""

LEVEL, SAMPLE = 120, 40
"""Time slices from which the noise level and the weight are found: the noise is the same everywhere."""

DRAWS = 3
"""So many random noises; the median of their weights counts."""

MARGIN = 1.25
"""How much larger than necessary the weight is: beside a true explanation, noise finds room more easily."""

BOUND = 1e6
"""Larger than any activity that a unit of penalised activity can come with."""

QUIET, ENOUGH = 0.1, 0.1
"""Observations explained by less than this many standard deviations are of nothing; this share of all is enough."""

REFINED = 2
"""So often the noise level is taken from the errors again, with the weight that the last one gave."""


class Question(NamedTuple):
    """Equations, the time of every row, and the noise of what they explain."""

    matrix: sp.csr_array
    times: np.ndarray
    noise: Noise

    def between(self, start: int, stop: int) -> tuple["Question", np.ndarray]:
        """The equations from start to stop, with the entries that they have."""
        rows = np.flatnonzero((self.times >= start) & (self.times < stop))
        part = self.matrix[rows]
        entries = np.unique(part.indices)
        return Question(part[:, entries], self.times[rows], self.noise.part(entries)), entries


def explain(question: Question, *, debias: bool, window: Window | None, asked: Asked) -> Denoised:
    """The best exact structure, in windows only as far as its support goes."""
    matrix, _, noise = question
    if window is None and not debias:
        return denoise(matrix, noise, asked.deadline)
    final = noise._replace(weights=np.zeros(noise.weights.shape)) if debias else noise
    if window is not None:
        dead = _in_windows(question, PRUNING if debias else PRUNING[:1], window, asked)
        return denoise(matrix, final, asked.deadline, dead)
    found = denoise(matrix, noise, asked.deadline)
    try:
        dead = _unsupported(question, found, PRUNING, asked)
        return denoise(matrix, final, asked.deadline, dead)
    except OutOfTimeError:
        return found


def _unsupported(question: Question, found: Denoised, thresholds: tuple[float, ...], asked: Asked) -> np.ndarray:
    """The entries that pruning gives up: of several ways to break ties, the one that explains most for its price."""
    level = _level(found)
    tried = [_pruned(question, level, thresholds, asked) for _ in range(TRIES)]
    return min(tried, key=lambda pruned: pruned.cost).dead


class Pruned(NamedTuple):
    """Entries given up, and what the rest costs: its errors, its penalty, and something for every entry."""

    dead: np.ndarray
    cost: float


def _pruned(question: Question, level: float, thresholds: tuple[float, ...], asked: Asked) -> Pruned:
    """Give up what lies below one threshold after the other."""
    matrix, _, noise = question
    ties = TIES * float(noise.weights.max(initial=0.0)) * asked.rng.random(noise.weights.shape)
    tied = noise._replace(weights=noise.weights + ties)
    dead = np.zeros(noise.known.shape, bool)
    found = denoise(matrix, tied, asked.deadline)
    for threshold in thresholds:
        below = found.y < threshold * level
        try:
            found = denoise(matrix, tied, asked.deadline, below)
        except InfeasibleError:  # exact observations need what would be given up
            break
        dead = below
    kept = np.count_nonzero(found.y[noise.weights > 0] > thresholds[-1] * level)
    return Pruned(dead, float(np.nansum(found.errors**2) + noise.weights @ found.y) + kept * PRICE * level**2)


def _in_windows(question: Question, thresholds: tuple[float, ...], window: Window, asked: Asked) -> np.ndarray:
    """The same, window by window; each tells of its middle, where it is not disturbed by its ends."""
    dead = np.zeros(question.noise.known.shape, bool)
    last = int(question.times.max(initial=0)) + 1
    begin, margin = 0, window.overlap // 2
    while True:
        end = begin + window.length
        part, entries = question.between(begin, end)
        first = first_times(part.matrix, part.times)
        middle = (first >= (begin + margin if begin else 0)) & (first < (end - margin if end < last else last))
        found = denoise(part.matrix, part.noise, asked.deadline)
        dead[entries[middle & _unsupported(part, found, thresholds, asked)]] = True
        asked.report(min(end, last))
        if end >= last:
            return dead
        begin = end - window.overlap


def weighted(question: Question, automatic: np.ndarray, asked: Asked) -> Noise:
    """The noise with weights for the entries in `automatic`: their level from what first solves leave of the data."""
    part, entries = question.between(0, LEVEL)
    chosen = automatic[entries]
    unit = MARGIN * _weight_of_noise(question, automatic, asked)
    values = part.noise.observed[~np.isnan(part.noise.observed)]
    if not values.size:
        return question.noise
    level = 1.4826 * float(np.median(np.abs(values - np.median(values)))) or float(values.std())
    for _ in range(REFINED):
        weights = np.where(chosen, unit * level, part.noise.weights)
        level = _level(denoise(part.matrix, part.noise._replace(weights=weights), asked.deadline))
    noise = question.noise
    return noise._replace(weights=np.where(automatic, unit * level, noise.weights))


def _level(found: Denoised) -> float:
    """The standard deviation of the noise, from observations of nothing if there are enough.

    The penalty makes what is explained too small, and its errors too large.
    """
    noisy = ~np.isnan(found.errors)
    errors, explained = found.errors[noisy], found.y[noisy]
    level = _root_mean_square(errors)
    quiet = errors[explained < QUIET * level]
    return _root_mean_square(quiet) if quiet.size > ENOUGH * errors.size else level


def _root_mean_square(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2))) if errors.size else 0.0


def _weight_of_noise(question: Question, automatic: np.ndarray, asked: Asked) -> float:
    """The least weight at which noise of standard deviation 1 alone is explained by nothing.

    Zero is the best answer to noise e if no direction y that the equations allow has 2 e · y > weight · Σ y.
    """
    part, entries = question.between(0, SAMPLE)
    hidden = np.flatnonzero(np.isnan(part.noise.known))
    one = sp.csr_array(automatic[entries[hidden]][None].astype(float))
    matrix = sp.csr_array(sp.vstack([one, part.matrix[:, hidden]], format="csr"))
    program = Program(matrix, np.eye(1, matrix.shape[0])[0], 1e-9, BOUND)
    noisy = (~np.isnan(part.noise.observed) & part.noise.squared)[hidden]
    gains = []
    for _ in range(DRAWS):
        gain = np.where(noisy, 2 * asked.rng.standard_normal(hidden.size), 0.0)
        best = program.minimum(-gain, asked.deadline)
        if best.max() > 0.99 * BOUND:
            raise OptionError(
                "Exact: penalty 'auto': noise can be explained without the penalised variables. Give a weight, or "
                "penalise the variables that everything observed comes from."
            )
        gains.append(float(gain @ best))
    return float(np.median(gains))
