"""Small networks, data and comparisons that the tests of questions share."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

import pfn
from pfn import t
from tests.networks import W_DETERMINISTIC, Array, automaton

MACHINE = automaton(W_DETERMINISTIC)  # [x[t]; x[t+1]] = W h[t], four states that take turns
PLAIN = pfn.Propagate(acceleration=None)


def states(*numbers: int, of: int = 4) -> Array:
    """Unit vectors as columns, for states counted from 1; 0 is a hidden column."""
    return np.column_stack([np.full(of, np.nan) if number == 0 else np.eye(of)[number - 1] for number in numbers])


def numbers(rows: int = 4, columns: int = 12, seed: int = 0) -> Array:
    """Uniform random data."""
    return np.random.default_rng(seed).random((rows, columns))


def parts_based(**options: Any) -> pfn.Network:
    """x[t] = W h[t] with a learned 4 × 2 matrix W; options of the parameter, and normalize."""
    x, h = pfn.Variable("x", 4), pfn.Variable("h", 2)
    normalize = options.pop("normalize", None)
    W = pfn.Parameter("W", options.pop("value", None), **({"shape": (4, 2)} | options))
    return pfn.Network(pfn.Factorization(x[t], W @ h[t], normalize=normalize))


def tower() -> pfn.Network:
    """x and y, both explained by h, and h by top; everything known."""
    x, y, h, top = (pfn.Variable(*given) for given in (("x", 2), ("y", 3), ("h", 2), ("top", 2)))
    return pfn.Network(
        pfn.Factorization(x[t], pfn.Parameter("A", np.eye(2)) @ h[t]),
        pfn.Factorization(y[t], pfn.Parameter("B", np.ones((3, 2))) @ h[t]),
        pfn.Factorization(h[t], pfn.Parameter("C", np.eye(2)) @ top[t]),
    )


def chain() -> pfn.Network:
    """Two levels with lags, one sparse learned matrix, one tied pair, one prior: y under x under h."""
    y, x, h = pfn.Variable("y", 4), pfn.Variable("x", 3), pfn.Variable("h", 2)
    pattern = scipy.sparse.csr_array(np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]]))
    P, Q = pfn.Parameter("P", pattern, learn=True), pfn.Parameter("Q", shape=(4, 3))
    V = pfn.Parameter("V", shape=(3, 2), prior=np.full((3, 2), 0.3), prior_weight=0.5)
    return pfn.Network(
        pfn.Factorization(y[t], P @ x[t] + Q @ x[t - 1]),
        pfn.Factorization(x[t], V @ h[t] + V @ h[t - 2], normalize="columns"),
    )


def dense(value: Any) -> Any:
    """Sparse matrices as arrays, alone or in lists."""
    if isinstance(value, list):
        return [dense(piece) for piece in value]
    return value.toarray() if scipy.sparse.issparse(value) else value


def assert_same_values(first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    """The same names with the same bits of the same kind."""
    assert list(first) == list(second)
    for name, value in first.items():
        ours, theirs = (v if isinstance(v, list) else [v] for v in (value, second[name]))
        assert isinstance(value, list) == isinstance(second[name], list)
        for one, other in zip(ours, theirs, strict=True):
            assert (type(one), one.dtype, one.shape) == (type(other), other.dtype, other.shape), name
            np.testing.assert_array_equal(dense(one), dense(other), err_msg=name)


def assert_same(first: pfn.Result, second: pfn.Result) -> None:
    """The same result bit for bit: values, errors, history, end."""
    assert_same_values(first.values, second.values)
    np.testing.assert_equal(dict(first.rmse), dict(second.rmse))
    np.testing.assert_equal(first.squared_error, second.squared_error)
    np.testing.assert_array_equal(first.history.iterations, second.history.iterations)
    np.testing.assert_array_equal(first.history.divergence, second.history.divergence)
    assert list(first.history) == list(second.history)
    for equation in first.history:
        np.testing.assert_array_equal(first.history[equation], second.history[equation])
    assert (first.stop, first.iterations, first.interrupted) == (second.stop, second.iterations, second.interrupted)


def structured() -> pfn.Network:
    """A network with everything that is not a matrix."""
    y, h, k, e = (pfn.Variable(name, size) for name, size in (("y", 4), ("h", 4), ("k", 2), ("e", 4)))
    return pfn.Network(
        pfn.Factorization(y[t], pfn.Diagonal("c", 4) @ h[t] + pfn.Convolution("K", 3, 2) @ pfn.decay(k[t - 1], 0.5, 4)),
        pfn.Factorization(
            h[t],
            pfn.Parameter("P", pattern=np.eye(4, k=1) > 0) @ pfn.decay(e[t], [0, 0.5, 0.9, 1])
            + pfn.shift(e[t - 1], -1)
            + pfn.shift(k[t - 1], 1, 4)
            + e[t],
        ),
    )
