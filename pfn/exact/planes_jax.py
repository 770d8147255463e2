"""Equations as planes in compiled sweeps: dense matrices and inverses, or gathers and conjugate gradients."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jax.scipy.sparse.linalg import cg

from pfn.exact.planes import Plane, outer_is_less
from pfn.updates.jax_gathers import GATHER_COST, Gathers, gathered, gathers_pay, make_pattern, product

# An inverse with more entries is never made.
MOST_ENTRIES = 1 << 28

# Dense products with fewer multiplications are not worth the longer compilation of gathers (a tracker over 500 slices:
# 4 s more, for sweeps that are a tenth of 5 ms shorter).
DENSE_PRODUCT = 1 << 22

# Conjugate gradients end when what is left of X − W H, relative to it, is below this, by digits of the numbers: their
# values then agree with those of NumPy to nine digits.
TOLERANCES = {8: 1e-11, 4: 1e-6}

# So many times the number whose square is the smallest one: then products of numbers that are not much smaller remain.
SQUARED = 1e3

# A run has about so many sweeps, each with about so many steps of conjugate gradients. Besides the products, a step
# takes about as long for every row as so many multiplications of a dense product (measured on matrices of 400 to 8,000
# rows and 32 to 256 columns).
SWEEPS, STEPS, STEP_COST = 200, 25, 50


class Dense(NamedTuple):
    """A matrix with all its entries."""

    values: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.values.shape
        return rows, columns

    def apply(self, S: Any) -> Any:
        """W S."""
        return self.values @ S

    def adjoint(self, A: Any) -> Any:
        """Wᵀ A."""
        return self.values.T @ A


class Sparse(NamedTuple):
    """The stored entries of a matrix, and how products with it and its transpose gather them."""

    stored: Any
    forth: Gathers
    back: Gathers

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.forth.order.shape[0], self.back.order.shape[0]

    def apply(self, S: Any) -> Any:
        """W S."""
        return product(self.forth, self.stored, S)

    def adjoint(self, A: Any) -> Any:
        """Wᵀ A."""
        return product(self.back, self.stored, A)


class Inverse(NamedTuple):
    """The inverse of I + W Wᵀ, or of I + Wᵀ W where that is less work."""

    values: Any

    def multipliers(self, W: Dense | Sparse, residual: Any, _near: Any) -> Any:
        """λ = (I + W Wᵀ)⁻¹ residual."""
        if outer_is_less(W.shape):
            return self.values @ residual
        return residual - W.apply(self.values @ W.adjoint(residual))


class Gradients(NamedTuple):
    """Conjugate gradients for I + W Wᵀ, whose rows and columns are scaled so that its diagonal is 1."""

    scale: Any

    def multipliers(self, W: Dense | Sparse, residual: Any, near: Any) -> Any:
        """λ = (I + W Wᵀ)⁻¹ residual."""
        scale = self.scale[:, None]

        def system(scaled: Any) -> Any:
            full = scale * scaled
            return scale * (full + W.apply(W.adjoint(full)))

        first, tolerance = near / scale, TOLERANCES[residual.dtype.itemsize]
        lost = _rounding(first)
        return scale * cg(system, scale * residual, first, tol=tolerance, atol=lost)[0]  # type: ignore[no-untyped-call]


def _rounding(array: Any) -> Any:
    """What is lost by rounding, and where squares become zero: steps that go on below this divide by nothing."""
    limits = np.finfo(array.dtype)
    return jnp.maximum(limits.eps * jnp.linalg.norm(array), SQUARED * limits.tiny**0.5)


class JaxPlane(NamedTuple):
    """W and how to solve with it: see `Plane`."""

    matrix: Dense | Sparse
    solver: Inverse | Gradients

    def residual(self, copies: Any) -> Any:
        """X − W H, of X stacked on H."""
        rows = self.matrix.shape[0]
        return copies[:rows] - self.matrix.apply(copies[rows:])

    def multipliers(self, residual: Any, near: Any, /) -> Any:
        """λ."""
        return self.solver.multipliers(self.matrix, residual, near)

    def lifted(self, multipliers: Any) -> Any:
        """What is to be taken off X stacked on H: λ and −Wᵀ λ."""
        return jnp.concatenate([multipliers, -self.matrix.adjoint(multipliers)])


def make_plane(plane: Plane, columns: int) -> JaxPlane:
    """The plane for compiled sweeps over so many columns, sparse where that is less work."""
    stored = sp.csr_array(plane.matrix)
    if _stays_sparse(stored, columns):
        pattern, work = make_pattern(stored), GATHER_COST * gathered(stored)
        matrix: Dense | Sparse = Sparse(stored.data, pattern.apply, pattern.adjoint)
    else:
        matrix, work = Dense(stored.toarray()), stored.shape[0] * stored.shape[1]
    make = _inverse if _inverse_pays(stored.shape, work, columns) else _gradients
    return JaxPlane(matrix, make(plane.matrix))


def _stays_sparse(stored: Any, columns: int) -> bool:
    rows, parents = stored.shape
    return rows * parents * columns > DENSE_PRODUCT and gathers_pay(stored, columns)


def _inverse_pays(shape: tuple[int, int], work: int, columns: int) -> bool:
    """Whether making an inverse and multiplying with it is less work; `work` is that of a product with one column."""
    outer, (rows, parents) = outer_is_less(shape), shape
    size = rows if outer else parents
    inverse = size**2 + (0 if outer else 2 * work) + 2 * size**3 / (SWEEPS * columns)
    return size**2 <= MOST_ENTRIES and inverse <= STEPS * (2 * work + STEP_COST * rows)


def _inverse(W: Any) -> Inverse:
    gram = W @ W.T if outer_is_less(W.shape) else W.T @ W
    full = gram.toarray() if sp.issparse(gram) else gram
    return Inverse(np.linalg.inv(full + np.eye(len(full))).astype(W.dtype))


def _gradients(W: Any) -> Gradients:
    squares = W.power(2) if sp.issparse(W) else np.square(W)
    return Gradients((1 / np.sqrt(1 + squares.sum(axis=1))).astype(W.dtype))
