"""Variables and their slices."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from pfn import Variable, t
from pfn.network import Slice
from tests.network.refusal import refused


def test_a_variable_has_a_name_and_a_size() -> None:
    x = Variable("x", 4)
    assert (x.name, x.size, x.labels) == ("x", 4, None)
    assert repr(x) == "Variable('x', 4)"


def test_a_size_may_be_any_kind_of_whole_number() -> None:
    assert type(Variable("x", np.int64(4)).size) is int


def test_labels_become_a_tuple_of_strings() -> None:
    assert Variable("x", 3, ["a", "b", "c"]).labels == ("a", "b", "c")
    assert Variable("x", 2, np.array(["a", "b"])).labels == ("a", "b")


def test_variables_compare_by_content() -> None:
    assert Variable("x", 2, ["a", "b"]) == Variable("x", 2, ("a", "b"))
    assert hash(Variable("x", 2, ["a", "b"])) == hash(Variable("x", 2, ("a", "b")))
    assert Variable("x", 2) != Variable("x", 3)
    assert Variable("x", 2) != Variable("y", 2)
    assert Variable("x", 2) != Variable("x", 2, ["a", "b"])


@pytest.mark.parametrize("field", ["name", "size", "labels", "value"])
def test_nothing_can_be_stored_on_a_variable(field: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(Variable("x", 2), field, 5)


@pytest.mark.parametrize(("shift", "text"), [(0, "x[t]"), (1, "x[t+1]"), (-4, "x[t-4]")])
def test_a_slice_is_a_variable_and_a_lag(shift: int, text: str) -> None:
    x = Variable("x", 4)
    piece = x[t + shift]
    assert piece == Slice(x, shift)
    assert (piece.variable, piece.lag, str(piece), repr(piece)) == (x, shift, text, text)


def test_slices_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Variable("x", 4)[t].lag = 2  # type: ignore[misc]


@pytest.mark.parametrize("name", ["", " ", " x", "x ", "a\nb", "a\tb", 5, None])
def test_a_name_is_a_line_of_text(name: str) -> None:
    with refused(f"the name of a variable must be a non-empty line of text without spaces around it, found {name!r}."):
        Variable(name, 2)


@pytest.mark.parametrize("size", [2.5, 2.0, "3", None, True])
def test_a_size_is_a_whole_number(size: int) -> None:
    with refused(f"variable x: its size must be a whole number, found {size!r}. Give an int."):
        Variable("x", size)


@pytest.mark.parametrize("size", [0, -3])
def test_a_size_is_positive(size: int) -> None:
    with refused(f"variable x: its size must be at least 1, found {size}. Give the number of components."):
        Variable("x", size)


@pytest.mark.parametrize("labels", [["a"], ["a", "b", "c"], ["a", "a"], "ab", [], 5])
def test_labels_are_different_strings_one_per_component(labels: list[str]) -> None:
    with refused(
        "variable x: labels must be 2 different strings, one per component, "
        f"found {labels!r}. Give a list of 2 strings."
    ):
        Variable("x", 2, labels)


@pytest.mark.parametrize("index", [0, -1, "t", None, slice(1, 2)])
def test_only_the_symbolic_time_is_an_index(index: object) -> None:
    with refused(
        f"x[{index!r}]: a variable is indexed by the symbolic time. Write x[t] or x[t - 1], with `from pfn import t`."
    ):
        Variable("x", 2)[index]  # type: ignore[index]


def test_a_variable_is_not_a_sequence() -> None:
    with refused("variable x is not a sequence. Stack slices as [x[t], x[t + 1]]."):
        list(Variable("x", 2))  # type: ignore[call-overload]


@pytest.mark.parametrize("matrix", [np.ones((2, 2)), [[1.0]], 3])
def test_only_a_parameter_multiplies_a_slice(matrix: object) -> None:
    x = Variable("x", 2)
    left = "ndarray of shape (2, 2)" if isinstance(matrix, np.ndarray) else str(matrix)
    for right, text in ((x, "x"), (x[t - 1], "x[t-1]")):
        with refused(
            f"{left} @ {text}: the only product is that of a parameter and a slice. "
            "Write pfn.Parameter('W', values) @ x[t], with every factor in its values."
        ):
            matrix @ right  # type: ignore[operator]
