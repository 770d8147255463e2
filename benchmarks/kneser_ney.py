"""Baselines of language modelling: unigram, add-one bigram, and interpolated Kneser-Ney models of any order."""

import numpy as np
import scipy.sparse as sp

from pfn.models.language.text import IntArray, distinct_sequences


class Unigram:
    """Every word as likely as it is frequent; words that never occur count once."""

    def __init__(self, numbers: IntArray, size: int) -> None:
        counts = np.maximum(np.bincount(numbers, minlength=size), 1)
        self._found = counts / counts.sum()

    def probabilities(self, contexts: IntArray) -> np.ndarray:
        """The distributions of the next word (size, contexts)."""
        return np.repeat(self._found[:, None], contexts.shape[1], axis=1)


class AddOneBigram:
    """Bigram counts, one added to each."""

    def __init__(self, numbers: IntArray, size: int) -> None:
        (before, after), counts = distinct_sequences(numbers, 2)
        self._counts = sp.csr_array((counts, (before, after)), shape=(size, size))

    def probabilities(self, contexts: IntArray) -> np.ndarray:
        """The distributions of the next word (size, contexts)."""
        counts = self._counts[contexts[-1]].toarray().T + 1.0
        return counts / counts.sum(axis=0)


class KneserNey:
    """Interpolated Kneser-Ney with one discount per order, n1 / (n1 + 2 n2); order 1 is mixed with equal shares.

    The highest order uses counts, the lower ones how many different words were seen before (Chen and Goodman, 1999).
    """

    def __init__(self, numbers: IntArray, size: int, order: int) -> None:
        self._orders = [_Order(numbers, size, length, highest=length == order) for length in range(1, order + 1)]
        self._size = size

    def probabilities(self, contexts: IntArray) -> np.ndarray:
        """The distributions of the next word (size, contexts)."""
        found = np.full((self._size, contexts.shape[1]), 1 / self._size)
        for length, order in enumerate(self._orders):
            found = order.interpolate(contexts[contexts.shape[0] - length :], found)
        return found


class _Order:
    """The counts of one order: rows are contexts, columns the words after them."""

    def __init__(self, numbers: IntArray, size: int, length: int, *, highest: bool) -> None:
        words, counts = distinct_sequences(numbers, length if highest else length + 1)
        if not highest:
            words, counts = _continuations(words[1:])
        self._keys, rows = np.unique(_keys(words[:-1], size), return_inverse=True)
        ones, twos = (counts == 1).sum(), (counts == 2).sum()
        self._discount = ones / max(ones + 2 * twos, 1)
        shape = (self._keys.size, size)
        self._left = sp.csr_array((counts - self._discount, (rows, words[-1])), shape=shape)
        self._totals = np.bincount(rows, weights=counts)
        self._kinds = np.bincount(rows)
        self._size = size

    def interpolate(self, contexts: IntArray, lower: np.ndarray) -> np.ndarray:
        keys = _keys(contexts, self._size, columns=lower.shape[1])
        rows = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
        known = self._keys[rows] == keys
        found = lower.copy()
        rows = rows[known]
        back_off = self._discount * self._kinds[rows] / self._totals[rows]
        found[:, known] = self._left[rows].toarray().T / self._totals[rows] + back_off * lower[:, known]
        return found


def _continuations(words: IntArray) -> tuple[IntArray, np.ndarray]:
    """Distinct sequences, and of how many longer distinct ones each is the end."""
    found, counts = np.unique(words, axis=1, return_counts=True)
    return found, counts


def _keys(contexts: IntArray, size: int, columns: int | None = None) -> np.ndarray:
    """One number for each context; all empty contexts have the same."""
    keys = np.zeros(contexts.shape[1] if columns is None else columns, dtype=np.int64)
    for row in contexts:
        keys = keys * size + row
    return keys
