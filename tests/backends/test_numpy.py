"""Each operation of a program gives what NumPy gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from pfn.backends import numpy as backend
from pfn.backends.numpy import BoundProgram, RunMemory
from pfn.program import IndexMap, Pattern, Program, Tape, Tracer

RNG = np.random.default_rng(0)
X, Y, W = RNG.random((4, 6)), RNG.random((4, 6)) + 0.5, RNG.random((5, 4))
MASK = RNG.random((4, 6)) < 0.5
ROW = np.array([[True, False, True, True, False, True]])

ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "operators": lambda x, y: (x + 2.0 * y - 1.0) / y,
    "column and row": lambda x, y: x * y.columns(slice(1, 2)) + y.rows(slice(0, 1)),
    "functions": lambda x, y: np.log1p(x) + np.sqrt(y) * np.log(y) + x**1.5,
    "limits": lambda x, y: np.maximum(np.minimum(x, y), 0.3) + np.clip(x, 0.2, 0.6) + np.maximum(x, 0.5 * y),
    "sums": lambda x, y: x.sum(axis=0) * y.sum(axis=1, keepdims=True) + x.sum() * x.mean(axis=0, keepdims=True),
    "transposed": lambda x, y: (x.T * y.T).T,
    "products": lambda x, y: (x @ y.T) @ x + x.columns(slice(0, 4)) @ y,
    "vector": lambda x, y: x * (x.T @ y.sum(axis=1)).reshape(1, 6),
}


class Plain(np.ndarray):
    """An array with the methods of tracers."""

    def rows(self, rows: slice) -> Any:
        return self[rows]

    def columns(self, columns: slice) -> Any:
        return self[:, columns]


def computed(record: Callable[[Tape], Tracer]) -> np.ndarray:
    """What a program with these operations computes."""
    tape = Tape(np.dtype(float))
    result = record(tape)
    bound = BoundProgram(Program(tape.arrays, tape.section()), RunMemory(tape.dtype))
    for call in bound.body:
        call()
    return bound.view(result.view)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_expressions(name: str) -> None:
    formula = ELEMENTWISE[name]
    found = computed(lambda r: formula(r.constant("x", X), r.constant("y", Y)))
    np.testing.assert_allclose(found, formula(X.view(Plain), Y.view(Plain)), rtol=1e-12)


@pytest.mark.parametrize("mask", [MASK, ROW], ids=["entries", "columns"])
def test_where(mask: np.ndarray) -> None:
    both = computed(lambda r: r.where(r.constant("m", mask), r.constant("x", X), r.constant("y", Y)))
    np.testing.assert_array_equal(both, np.where(mask, X, Y))
    one = computed(lambda r: r.where(r.constant("m", mask), r.constant("x", X), 0.0))
    np.testing.assert_array_equal(one, np.where(mask, X, 0))


@pytest.mark.parametrize(
    "boxes", [((0, 0), (4, 0)), ((0, 0), (0, 0)), ((0, 2), (0, 0)), ((4, 1), (2, 0)), ((0, 1), (3, 0))]
)
def test_overlays_add_pieces_at_their_boxes(boxes: tuple[tuple[int, int], ...]) -> None:
    wanted = np.zeros((8, 8))
    for piece, (row, column) in zip((X, Y), boxes, strict=True):
        wanted[row : row + 4, column : column + 6] += piece
    for _ in range(2):  # the memory of a result may hold anything before
        found = computed(lambda r: r.overlay((8, 8), [r.constant("x", X), r.constant("y", Y)], boxes))
        np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("compiled", [True, False])
def test_sparse_matrices(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setattr(backend, "csr_matvecs", None)
    S = sp.csr_array(np.where(RNG.random((5, 4)) < 0.4, RNG.random((5, 4)), 0))
    pattern = Pattern(S.shape, S.indptr, S.indices)
    found = computed(lambda r: r.sparse_dot(r.constant("s", S.data), pattern, r.constant("x", X)))
    np.testing.assert_allclose(found, S @ X)
    turned = computed(lambda r: r.sparse_dot(r.constant("s", S.data), pattern, r.constant("x", X.T.copy()).T))
    np.testing.assert_allclose(turned, S @ X)
    sampled = computed(lambda r: r.sampled_dot(r.constant("w", W), r.constant("x", X.T[:4].copy()), pattern))
    np.testing.assert_allclose(sampled, (W @ X.T[:4])[pattern.rows, pattern.indices])


def test_labels() -> None:
    values, labels = RNG.random(7), np.array([0, 2, 2, 1, 0, 2, 2])
    sums = computed(lambda r: r.label_sums(r.constant("v", values), IndexMap(labels, 4)))
    np.testing.assert_allclose(sums, np.bincount(labels, values, 4))
    taken = computed(lambda r: r.take(r.constant("v", values[:3]), IndexMap(labels, 3)))
    np.testing.assert_array_equal(taken, values[labels])


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="does not know the operation 'rotate'"):
        computed(lambda r: r.emit("rotate", (4, 6), r.constant("x", X)))


def test_buffers_begin_at_multiples_of_64_bytes() -> None:
    assert all(backend.aligned(n, np.dtype(np.float32)).ctypes.data % 64 == 0 for n in range(1, 40))
