"""Data that are refused, and in which words."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import pfn
from pfn import DataError
from tests.network.refusal import refused
from tests.solve.cases import MACHINE, numbers, parts_based, states, tower

X = states(1, 0, 0, 0, 0, 0)
SHAPE = "x: expected an array of shape (4, columns), components down and time to the right, found the shape"


def changed(row: int, column: int, value: float) -> Any:
    array = numbers(4, 6)
    array[row, column] = value
    return array


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.ones((6, 4)), "(6, 4). It looks transposed: use array.T."),
        (np.ones((5, 6)), "(5, 6)."),
        (np.ones(4), "(4,). For a single column use array[:, None]."),
        (np.ones(7), "(7,)."),
        (np.ones((4, 6, 1)), "(4, 6, 1). For several sequences give a list of arrays."),
        (np.ones((0, 6)), "(0, 6)."),
        (np.array([]), "(0,)."),
        (7.0, "()."),
        (scipy.sparse.csr_array(np.ones((6, 4))), "(6, 4). It looks transposed: use array.T."),
    ],
)
def test_wrong_shape(array: Any, found: str) -> None:
    with refused(f"{SHAPE} {found}", DataError):
        pfn.infer(MACHINE, {"x": array})


@pytest.mark.parametrize("ask", [pfn.infer, pfn.learn])
@pytest.mark.parametrize(("value", "shown"), [(-1.0, "-1.0"), (np.inf, "inf"), (-np.inf, "-inf"), (-1e-300, "-1e-300")])
def test_negative_or_infinite(ask: Any, value: float, shown: str) -> None:
    message = (
        "x: entries must be finite and non-negative, or NaN where hidden; found "
        f"{shown} at component 2, column 5 (1 such entries). Replace them, for example by NaN."
    )
    with refused(message, DataError):
        ask(MACHINE, {"x": changed(2, 5, value)})


def test_negative_zero_is_zero() -> None:
    result = pfn.infer(MACHINE, {"x": changed(2, 5, -0.0)}, iterations=2)
    assert result["x"][2, 5] == 0


@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_array])
@pytest.mark.parametrize(("method", "epsilon"), [("propagate", "1e-09"), ("substitute", "1e-09"), (pfn.PAPER, "1e-05")])
def test_hardly_larger_than_epsilon_anywhere(method: Any, epsilon: str, kind: Any) -> None:
    with refused(
        f"x: the largest value is 5e-08, less than 100 times epsilon = {epsilon}, which is added to numerators and "
        "denominators and would drown the data. Multiply them by a number that brings their maximum to about 1, or "
        "give the method a smaller epsilon.",
        DataError,
    ):
        pfn.infer(MACHINE, {"x": kind(np.ones((4, 6)) * 5e-8)}, method=method)


def test_nothing_but_zeros_or_hidden_entries_is_no_matter_of_scale() -> None:
    assert not pfn.infer(MACHINE, {"x": np.zeros((4, 6))}, iterations=3)["x"].any()
    assert np.isfinite(pfn.infer(MACHINE, {"x": np.full((4, 6), np.nan)}, iterations=3)["x"]).all()
    assert pfn.infer(MACHINE, {"x": 1e-12 * X}, method=pfn.Propagate(epsilon=1e-20), iterations=3).iterations == 3
    small = pfn.infer(MACHINE, {"x": 1e-12 * X}, method="exact")["x"]
    np.testing.assert_allclose(small[:, 0], 1e-12 * X[:, 0])


def test_too_large_for_the_dtype() -> None:
    with pytest.raises(DataError, match=r"x: .*1e\+200 at component 2, column 5 is too large for float32"):
        pfn.infer(MACHINE, {"x": changed(2, 5, 1e200)}, dtype="float32")


@pytest.mark.parametrize("value", [1e-60, 1e-40])
@pytest.mark.parametrize("kind", [np.array, np.ma.array, scipy.sparse.csr_array, scipy.sparse.coo_array])
def test_too_small_for_the_dtype(kind: Any, value: float) -> None:
    """Zero in single precision, or one of its last numbers, which have few digits and are zero on GPUs."""
    given = kind(changed(2, 5, value))
    message = (
        f"x: {value} at component 2, column 5 is too small for float32 (1 such entries). Scale the data up, set such "
        "entries to zero, or use dtype='float64'."
    )
    with refused(message, DataError):
        pfn.infer(MACHINE, {"x": given}, dtype="float32")
    assert pfn.infer(MACHINE, {"x": given}, iterations=1).iterations == 1
    kept = kind(changed(2, 5, 0.0).astype("float32"))
    assert pfn.infer(MACHINE, {"x": kept}, iterations=1, dtype="float32").iterations == 1


def test_a_frame_too_small_for_the_dtype() -> None:
    with pytest.raises(DataError, match=r"^frame 0: x: 1e-60 at component 1, column 0 is too small for float32"):
        pfn.stream(MACHINE, dtype="float32").push({"x": [1, 1e-60, 0, 0]})


def test_masks_of_rows_are_kept() -> None:
    """A matrix as a list of masked rows."""
    rows = [np.ma.array([5.0, 7.0], mask=[False, number == 2]) for number in range(4)]
    network, given = parts_based(), {"x": numbers()}
    as_list, as_array = (
        pfn.learn(network, given, initial={"W": start}, iterations=1)["W"] for start in (rows, np.ma.stack(rows))
    )
    np.testing.assert_array_equal(as_list, as_array)
    with pytest.raises(DataError, match=r"^frame 0: x: expected 4 numbers"):
        pfn.stream(MACHINE).push({"x": rows})


def test_numbers_that_are_small_by_computing_may_be_a_start() -> None:
    start = {"h": np.full((4, 5), 1e-60)}
    assert pfn.infer(MACHINE, {"x": X}, initial=start, dtype="float32", iterations=1).iterations == 1


COMPLEX = "x: expected real numbers, found complex128 entries. Convert them to floats; NaN = hidden."


@pytest.mark.parametrize("kind", [np.ma.array, scipy.sparse.csr_array, scipy.sparse.coo_array])
def test_no_imaginary_part_is_dropped(kind: Any) -> None:
    with refused(COMPLEX, DataError):
        pfn.infer(MACHINE, {"x": kind(numbers(4, 6) + 1j)})
    start = {"W": kind(numbers(4, 2) + 1j)}
    for network in (parts_based(), parts_based(pattern=np.ones((4, 2), bool))):
        with refused(COMPLEX.replace("x:", "initial: W:", 1), DataError):
            pfn.learn(network, {"x": numbers()}, initial=start)


def damaged(matrix: Any, kind: str) -> Any:
    """With an index far outside."""
    found = matrix.asformat(kind)
    if kind == "lil":
        found.rows[0][0] = 10**8
    else:
        (found.coords[0] if kind == "coo" else found.indices)[0] = 10**8
    return found


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil"])
@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_damaged_sparse_matrices(kind: str, make: Any) -> None:
    """Compiled code would write where they point to."""
    given, start = damaged(make(numbers(4, 6)), kind), damaged(make(numbers(4, 2)), kind)
    message = r"x: the sparse matrix is damaged: .*100000000.*|x: the sparse matrix is damaged: indices must be < "
    with pytest.raises(DataError, match=f"^({message})"):
        pfn.infer(MACHINE, {"x": given})
    with pytest.raises(DataError, match=r"^sequence 0: x: the sparse matrix is damaged"):
        pfn.learn(parts_based(), [{"x": given}], batches=pfn.Batches())
    for network in (parts_based(), parts_based(pattern=np.ones((4, 2), bool))):
        with pytest.raises(DataError, match=r"^initial: W: the sparse matrix is damaged"):
            pfn.learn(network, {"x": numbers()}, initial={"W": start})


@pytest.mark.parametrize("change", [{"indptr": 2}, {"indptr": 0}])
def test_damaged_row_ends(change: dict[str, int]) -> None:
    matrix = scipy.sparse.csr_array(numbers(4, 6))
    matrix.indptr[change["indptr"]] = -5
    with pytest.raises(DataError, match=r"^x: the sparse matrix is damaged: .*ind"):
        pfn.infer(MACHINE, {"x": matrix})


def test_no_remark_on_a_sparse_matrix_is_believed() -> None:
    """A matrix that was changed in place still says that nothing is stored twice."""
    matrix = scipy.sparse.csr_array(numbers(4, 6))
    assert matrix.has_canonical_format
    matrix.indices[1] = matrix.indices[0]
    result = pfn.infer(MACHINE, {"x": matrix}, iterations=1)
    np.testing.assert_array_equal(result["x"].toarray(), matrix.toarray())


def three_slices() -> pfn.Network:
    x, h = pfn.Variable("x", 4), pfn.Variable("h", 2)
    return pfn.Network(pfn.Factorization([x[pfn.t], x[pfn.t + 2]], pfn.Parameter("W", shape=(8, 2)) @ h[pfn.t]))


@pytest.mark.parametrize(
    ("lengths", "where"),
    [
        ([2], "the data: 2 slices are"),
        ([5, 2], "sequence 1: 2 slices are"),
        ([2, 5, 2, 2], r"sequence 0: 2 slices \(and those of 2 other sequences\) are"),
    ],
)
def test_sequences_that_are_too_short(lengths: list[int], where: str) -> None:
    message = rf"^{where} fewer than eq1 \(\[x\[t\]; x\[t\+2\]\] = W h\[t\]\) reaches over: .* Give at least 3 slices"
    arrays = [numbers(4, length) for length in lengths]
    with pytest.warns(UserWarning, match=message) as caught:
        pfn.learn(three_slices(), {"x": arrays if len(arrays) > 1 else arrays[0]}, iterations=2)
    assert caught[0].filename == __file__
    if lengths == [5, 2]:
        with pytest.warns(UserWarning, match=r"^sequence 1: 2 slices are fewer"):
            pfn.learn(three_slices(), [{"x": array} for array in arrays], batches=pfn.Batches(first=2, shuffle=False))


def test_sequences_that_may_be_short() -> None:
    """A single slice has no neighbours; and here every slice of x is fitted by the other equation."""
    pfn.learn(three_slices(), {"x": [numbers(4, 5), numbers(4, 1), numbers(4, 3)]}, iterations=2)
    (longer,) = three_slices().factorizations
    x, g = longer.children[0].variable, pfn.Variable("g", 2)
    both = pfn.Network(longer, pfn.Factorization(x[pfn.t], pfn.Parameter("V", shape=(4, 2)) @ g[pfn.t]))
    pfn.learn(both, {"x": numbers(4, 2)}, iterations=2)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_array])
def test_bad_entry_of_a_sparse_matrix(kind: Any) -> None:
    message = (
        "x: the stored entries of a sparse matrix must be finite and non-negative, found -1.0 at component 2, "
        "column 5. Where entries are hidden, give a dense array with NaN."
    )
    with refused(message, DataError):
        pfn.infer(MACHINE, {"x": kind(changed(2, 5, -1.0))})


def test_hidden_entry_of_a_sparse_matrix() -> None:
    with pytest.raises(DataError, match=r"found nan at component 2, column 5\. Where entries are hidden, give"):
        pfn.infer(MACHINE, {"x": scipy.sparse.csr_array(changed(2, 5, np.nan))})


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.full((4, 6), "a"), "<U1"),
        (np.full((4, 6), "1"), "<U1"),
        ("text", "<U4"),
        (np.full((4, 6), None), "object"),
        (np.ones((4, 6), dtype=complex), "complex128"),
        (np.zeros((4, 6), dtype="datetime64[D]"), "datetime64[D]"),
        (None, "object"),
        ({1, 2}, "object"),
    ],
)
def test_not_numbers(array: Any, found: str) -> None:
    message = f"x: expected real numbers, found {found} entries. Convert them to floats; NaN = hidden."
    with refused(message, DataError):
        pfn.infer(MACHINE, {"x": array})


def test_no_column() -> None:
    message = "x: the array has no columns. Give at least one; NaN marks hidden entries."
    with refused(message, DataError):
        pfn.infer(MACHINE, {"x": np.ones((4, 0))})


def test_no_data() -> None:
    message = "the data are empty, so the length is unknown. Give an array for x; all NaN means all hidden."
    with refused(message, DataError):
        pfn.infer(MACHINE, {})


@pytest.mark.parametrize("data", [[X], X, None, "x"])
def test_not_a_mapping(data: Any) -> None:
    message = (
        f"the data must be a mapping such as {{x: array}}, found {type(data).__name__}. Folders and iterables, which "
        "are read one sequence after the other, are for pfn.learn."
    )
    with refused(message, DataError):
        pfn.infer(MACHINE, data)


@pytest.mark.parametrize("data", [np.ones((4, 6)), scipy.sparse.csr_array(np.ones((4, 6)))])
def test_an_observed_column_that_no_equation_touches(data: Any) -> None:
    message = (
        "h: column 5 is observed, but no equation touches it: in a sequence of 6 slices h has 5 columns. "
        "Give an array of shape (4, 5)."
    )
    with refused(message, DataError):
        pfn.infer(MACHINE, {"x": X, "h": data})


def test_too_few_columns_of_an_upper_variable() -> None:
    message = (
        "h: expected 5 columns for a sequence of 6 slices, found 3. Give an array of shape (4, 5); NaN marks "
        "hidden entries."
    )
    with refused(message, DataError):
        pfn.infer(MACHINE, {"x": X, "h": np.ones((4, 3))})


def test_bottom_lengths_that_disagree() -> None:
    message = (
        "x has 4 columns, but y has 5. Variables at the bottom of the network share their time axis: "
        "give both 5 columns."
    )
    with refused(message, DataError):
        pfn.infer(tower(), {"x": np.ones((2, 4)), "y": np.ones((3, 5))})


def test_bottom_lengths_that_disagree_in_one_sequence() -> None:
    data = {"x": [np.ones((2, 4)), np.ones((2, 4))], "y": [np.ones((3, 4)), np.ones((3, 5))]}
    with pytest.raises(DataError, match=r"^x has 4 columns, but y has 5 in sequence 1\."):
        pfn.infer(tower(), data)


def test_upper_lengths_that_fit_no_length() -> None:
    message = (
        "no length of the sequence fits: h has 5 columns, top has 3 columns (sequence 0). Give an array for a "
        "bottom variable (x, y), all NaN if it is hidden."
    )
    with refused(message, DataError):
        pfn.infer(tower(), {"h": np.ones((2, 5)), "top": np.ones((2, 3))})


def test_lists_mixed_with_arrays() -> None:
    message = (
        "x is a list of sequences, but h is a single array. Give every observed variable as a list with one "
        "array per sequence."
    )
    with refused(message, DataError):
        pfn.infer(MACHINE, {"x": [X, X], "h": np.ones((4, 5))})


def test_different_numbers_of_sequences() -> None:
    with refused("every variable needs the same number of sequences, found: x has 2, h has 1.", DataError):
        pfn.infer(MACHINE, {"x": [X, X], "h": [np.ones((4, 5))]})


def test_no_sequence() -> None:
    with refused("x: the list of sequences is empty. Give at least one array.", DataError):
        pfn.infer(MACHINE, {"x": []})


def test_a_bad_sequence_is_named() -> None:
    with pytest.raises(DataError, match=r"^x, sequence 1: entries must be finite .* at component 0, column 3"):
        pfn.infer(MACHINE, {"x": [X, changed(0, 3, -2.0)]})
    with pytest.raises(DataError, match=r"^x, sequence 1: expected an array of shape"):
        pfn.infer(MACHINE, {"x": [X, X.T]})


def test_nested_lists_are_sequences_not_matrices() -> None:
    with pytest.raises(DataError, match=r"^x, sequence 0: expected an array of shape .* found the shape \(6,\)"):
        pfn.infer(MACHINE, {"x": X.tolist()})


def test_given_twice() -> None:
    with refused("the data have x twice, by object and by name. Give it once.", DataError):
        pfn.infer(MACHINE, {"x": X, MACHINE.variable("x"): X})


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("y", "data for 'y': the network has nothing called y. It has x, h, W, eq1."),
        ("W", "data for 'W': W is not a variable of the network. Its variables are x, h."),
        ("eq1", "data for 'eq1': eq1 is not a variable of the network. Its variables are x, h."),
        (3, "data for 3: the network has nothing called 3. It has x, h, W, eq1."),
        (
            pfn.Variable("y", 4),
            "data for Variable('y', 4): the network has nothing called Variable('y', 4). It has x, h, W, eq1.",
        ),
        (
            pfn.Variable("x", 5),
            "data for Variable('x', 5): Variable('x', 5) is not the Variable('x', 4) of this network. "
            "Use the network's own object.",
        ),
    ],
)
def test_unknown_name(key: Any, message: str) -> None:
    with refused(message, DataError):
        pfn.infer(MACHINE, {key: X})


def test_a_close_name_is_proposed() -> None:
    with refused("data for 'topp': the network has nothing called topp. Did you mean top?", DataError):
        pfn.infer(tower(), {"topp": X})
