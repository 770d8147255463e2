"""Sums that left updates keep: solvers for one multiplier μ per sum.

Dividing an updated matrix by its column sums may raise the divergence. Where the sums are a constraint of the update
itself it cannot rise: the new matrix is the best among those with the sums asked for (see `majorizers`).
"""

from collections.abc import Callable

import numpy as np

from pfn.updates.divergence import Array

# The sums are exact to rounding after a few Newton steps; columns of one large entry take the most.
MOST_STEPS = 50


class Sums:
    """Which entries of a flat array belong to which sum; "in order" are arrays sorted by that."""

    def __init__(self, labels: Array) -> None:
        """`labels` has a number for every entry; entries with the same one are summed."""
        self._order = np.argsort(labels, kind="stable")
        ordered = labels[self._order]
        self._starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
        self._lengths = np.diff(self._starts, append=labels.size)

    @property
    def count(self) -> int:
        """How many sums there are."""
        return int(self._starts.size)

    def ordered(self, values: Array) -> Array:
        """The entries in order."""
        return values[self._order]

    def restored(self, ordered: Array) -> Array:
        """The entries as they were."""
        values = np.empty_like(ordered)
        values[self._order] = ordered
        return values

    def total(self, ordered: Array) -> Array:
        """The sums of entries in order."""
        return np.add.reduceat(ordered, self._starts)

    def largest(self, ordered: Array) -> Array:
        """The largest entry of every sum, of entries in order."""
        return np.maximum.reduceat(ordered, self._starts)

    def spread(self, per_sum: Array) -> Array:
        """A number for every sum, given to each of its entries, in order."""
        return np.repeat(per_sum, self._lengths)


def weighted_to(a: Array, d: Array, totals: Array, sums: Sums) -> Array:
    """W = a / (d + μ) with these sums; a sum without any a > 0 becomes zero.

    1 / Σ a/(d + μ) is a harmonic mean: increasing and concave in μ, so that Newton's steps from the left stay there.
    They start where one entry alone makes up the sum, and take one step where d is the same for all.

    >>> a, d = np.array([1.0, 3.0]), np.array([2.0, 2.0])
    >>> print(weighted_to(a, d, np.array([1.0]), Sums(np.array([0, 0]))))
    [0.25 0.75]
    """
    a, d = sums.ordered(a), sums.ordered(d)
    live, some = a > 0, sums.largest(a) > 0
    goal = np.where(totals > 0, totals, 1)
    # μ is counted from −d of the entry with the smallest d, next to which the root may lie.
    smallest = np.where(some, -sums.largest(np.where(live, -d, -np.inf)), 0)
    above = np.where(live, d - sums.spread(smallest), 1)

    def divisors(mu: Array) -> Array:
        return np.where(live, above + sums.spread(mu), 1)

    def step(mu: Array) -> Array:
        below = divisors(mu)
        shares = a / below
        total = sums.total(shares)
        return total * (total / goal - 1) / np.where(some, sums.total(shares / below), 1)

    first = sums.largest(np.where(live, a / sums.spread(goal) - above, -np.inf))
    return _scaled(a / divisors(_solved(np.where(some, first, 0), step)), totals, sums)


def least_squares_to(W: Array, numerator: Array, denominator: Array, totals: Array, sums: Sums) -> Array:
    """W = W₀ max(n − μ, 0) / d with these sums.

    The sum is decreasing, convex and linear in pieces: Newton's steps from the left end at the root itself.
    """
    share, numerator = sums.ordered(W / denominator), sums.ordered(numerator)
    some = sums.largest(share) > 0

    def step(mu: Array) -> Array:
        excess = numerator - sums.spread(mu)
        inside = np.where(excess > 0, share, 0)
        slope = sums.total(inside)
        return np.where(slope > 0, (sums.total(inside * excess) - totals) / np.where(slope > 0, slope, 1), 0)

    first = (sums.total(share * numerator) - totals) / np.where(some, sums.total(share), 1)
    mu = _solved(np.where(some, first, 0), step)
    return _scaled(share * np.maximum(numerator - sums.spread(mu), 0), totals, sums)


def rooted_to(a: Array, q: Array, totals: Array, sums: Sums) -> Array:
    """The W > 0 with q W² + μ W = a and these sums, which are decreasing and convex in μ; zero where a is.

    Newton's steps start where one entry alone makes up the sum, left of the root.
    """
    a, q = sums.ordered(a), sums.ordered(q)
    live, some = a > 0, sums.largest(a) > 0
    goal, q = sums.spread(np.where(totals > 0, totals, 1)), np.where(live, q, 1)

    def solution(mu: Array) -> tuple[Array, Array]:
        each = sums.spread(mu)
        root = np.where(live, np.sqrt(each**2 + 4 * q * a), 1)
        W = np.where(each > 0, 2 * a / np.where(each > 0, each + root, 1), (root - each) / (2 * q))
        return W * live, root

    def step(mu: Array) -> Array:
        W, root = solution(mu)
        return (sums.total(W) - totals) / np.where(some, sums.total(W / root), 1)

    first = sums.largest(np.where(live, a / goal - q * goal, -np.inf))
    return _scaled(solution(_solved(np.where(some, first, 0), step))[0], totals, sums)


def _solved(mu: Array, step: Callable[[Array], Array]) -> Array:
    close = 4 * np.finfo(mu.dtype).eps
    for _ in range(MOST_STEPS):
        change = step(mu)
        mu = mu + change
        if np.all(np.abs(change) <= close * np.abs(mu)):
            break
    return mu


def _scaled(ordered: Array, totals: Array, sums: Sums) -> Array:
    """Take away what rounding left of the difference, and restore the order."""
    found = sums.total(ordered)
    usable = found >= np.finfo(ordered.dtype).tiny
    factors = np.where(usable, totals / np.where(usable, found, 1), 0).astype(ordered.dtype)
    return sums.restored(ordered * sums.spread(factors))
