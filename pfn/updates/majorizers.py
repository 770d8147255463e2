"""What an update of W minimises in place of the cost: never below it, and equal to it at the old W, entry by entry.

Each has a minimum that is the multiplicative update, and one among the matrices with given sums. n and d are the
numerator and denominator that reached W, W₀ is the old W, and a = W₀ n + κ P with a prior P of weight κ.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from pfn.updates.constrained import Sums, least_squares_to, rooted_to, weighted_to
from pfn.updates.divergence import Array, Divergence


@dataclass(frozen=True)
class Majorizer:
    """The old W, a and d (with κ), all flat; by itself for a cost that is of degree 1 / power in W, or less.

    By the inequality of the means a product of entries is at most a sum of their powers, so the update is W₀ times a
    root of the plain factor.
    """

    W: Array
    a: Array
    d: Array
    power: float

    def minimum(self) -> Array:
        """The update. An entry that is zero can only be moved by a prior."""
        W, plain = self.W, self.a / self.d
        return np.where(W > 0, W * (plain / np.where(W > 0, W, 1)) ** self.power, plain)

    def scaled(self, by: Array) -> "Majorizer":
        """The same for `by` times W."""
        return type(self)(self.W * by, self.a, self.d / by, self.power)


class Logarithmic(Majorizer):
    """d W − a log W: the Kullback-Leibler divergence of what is linear in W."""

    def minimum(self) -> Array:
        """The usual update, a / d."""
        return self.a / self.d

    def with_sums(self, totals: Array, sums: Sums) -> Array:
        """The smallest with these sums."""
        return weighted_to(self.a, self.d, totals, sums)

    def value(self, W: Array) -> Array:
        """By entry."""
        return self.d * W - xlogy(self.a, W)


class Quadratic(Majorizer):
    """d W²/W₀ − 2 n W: the Euclidean divergence of what is linear in W."""

    def with_sums(self, totals: Array, sums: Sums) -> Array:
        """The smallest with these sums."""
        numerator = np.divide(self.a, self.W, out=np.zeros_like(self.a), where=self.W > 0)
        return least_squares_to(self.W, numerator, self.d, totals, sums)

    def value(self, W: Array) -> Array:
        """By entry."""
        ratio = np.divide(W, self.W, out=np.zeros_like(W), where=self.W > 0)
        return self.d * W * ratio - 2 * self.a * ratio


class Rooted(Majorizer):
    """d W²/(2 W₀) − a log W: power 1/2, for a Euclidean divergence with a prior, and for W that is tied to itself."""

    def _curvature(self) -> Array:
        return self.d / np.where(self.W > 0, self.W, np.maximum(self.a / self.d, np.finfo(self.a.dtype).tiny))

    def with_sums(self, totals: Array, sums: Sums) -> Array:
        """The smallest with these sums."""
        return rooted_to(self.a, self._curvature(), totals, sums)

    def value(self, W: Array) -> Array:
        """By entry."""
        return self._curvature() * W**2 / 2 - xlogy(self.a, W)


def fields_at(x: Array, x0: Array, numerator: Array, denominator: Array, divergence: Divergence) -> tuple[Array, Array]:
    """A and B of the majorizer of x at another x than the x₀ to which this numerator and denominator rose.

    It bounds the cost for every x, and is itself a divergence, so that what x depends on can be updated with it.
    """
    if divergence.unit_denominator:
        return np.divide(numerator * x0, x, out=np.zeros_like(x), where=x > 0), denominator
    return numerator, np.divide(denominator * x, x0, out=np.zeros_like(x), where=x0 > 0)


def kind_of_majorizer(divergence: Divergence, degree: int, *, pulled: bool) -> tuple[type[Majorizer], float]:
    """Which majorizer a cost of this degree in W has, and its power; `pulled` says whether there is a prior.

    The square in the Euclidean divergence doubles the degree, unless the cost is linear and nothing pulls.
    """
    if not divergence.unit_denominator and degree == 1 and not pulled:
        return Quadratic, 1.0
    degree = degree if divergence.unit_denominator else 2 * degree
    kinds: dict[int, type[Majorizer]] = {1: Logarithmic, 2: Rooted}
    return kinds.get(degree, Majorizer), 1 / degree
