"""HOW: every formula once, a plain function of its operands.

Called with arrays, a formula computes. Called with tracers (`pfn.program.Tracer`), it writes operations down. Formulas
use operators, elementwise functions of NumPy, and the methods `sum`, `mean` and `reshape` only: both have them.
"""

from pfn.formulas.divergences import DIVERGENCES, EUCLIDEAN, KULLBACK_LEIBLER, Divergence, Fields
from pfn.formulas.momentum import coefficients, extrapolate
from pfn.formulas.multiplicative import factor, pulled, updated
from pfn.formulas.normalization import reciprocal, scales_of_parts
from pfn.formulas.smoothing import smooth

__all__ = [
    "DIVERGENCES",
    "EUCLIDEAN",
    "KULLBACK_LEIBLER",
    "Divergence",
    "Fields",
    "coefficients",
    "extrapolate",
    "factor",
    "pulled",
    "reciprocal",
    "scales_of_parts",
    "smooth",
    "updated",
]
