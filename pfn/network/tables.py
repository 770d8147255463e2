"""Tables: how networks, schedules, results and machines show themselves, in a terminal and in a notebook."""

from collections.abc import Sequence
from html import escape

Row = Sequence[str]

MOST_ROWS = 100
"""A notebook shows so many rows of a table, and says how many more there are."""


def text_table(header: Row, rows: Sequence[Row]) -> list[str]:
    """The lines of a table with aligned columns.

    >>> text_table(("name", "size"), [("x", "4")])
    ['name  size', 'x     4']
    """
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, *rows]
    ]


def html_table(header: Row, rows: Sequence[Row]) -> str:
    """The same as HTML, with every text escaped."""
    more = [[f"… and {len(rows) - MOST_ROWS} more", *[""] * (len(header) - 1)]] if len(rows) > MOST_ROWS else []
    body = "".join(_html_row(row, "td") for row in [*rows[:MOST_ROWS], *more])
    return f"<table><thead>{_html_row(header, 'th')}</thead><tbody>{body}</tbody></table>"


def _html_row(row: Row, tag: str) -> str:
    return "<tr>" + "".join(f"<{tag} style='text-align:left'>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
