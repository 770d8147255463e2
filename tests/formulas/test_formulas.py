"""Formulas give with arrays what their definitions say, and write the same down when called with tracers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pfn.backends.numpy import BoundProgram, RunMemory
from pfn.formulas import DIVERGENCES, extrapolate, pulled, scales_of_parts, smooth, updated
from pfn.program import Program, Tape

RNG = np.random.default_rng(0)
A, B, C = RNG.random((3, 4, 5))
COUNTS = np.array([[0.0, 1.0, 2.0, 0.5, 1.0]])
EPSILON = 1e-9

FORMULAS: dict[str, Callable[..., Any]] = {
    "kl": lambda a, b, _: DIVERGENCES["kl"].fields(a, b, EPSILON).A,
    "kl value": lambda a, b, _: DIVERGENCES["kl"].value(a, b, EPSILON, None),
    "euclidean value": lambda a, b, _: DIVERGENCES["euclidean"].value(a, b, EPSILON, None),
    "updated": lambda a, b, c: updated(a, b, c, EPSILON),
    "pulled": lambda a, b, c: pulled(a, b, c, EPSILON, weight=0.5, weighted_prior=0.5 * c),
    "smooth": lambda a, *_: smooth(a, 0.3),
    "columns": lambda a, *_: a * scales_of_parts("columns", [a.sum(axis=0)])[0],
    "momentum": lambda a, b, _: extrapolate(a, 2 * b, 1.2, 0.4, 1e-18)[0],
    "momentum's memory": lambda a, b, _: extrapolate(a, 2 * b, 1.2, 0.4, 1e-18)[1],
}


@pytest.mark.parametrize("name", FORMULAS)
def test_with_tracers_they_write_down_what_they_compute(name: str) -> None:
    tape = Tape(np.dtype(float))
    operands = [tape.constant(*pair) for pair in (("a", A), ("b", B), ("c", C))]
    result = FORMULAS[name](*operands)
    bound = BoundProgram(Program(tape.arrays, tape.section()), RunMemory(tape.dtype))
    for call in bound.body:
        call()
    np.testing.assert_allclose(bound.view(result.view), FORMULAS[name](A, B, C), rtol=1e-13)


@pytest.mark.parametrize("counts", [None, COUNTS])
def test_divergences(counts: np.ndarray | None) -> None:
    weights = np.ones(5) if counts is None else counts
    kl = (weights * (A * np.log(A / B) - A + B)).sum()
    assert DIVERGENCES["kl"].value(A, B, 1e-15, counts) == pytest.approx(kl, rel=1e-10)
    assert DIVERGENCES["euclidean"].value(A, B, 0.0, counts) == pytest.approx((weights * (A - B) ** 2).sum())


def test_the_divergence_of_zeros_where_epsilon_is_lost_is_finite() -> None:
    X, R = np.zeros((2, 2), np.float32), np.full((2, 2), 1e3, np.float32)
    assert np.isfinite(DIVERGENCES["kl"].value(X, R, 1e-9, None))


def test_momentum_is_its_definition() -> None:
    beta, z = 0.3, B
    moved, doubled = extrapolate(A, 2 * z, 4 * beta, 1 - 2 * beta, 0.0)
    steps = 1 + np.clip(2 * beta * (A / z - 1), -0.3, 1)
    np.testing.assert_allclose(moved, np.maximum(A * steps, 0.95 * np.minimum(A, 0.003)), rtol=1e-12)
    np.testing.assert_allclose(doubled, A + moved)


@pytest.mark.parametrize("kind", ["columns", "subcolumns", "balanced"])
def test_normalizations(kind: str) -> None:
    parts = [A] if kind == "columns" else [A[:3], A[3:]]
    scales = scales_of_parts(kind, [part.sum(axis=0) for part in parts])
    sums = [(part * scale).sum(axis=0) for part, scale in zip(parts, scales, strict=True)]
    goal = A.sum(axis=0) / 2 if kind == "balanced" else 1 / len(parts)
    for found in sums:
        np.testing.assert_allclose(found, np.broadcast_to(goal, 5))
    zeros = np.zeros(5)
    assert np.isfinite(scales_of_parts(kind, [zeros] * len(parts))).all()
