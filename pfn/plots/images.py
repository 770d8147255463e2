"""Image plots of values: one variable, several on one time axis, what was given over what was found."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from pfn.errors import OptionError
from pfn.network import Parameter, Variable
from pfn.plots.heatmaps import Look, add_scale_bar, inches, label_entries, show
from pfn.plots.matrices import Matrix, as_result, matrix_of, with_labels
from pfn.plots.pictures import Picture, picture_and_axes, picture_or
from pfn.solve import Result

Item = Variable | Parameter | str

HIGHEST, WIDEST, LOWEST = 6.5, 6.0, 0.45
"""Inches: of all images of a stack together, of its width, of the lowest image."""


def image(
    values: Any,
    variable: Item | None = None,
    *,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
    sequence: int = 0,
    colormap: str = "hot",
    power: float = 1.0,
    largest: float | None = None,
    first: int = 1,
    scale_bar: bool = True,
) -> Picture:
    """An image plot of a variable or a parameter: components down, time slices to the right, black 0, white the most.

    - values: a result or data with the variable to show, or an array, dense or sparse; NaN, hidden, is grey;
    - variable: of the result or data; with an array it gives the name and the labels of components;
    - labels: names of the components, instead of the variable's own;
    - ax: matplotlib axes to draw into; None: a new picture;
    - sequence: the number, from 0, of the sequence to show where there are several;
    - colormap: any of matplotlib; "cividis", "viridis" and "gray" can be read without telling red from green;
    - power: colours follow values to this power: 0.5 shows small values brighter;
    - largest: the value of the last colour; None: the largest there is;
    - first: the number of the first slice, 1 as in the paper, or 0.

    >>> import numpy as np
    >>> image(np.eye(4)).svg()[:5]
    '<?xml'
    """
    look = Look(colormap, power, largest, first)
    matrix = with_labels(matrix_of(values, variable, sequence=sequence), labels)
    width, height = inches(*matrix.values.shape)
    figure, axes = picture_and_axes(ax, (width + 1.6, height + 0.8))
    drawn = show(axes, matrix, look)
    axes.set_title(matrix.symbol.math() if matrix.name else "")
    if matrix.timed:
        axes.set_xlabel("time slice", fontsize="small")
    if scale_bar:
        add_scale_bar([axes], drawn)
    return figure


def stack(
    values: Result | Mapping[Any, Any],
    variables: Iterable[Item],
    *,
    figure: Figure | SubFigure | None = None,
    sequence: int = 0,
    colormap: str = "hot",
    power: float = 1.0,
    largest: float | None = None,
    first: int = 1,
    common_scale: bool = False,
    upward: Iterable[Item] = (),
) -> Picture:
    """Several variables on one time axis, the first on top, as in the figures of the paper's section 5.

    `values` is a result, or a mapping from names to arrays: two spectrograms to compare, for example. Every image has
    its own scale, or all a common one. The components of variables in `upward` count from the bottom, as frequencies
    do. `figure` is a matplotlib figure or subfigure to draw into. The other options are those of `image`.

    >>> import numpy as np
    >>> stack({"actual": np.eye(4), "found": np.eye(4)}, ["actual", "found"]).svg()[:5]
    '<?xml'
    """
    look = Look(colormap, power, largest, first)
    matrices = [matrix_of(values, item, sequence=sequence) for item in listed(variables)]
    turned = {matrix_of(values, item, sequence=sequence).name for item in upward}
    width, heights = _column(matrices)
    target = picture_or(figure, (width + 1.8, sum(heights) + 0.15 * len(heights) + 0.6))
    ratios = {"height_ratios": heights}
    rows: list[Axes] = target.subplots(len(matrices), 1, sharex=True, squeeze=False, gridspec_kw=ratios)[:, 0].tolist()
    norm = look.norm(max(matrix.largest for matrix in matrices)) if common_scale else None
    for ax, matrix in zip(rows, matrices, strict=True):
        drawn = show(ax, matrix, look, norm=norm)
        ax.set_ylabel(matrix.symbol.math(), rotation=0, ha="right", va="center", fontsize="large")
        ax.label_outer()
        if matrix.name in turned:
            ax.invert_yaxis()
        if not common_scale:
            add_scale_bar([ax], drawn)
    if common_scale:
        add_scale_bar(rows, drawn)
    target.align_ylabels(rows)
    _share_time(rows[-1], matrices, look)
    return target


def _column(matrices: Sequence[Matrix]) -> tuple[float, list[float]]:
    """The common width and the heights, in inches, of images one below the other: rows of one height if they can."""
    sizes = [inches(*matrix.values.shape, most=(HIGHEST, WIDEST)) for matrix in matrices]
    heights = np.array([height for _, height in sizes])
    heights = np.maximum(heights * min(1.0, HIGHEST / heights.sum()), LOWEST)
    return max(width for width, _ in sizes), heights.tolist()


def _share_time(lowest: Axes, matrices: Sequence[Matrix], look: Look) -> None:
    """The time axis of all, as long as the longest of them, under the lowest."""
    columns = max(matrix.values.shape[1] for matrix in matrices)
    label_entries(lowest.xaxis, columns, None, look)
    lowest.set_xlim(look.first - 0.5, look.first + columns - 0.5)
    lowest.set_xlabel("time slice", fontsize="small")


def before_and_after(
    data: Mapping[Any, Any],
    result: Result,
    variables: Variable | str | Iterable[Item],
    *,
    figure: Figure | SubFigure | None = None,
    sequence: int = 0,
    colormap: str = "hot",
    power: float = 1.0,
    largest: float | None = None,
    first: int = 1,
) -> Picture:
    """What was given, hidden entries grey, over what came out, side by side for several variables.

    A variable that is not in the data was hidden throughout. Both images of a variable have one scale. The options
    are those of `stack`.

    >>> import numpy as np, pfn
    >>> x, h = pfn.Variable("x", 2), pfn.Variable("h", 1)
    >>> network = pfn.Network(pfn.Factorization(x[pfn.t], pfn.Parameter("W", [[1], [2]]) @ h[pfn.t]))
    >>> data = {x: np.array([[3.0, 1.0], [np.nan, 2.0]])}
    >>> before_and_after(data, pfn.infer(network, data), x).svg()[:5]
    '<?xml'
    """
    look = Look(colormap, power, largest, first)
    items = listed([variables] if isinstance(variables, Variable | str) else variables)
    found = [matrix_of(as_result(result, "before_and_after"), item, sequence=sequence) for item in items]
    given = [given_values(data, matrix, sequence) for matrix in found]
    sizes = [inches(*matrix.values.shape) for matrix in found]
    widths = [width for width, _ in sizes]
    height = max(height for _, height in sizes)
    target = picture_or(figure, (sum(widths) + 1.2 * len(widths) + 0.6, 2 * height + 1.2))
    grid = target.subplots(2, len(found), sharex="col", squeeze=False, gridspec_kw={"width_ratios": widths})
    for column, (before, after) in enumerate(zip(given, found, strict=True)):
        norm = look.norm(max(before.largest, after.largest))
        for ax, matrix, word in zip(grid[:, column], (before, after), ("given", "found"), strict=True):
            drawn = show(ax, matrix, look, norm=norm)
            ax.set_title(f"{matrix.symbol.math()} {word}")
        add_scale_bar(grid[:, column].tolist(), drawn)
        grid[0, column].tick_params(labelbottom=False)
        grid[1, column].set_xlabel("time slice", fontsize="small")
    return target


def given_values(data: Mapping[Any, Any], found: Matrix, sequence: int) -> Matrix:
    """What the data say of a variable, hidden where they say nothing, with the columns of what was found."""
    if not isinstance(data, Mapping):
        raise OptionError(f"the data must be a mapping such as {{x: array}}, found {type(data).__name__}.")
    values = np.full_like(found.values, np.nan)
    if any(getattr(key, "name", key) == found.name for key in data):
        item = Variable(found.name, len(values), found.labels) if found.labels else found.name
        observed = matrix_of(data, item, sequence=sequence).values[:, : values.shape[1]]
        values[:, : observed.shape[1]] = observed
    return found._replace(values=values)


def listed(items: Iterable[Item]) -> list[Item]:
    """The items as a list with at least one."""
    if isinstance(items, str | Variable | Parameter) or not isinstance(items, Iterable):
        raise OptionError(f"variables must be a list such as [x, h], found {items!r}.")
    chosen = list(items)
    if not chosen:
        raise OptionError("variables must name at least one variable, found an empty list.")
    return chosen
