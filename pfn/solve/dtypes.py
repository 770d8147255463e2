"""In what is computed."""

from typing import Any

import numpy as np

from pfn.errors import OptionError

DTYPES = ("float64", "float32")


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype meant, one of those that can be computed in."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found.name not in DTYPES:
        raise OptionError(f"dtype must be one of {', '.join(map(repr, DTYPES))}, found {dtype!r}.")
    return found
