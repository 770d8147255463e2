"""Tables with labels are matched by name or refused by name, whatever their library."""

from collections.abc import Callable
from timeit import timeit
from typing import Any

import numpy as np
import pytest

import pfn
from pfn import DataError, t
from pfn.solve.labels import in_order
from tests.solve.cases import numbers

pd = pytest.importorskip("pandas")
xr = pytest.importorskip("xarray")
pl = pytest.importorskip("polars")

X = numbers(3, 4) + 0.1
x, h = pfn.Variable("x", 3, labels=["a", "b", "c"]), pfn.Variable("h", 2, labels=["u", "v"])
bare, g = pfn.Variable("x", 3), pfn.Variable("g", 2)


def plain(variable: pfn.Variable = x) -> pfn.Network:
    return pfn.Network(pfn.Factorization(variable[t], pfn.Parameter("W", shape=(3, 2)) @ h[t]))


def lagged() -> dict[str, pfn.Network]:
    V, W = pfn.Parameter("V", shape=(6, 2)), pfn.Parameter("W", shape=(3, 2))
    return {
        "child": pfn.Network(pfn.Factorization([x[t], x[t + 1]], V @ h[t])),
        "parent": pfn.Network(pfn.Factorization(x[t], W @ h[t - 1])),
        "window": pfn.Network(pfn.Factorization(x[t], W @ pfn.decay(h[t], 0.5))),
    }


def frame(rows: Any = "abc", columns: Any = None, values: Any = X) -> Any:
    return pd.DataFrame(values, index=None if rows is None else list(rows), columns=columns)


def array(rows: str = "abc", values: Any = X, **coordinates: Any) -> Any:
    return xr.DataArray(values, dims=("part", "time"), coords={"part": list(rows)} | coordinates)


def learned(network: pfn.Network, data: Any, **options: Any) -> pfn.Result:
    return pfn.learn(network, data if isinstance(data, dict) else {"x": data}, iterations=2, **options)


SHUFFLED = X[[2, 0, 1]]
READ: dict[str, Callable[[], Any]] = {
    "in order": frame,
    "in another order": lambda: frame("cab", values=SHUFFLED),
    "no label": lambda: frame(None),
    "counted, not by a range": lambda: pd.DataFrame(X, index=pd.Index(np.arange(3))),
    "xarray": lambda: array("cab", SHUFFLED),
    "xarray, transposed": lambda: array("cab", SHUFFLED).T,
    "xarray, nothing named": lambda: xr.DataArray(X),
    "polars": lambda: pl.DataFrame(X),
    "polars, names of columns": lambda: pl.DataFrame({f"day {n}": X[:, n] for n in range(4)}),
    "a nullable kind": lambda: frame("cab", values=SHUFFLED).astype("Float64"),
    "a frame with columns called like attributes": lambda: frame(
        "cab", ["dims", "coords", "data_vars", "sparse"], SHUFFLED
    ),
}


@pytest.mark.parametrize("kind", READ)
def test_rows_are_put_in_the_order_of_the_variable(kind: str) -> None:
    np.testing.assert_array_equal(learned(plain(), READ[kind]())["x"], X)
    several = learned(plain(), {"x": [READ[kind](), X]})["x"]
    np.testing.assert_array_equal(several[0], several[1])
    one_by_one, at_once = (
        pfn.learn(plain(), [{"x": table}, table], batches=pfn.Batches(size=1, shuffle=False))
        for table in (READ[kind](), X)
    )
    np.testing.assert_array_equal(one_by_one["W"], at_once["W"])


def test_a_dataset_is_a_mapping() -> None:
    data = xr.Dataset({"x": array("cab", SHUFFLED)})
    np.testing.assert_array_equal(pfn.learn(plain(), data, iterations=2)["x"], X)


