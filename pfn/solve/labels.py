"""Labels of data and of variables, matched by name or refused by name, never by position.

The labels of rows are components: rows are put into the order of `Variable(labels=…)`. The labels of columns are times
or samples: all arrays of a sequence must have equal ones, evenly spaced where an equation looks back or ahead.
"""

from typing import Any, NamedTuple

from pfn.errors import DataError
from pfn.network import Network, Variable
from pfn.network.labelled import Labels, Table, difference, read_table, shown_labels

# Names that users of xarray give to the axis of time.
TIME = {"time", "times", "t", "date"}


class Times(NamedTuple):
    """The labels of the columns of an array, and what it is called in messages."""

    what: str
    labels: Labels


class Ordered(NamedTuple):
    """Numbers with components down, in the variable's order; the labels of columns, if they have some."""

    values: Any
    times: Times | None = None


def in_order(given: Any, variable: Variable, what: str, seen: dict[str, tuple[str, ...]]) -> Ordered:
    """The numbers given for a variable, in the order of its labels; anything without labels as it is.

    `seen` has, by variable without labels, those of its first array; later arrays must have them, too.
    """
    table = read_table(given, what, DataError)
    if table is None:
        return Ordered(given)
    if table.values.ndim == 1:
        raise DataError(
            f"{what}: a {type(given).__name__} of {len(table.values)} numbers may be one slice or one component. Give "
            "series.to_frame() for one slice, components down, or series.to_frame().T for one component over time."
        )
    if table.values.ndim != 2:
        return Ordered(table.values)
    table = _turned(table, variable, what)
    values = _by_name(table.values, table, variable, what, seen)
    if table.columns is None:
        return Ordered(values)
    if table.columns.repeated:
        raise DataError(
            f"{what}: two columns have the label {shown_labels(table.columns.repeated)}; each must be another time or "
            "sample. Rename them, or give the bare numbers (.to_numpy())."
        )
    return Ordered(values, Times(what, table.columns))


def _turned(table: Table, variable: Variable, what: str) -> Table:
    """The table with components down: one whose axes have names is turned, another one is refused."""
    wanted = set(variable.labels or ())
    down, right = (axis is not None and bool(wanted & {*axis.names}) for axis in (table.rows, table.columns))
    if down and right:
        raise DataError(
            f"{what}: both its rows and its columns have labels of {variable.name}, so it cannot be told which are its "
            "components. Give the bare numbers (.to_numpy()), components down."
        )
    if right and table.dims:
        return Table(table.values.T, table.columns, table.rows)
    times_down = (table.rows is not None and table.rows.are_times) or bool({*table.dims[:1]} & TIME)
    if right or (times_down and not down):
        found = f"labels of {variable.name}" if right else "times"
        along = "columns" if right else "rows"
        raise DataError(
            f"{what}: its {along} have {found}, but components go down and time to the right. "
            "It looks transposed: give table.T (in polars table.transpose())."
        )
    return table


def _by_name(values: Any, table: Table, variable: Variable, what: str, seen: dict[str, tuple[str, ...]]) -> Any:
    """The rows in the order of the variable's labels."""
    if table.rows is None:
        return values
    if table.rows.repeated:
        raise DataError(
            f"{what}: two rows have the label {shown_labels(table.rows.repeated)}; each must be another component. "
            "Rename them, or give the bare numbers (.to_numpy())."
        )
    names = table.rows.names
    if variable.labels is None:
        if seen.setdefault(variable.name, names) != names:
            raise DataError(
                f"{what}: its rows must be labelled like those of the first array of {variable.name}: "
                f"{difference(names, seen[variable.name])}. Declare {variable.name} with labels=[…] to match rows by "
                "name, or bring them into one order."
            )
        return values
    if names == tuple(variable.labels):
        return values
    if {*names} != {*variable.labels}:
        raise DataError(
            f"{what}: its rows must have the labels of {variable.name}; {difference(names, variable.labels)}. Rename "
            "them, or give the bare numbers (.to_numpy()) if positions are meant."
        )
    places = {name: place for place, name in enumerate(names)}
    return values[[places[label] for label in variable.labels]]


def looks_around(network: Network) -> bool:
    """True if an equation ties different times together: then columns must be evenly spaced in time."""
    slices = [piece for e in network.factorizations for piece in (*e.children, *e.parents)]
    return any(piece.lag for piece in slices) or any(term.window for e in network.factorizations for term in e.terms)


def check_times(times: Times, first: Times | None, *, even: bool) -> None:
    """Refuse columns that are not those of the first array of their sequence, or uneven where they must be even."""
    if first is not None:
        place = times.labels.differs_from(first.labels)
        if place is not None:
            raise DataError(
                f"{times.what} and {first.what} share the time axis, but column {place} is "
                f"{str(times.labels.index[place])!r} in one and {str(first.labels.index[place])!r} in the other. Bring "
                "both tables to the same columns; NaN where nothing is known."
            )
    if not even:
        return
    if times.labels.are_panels:
        raise DataError(
            f"{times.what}: its columns have labels of several levels, but an equation ties columns to those before "
            "them. Give a list of tables, one for every sequence."
        )
    place = times.labels.uneven()
    if place is not None:
        one, other = (str(times.labels.index[place + step]) for step in (0, 1))
        raise DataError(
            f"{times.what}: its columns must be evenly spaced in time, since an equation ties columns to those before "
            f"them, found {other!r} after {one!r}. Resample or sort the table (NaN in columns that are missing), or "
            "give the bare numbers (.to_numpy()) if columns are meant to count."
        )


def column_of(given: Any, variable: Variable, what: str, seen: dict[str, tuple[str, ...]]) -> Any:
    """The numbers given for one slice of a variable, in the order of its labels."""
    table = read_table(given, what, DataError)
    if table is None or table.values.ndim != 1:
        return in_order(given, variable, what, seen).values
    return _by_name(table.values, table, variable, what, seen)
