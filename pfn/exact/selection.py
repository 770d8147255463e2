"""Which parts of an explanation to believe: those that explain more than their price."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls

from pfn.exact.noisy import Denoised, Noise

GAIN = 1e-3
"""A choice is better if it costs less by this share of the least price: less is rounding."""


class Choice(NamedTuple):
    """Parts by number, with their magnitudes, and what they cost: squared errors plus prices."""

    parts: tuple[int, ...]
    magnitudes: np.ndarray
    cost: float


class Pool:
    """Parts to choose from; each has an image, which is what it makes of the values to explain, and a price."""

    def __init__(self, values: np.ndarray, importance: np.ndarray) -> None:
        self._roots = np.sqrt(importance)
        self._values = values * self._roots
        self._images = np.zeros((values.size, 0))
        self._prices = np.zeros(0)

    def add(self, image: np.ndarray, price: float) -> None:
        """One more."""
        self._images = np.column_stack([self._images, image * self._roots])
        self._prices = np.append(self._prices, price)

    def best(self, starts: Iterable[Iterable[int]]) -> Choice:
        """The best of these choices, thinned, and improved until no other part makes it better."""
        basis, triangle = np.linalg.qr(self._images)  # as exact as the images, and small
        target = self._values @ basis
        rest = max(float(self._values @ self._values - target @ target), 0.0)
        small = Small(triangle, target, self._prices, rest)
        return small.improved(min(map(small.thinned, starts), key=lambda choice: choice.cost))


class Small(NamedTuple):
    """The same in coordinates of the space that the images span, with what lies outside of it."""

    images: np.ndarray
    values: np.ndarray
    prices: np.ndarray
    rest: float

    def improved(self, best: Choice) -> Choice:
        """Try all other parts, added or in place of another, until none helps."""
        least = GAIN * float(self.prices.min(initial=np.inf))
        improved = True
        while improved:
            improved = False
            for parts in self._neighbours(best.parts):
                tried = self.thinned(parts)
                if tried.cost < best.cost - least:
                    best, improved = tried, True
                    break
        return best

    def _neighbours(self, parts: tuple[int, ...]) -> Iterator[list[int]]:
        others = set(range(self.prices.size)) - set(parts)
        yield from ([*parts, new] for new in others)
        yield from ([*(set(parts) - {old}), new] for new in others for old in parts)

    def thinned(self, parts: Iterable[int]) -> Choice:
        """Give up the part that is least worth its price, until all are worth it."""
        chosen = np.unique(np.array(list(parts), int))
        while True:
            chosen, magnitudes, squares = self._fitted(chosen)
            losses = self._rises(chosen, magnitudes) - self.prices[chosen]
            if losses.min(initial=np.inf) > 0:
                return Choice(tuple(chosen.tolist()), magnitudes, squares + float(self.prices[chosen].sum()))
            chosen = np.delete(chosen, np.argmin(losses))

    def _rises(self, chosen: np.ndarray, magnitudes: np.ndarray) -> np.ndarray:
        """By how much the squared errors rise, at least, without each of the parts."""
        return np.asarray(magnitudes**2 / np.sum(np.linalg.pinv(self.images[:, chosen]) ** 2, axis=1))

    def _fitted(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The best magnitudes of the parts that have one."""
        magnitudes = _least_squares(self.images[:, chosen], self.values)
        errors = self.values - self.images[:, chosen] @ magnitudes
        active = magnitudes > 0
        return chosen[active], magnitudes[active], self.rest + float(errors @ errors)


def superposed(noise: Noise, parts: sp.csr_array) -> Denoised:
    """The superposition of these parts (a column each), and backgrounds, that comes closest."""
    noisy = np.flatnonzero(~np.isnan(noise.observed))
    floors = noise.background[noisy, None] == np.arange(noise.backgrounds)
    images = np.hstack([parts[noisy].toarray(), floors])
    magnitudes, background = np.split(_least_squares(images, noise.observed[noisy]), [parts.shape[1]])
    y = parts @ magnitudes
    return Denoised(y, background, noise.observed - y - np.append(background, 0.0)[noise.background])


def _least_squares(images: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Non-negative magnitudes; scipy does not take the case that there is nothing to find or to explain."""
    return np.asarray(nnls(images, values)[0]) if images.size else np.zeros(images.shape[1])
