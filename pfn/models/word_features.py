"""Have features of words collapsed? How different they are, and how much they say about the word."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pfn.errors import DataError
from pfn.models.predictions import FloatArray

# Features that say less than this about the word are as good as none; learned ones say some bits.
COLLAPSED_BELOW = 0.1


class FeatureDiagnosis(NamedTuple):
    """How different the features of words are.

    - `mean_cosine`: of the angle between the features of two words drawn by frequency; 1 means all are alike;
    - `information`: what a feature drawn from those of a word says about the word, in bits; 0 means nothing.
    """

    mean_cosine: float
    information: float

    @property
    def collapsed(self) -> bool:
        """Whether the features say nothing about the words."""
        return self.information < COLLAPSED_BELOW

    def __str__(self) -> str:
        verdict = "the features have collapsed" if self.collapsed else "the features tell words apart"
        return f"{verdict}: mean cosine {self.mean_cosine:.3f}, {self.information:.3f} bits about the word"


def diagnose_features(features: npt.ArrayLike, frequencies: npt.ArrayLike | None = None) -> FeatureDiagnosis:
    """How different the features of words are, for B (features, words) and how frequent each word is.

    Without frequencies all words count alike. Words without features count for nothing.

    >>> print(diagnose_features([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]))
    the features have collapsed: mean cosine 1.000, 0.000 bits about the word
    >>> print(diagnose_features(np.eye(4)))
    the features tell words apart: mean cosine 0.250, 2.000 bits about the word
    """
    B = np.asarray(features, dtype=float)
    weights = np.ones(B.shape[1]) if frequencies is None else np.asarray(frequencies, dtype=float)
    if B.ndim != 2 or weights.shape != B.shape[1:]:
        raise DataError(
            f"diagnose_features: expected features (features, words) and a frequency per word, found the shapes "
            f"{B.shape} and {weights.shape}."
        )
    weights = np.where(B.any(axis=0), weights, 0.0)
    if not weights.any():
        raise DataError("diagnose_features: no word has features and a frequency above 0.")
    share = weights / weights.sum()
    return FeatureDiagnosis(_mean_cosine(B, share), _information(B, share))


def _mean_cosine(B: FloatArray, share: FloatArray) -> float:
    lengths = np.linalg.norm(B, axis=0)
    mean = np.divide(share, lengths, out=np.zeros_like(share), where=lengths > 0) @ B.T
    return float(mean @ mean)


def _information(B: FloatArray, share: FloatArray) -> float:
    """The mutual information of word and feature."""
    sums = B.sum(axis=0)
    own = np.divide(B, sums, out=np.zeros_like(B), where=sums > 0)
    common = (own @ share)[:, None]
    ratios = np.divide(own, common, out=np.ones_like(own), where=own > 0)
    return float(np.sum(own * np.log2(ratios) @ share))
