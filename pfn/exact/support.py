"""Which explanation of noisy data to believe: the closest one with the penalty, or parts that explain their price."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pfn.exact.inference import Asked
from pfn.exact.linear import InfeasibleError, OutOfTimeError
from pfn.exact.noisy import Denoised, Question, denoise
from pfn.exact.parts import Piece, Price
from pfn.exact.penalty import level_of
from pfn.exact.reduction import only_zero
from pfn.exact.selection import superposed
from pfn.exact.windows import Window, first_times

FAINT = 0.05
"""Entries below so many standard deviations of the noise are given up, where the penalty already made them small."""

LEAST = 1e-4
"""The standard deviation of noise that is none: where there is less, parts are looked for as if there were this."""

PRICE = 3.0
"""By so many variances of the noise every penalised entry of a part has to lower the squared errors: less than a true
one does, more than one that only explains noise."""


def explain(question: Question, *, debias: bool, window: Window | None, asked: Asked) -> Denoised:
    """The best exact structure, in windows only as far as its support goes."""
    matrix, noise = question.matrix, question.noise
    dead = None if window is None else _in_windows(question, window, asked, debias=debias)
    try:
        found = denoise(matrix, noise, asked.deadline, dead)
    except InfeasibleError:
        if dead is None:
            raise
        found = denoise(matrix, noise, asked.deadline)  # exact observations need what the windows gave up
    if not debias:
        return found
    try:
        return _without_penalty(question, found, asked)
    except OutOfTimeError:
        return found


def _in_windows(question: Question, window: Window, asked: Asked, *, debias: bool) -> np.ndarray:
    """What is given up, window by window; each tells of its middle, where it is not disturbed by its ends."""
    dead = np.zeros(question.noise.known.shape, bool)
    last = int(question.times.max(initial=0)) + 1
    begin, margin = 0, window.overlap // 2
    while True:
        end = begin + window.length
        part, entries = question.between(begin, end)
        first = first_times(part.matrix, part.times)
        middle = (first >= (begin + margin if begin else 0)) & (first < (end - margin if end < last else last))
        found = denoise(part.matrix, part.noise, asked.deadline)
        without = _parts(part, found, asked).sum(axis=1) == 0 if debias else _faint(part, found)
        dead[entries[middle & without]] = True
        asked.report(min(end, last))
        if end >= last:
            return dead
        begin = end - window.overlap


def _without_penalty(question: Question, found: Denoised, asked: Asked) -> Denoised:
    """The parts that are worth their price, as strong as the data say.

    Where some observations are exact, or errors count by their size, all that these parts consist of may be active.
    """
    matrix, noise = question.matrix, question.noise
    parts = _parts(question, found, asked)
    noisy = ~np.isnan(noise.observed)
    if noise.squared[noisy].all() and not (noise.known > 0).any():
        return superposed(noise, parts)
    free = noise._replace(weights=np.zeros(noise.weights.shape))
    for dead in (parts.sum(axis=1) == 0, _faint(question, found)):
        try:
            return denoise(matrix, free, asked.deadline, dead)
        except InfeasibleError:  # exact observations need more
            pass
    return denoise(matrix, free, asked.deadline)


def _parts(question: Question, found: Denoised, asked: Asked) -> sp.csr_array:
    """The parts that explain the data best for their price, a column each."""
    level = max(level_of(found), LEAST)
    price = Price(PRICE * level**2, level)
    columns = [sp.csr_array((found.y.size, 0))]
    for piece, entries in _pieces(question, found):
        for part in Piece(piece, found.y[entries], price, asked).explained():
            active = np.flatnonzero(part)
            places = (entries[active], np.zeros(active.size, int))
            columns.append(sp.csr_array((part[active], places), (found.y.size, 1)))
    return sp.csr_array(sp.hstack(columns, format="csr"))


def _faint(question: Question, found: Denoised) -> np.ndarray:
    """What cannot be active if penalised and noisy entries are not where the penalty made them faint.

    All ways to connect what is left remain: one that costs nothing, such as a transition, may be zero by accident.
    """
    noise = question.noise
    judged = (noise.weights > 0) | ~np.isnan(noise.observed)
    return only_zero(question.matrix, (noise.known == 0) | (judged & (found.y < FAINT * level_of(found))))


def _pieces(question: Question, found: Denoised) -> Iterator[tuple[Question, np.ndarray]]:
    """What is not faint falls into pieces that have no equation in common, each with its entries."""
    left = np.flatnonzero(~_faint(question, found))
    part = abs(question.matrix[:, left])
    count, labels = connected_components(part.T @ part, directed=False)
    for number in range(count):
        entries = left[labels == number]
        yield question.of(entries, found.background), entries
