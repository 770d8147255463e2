"""The right update where a part of X is known, against the plain one and against loops."""

import numpy as np

from pfn.updates import right_update
from pfn.updates.masked import masked_right_update, quotient


def test_where_all_is_known_it_is_the_right_update() -> None:
    X, W, H = (np.random.default_rng(0).random(shape) for shape in ((5, 7), (5, 3), (3, 7)))
    found, weight = masked_right_update(X, np.ones((5, 7), bool), W, H)
    np.testing.assert_allclose(found, right_update(X, W, H, epsilon=0.0), rtol=1e-13)
    np.testing.assert_allclose(weight, np.tile(W.sum(axis=0)[:, None], 7), rtol=1e-13)


def test_unknown_entries_do_not_count() -> None:
    """As if their rows were not there, column by column; and what nothing speaks of becomes zero."""
    generator = np.random.default_rng(1)
    X, W, H = (generator.random(shape) for shape in ((5, 7), (5, 3), (3, 7)))
    known = generator.random((5, 7)) < 0.5
    known[:, 3] = False
    found, weight = masked_right_update(np.where(known, X, 1e9), known, W, H)
    for t in range(7):
        rows = np.flatnonzero(known[:, t])
        wanted = right_update(X[rows, t : t + 1], W[rows], H[:, t : t + 1], epsilon=0.0) if rows.size else 0
        np.testing.assert_allclose(found[:, t : t + 1], np.broadcast_to(wanted, (3, 1)), rtol=1e-13)
        np.testing.assert_allclose(weight[:, t], W[rows].sum(axis=0), rtol=1e-13)


def test_nothing_by_nothing_is_nothing() -> None:
    np.testing.assert_array_equal(quotient(np.array([1.0, 0.0, 3.0]), np.array([0.0, 0.0, 2.0])), [0, 0, 1.5])
