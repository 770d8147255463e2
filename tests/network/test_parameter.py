"""Parameters: dense and sparse, known and learned, with a start or a prior."""

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from pfn import Parameter, Variable, t
from pfn.network import Slice

VALUES = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.5]])


@pytest.mark.parametrize("value", [VALUES, VALUES.tolist(), tuple(map(tuple, VALUES)), np.asfortranarray(VALUES)])
def test_a_dense_value_can_be_anything_like_an_array(value: Any) -> None:
    W = Parameter("W", value)
    np.testing.assert_array_equal(W.value, VALUES, strict=True)
    assert (W.name, W.shape, W.learn, W.sparse) == ("W", (2, 3), False, False)


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csr_matrix", "dok_array", "lil_array"])
def test_a_sparse_value_becomes_a_csr_array(kind: str) -> None:
    W = Parameter("W", getattr(scipy.sparse, kind)(VALUES))
    assert isinstance(W.value, scipy.sparse.csr_array)
    np.testing.assert_array_equal(W.value.toarray(), VALUES)
    assert (W.shape, W.learn, W.sparse) == ((2, 3), False, True)


def test_repeated_entries_of_a_sparse_value_are_added_up() -> None:
    W = Parameter("W", scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2)))
    assert W.value.nnz == 1
    np.testing.assert_array_equal(W.value.toarray(), [[0.0, 3.0]])


@pytest.mark.parametrize(
    ("given", "kept"),
    [("float64", "float64"), ("float32", "float32"), ("int8", "float64"), ("bool", "float64")],
)
@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array])
def test_single_precision_is_kept_and_all_else_becomes_double(make: Any, given: str, kept: str) -> None:
    assert Parameter("W", make(np.ones((2, 2), given))).value.dtype == kept


def test_a_dense_value_is_a_copy_that_cannot_be_changed() -> None:
    source = VALUES.copy()
    W = Parameter("W", source)
    source[0, 0] = 9
    assert W.value[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        W.value[0, 0] = 9


def test_a_sparse_value_is_a_copy_that_cannot_be_changed() -> None:
    source = scipy.sparse.csr_array(VALUES)
    W = Parameter("W", source)
    source.data[0] = 9
    assert W.value[0, 0] == 1
    for part in ("data", "indices", "indptr"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(W.value, part)[0] = 1


def test_a_prior_cannot_be_changed() -> None:
    W = Parameter("W", shape=(1, 1), prior=[[2.0]], prior_weight=1)
    with pytest.raises(ValueError, match="read-only"):
        W.prior[0, 0] = 3  # type: ignore[index]


@pytest.mark.parametrize("field", ["name", "value", "shape", "learn", "prior", "prior_weight"])
def test_fields_are_frozen(field: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(Parameter("W", VALUES), field, None)


SPARSE = scipy.sparse.csr_array(VALUES)


@pytest.mark.parametrize(
    ("options", "learn", "words"),
    [
        ({"value": VALUES}, False, "2 × 3, known"),
        ({"value": VALUES, "learn": False}, False, "2 × 3, known"),
        ({"value": VALUES, "shape": (2, 3)}, False, "2 × 3, known"),
        ({"value": SPARSE}, False, "2 × 3, known, sparse"),
        ({"shape": (2, 3)}, True, "2 × 3, learned"),
        ({"shape": [2, np.int64(3)]}, True, "2 × 3, learned"),
        ({"shape": (2, 3), "learn": True}, True, "2 × 3, learned"),
        ({"value": VALUES, "learn": True}, True, "2 × 3, learned from a start"),
        ({"value": SPARSE, "learn": True}, True, "2 × 3, learned from a start, sparse"),
        ({"shape": (2, 3), "prior": VALUES, "prior_weight": 2}, True, "2 × 3, learned"),
    ],
)
def test_what_is_known_and_what_is_learned(options: dict[str, Any], learn: bool, words: str) -> None:
    W = Parameter("W", **options)
    assert W.learn is learn
    assert W.shape == (2, 3)
    assert repr(W) == f"Parameter('W', {words})"
    assert W.describe() == words.replace(",", "", 1)


def test_a_prior_has_a_weight() -> None:
    W = Parameter("W", shape=(2, 3), prior=VALUES, prior_weight=0.5)
    np.testing.assert_array_equal(W.prior, VALUES)
    assert W.prior_weight == 0.5
    assert (Parameter("V", VALUES).prior, Parameter("V", VALUES).prior_weight) == (None, 0.0)


@pytest.mark.parametrize("weight", [2, 0.5, np.int64(2), np.float64(0.5), np.float32(0.5)])
def test_the_weight_of_a_prior_is_any_kind_of_number(weight: float) -> None:
    assert Parameter("W", shape=(2, 3), prior=VALUES, prior_weight=weight).prior_weight == weight


def test_a_parameter_times_a_slice_is_a_term() -> None:
    W, h = Parameter("W", VALUES), Variable("h", 3)
    term = W @ h[t - 2]
    assert (term.parameter, term.slice, str(term), repr(term)) == (W, h[t - 2], "W h[t-2]", "W h[t-2]")


def test_a_bare_variable_means_now() -> None:
    h = Variable("h", 3)
    assert (Parameter("W", VALUES) @ h).slice == Slice(h, 0)


@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array])
def test_parameters_compare_by_content(make: Any) -> None:
    one, two = Parameter("W", make(VALUES)), Parameter("W", make(VALUES))
    assert one == two
    assert hash(one) == hash(two)
    assert one != Parameter("W", make(2 * VALUES))


@pytest.mark.parametrize(
    "other",
    [
        Parameter("V", VALUES),
        Parameter("W", VALUES[:, :2]),
        Parameter("W", VALUES, learn=True),
        Parameter("W", shape=(2, 3)),
        Parameter("W", SPARSE),
        VALUES,
        "W",
    ],
)
def test_unequal_parameters(other: object) -> None:
    assert Parameter("W", VALUES) != other


def test_priors_count_in_comparisons() -> None:
    def pulled(prior: Any, weight: float) -> Parameter:
        return Parameter("W", shape=(2, 3), prior=prior, prior_weight=weight)

    assert pulled(VALUES, 1) == pulled(VALUES, 1)
    assert pulled(VALUES, 1) != pulled(VALUES, 2)
    assert pulled(VALUES, 1) != pulled(2 * VALUES, 1)
    assert pulled(VALUES, 0) != pulled(None, 0)


def test_a_sparse_pattern_counts_in_comparisons() -> None:
    stored_zero = scipy.sparse.csr_array(([0.0, 1.0], [0, 1], [0, 2]), shape=(1, 2))
    assert Parameter("W", stored_zero) != Parameter("W", scipy.sparse.csr_array([[0.0, 1.0]]))
