"""Tables of pandas, polars and xarray: their numbers, and the labels of their rows and columns.

The libraries are never imported: their tables are recognized by the attributes of their classes.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pfn.errors import PfnError

# Number of labels that a message shows; more would hide the advice.
SHOWN_LABELS = 5

# Steps of time coordinates may differ by this part of their median: times in files are rounded.
STEP_ROUNDING = 0.01


@dataclass(frozen=True)
class Labels:
    """The labels along one axis of a table; `index` is a pandas index or a list of names."""

    index: Any

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The labels as text, as `Variable(labels=…)` has them."""
        return tuple(map(str, self.index))

    @property
    def are_times(self) -> bool:
        """True for dates, periods and durations."""
        return hasattr(self.index, "asi8")

    @property
    def are_panels(self) -> bool:
        """True if a label is a pair, or more, such as (patient, visit)."""
        return getattr(self.index, "nlevels", 1) > 1

    @cached_property
    def repeated(self) -> list[str]:
        """The labels that occur more than once."""
        if getattr(self.index, "is_unique", False):  # pandas knows without going through them
            return []
        return [name for name, count in Counter(self.names).items() if count > 1]

    @cached_property
    def places(self) -> np.ndarray | None:
        """The labels as numbers, where they are numbers or times, also as text (the header of a file)."""
        if self.are_times:
            return np.asarray(self.index.asi8)
        if getattr(getattr(self.index, "dtype", None), "kind", "O") in "iuf":
            return np.asarray(self.index, float)
        try:
            return np.array(self.names, float)
        except ValueError:
            pass
        try:
            dates = np.array(self.names, "datetime64[s]")
        except ValueError:
            return None
        months = dates.astype("datetime64[M]")  # which are not equally long, but regular
        return (months if np.ptp(dates - months) == 0 else dates).astype(np.int64)

    def uneven(self) -> int | None:
        """The first place after which the next label does not follow at the usual step; None if all do, or for text."""
        if self.places is None or len(self.places) < 2:
            return None
        steps = np.diff(self.places).astype(float)
        forward = steps > 0
        usual = np.median(steps)
        wrong = ~forward | ~(np.abs(steps - usual) <= STEP_ROUNDING * usual)
        if forward.all() and wrong.any() and self._follows_the_calendar():
            return None
        return int(np.flatnonzero(wrong)[0]) if wrong.any() else None

    def _follows_the_calendar(self) -> bool:
        """True if dates are regular though not equally long apart, such as the months of a year."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas announces that it will answer by an object of another kind
            return bool(getattr(self.index, "inferred_freq", None))

    def differs_from(self, other: "Labels") -> int | None:
        """The first place at which the labels differ, as far as both go; None if there is none."""
        count = min(len(self.index), len(other.index))
        mine, theirs = self.index[:count], other.index[:count]
        if hasattr(mine, "equals") and mine.equals(theirs):
            return None
        if self.places is not None and other.places is not None and not self.are_times and not other.are_times:
            one, two = self.places[:count], other.places[:count]
            step = float(np.median(np.abs(np.diff(one)))) if count > 1 else 0.0
            wrong = np.flatnonzero(~(np.abs(one - two) <= STEP_ROUNDING * step))
            return int(wrong[0]) if wrong.size else None
        return next((i for i in range(count) if str(mine[i]) != str(theirs[i])), None)


class Table(NamedTuple):
    """Numbers, NaN where there are none, with the labels of rows and columns; None where these are only counted."""

    values: Any
    rows: Labels | None = None
    columns: Labels | None = None
    dims: tuple[str, ...] = ()
    """The names of its axes, where these have names, so that it may be turned by labels."""


def shown_labels(labels: Sequence[str]) -> str:
    """The first labels of a list, and the number of all."""
    more = f", … ({len(labels)} in all)" if len(labels) > SHOWN_LABELS else ""
    return ", ".join(map(repr, labels[:SHOWN_LABELS])) + more


def read_table(given: Any, what: str, error: type[PfnError]) -> Table | None:
    """A table of another library as numbers with labels; None for anything else."""
    if isinstance(given, np.ndarray | list | tuple | float | int) or sp.issparse(given):
        return None
    kind = type(given)  # asked in place of the object: a frame also has its columns as attributes
    if hasattr(kind, "data_vars"):
        raise error(f"{what}: expected one array, found a {kind.__name__} of several. Give one of them.")
    if hasattr(kind, "dims") and hasattr(kind, "coords"):
        axes = [given.coords[dim].to_index() if dim in given.coords else None for dim in given.dims]
        values = given.to_numpy()
        if values.dtype.kind not in "buif":
            raise error(_expected(what, values.dtype))
        return Table(values, *_labels(axes), dims=tuple(map(str, given.dims)))
    if not hasattr(kind, "to_numpy"):
        return None
    if hasattr(kind, "isna"):
        axes = [getattr(given, name) for name in ("index", "columns") if hasattr(kind, name)]
        return Table(_pandas_numbers(given, what, error), *_labels(axes))
    if hasattr(kind, "is_null") or hasattr(kind, "get_columns"):
        names = given.columns if hasattr(kind, "columns") else []
        own = any(name != f"column_{number}" for number, name in enumerate(names))
        return Table(_polars_numbers(given, what, error), None, Labels(names) if own else None)
    return None


def _labels(axes: Sequence[Any]) -> tuple[Labels | None, Labels | None]:
    """The labels of the first two axes; numbers that count from 0 say nothing."""
    found = [None if axis is None or _counts(axis) else Labels(axis) for axis in axes[:2]]
    return found[0] if found else None, found[1] if len(found) > 1 else None


def _counts(index: Any) -> bool:
    """True if an index is the numbers from 0 on, as tables have it without labels."""
    kind = getattr(index.dtype, "kind", "O")
    return kind in "iu" and not hasattr(index, "asi8") and np.array_equal(np.asarray(index), np.arange(len(index)))


def _expected(what: str, dtype: object, column: object = None) -> str:
    """The message about entries that are no numbers."""
    place = "" if column is None else f" in column {column!r}"
    return f"{what}: expected real numbers, found {dtype} entries{place}. Convert them to floats; NaN = hidden."


def _pandas_numbers(given: Any, what: str, error: type[PfnError]) -> Any:
    """The numbers of a frame, a series or a column; what pandas knows as missing becomes NaN."""
    framed = hasattr(type(given), "columns")
    dtypes, names = (list(given.dtypes), list(given.columns)) if framed else ([given.dtype], [None])
    _check_kinds([getattr(dtype, "kind", "O") for dtype in dtypes], dtypes, names, what, error)
    if framed and dtypes and all(hasattr(dtype, "fill_value") for dtype in dtypes):  # sparse columns
        try:
            return sp.csc_array(given.sparse.to_coo())
        except ValueError:  # what is not stored is no zero
            return given.to_numpy(dtype=float)
    if all(isinstance(dtype, np.dtype) for dtype in dtypes):
        array = given.to_numpy()
        if array.dtype.kind in "buif":
            return array
    return given.to_numpy(dtype=float, na_value=np.nan)


def _polars_numbers(given: Any, what: str, error: type[PfnError]) -> Any:
    columns = given.get_columns() if hasattr(given, "get_columns") else [given]
    kinds = ["b" if str(c.dtype) == "Boolean" else "f" if c.dtype.is_numeric() else "O" for c in columns]
    _check_kinds(kinds, [c.dtype for c in columns], [c.name for c in columns], what, error)
    return given.cast(float).to_numpy()  # null becomes NaN


def _check_kinds(
    kinds: Sequence[str], dtypes: Sequence[Any], names: Sequence[Any], what: str, error: type[PfnError]
) -> None:
    """Refuse columns that are no numbers, and booleans beside numbers, which are hardly meant as one matrix."""
    mixed = "b" in kinds and len({*kinds}) > 1
    for kind, dtype, name in zip(kinds, dtypes, names, strict=True):
        if kind not in "buif" or (mixed and kind == "b"):
            raise error(_expected(what, dtype, name))


def difference(found: Sequence[str], wanted: Sequence[str]) -> str:
    """The difference between labels and those wanted: missing ones, unknown ones, or their order."""
    known, asked = {*found}, {*wanted}
    missing = [label for label in wanted if label not in known]
    unknown = [label for label in found if label not in asked]
    if not missing and not unknown:
        return f"they are in another order, {shown_labels(found)}" if len(found) == len(wanted) else "some are repeated"
    parts = [(missing, "missing"), (unknown, "unknown")]
    return "; ".join(f"{word}: {shown_labels(labels)}" for labels, word in parts if labels)


def check_same_labels(
    found: Sequence[str] | None, wanted: Sequence[str] | None, what: str, error: type[PfnError]
) -> None:
    """Refuse labels that are given on both sides and differ; `what` names the owner of the found ones."""
    if found is not None and wanted is not None and tuple(found) != tuple(wanted):
        raise error(
            f"{what}: expected the labels {shown_labels(wanted)} in this order, found others "
            f"({difference(found, wanted)}). Bring the table into this order, or give its bare numbers "
            "(.to_numpy()) if positions are meant."
        )
