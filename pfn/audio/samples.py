"""Samples as arrays: checked, and mixed down to one channel; the numbers that go with them."""

from typing import Any

import numpy as np

from pfn.errors import DataError
from pfn.solve.checks import check_number, check_positive

LOUDEST = 1e100
"""What a sample may be in magnitude: squares of more could not be added up."""


def checked_samples(samples: Any, what: str) -> np.ndarray:
    """Finite float64 samples, (samples,) or (samples, channels)."""
    try:
        array = np.asarray(samples)
    except ValueError as error:
        raise DataError(f"{what}: expected an array of samples: {error}.") from error
    if array.dtype.kind not in "iuf":
        raise DataError(f"{what}: expected real numbers, found {array.dtype} entries. Convert them to floats.")
    if array.ndim not in (1, 2):
        raise DataError(f"{what}: expected the shape (samples,) or (samples, channels), found {array.shape}.")
    if array.size == 0:
        raise DataError(f"{what}: there are no samples, found the shape {array.shape}. Give at least one.")
    if array.ndim == 2 and array.shape[1] > array.shape[0]:
        raise DataError(
            f"{what}: expected the shape (samples, channels), found {array.shape}, with more channels than samples. "
            "It looks transposed: use samples.T."
        )
    with np.errstate(over="ignore"):  # of a wider kind of float; what is infinite then is refused
        found = array.astype(np.float64)
    check_finite(found, what)
    return found


def check_finite(array: np.ndarray, what: str, first: int = 0) -> None:
    """Refuse samples that are no numbers, or as good as infinite; `first` is the number of the first of them."""
    wrong = ~(np.abs(array) <= LOUDEST)
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0])
        raise DataError(
            f"{what}: samples must be finite, found {array[place]} at sample {first + int(place[0])} "
            f"({int(wrong.sum())} such samples). Replace them, for example by 0, or scale them below {LOUDEST:g}."
        )


def mixed_down(samples: np.ndarray) -> np.ndarray:
    """One channel: the mean of all."""
    return samples if samples.ndim == 1 else samples.mean(axis=1)


def check_part(start: object, duration: object) -> None:
    """Refuse anything but seconds; a duration may be None, to the end."""
    check_number(start, "start", 0.0, None)
    if duration is not None:
        check_positive(duration, "duration")
