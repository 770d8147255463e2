"""The smoothing of non-smooth NMF (paper, appendix B)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfn.updates import smooth
from tests.updates.draws import Array, matrices, smoothing_matrix

MATRICES = st.tuples(st.integers(1, 4), st.integers(1, 3)).flatmap(lambda shape: matrices(*shape))
SHARES = st.floats(0, 1)


@given(H=MATRICES, sparseness=SHARES)
def test_it_is_the_product_with_the_smoothing_matrix(H: Array, sparseness: float) -> None:
    S = smoothing_matrix(H.shape[0], sparseness)
    np.testing.assert_allclose(smooth(H, sparseness), S @ H, rtol=1e-12)


@given(H=MATRICES)
def test_no_sparseness_gives_the_matrix_itself(H: Array) -> None:
    assert smooth(H, 0.0) is H


@given(H=MATRICES, sparseness=SHARES)
def test_column_sums_are_kept(H: Array, sparseness: float) -> None:
    np.testing.assert_allclose(smooth(H, sparseness).sum(axis=0), H.sum(axis=0), rtol=1e-12)


@given(H=MATRICES)
def test_full_sparseness_makes_every_column_even(H: Array) -> None:
    np.testing.assert_allclose(smooth(H, 1.0), np.broadcast_to(H.mean(axis=0), H.shape), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(H=MATRICES, sparseness=st.floats(0.01, 1))
def test_a_buffer_and_smoothing_in_place(dtype: str, H: Array, sparseness: float) -> None:
    typed = H.astype(dtype)
    wanted = smooth(typed, sparseness)
    assert wanted.dtype == dtype
    room = np.empty_like(typed)
    assert smooth(typed, sparseness, out=room) is room
    np.testing.assert_array_equal(room, wanted)
    np.testing.assert_array_equal(typed, H.astype(dtype))
    smooth(typed, sparseness, out=typed)
    np.testing.assert_array_equal(typed, wanted)
