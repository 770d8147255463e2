"""Products with sparse matrices as gathers: row r of W S is the sum of a few rows of S, each times a number.

On processors this is many times faster than scatters and segment sums, and faster than SciPy, because the
whole sum is one loop; on GPUs it needs no atomic additions, so that the same run gives the same bits.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

Array = jax.Array

# So many gathers are written out one after the other; rows with more entries are worked on in turns.
WRITTEN_OUT = 32

# A gathered entry takes about as long as so many multiplications of a dense product (benchmarks/jax_engine.py).
GATHER_COST = 3

# So many numbers are gathered at a time for inner products: they stay in the processor's cache.
AT_A_TIME = 1 << 20

# A dense product with fewer multiplications than this is not worth the longer compilation.
DENSE_PRODUCT = 1 << 20


class Bucket(NamedTuple):
    """Rows with about as many entries: the columns of these, and their numbers among the stored entries."""

    columns: Any  # (turns, rows, entries)
    entries: Any  # of the same shape; one more than the last where a row has fewer


class Gathers(NamedTuple):
    """The rows of a matrix in buckets, and where each row is among all rows of the buckets."""

    buckets: tuple[Bucket, ...]
    order: Any


class SparsePattern(NamedTuple):
    """Where the stored entries of a CSR matrix lie, and how products with it and its transpose gather them."""

    rows: Any
    columns: Any
    apply: Gathers
    adjoint: Gathers


def make_pattern(matrix: Any) -> SparsePattern:
    """The pattern of a CSR matrix."""
    entries = sp.csr_array((np.arange(1, matrix.nnz + 1), matrix.indices, matrix.indptr), matrix.shape)
    rows, columns = (places.astype(np.int32) for places in entries.tocoo().coords)
    return SparsePattern(rows, columns, _gathers(entries), _gathers(sp.csr_array(entries.T)))


def _sizes(counts: np.ndarray) -> np.ndarray:
    """How many entries rows with so many entries are given: the next power of two."""
    return np.asarray(1 << np.ceil(np.log2(np.maximum(counts, 1))).astype(int))


def _gathers(entries: Any) -> Gathers:
    """`entries` has their numbers, from 1, as its values."""
    counts = np.diff(entries.indptr)
    sizes = _sizes(counts)
    buckets, rows = [], []
    for size in np.unique(sizes):
        rows.append(np.flatnonzero(sizes == size))
        buckets.append(_bucket(entries[rows[-1]], int(size), entries.nnz))
    return Gathers(tuple(buckets), np.argsort(np.concatenate(rows)).astype(np.int32))


def _bucket(entries: Any, size: int, nothing: int) -> Bucket:
    filled = np.arange(size) < np.diff(entries.indptr)[:, None]
    columns, numbers = np.zeros(filled.shape, np.int32), np.full(filled.shape, nothing, np.int32)
    columns[filled], numbers[filled] = entries.indices, entries.data - 1
    turns = max(1, size // WRITTEN_OUT)
    return Bucket(*(np.moveaxis(a.reshape(-1, turns, size // turns), 1, 0) for a in (columns, numbers)))


def gathered(matrix: Any) -> int:
    """How many entries the products of a CSR matrix gather, on average of the matrix and its transpose."""
    sides = (matrix, sp.csc_array(matrix))
    return sum(int(_sizes(np.diff(side.indptr)).sum()) for side in sides) // 2


def gathers_pay(matrix: Any, columns: int) -> bool:
    """Whether products of a CSR matrix with so many columns are faster by gathers than dense ones."""
    entries = matrix.shape[0] * matrix.shape[1]
    return bool(entries * columns > DENSE_PRODUCT and GATHER_COST * gathered(matrix) < entries)


def _take(values: Array, places: Array) -> Array:
    """Rows of an array, none of them outside of it."""
    return values.at[places].get(mode="promise_in_bounds", wrap_negative_indices=False)


def product(gathers: Gathers, stored: Array, S: Array) -> Array:
    """W S, where `stored` are the stored entries of W."""
    numbers = jnp.append(stored, jnp.zeros(1, stored.dtype))

    def add(total: Any, turn: tuple[Array, Array]) -> tuple[Any, None]:
        columns, entries = turn
        factors = _take(numbers, entries)
        return sum((factors[:, k, None] * _take(S, columns[:, k]) for k in range(columns.shape[1])), total), None

    found = []
    for bucket in gathers.buckets:
        turns, rows, _ = bucket.columns.shape
        if turns == 1:
            found.append(add(0, (bucket.columns[0], bucket.entries[0]))[0])
        else:
            found.append(jax.lax.scan(add, jnp.zeros((rows, S.shape[1]), S.dtype), bucket)[0])
    # the barrier keeps the compiler from repeating the sums wherever their rows are used
    kept: Array = jax.lax.optimization_barrier(jnp.concatenate(found))  # type: ignore[no-untyped-call]
    return _take(kept, gathers.order)


def sums(gathers: Gathers, stored: Array) -> Array:
    """W 1."""
    numbers = jnp.append(stored, jnp.zeros(1, stored.dtype))
    found = [jnp.sum(_take(numbers, bucket.entries), axis=(0, 2)) for bucket in gathers.buckets]
    return _take(jnp.concatenate(found), gathers.order)


def inner_products(pattern: SparsePattern, A: Array, S: Array) -> Array:
    """A Sᵀ at the stored entries of W: rows of A times rows of S, not all of them in memory at once."""

    def product_at(place: tuple[Array, Array]) -> Array:
        row, column = place
        return jnp.sum(_take(A, row) * _take(S, column))

    at_a_time = max(1, min(AT_A_TIME // max(A.shape[1], 1), pattern.rows.shape[0]))
    found: Array = jax.lax.map(product_at, (pattern.rows, pattern.columns), batch_size=at_a_time)
    return found
