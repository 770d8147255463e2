"""HOW: the formulas on bare arrays, each once."""

from pfn.updates.divergence import DIVERGENCES, EUCLIDEAN, KULLBACK_LEIBLER, Divergence
from pfn.updates.multiplicative import factor, left_update, pulled, right_update
from pfn.updates.normalization import normalize
from pfn.updates.smoothing import smooth

__all__ = [
    "DIVERGENCES",
    "EUCLIDEAN",
    "KULLBACK_LEIBLER",
    "Divergence",
    "factor",
    "left_update",
    "normalize",
    "pulled",
    "right_update",
    "smooth",
]
