"""Which explanation of noisy data to believe: the entries that may be active, found with the penalty."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from pfn.exact.inference import Asked
from pfn.exact.linear import InfeasibleError, OutOfTimeError
from pfn.exact.noisy import Denoised, Noise, Question, denoise
from pfn.exact.penalty import level_of
from pfn.exact.reduction import only_zero
from pfn.exact.windows import Window, first_times

TIES = 0.02
"""Every entry costs a random share, up to this, of the penalty: of several ways to say the same, one is chosen, while
an interior point would take a little of each, too little of any to be kept."""

PRUNING = (0.05, 0.1, 0.2, 0.4)
"""Entries below so many standard deviations of the noise are given up, step by step: what the smallest ones held goes
over to the others, where one high threshold would cut both of two halves."""

TRIES = (1.0, 1.25, 1.0, 1.25)
"""So many times the penalty is tried, each time with other ties, until two agree: a weak one may leave too much to see
through, a strong one or a tie may lose what another keeps."""

PRICE = 3.0
"""By so many variances of the noise an active entry has to lower the squared errors: less than a true one does, more
than one that only explains noise."""

CLEAR = 4.0
"""What explains so many times its price is not tried again: the fewer others are left, the more it is needed."""

SAME = 1e-6
"""Entries that are as large up to this, and fall together, are one candidate (the largest observation is 1)."""


def explain(question: Question, *, debias: bool, window: Window | None, asked: Asked) -> Denoised:
    """The best exact structure, in windows only as far as its support goes."""
    matrix, _, noise = question
    final = _without_penalty(noise) if debias else noise
    if window is not None:
        dead = _in_windows(question, window, asked, debias=debias)
        try:
            return denoise(matrix, final, asked.deadline, dead)
        except InfeasibleError:  # exact observations need what the windows gave up
            return denoise(matrix, final, asked.deadline)
    found = denoise(matrix, noise, asked.deadline)
    if not debias:
        return found
    try:
        return denoise(matrix, final, asked.deadline, _unsupported(question, found, asked))
    except OutOfTimeError:
        return found


def _without_penalty(noise: Noise) -> Noise:
    return noise._replace(weights=np.zeros(noise.weights.shape))


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
        without = _unsupported(part, found, asked) if debias else found.y < PRUNING[0] * level_of(found)
        dead[entries[middle & without]] = True
        asked.report(min(end, last))
        if end >= last:
            return dead
        begin = end - window.overlap


class Support(NamedTuple):
    """Entries given up, and what the others cost: their errors, and a price for every one that is penalised."""

    dead: np.ndarray
    cost: float


def _unsupported(question: Question, found: Denoised, asked: Asked) -> np.ndarray:
    """The entries to give up: of several tries, the one that explains most for its price."""
    level, noise = level_of(found), question.noise
    tried: list[Support] = []
    for times in TRIES:
        stronger = noise._replace(weights=times * noise.weights)
        tried.append(_support(question._replace(noise=stronger), level, asked))
        best, *others = sorted(tried, key=lambda support: support.cost)
        if others and others[0].cost - best.cost <= PRICE * level**2:
            break
    return best.dead


def _support(question: Question, level: float, asked: Asked) -> Support:
    """Give up what is small, then what is not worth its price."""
    matrix, _, noise = question
    price, free = PRICE * level**2, _without_penalty(noise)
    dead = _pruned(question, level, asked)
    background = denoise(matrix, free, asked.deadline, dead).background
    for piece, entries in _pieces(question, dead, background):
        dead[entries] = _thinned(piece, price, asked)
    active = np.count_nonzero(~dead & (noise.weights > 0))
    return Support(dead, denoise(matrix, free, asked.deadline, dead).squares + active * price)


def _pruned(question: Question, level: float, asked: Asked) -> np.ndarray:
    """Give up what lies below one threshold after the other.

    Only entries that are penalised or no parents are judged by their size; the others go with them. So all ways to
    connect what is left remain: one that costs nothing, such as a transition, may be small by accident.
    """
    matrix, _, noise = question
    ties = TIES * float(noise.weights.max(initial=0.0)) * asked.rng.random(noise.weights.shape)
    tied = noise._replace(weights=noise.weights + ties)
    judged = noise.weights > 0
    judged |= ~np.isin(np.arange(judged.size), matrix.indices[matrix.data < 0])
    dead = only_zero(matrix, noise.known == 0)
    found = denoise(matrix, tied, asked.deadline, dead)
    for threshold in PRUNING:
        below = only_zero(matrix, dead | (judged & (found.y < threshold * level)))
        try:
            found = denoise(matrix, tied, asked.deadline, below)
        except InfeasibleError:  # exact observations need what would be given up
            break
        dead = below
    return dead


def _pieces(question: Question, dead: np.ndarray, background: np.ndarray) -> Iterator[tuple[Question, np.ndarray]]:
    """What is left falls into pieces that have no equation in common, each with its entries."""
    left = np.flatnonzero(~dead)
    part = abs(question.matrix[:, left])
    count, labels = connected_components(part.T @ part, directed=False)
    for number in range(count):
        entries = left[labels == number]
        yield question.of(entries, background), entries


class Thinned(NamedTuple):
    """Entries given up, and the best values of the others."""

    dead: np.ndarray
    found: Denoised


def _thinned(piece: Question, price: float, asked: Asked) -> np.ndarray:
    """Give up what does not lower the squared errors by its price, the smallest first, until all that is left does."""
    known = piece.noise.known
    dead = only_zero(piece.matrix, known == 0)
    best = Thinned(dead, denoise(piece.matrix, _without_penalty(piece.noise), asked.deadline, dead))
    kept = ~np.isnan(known)
    while True:
        thinner = _thinner(piece, best, kept, price, asked)
        if thinner is best:
            return best.dead
        best = thinner


def _thinner(piece: Question, best: Thinned, kept: np.ndarray, price: float, asked: Asked) -> Thinned:
    """Try every entry once, with everything that cannot be without it; what is clearly needed is noted in `kept`."""
    matrix, noise = piece.matrix, _without_penalty(piece.noise)
    tried = best.dead | kept
    while not tried.all():
        y = best.found.y
        smallest = np.argmin(np.where(tried, np.inf, y))
        dead = only_zero(matrix, best.dead | (np.arange(y.size) == smallest))
        gone = dead & ~best.dead
        same = gone & (y <= y[smallest] + SAME)
        worth = price * max(int(np.count_nonzero(piece.noise.weights[gone])), 1)
        try:
            found = denoise(matrix, noise, asked.deadline, dead)
            rise = found.squares - best.found.squares
        except InfeasibleError:  # exact observations need it
            rise = np.inf
        if rise <= worth:
            best = Thinned(dead, found)
        elif rise > CLEAR * worth:
            kept |= same
        tried |= same | best.dead
    return best