def test_sparse_columns_stay_sparse() -> None:
    table = pd.DataFrame(np.where(SHUFFLED > 0.5, SHUFFLED, 0), index=list("cab")).astype(pd.SparseDtype(float, 0.0))
    found = learned(plain(), table)["x"]
    np.testing.assert_array_equal(found.toarray(), np.where(X > 0.5, X, 0))


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "missing and unknown": (lambda: frame("azc"), r"must have the labels of x; missing: 'b'; unknown: 'z'"),
    "numbers as labels": (lambda: pd.DataFrame(X, index=[7, 8, 9]), r"missing: 'a', 'b', 'c'; unknown: '7', '8', '9'"),
    "too many": (lambda: frame("abcd", values=numbers(4, 4)), r"unknown: 'd'"),
    "twice": (lambda: frame("aab"), r"two rows have the label 'a'"),
    "columns twice": (lambda: frame("abc", list("pqqr")), r"two columns have the label 'q'"),
    "transposed": (lambda: frame().T, r"its columns have labels of x, .* transposed: give table\.T"),
    "square, transposed": (lambda: frame(values=X[:, :3]).T, r"its columns have labels of x"),
    "transposed, in polars": (
        lambda: pl.DataFrame(dict(zip("abc", X[:, :3], strict=True))),
        r"its columns have labels",
    ),
    "on both axes": (lambda: frame("abc", list("cab"), X[:, :3]), r"both its rows and its columns have labels of x"),
    "xarray, unknown": (lambda: array("abz"), r"missing: 'c'; unknown: 'z'"),
    "xarray, time first": (lambda: xr.DataArray(X[:, :3], dims=("time", "part")), r"its rows have times"),
    "dates down": (lambda: frame(pd.date_range("2024", periods=3)), r"its rows have times, .* give table\.T"),
    "a series": (lambda: frame().iloc[:, 0], r"a Series of 3 numbers may be one slice or one component\. Give series"),
    "a dataset": (lambda: xr.Dataset({"x": array()}), r"expected one array, found a Dataset of several"),
    "categories": (lambda: frame().astype("category"), r"found category entries in column 0"),
    "text": (lambda: pl.DataFrame({"p": ["1", "2", "3"]}), r"found String entries in column 'p'"),
    "objects": (lambda: frame().astype(object), r"found object entries in column 0"),
    "yes and no beside numbers": (lambda: frame().assign(f=[True, False, True]), r"found bool entries in column 'f'"),
    "xarray, complex": (lambda: array(values=X + 1j), r"found complex128 entries"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_matched_is_refused(kind: str) -> None:
    make, message = REFUSED[kind]
    with pytest.raises(DataError, match=f"^x: .*{message}"):
        learned(plain(), make())


def test_a_long_list_of_labels_is_cut() -> None:
    many = pfn.Variable("x", 9, labels=list("abcdefghi"))
    network = pfn.Network(pfn.Factorization(many[t], pfn.Parameter("W", shape=(9, 2)) @ h[t]))
    with pytest.raises(DataError, match=r"missing: 'a', 'b', 'c', 'd', 'e', … \(9 in all\); unknown"):
        learned(network, pd.DataFrame(numbers(9, 2), index=list("jklmnopqr")))


def test_a_variable_without_labels_takes_tables_of_one_order() -> None:
    network = plain(bare)
    np.testing.assert_array_equal(learned(network, frame("cab"))["x"], X)
    learned(network, {"x": [frame("cab"), X, frame("cab")]})
    message = r"labelled like those of the first array of x: they are in another order, 'a', 'b', 'c'\. Declare x with"
    with pytest.raises(DataError, match=f"^x, sequence 1: .*{message}"):
        learned(network, {"x": [frame("cab"), frame("abc")]})
    with pytest.raises(DataError, match=r"^sequence 1: x: .*missing: 'c'; unknown: 'z'"):
        pfn.learn(network, [frame("cab"), frame("zab")], batches=pfn.Batches(shuffle=False))
    with pytest.raises(DataError, match=r"^initial: x: .*in another order"):
        learned(network, frame("cab", values=np.full((3, 4), np.nan)), initial={"x": frame("abc")})
    with pytest.raises(DataError, match=r"rows of W: expected the labels 'c', 'a', 'b' in this order"):
        learned(network, frame("cab"), initial={"W": frame("abc", values=np.ones((3, 2)))})
    known = pfn.Network(pfn.Factorization(bare[t], pfn.Parameter("W", frame("abc", values=np.ones((3, 2)))) @ g[t]))
    pfn.infer(known, {"x": frame("abc")}, iterations=1)
    with pytest.raises(DataError, match=r"rows of W: expected the labels 'c', 'a', 'b' in this order"):
        pfn.infer(known, {"x": frame("cab")})


MASKED: dict[str, Callable[[], Any]] = {
    "whole numbers": lambda: pd.DataFrame({0: pd.array([1, None, 3], "Int64"), 1: [4, 5, 6]}, index=list("abc")),
    "numbers": lambda: pd.DataFrame({0: pd.array([1, None, 3], "Float64"), 1: [4.0, 5, 6]}, index=list("abc")),
    "polars": lambda: pl.DataFrame({"p": [1, None, 3], "q": [4.0, 5.0, 6.0]}),
    "masked whole numbers": lambda: np.ma.array([[1, 4], [7, 5], [3, 6]], mask=[[0, 0], [1, 0], [0, 0]]),
}


@pytest.mark.parametrize("kind", MASKED)
def test_what_is_missing_is_hidden(kind: str) -> None:
    found = learned(plain(), MASKED[kind]())["x"]
    wanted = np.array([[1.0, 4], [found[1, 0], 5], [3, 6]])
    np.testing.assert_array_equal(found, wanted)
    assert 0 < found[1, 0] != 7
    listed = learned(plain(), {"x": [MASKED[kind](), np.array([[1, 4], [np.nan, 5], [3, 6]])]})["x"]
    assert not np.isnan(listed[0]).any()


@pytest.mark.parametrize(
    "make", [lambda v: pd.DataFrame({0: pd.array(v, "boolean")}), lambda v: pl.DataFrame({"p": v})]
)
def test_yes_and_no_with_gaps(make: Callable[[list[Any]], Any]) -> None:
    found = learned(plain(), make([True, None, False]))["x"]
    assert (found[0, 0], found[2, 0]) == (1, 0)


DAYS = pd.date_range("2024-01-30", periods=4)
EVEN: dict[str, Any] = {
    "days": DAYS,
    "months": pd.date_range("2024-01-31", periods=4, freq="ME"),
    "days with a summer time": pd.date_range("2024-03-29", periods=4, tz="Europe/Berlin"),
    "periods": pd.period_range("2024", periods=4, freq="Q"),
    "durations": pd.timedelta_range("0s", periods=4, freq="23ms"),
    "rounded seconds": [0.0, 0.4999, 1.0001, 1.5],
    "a part of a range": pd.RangeIndex(100, 104),
    "text of numbers": ["0.5", "1.0", "1.5", "2.0"],
    "text of months": ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"],
    "names": list("pqrs"),
}
UNEVEN: dict[str, tuple[Any, str]] = {
    "a day is missing": (DAYS[[0, 1, 2]].append(DAYS[[3]] + pd.Timedelta(1, "D")), "found '2024-02-03 00:00:00' after"),
    "not in order": (DAYS[[0, 2, 1, 3]], "found '2024-01-31 00:00:00' after '2024-02-01 00:00:00'"),
    "backwards": (DAYS[::-1], "found '2024-02-01 00:00:00' after '2024-02-02 00:00:00'"),
    "no date": (pd.DatetimeIndex([*DAYS[:3], None]), "evenly spaced in time"),
    "numbers": ([0.0, 1.0, 2.5, 3.5], r"found '2\.5' after '1\.0'"),
    "whole numbers": ([1, 2, 4, 5], "found '4' after '2'"),
    "text of numbers": (["0", "1", "2", "4"], "found '4' after '2'"),
    "text of dates": (
        ["2024-01-01", "2024-01-02", "2024-01-04", "2024-01-05"],
        "found '2024-01-04' after '2024-01-02'",
    ),
    "several levels": (pd.MultiIndex.from_product([["p", "q"], [0, 1]]), "labels of several levels"),
}


@pytest.mark.parametrize("lag", lagged())
def test_columns_are_evenly_spaced_where_an_equation_has_lags(lag: str) -> None:
    network = lagged()[lag]
    for kind, columns in EVEN.items():
        np.testing.assert_array_equal(learned(network, frame(columns=columns))["x"], X, err_msg=kind)
    for columns, message in UNEVEN.values():
        with pytest.raises(DataError, match=f"^x: its columns .*{message}"):
            learned(network, frame(columns=columns))


@pytest.mark.parametrize("kind", UNEVEN)
def test_samples_may_be_in_any_order(kind: str) -> None:
    np.testing.assert_array_equal(learned(plain(), frame(columns=UNEVEN[kind][0]))["x"], X)


def test_xarray_has_times_too() -> None:
    for network in lagged().values():
        learned(network, array(time=DAYS.to_numpy()))
        with pytest.raises(DataError, match="evenly spaced"):
            learned(network, array(time=[0.0, 1.0, 2.0, 5.0]))


def test_observed_variables_share_their_columns() -> None:
    H, later = frame("vu", DAYS, numbers(2, 4)), DAYS + pd.Timedelta(1, "D")
    found = learned(plain(), {"x": frame(columns=DAYS), "h": H})
    np.testing.assert_array_equal(found["h"], H.to_numpy()[::-1])
    learned(plain(), {"x": X, "h": H})
    network = lagged()["child"]
    learned(network, {"x": frame(columns=DAYS), "h": H.iloc[:, :3]})
    message = "share the time axis, but column 0 is '2024-01-31 00:00:00' in one and '2024-01-30 00:00:00' in the other"
    with pytest.raises(DataError, match=f"^h and x {message}"):
        learned(plain(), {"x": frame(columns=DAYS), "h": H.set_axis(later, axis=1)})
    pair = [H, H.set_axis([5, 6, 9, 10], axis=1)]
    with pytest.raises(DataError, match=r"^h, sequence 1 and x, sequence 1 share the time axis, but column 2 is '9'"):
        learned(plain(), {"x": [frame(columns=DAYS), frame(columns=[5, 6, 7, 8])], "h": pair})
    with pytest.raises(DataError, match=r"^initial: h and x share the time axis"):
        learned(plain(), frame(columns=DAYS), initial={"h": H.set_axis(later, axis=1)})
    with pytest.raises(DataError, match=r"^weights of eq1 and x share the time axis"):
        learned(plain(), frame(columns=DAYS), weights={"eq1": pd.Series(1.0, later)})
    learned(plain(), frame(columns=DAYS), weights={"eq1": pd.Series(1.0, DAYS)})


def test_times_that_differ_by_rounding_are_equal() -> None:
    seconds = np.arange(4) / 3
    learned(plain(), {"x": frame(columns=seconds), "h": frame("uv", seconds.round(4), numbers(2, 4))})
    with pytest.raises(DataError, match="share the time axis, but column 1"):
        learned(plain(), {"x": frame(columns=seconds), "h": frame("uv", seconds * 1.1, numbers(2, 4))})


def test_starting_values_are_matched() -> None:
    H, hidden = numbers(2, 4) + 0.1, np.full((3, 4), np.nan)
    W = numbers(3, 2) + 0.1
    method = pfn.Propagate(start="random")
    found, wanted = (
        learned(plain(), hidden, method=method, initial=initial)
        for initial in (
            {"h": frame("vu", values=H[::-1]), "W": pd.DataFrame(W, index=list("abc"), columns=["u", "v"])},
            {"h": H, "W": W},
        )
    )
    np.testing.assert_array_equal(found["h"], wanted["h"])
    np.testing.assert_array_equal(found["W"], wanted["W"])
    for rows, columns, message in [
        ("abc", "vu", r"columns of W: expected the labels 'u', 'v' in this order"),
        ("abz", "uv", r"rows of W: .*missing: 'c'; unknown: 'z'"),
        ("aab", "uv", r"rows of W: .*missing: 'c'"),
    ]:
        with pytest.raises(DataError, match=message):
            learned(plain(), X, initial={"W": frame(rows, list(columns), W)})
    pair = [pd.DataFrame(numbers(2, 4), index=list(rows)) for rows in ("pq", "qp")]
    unlabelled = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", shape=(3, 2)) @ g[t]))
    with pytest.raises(DataError, match=r"^initial: g: .*another order, 'q', 'p'"):
        learned(unlabelled, {"x": [X, X]}, initial={"g": pair})
    with pytest.raises(DataError, match=r"^initial: h: .*missing: 'u'; unknown: 'z'"):
        learned(plain(), X, initial={"h": frame("zv", values=H)})


def test_frames_of_a_stream_are_matched() -> None:
    network = pfn.Network(pfn.Factorization(x[t], pfn.Parameter("W", numbers(3, 2)) @ h[t]))
    stream = pfn.stream(network)
    first, second = stream.push({"x": pd.Series([3.0, 1, 2], list("cab"))}), stream.push(pd.Series([1.0, 2, 3]))
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal([first[x], second[x]], [[1, 2, 3]] * 2)
    with pytest.raises(DataError, match=r"^frame 2: x: .*missing: 'c'; unknown: 'z'"):
        stream.push(pd.Series([3.0, 1, 2], list("zab")))
    unlabelled = pfn.stream(pfn.Network(pfn.Factorization(bare[t], pfn.Parameter("W", numbers(3, 2)) @ h[t])))
    unlabelled.push(pd.Series([3.0, 1, 2], list("cab")))
    with pytest.raises(DataError, match=r"^frame 1: x: .*in another order"):
        unlabelled.push(pd.Series([3.0, 1, 2], list("abc")))


def test_a_table_alone_is_no_list_of_sequences() -> None:
    for table in (frame(), array(), pl.DataFrame(X)):
        with pytest.raises(DataError, match=f"found {type(table).__name__}"):
            pfn.learn(plain(), table)


def test_pictures_show_components_in_order() -> None:
    pytest.importorskip("matplotlib")
    found, wanted = (pfn.plots.image({x: values}, x) for values in (frame("cab", values=SHUFFLED), X))
    assert found.svg() == wanted.svg()


def test_arrays_are_not_slowed_down() -> None:
    values, calls = np.ones((3, 1000)), 1000
    assert timeit(lambda: in_order(values, x, "x", {}), number=calls) / calls < 20e-6
