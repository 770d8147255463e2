"""The normalizations of learned parameters: what is promised, and that nothing else changes."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from pfn.updates import normalize
from pfn.updates.maps import SparseEntries
from tests.updates.draws import Array, matrices

KINDS = ("columns", "subcolumns", "balanced", "sequences")
EACH_KIND = pytest.mark.parametrize("kind", KINDS)


class Equation(NamedTuple):
    """The learned parameters of an equation, equally wide, and the rows of its children."""

    parameters: tuple[Array, ...]
    parts: tuple[slice, ...]


@st.composite
def equations(draw: st.DrawFn) -> Equation:
    ends = accumulate(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)), initial=0)
    parts = tuple(slice(start, stop) for start, stop in pairwise(ends))
    columns = draw(st.integers(1, 3))
    count = draw(st.integers(1, 3))
    return Equation(tuple(draw(matrices(parts[-1].stop, columns)) for _ in range(count)), parts)


def normalized(equation: Equation, kind: str | None, dtype: Any = np.float64) -> list[Array]:
    found = [W.astype(dtype) for W in equation.parameters]
    normalize(found, kind, equation.parts)
    return found


def normalized_sparse(equation: Equation, kind: str, dtype: Any = np.float64) -> list[Array]:
    patterns = [scipy.sparse.csr_array(W.astype(dtype)) for W in equation.parameters]
    entries = [SparseEntries(pattern.data.copy(), pattern) for pattern in patterns]
    normalize(entries, kind, equation.parts)
    for pattern, entry in zip(patterns, entries, strict=True):
        assert entry.data.dtype == dtype
        pattern.data = entry.data
    return [pattern.toarray() for pattern in patterns]


def by_definition(equation: Equation, kind: str) -> list[Array]:
    """The definition of each normalization, column by column."""
    found = [W.copy() for W in equation.parameters]
    for j in range(found[0].shape[1]):
        if kind == "sequences":
            scale_together([W[:, j] for W in found], 1.0)
            continue
        for W in found:
            parts = [W[:, j]] if kind == "columns" else [W[part, j] for part in equation.parts]
            sums = [float(part.sum()) for part in parts]
            goal = sum(sums) / len(parts) if kind == "balanced" else 1 / len(parts)
            for part in parts:
                scale_together([part], goal)
    return found


def scale_together(pieces: Sequence[Array], goal: float) -> None:
    total = sum(float(piece.sum()) for piece in pieces)
    for piece in pieces:
        np.multiply(piece, goal / total if total > 0 else 0.0, out=piece)


@EACH_KIND
@given(equation=equations())
def test_dense_and_sparse_parameters_are_normalized_as_defined(kind: str, equation: Equation) -> None:
    wanted = by_definition(equation, kind)
    for found in (normalized(equation, kind), normalized_sparse(equation, kind)):
        for got, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)


@given(equation=equations())
def test_columns_sum_to_one(equation: Equation) -> None:
    for W, before in zip(normalized(equation, "columns"), equation.parameters, strict=True):
        np.testing.assert_allclose(W.sum(axis=0), before.any(axis=0).astype(float), rtol=1e-12)


@given(equation=equations())
def test_the_parts_of_a_column_have_equal_sums_and_the_column_sums_to_one(equation: Equation) -> None:
    for W, before in zip(normalized(equation, "subcolumns"), equation.parameters, strict=True):
        complete = np.array([before[part].any(axis=0) for part in equation.parts]).all(axis=0)
        np.testing.assert_allclose(W.sum(axis=0)[complete], 1, rtol=1e-12)
        for part in equation.parts:
            sums = W[part].sum(axis=0)[before[part].any(axis=0)]
            np.testing.assert_allclose(sums, 1 / len(equation.parts), rtol=1e-12)


@given(equation=equations())
def test_balanced_parts_have_equal_sums_and_the_column_keeps_its_own(equation: Equation) -> None:
    for W, before in zip(normalized(equation, "balanced"), equation.parameters, strict=True):
        complete = np.array([before[part].any(axis=0) for part in equation.parts]).all(axis=0)
        np.testing.assert_allclose(W.sum(axis=0)[complete], before.sum(axis=0)[complete], rtol=1e-12)
        for part in equation.parts:
            found = W[part].sum(axis=0)[complete]
            np.testing.assert_allclose(found, before.sum(axis=0)[complete] / len(equation.parts), rtol=1e-12)


def test_a_balanced_column_may_fade() -> None:
    W = np.array([[1e-30, 0.0], [3e-30, 0.0]])
    normalize([W], "balanced", [slice(0, 1), slice(1, 2)])
    np.testing.assert_allclose(W, [[2e-30, 0.0], [2e-30, 0.0]], rtol=1e-12)


@given(equation=equations())
def test_the_same_columns_of_a_sequence_sum_to_one_together(equation: Equation) -> None:
    found = sum(W.sum(axis=0) for W in normalized(equation, "sequences"))
    wanted = np.any([W.any(axis=0) for W in equation.parameters], axis=0)
    np.testing.assert_allclose(found, wanted.astype(float), rtol=1e-12)


@EACH_KIND
@given(equation=equations())
def test_normalizing_twice_is_normalizing_once(kind: str, equation: Equation) -> None:
    """Unless a part is zero: a column with one is balanced anew every time."""
    complete = all(W[part].any(axis=0).all() for W in equation.parameters for part in equation.parts)
    once = normalized(equation, kind)
    if complete or kind != "balanced":
        for got, expected in zip(normalized(equation._replace(parameters=tuple(once)), kind), once, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)


@EACH_KIND
@given(equation=equations())
def test_zero_stays_zero_and_nothing_turns_negative_or_undefined(kind: str, equation: Equation) -> None:
    for W, before in zip(normalized(equation, kind), equation.parameters, strict=True):
        assert np.isfinite(W).all()
        np.testing.assert_array_equal(W > 0, before > 0)
        assert (W >= 0).all()


@EACH_KIND
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(equation=equations())
def test_the_precision_is_kept(kind: str, dtype: str, equation: Equation) -> None:
    for W in normalized(equation, kind, dtype):
        assert W.dtype == dtype
    normalized_sparse(equation, kind, dtype)


@given(equation=equations())
def test_no_normalization_changes_nothing(equation: Equation) -> None:
    for W, before in zip(normalized(equation, None), equation.parameters, strict=True):
        np.testing.assert_array_equal(W, before)


@EACH_KIND
def test_parameters_are_normalized_in_place_also_as_views(kind: str) -> None:
    """Engines keep several parameters side by side in one matrix."""
    whole = np.random.default_rng(0).random((4, 6))
    separate = [whole[:, :3].copy(), whole[:, 3:].copy()]
    parts = [slice(0, 1), slice(1, 4)]
    normalize([whole[:, :3], whole[:, 3:]], kind, parts)
    normalize(separate, kind, parts)
    np.testing.assert_array_equal(whole, np.hstack(separate))


@EACH_KIND
def test_an_empty_pattern_stays_empty(kind: str) -> None:
    empty = scipy.sparse.csr_array((3, 2))
    entries = SparseEntries(empty.data.copy(), empty)
    normalize([entries], kind, [slice(0, 1), slice(1, 3)])
    assert entries.data.size == 0
