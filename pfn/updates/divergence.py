"""The divergences between children X and their reconstruction R = W H, each a name and its formulas.

Both give multiplicative updates of one form (paper, appendix A): H ← H · (Wᵀ A + ε) / (Wᵀ B + ε), and the
same transposed for W. A divergence says what A and B are. ε is added to numerators, denominators and to X and
R themselves, so that nothing is ever divided by zero; it must be small against the data.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Array = Any  # numpy arrays, or those of a module with the same functions


@dataclass(frozen=True)
class Divergence:
    """What the multiplicative updates of a divergence need."""

    name: Literal["kl", "euclidean"]

    @property
    def unit_denominator(self) -> bool:
        """Whether B is a matrix of ones, so that WᵀB is the column sums of W."""
        return self.name == "kl"

    def numerator_field(
        self, X: Array, R: Array, epsilon: float, *, scratch: Array = None, out: Array = None, xp: Any = np
    ) -> Array:
        """A: (X + ε) / (R + ε) for Kullback-Leibler (equation A.5 of the paper), X itself for Euclidean."""
        if self.name == "euclidean":
            return X
        return xp.divide(xp.add(X, epsilon, scratch), xp.add(R, epsilon, out), out)

    def value(
        self,
        error: Array,
        R: Array,
        epsilon: float,
        *,
        weights: Array = None,
        scratch: tuple[Array, Array] = (None, None),
        xp: Any = np,
    ) -> Array:
        """D(X ‖ R) from the error X − R, summed over entries, columns counted by their weights.

        Kullback-Leibler: Σ (X+ε) log((X+ε)/(R+ε)) − X + R, through log1p, which keeps its digits as X → R.
        """
        weighted = error if weights is None else error * weights
        if self.name == "euclidean":
            return xp.vdot(error, weighted)
        base = xp.add(R, epsilon, scratch[0])
        # Where ε is lost beside R, the quotient for X = 0 would round to −1, and the logarithm of zero is no number.
        quotient = xp.maximum(xp.divide(error, base, scratch[1]), np.finfo(base.dtype).eps - 1, out=scratch[1])
        logarithm = xp.log1p(quotient, scratch[1])
        if weights is not None:
            logarithm = xp.multiply(logarithm, weights, scratch[1])
        return xp.vdot(base, logarithm) + xp.vdot(error, logarithm) - xp.sum(weighted)


KULLBACK_LEIBLER = Divergence("kl")
EUCLIDEAN = Divergence("euclidean")
DIVERGENCES = {divergence.name: divergence for divergence in (KULLBACK_LEIBLER, EUCLIDEAN)}
