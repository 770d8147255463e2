"""Parameters that are refused, and in which words."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from pfn import DeclarationError, Parameter, Variable, t
from tests.network.refusal import refused


@pytest.mark.parametrize("name", ["", " W", 5])
def test_a_name_is_a_line_of_text(name: str) -> None:
    with refused(f"the name of a parameter must be a non-empty line of text without spaces around it, found {name!r}."):
        Parameter(name, [[1]])


def test_a_ragged_value() -> None:
    with pytest.raises(DeclarationError, match=r"^parameter W: its value must be a matrix of numbers: .*inhomogeneous"):
        Parameter("W", [[1, 2], [3]])


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([["a"]], "<U1"),
        ([[1j]], "complex128"),
        ([[None]], "object"),
        (scipy.sparse.csr_array([[1j]]), "complex128"),
    ],
)
def test_a_value_of_something_else_than_real_numbers(value: Any, kind: str) -> None:
    with refused(f"parameter W: its value must hold real numbers, found {kind}. Give an array of floats or ints."):
        Parameter("W", value)


@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array])
@pytest.mark.parametrize("wrong", [-1.0, np.inf, np.nan])
def test_an_entry_that_is_negative_infinite_or_undefined_is_named_with_its_place(make: Any, wrong: float) -> None:
    with refused(
        f"parameter W: its value must be finite and non-negative, found {wrong} at [1, 2]."
        " Replace such entries before declaring it."
    ):
        Parameter("W", make([[0, 1, 2], [3, 0, wrong]]))


@pytest.mark.parametrize("value", [3, [1, 2], np.ones((2, 2, 2)), np.ones((0, 3)), np.ones((2, 0))])
def test_a_value_that_is_no_matrix(value: Any) -> None:
    with refused(
        f"parameter W: its value must be a non-empty matrix (rows, columns), found the shape {np.shape(value)}."
    ):
        Parameter("W", value)


def test_an_empty_sparse_value() -> None:
    with refused("parameter W: its value must be a non-empty matrix (rows, columns), found the shape (0, 3)."):
        Parameter("W", scipy.sparse.csr_array((0, 3)))


@pytest.mark.parametrize("role", ["value", "prior", "pattern", "tied"])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_damaged_sparse_matrices(role: str, kind: str) -> None:
    """Compiled code would write where their indices point to."""
    dtype = {"pattern": bool, "tied": int}.get(role, float)
    matrix = scipy.sparse.csr_array(np.ones((4, 2))).asformat(kind).astype(dtype)
    (matrix.coords[0] if kind == "coo" else matrix.indices)[0] = 10**8
    options: Any = {role: matrix} | ({"shape": (4, 2)} if role == "prior" else {})
    with pytest.raises(DeclarationError, match=r"^parameter W: .* the sparse matrix is damaged: .*index|indices"):
        Parameter("W", **options)


@pytest.mark.parametrize("role", ["value", "prior", "pattern", "tied"])
def test_masked_entries(role: str) -> None:
    dtype = {"pattern": bool, "tied": int}.get(role, float)
    given: Any = np.ma.array(np.ones((2, 2), dtype), mask=[[0, 1], [0, 0]])
    options: Any = {role: given} | ({"shape": (2, 2)} if role == "prior" else {})
    with pytest.raises(DeclarationError, match=r"must be known throughout, found a masked entry at \[0, 1\]\. Fill it"):
        Parameter("W", **options)
    given.mask = False
    Parameter("W", **options)


def test_neither_value_nor_shape() -> None:
    with refused("parameter W needs a value, or a shape=(rows, columns) to be learned in."):
        Parameter("W")


@pytest.mark.parametrize("shape", [5, (2,), (2, 3, 4), "23"])
def test_a_shape_is_two_numbers(shape: Any) -> None:
    with refused(f"parameter W: shape must be (rows, columns), found {shape!r}."):
        Parameter("W", shape=shape)


@pytest.mark.parametrize("shape", [(2, 2.5), ("a", 2)])
def test_a_shape_is_whole_numbers(shape: Any) -> None:
    wrong = next(number for number in shape if not isinstance(number, int))
    with refused(f"parameter W: each number in its shape must be a whole number, found {wrong!r}. Give an int."):
        Parameter("W", shape=shape)


@pytest.mark.parametrize("shape", [(0, 3), (2, -1)])
def test_a_shape_is_positive(shape: tuple[int, int]) -> None:
    with refused(f"parameter W must be a non-empty matrix (rows, columns), found the shape {shape}."):
        Parameter("W", shape=shape)


def test_a_shape_that_is_not_that_of_the_value() -> None:
    with refused(
        "parameter W: the value has the shape (1, 2), but shape=(2, 1) was given. Leave shape out; the value has one."
    ):
        Parameter("W", [[1, 2]], shape=(2, 1))


@pytest.mark.parametrize("learn", [1, "yes", 0])
def test_learn_is_true_or_false(learn: Any) -> None:
    with refused(f"parameter W: learn must be True, False or None, found {learn!r}."):
        Parameter("W", [[1]], learn=learn)


def test_known_without_a_value() -> None:
    with refused("parameter W: learn=False needs a value. Give the value, or leave learn out."):
        Parameter("W", shape=(1, 2), learn=False)


@pytest.mark.parametrize("weight", [-1, np.inf, np.nan, True, "1", None])
def test_the_weight_of_a_prior_is_a_number(weight: Any) -> None:
    with refused(f"parameter W: prior_weight must be a finite number >= 0, found {weight!r}."):
        Parameter("W", shape=(1, 1), prior=[[1]], prior_weight=weight)


def test_a_weight_without_a_prior() -> None:
    with refused("parameter W: prior_weight=2 needs a prior. Give prior=matrix."):
        Parameter("W", shape=(1, 1), prior_weight=2)


def test_a_prior_of_a_known_parameter() -> None:
    with refused("parameter W: a prior pulls a learned parameter, but W is known. Add learn=True."):
        Parameter("W", [[1]], prior=[[1]], prior_weight=1)


@pytest.mark.parametrize(
    "options",
    [
        {"shape": (1, 1), "prior": scipy.sparse.csr_array([[1.0]])},
        {"value": scipy.sparse.csr_array([[1.0]]), "learn": True, "prior": [[1.0]]},
    ],
)
def test_sparse_parameters_and_priors_do_not_go_together(options: dict[str, Any]) -> None:
    with refused("parameter W: a prior and its parameter must be dense, found a scipy.sparse one. Use .toarray()."):
        Parameter("W", prior_weight=1, **options)


def test_a_prior_of_another_shape() -> None:
    with refused("parameter W: its prior must have the parameter's shape (2, 1), found (1, 2)."):
        Parameter("W", shape=(2, 1), prior=[[1, 2]], prior_weight=1)


def test_a_negative_prior() -> None:
    with refused(
        "parameter W: its prior must be finite and non-negative, found -2.0 at [0, 1]."
        " Replace such entries before declaring it."
    ):
        Parameter("W", shape=(1, 2), prior=[[1, -2]], prior_weight=1)


def test_a_parent_of_another_size() -> None:
    with refused("W @ h[t-1]: W has 3 columns, but h has 2 components. Give W 2 columns."):
        Parameter("W", shape=(4, 3)) @ Variable("h", 2)[t - 1]


@pytest.mark.parametrize("parent", ["h", 2, None])
def test_something_else_than_a_slice(parent: Any) -> None:
    with refused(f"what parameter W multiplies must be a slice such as x[t], found {parent!r}."):
        Parameter("W", shape=(4, 3)) @ parent
