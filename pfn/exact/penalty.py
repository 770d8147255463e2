"""The weight of the penalty, found from the data: noise alone is explained by nothing."""

import numpy as np
import scipy.sparse as sp

from pfn.errors import OptionError
from pfn.exact.inference import Asked
from pfn.exact.linear import Program
from pfn.exact.noisy import Denoised, Noise, Question, denoise

LEVEL, SAMPLE = 120, 40
"""Time slices from which the noise level and the weight are found: the noise is the same everywhere."""

DRAWS = 3
"""So many random noises; the median of their weights counts."""

BOUND = 1e6
"""Larger than any activity that a unit of penalised activity can come with."""

QUIET, ENOUGH = 0.1, 0.1
"""Observations explained by less than this many standard deviations are of nothing; this share of all is enough."""

REFINED = 2
"""So often the noise level is taken from the errors again, with the weight that the last one gave."""


def weighted(question: Question, automatic: np.ndarray, asked: Asked) -> Noise:
    """The noise with weights for the entries in `automatic`: their level from what first solves leave of the data."""
    part, entries = question.between(0, LEVEL)
    chosen = automatic[entries]
    unit = _weight_of_noise(question, automatic, asked)
    values = part.noise.observed[~np.isnan(part.noise.observed)]
    if not values.size:
        return question.noise
    level = 1.4826 * float(np.median(np.abs(values - np.median(values)))) or float(values.std())
    for _ in range(REFINED):
        weights = np.where(chosen, unit * level, part.noise.weights)
        level = level_of(denoise(part.matrix, part.noise._replace(weights=weights), asked.deadline))
    noise = question.noise
    return noise._replace(weights=np.where(automatic, unit * level, noise.weights))


def level_of(found: Denoised) -> float:
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
