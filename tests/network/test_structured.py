"""Structured terms as they are declared: decays, shifts, diagonals, convolutions, fixed zeros, ties."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import Convolution, Diagonal, Factorization, Network, Parameter, Variable, decay, shift, t
from tests.network.refusal import refused

x, y, h = Variable("x", 3), Variable("y", 3), Variable("h", 2)
W = Parameter("W", shape=(3, 2))


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        (x[t], "x[t]"),
        (x, "x[t]"),
        (x + x[t - 1], "x[t] + x[t-1]"),
        (W @ h + x[t - 1], "W h[t] + x[t-1]"),
        (x[t - 1] + W @ h, "x[t-1] + W h[t]"),
        (sum([x[t], x[t - 1], W @ h[t - 1]]), "x[t] + x[t-1] + W h[t-1]"),
        (decay(x, 0.5), "decay(x[t], 0.5)"),
        (x[t] + decay(x[t], 0.5), "x[t] + decay(x[t], 0.5)"),
        (W @ decay(h[t - 10], [0.25, 1], 8) + W @ h, "W decay(h[t-10], 2 rates, 8) + W h[t]"),
        (decay(x[t - 1], 1, float("inf")) + decay(x[t - 1], 1, np.int64(3)), "decay(x[t-1], 1) + decay(x[t-1], 1, 3)"),
        (shift(x, 2), "shift(x[t], 2)"),
        (shift(x, 0) + shift(h, 1, 3), "x[t] + shift(h[t], 1, 3)"),
        (shift(decay(x[t - 1], 0.5), -1) + x, "shift(decay(x[t-1], 0.5), -1) + x[t]"),
    ],
)
def test_equations_print_as_they_were_written(terms: Any, text: str) -> None:
    assert str(Factorization(y[t], terms)) == f"y[t] = {text}"


def test_what_stands_without_a_parameter_is_known() -> None:
    network = Network(Factorization(y[t], x[t] + shift(x[t - 1], 1)), Factorization(x[t], W @ h[t] + x[t - 1]))
    assert [p.learn for p in network.parameters] == [False, False, True]
    identity, moved, _ = network.parameters
    np.testing.assert_array_equal(identity.value.toarray(), np.eye(3))
    np.testing.assert_array_equal(moved.value.toarray(), [[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    assert str(network).splitlines()[0] == "eq1: y[t] = x[t] + shift(x[t-1], 1)    y: 3; x: 3"


def test_terms_compare_by_content() -> None:
    assert W @ decay(h, 0.5, 3) == W @ decay(h[t], 0.5, 3)
    assert hash(shift(x, 1)) == hash(shift(x, 1))
    assert len({W @ h, W @ decay(h, 0.5), W @ decay(h, 0.5, 3), W @ decay(h, 0.6, 3), W @ decay(h, [0.6, 0.6], 3)}) == 5
    assert shift(x, 1) != shift(x, 2)


def test_columns_are_those_of_the_slice() -> None:
    seen, plain = (Network(Factorization(y[t], term)).columns(7) for term in (decay(x[t - 2], 0.5), x[t - 2]))
    assert seen == plain


def test_a_decay_promises_no_sums() -> None:
    both = Network(Factorization(y[t], x[t]), Factorization(Variable("z", 3)[t], decay(x[t], 0.5)))
    assert both.graph().graph["coactivations"] == []
    assert [label for *_, label in both.graph().edges(data="label")] == ["I", "decay"]


@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan, "fast", [0.5, 0.5], [[0.5] * 3], None])
def test_rates_lie_between_0_and_1(rate: Any) -> None:
    with pytest.raises(
        pfn.DeclarationError, match=r"the rate must be a number from 0 to 1, or 3 of them, .* of x, found"
    ):
        decay(x[t - 1], rate)


@pytest.mark.parametrize("length", [0, -1])
def test_a_length_is_at_least_one(length: int) -> None:
    with refused(f"decay(x[t], …): the length must be at least 1, found {length}. Leave out what has no length."):
        decay(x, 0.5, length)


def test_a_length_is_a_whole_number() -> None:
    with refused("decay(x[t], …): a length that is not infinite must be a whole number, found 2.5. Give an int."):
        decay(x, 0.5, 2.5)


def test_refusals_of_decays_and_shifts() -> None:
    with refused("what decays must be a slice such as x[t], found W h[t]."):
        decay(W @ h, 0.5)  # type: ignore[arg-type]
    with refused("shift(x[t], 3): nothing of 3 components is left in 3. Shift by fewer."):
        shift(x, 3)
    with refused(
        "ndarray of shape (3, 3) @ decay(x[t], 0.5): the only product is that of a parameter and a slice. "
        "Write pfn.Parameter('W', values) @ x[t], with every factor in its values."
    ):
        np.eye(3) @ decay(x, 0.5)
    with refused(
        "y[t] = decay(x[t], 0.5) + decay(x[t], 0.5): decay(x[t], 0.5) is a parent twice. "
        "Add the two parameters up into one term."
    ):
        Factorization(y[t], decay(x, 0.5) + decay(x, 0.5))
    with refused(
        "y[t] = h[t]: h[t] has 2 components, but the child y[t] has 3. "
        "Write W @ h[t] with a parameter W of the shape (3, 2)."
    ):
        Factorization(y[t], h[t])
    with refused(
        "y[t-1] = decay(x[t-2], 0.5): children take lags >= 0, but y[t-1] has -1. "
        "The same equation is y[t] = decay(x[t-1], 0.5)."
    ):
        Factorization(y[t - 1], decay(x[t - 2], 0.5))


def test_diagonals() -> None:
    known, learned = Diagonal("c", [1, 0, 2]), Diagonal("c", 3)
    np.testing.assert_array_equal(known.value.toarray(), np.diag([1, 0, 2]))
    assert (known.value.nnz, known.learn, learned.learn, learned.shape) == (3, False, True, (3, 3))
    assert repr(learned) == "Diagonal('c', 3 × 3, learned, diagonal)"
    assert Diagonal("c", np.ones(3), learn=True).learn


def test_convolutions_are_toeplitz() -> None:
    full = Convolution("K", [1, 2, 4], 2)
    np.testing.assert_array_equal(full.value.toarray(), [[1, 0], [2, 1], [4, 2], [0, 4]])
    later = Convolution("K", [1, 2], 2, first=1)
    np.testing.assert_array_equal(later.value.toarray(), [[0, 0], [1, 0], [2, 1], [0, 2]])
    cut = Convolution("K", 5, 2, rows=2, first=-2)
    assert (cut.learn, cut.shape, repr(cut)) == (True, (2, 2), "Convolution('K', 2 × 2, learned, tied)")
    np.testing.assert_array_equal(cut.groups, [1, 0, 2, 1])


@pytest.mark.parametrize("pattern", [np.eye(3, 2) > 0, scipy.sparse.csr_array(np.eye(3, 2) > 0)])
def test_a_pattern_fixes_zeros(pattern: Any) -> None:
    V = Parameter("V", pattern=pattern)
    assert (V.shape, V.learn, V.sparse, repr(V)) == ((3, 2), True, True, "Parameter('V', 3 × 2, learned, sparse)")
    start = Parameter("V", [[2, 0], [0, 0], [0, 0]], pattern=pattern, learn=True)
    assert start.value.nnz == 2
    np.testing.assert_array_equal(start.value.toarray(), [[2, 0], [0, 0], [0, 0]])
    assert start != Parameter("V", [[2, 0], [0, 0], [0, 0]], learn=True)


def test_rounding_does_not_untie() -> None:
    value = Parameter("V", [[1, 0], [0, 1 + 1e-7]], tied=np.eye(2, dtype=int)).value
    np.testing.assert_array_equal(value.toarray(), np.eye(2))


def test_refusals_of_patterns_and_ties() -> None:
    with refused("parameter V: the value is 5 at [0, 1], where the pattern has a zero."):
        Parameter("V", [[1, 5], [0, 1]], pattern=np.eye(2) > 0)
    with refused(
        "parameter V: the entries at [0, 0] and [1, 1] are tied, but the value has 1 and 2 there. "
        "Give tied entries the same value."
    ):
        Parameter("V", [[1, 0], [0, 2]], tied=np.eye(2, dtype=int))
    for option in ("pattern", "tied"):
        with pytest.raises(pfn.DeclarationError, match=rf"^parameter V: .*{option} must be a matrix: .*inhomogeneous"):
            Parameter("V", **{option: [[1], [1, 0]]})
    with refused("parameter V: tied has the pattern already. Leave pattern out."):
        Parameter("V", pattern=np.eye(2) > 0, tied=np.eye(2, dtype=int))
    with refused(
        "parameter V: its pattern must be a matrix of booleans, true where entries may differ from zero, "
        "found float64. Compare: pattern=matrix > 0."
    ):
        Parameter("V", pattern=np.eye(2))
    with refused(
        "parameter V: tied must be a matrix of whole numbers, 0 where entries are zero and the same number "
        "where they are equal, found float64."
    ):
        Parameter("V", tied=np.eye(2))
    with refused("parameter V: its pattern must have the parameter's shape (2, 2), found (3, 3)."):
        Parameter("V", np.eye(2), pattern=np.eye(3) > 0)
    with refused("parameter K: nothing of the kernel lies within 2 rows. Change first."):
        Convolution("K", [1, 2], 2, rows=2, first=5)
    with refused("parameter c: a diagonal must have at least 1 of its components, found 0."):
        Diagonal("c", 0)
    with refused(
        "parameter c: a diagonal must be a row of numbers, or how many components it has, "
        "found ndarray of shape (2, 2)."
    ):
        Diagonal("c", np.eye(2))
    for wrong in (["a", "b"], [[1], [1, 2]], []):
        with pytest.raises(pfn.DeclarationError, match="parameter K: a kernel must be a row of numbers"):
            Convolution("K", wrong, 2)
    with refused(
        "parameter c: its value must be finite and non-negative, found -1.0 at [1, 1]. "
        "Replace such entries before declaring it."
    ):
        Diagonal("c", [1.0, -1.0])


def test_normalizations_that_would_break_ties_are_refused() -> None:
    y4, cut = Variable("y4", 4), Convolution("K", 3, 2, rows=3)
    assert Factorization(y4[t], Convolution("K", 3, 2) @ h[t], normalize="columns").normalize == "columns"
    with refused(
        "y[t] = K h[t]: normalize='columns' would scale tied entries of K by different numbers. "
        "Only 'columns' keeps ties, where every column has the same. Leave normalize out."
    ):
        Factorization(y[t], cut @ h[t], normalize="columns")
