"""Matrices whose columns are unit vectors stacked on top of each other: transitions, couplings, emissions."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse


def stacked_units(*parts: tuple[int, Sequence[int | None]]) -> scipy.sparse.csr_array:
    """One column per index: unit vectors on top of each other, one of each part, zeros for the index None.

    >>> stacked_units((2, [0, 1]), (2, [1, None])).toarray()
    array([[1., 0.],
           [0., 1.],
           [0., 0.],
           [1., 0.]])
    """
    offsets = np.cumsum([0] + [size for size, _ in parts])
    ones = [
        (offset + index, column)
        for offset, (_, indices) in zip(offsets, parts, strict=False)
        for column, index in enumerate(indices)
        if index is not None
    ]
    rows, columns = zip(*ones, strict=True) if ones else ((), ())
    shape = (int(offsets[-1]), len(parts[0][1]))
    return scipy.sparse.csr_array((np.ones(len(ones)), (np.array(rows, int), np.array(columns, int))), shape=shape)
