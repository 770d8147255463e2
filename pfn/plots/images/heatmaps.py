"""Heatmaps: matrices as images, alone, in a stack on one time axis, or before and after a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import Colormap, Normalize, PowerNorm
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator

from pfn.errors import OptionError
from pfn.network import Parameter, Variable
from pfn.plots.images.named_matrices import NamedMatrix, as_result, matrix_of, with_labels
from pfn.plots.notation import plain
from pfn.plots.pictures import Picture, picture_and_axes, picture_or
from pfn.solve import Result
from pfn.solve.checks import check_count, check_positive

Item = Variable | Parameter | str

# Hidden entries: a grey with some blue, which no colour of "hot" and no shade of "gray" can be mistaken for.
HIDDEN = "#9db0c3"

# Points that a line of small text takes, and a number of up to three digits with the space beside it.
LINE = 9.5
NUMBER = 24.0
# Ticks, at most, where not every entry has one.
MOST_ROUND = 10

# Inches: width of the scale bar, and width and height of an entry where few entries leave the choice.
BAR = 0.13
CELL = 0.28
# Inches: height and width, at most, of a picture of one matrix.
PICTURE = (3.2, 6.0)
# Inches, of a stack: height of all images together and width, at most; height of each image, at least.
HIGHEST = 6.5
WIDEST = 6.0
LOWEST = 0.45


@dataclass(frozen=True)
class Look:
    """Colours and numbers of a heatmap: 0 is the first colour of the map, `largest` (None: the largest value) the last.

    With a `power` below 1 small values are brighter: colours follow value ** power. `first` is the number of the
    first slice, and of the first component where there are no labels.
    """

    colormap: str = "hot"
    power: float = 1.0
    largest: float | None = None
    first: int = 1

    def __post_init__(self) -> None:
        check_positive(self.power, "power")
        if self.largest is not None:
            check_positive(self.largest, "largest")
        check_count(self.first, "first", 0)
        colours(self.colormap)

    def norm(self, largest: float) -> Normalize:
        """The map from values to 0 … 1, with the largest value of this look, or else the one given, at 1."""
        top = self.largest or largest or 1.0  # a matrix of zeros is black, whatever 1 would be
        return Normalize(0.0, top) if self.power == 1 else PowerNorm(self.power, 0.0, top)


def colours(name: str) -> Colormap:
    """A colormap of matplotlib, with the colour of hidden entries."""
    if not isinstance(name, str) or name not in mpl.colormaps:
        raise OptionError(
            f"colormap must be the name of a matplotlib colormap, such as 'hot', or 'cividis', 'viridis', 'gray', "
            f"which everyone can tell apart; found {name!r}."
        )
    return mpl.colormaps[name].with_extremes(bad=HIDDEN)


def show(ax: Axes, matrix: NamedMatrix, look: Look, *, norm: Normalize | None = None) -> AxesImage:
    """Draw a matrix as an image; the coordinates of the axes are the numbers of slices and components."""
    rows, columns = matrix.values.shape
    start = look.first - 0.5
    drawn = ax.imshow(
        np.ma.masked_invalid(matrix.values),
        cmap=colours(look.colormap),
        norm=norm or look.norm(matrix.largest),
        aspect="auto",
        extent=(start, start + columns, start + rows, start),
    )
    label_entries(ax.yaxis, rows, matrix.labels, look, lines=True)
    label_entries(ax.xaxis, columns, None, look)
    ax.tick_params(length=2, labelsize="small")
    return drawn


def label_entries(axis: Axis, count: int, labels: Sequence[str] | None, look: Look, *, lines: bool = False) -> None:
    """Ticks for components or slices: their labels or numbers, all where there is room for all.

    `lines`: the labels are lines of text below each other along the axis, not side by side.
    """
    numbers = range(look.first, look.first + count)
    texts = dict(zip(numbers, labels or map(str, numbers), strict=True))
    axis.set_major_locator(EntryLocator(look.first, count, lines=lines))
    axis.set_major_formatter(FuncFormatter(lambda place, _: plain(texts.get(round(place), ""))))


class EntryLocator(Locator):
    """A tick for every entry where there is room; otherwise for round numbers."""

    def __init__(self, first: int, count: int, *, lines: bool) -> None:
        self.first, self.count, self.lines = first, count, lines

    def __call__(self) -> list[int]:
        """The numbers of the entries to mark, now that the axis has its length."""
        axis: Any = self.axis
        box = axis.axes.get_window_extent()
        length = (box.height if axis.axis_name == "y" else box.width) * 72 / axis.axes.figure.dpi
        room = length / (LINE if self.lines else NUMBER)
        return ticks(self.count, max(int(room), 2), self.first)


def ticks(count: int, most: int, first: int = 1) -> list[int]:
    """The numbers of entries to mark: all of them up to `most`, else about `most` round ones.

    >>> ticks(4, 12), ticks(26, 6)
    ([1, 2, 3, 4], [5, 10, 15, 20, 25])
    """
    if count <= most:
        return list(range(first, first + count))
    numbers = MaxNLocator(min(most, MOST_ROUND), steps=[1, 2, 5, 10], integer=True).tick_values(
        first, first + count - 1
    )
    return [int(number) for number in numbers if first <= number < first + count]


def add_scale_bar(axes: Sequence[Axes], drawn: AxesImage, unit: str = "") -> None:
    """A scale of colours beside axes below each other, with its lowest, middle and highest value."""
    figure = axes[0].get_figure(root=False)
    assert figure is not None  # they have just been drawn into
    width, height = axes[0].get_window_extent().width, sum(ax.get_window_extent().height for ax in axes)
    low, high = (float(end or 0.0) for end in drawn.get_clim())
    bar = figure.colorbar(
        drawn,
        ax=axes,
        pad=0.02,
        fraction=1.5 * BAR * figure.dpi / width,
        aspect=height / (BAR * figure.dpi),
        ticks=[low, (low + high) / 2, high],
        label=unit,
        format="%.3g",
    )
    bar.ax.tick_params(length=2, labelsize="small")


def inches(rows: int, columns: int, *, most: tuple[float, float] = PICTURE) -> tuple[float, float]:
    """Width and height of an image: its entries are squares while they are few, and it never exceeds `most`."""
    return float(np.clip(columns * CELL, 1.0, most[1])), float(np.clip(rows * CELL, 0.5, most[0]))


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

    Parameters
    ----------
    values
        Result or data with the variable to show, or an array, dense or sparse; NaN, hidden, is grey.
    variable
        Variable, parameter or name in the result or data; with an array, the source of the name and labels.
    labels
        Names of the components, in place of the variable's own.
    ax
        Axes to draw into; None: a new picture.
    sequence
        Number, from 0, of the sequence to show where there are several.
    colormap
        Name of a colormap of matplotlib; "cividis", "viridis" and "gray" can be read without telling red from green.
    power
        Colours follow values to this power: 0.5 shows small values brighter.
    largest
        Value of the last colour; None: the largest value.
    first
        Number of the first slice, 1 as in the paper, or 0.
    scale_bar
        Draw the scale of colours.

    Examples
    --------
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

    Parameters
    ----------
    values
        Result, or arrays by name: two spectrograms to compare, for example.
    variables
        Variables, parameters or names, from top to bottom.
    figure
        Matplotlib figure or subfigure to draw into; None: a new picture.
    sequence
        Number, from 0, of the sequence to show where there are several.
    colormap
        Name of a colormap of matplotlib.
    power
        Colours follow values to this power: 0.5 shows small values brighter.
    largest
        Value of the last colour; None: the largest value.
    first
        Number of the first slice, 1 as in the paper, or 0.
    common_scale
        One scale of colours for all images, in place of one each.
    upward
        Variables whose components count from the bottom, as frequencies do.

    Examples
    --------
    >>> import numpy as np
    >>> stack({"actual": np.eye(4), "found": np.eye(4)}, ["actual", "found"]).svg()[:5]
    '<?xml'
    """
    look = Look(colormap, power, largest, first)
    matrices = [matrix_of(values, item, sequence=sequence) for item in listed(variables)]
    turned = {matrix_of(values, item, sequence=sequence).name for item in upward}
    widths, tall = zip(*(inches(*matrix.values.shape, most=(HIGHEST, WIDEST)) for matrix in matrices), strict=True)
    heights = np.maximum(np.array(tall) * min(1.0, HIGHEST / np.sum(tall)), LOWEST).tolist()
    target = picture_or(figure, (max(widths) + 1.8, sum(heights) + 0.15 * len(heights) + 0.6))
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
    # The time axis of all, as long as that of the longest, under the lowest.
    columns = max(matrix.values.shape[1] for matrix in matrices)
    label_entries(rows[-1].xaxis, columns, None, look)
    rows[-1].set_xlim(look.first - 0.5, look.first + columns - 0.5)
    rows[-1].set_xlabel("time slice", fontsize="small")
    return target


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
    """Given values, hidden entries grey, over the values found, side by side for several variables.

    A variable that is not in the data was hidden throughout. Both images of a variable have one scale.

    Parameters
    ----------
    data
        Observations, as given to `pfn.infer` or `pfn.learn`.
    result
        Result of that call.
    variables
        Variables or names, from left to right.
    figure
        Matplotlib figure or subfigure to draw into; None: a new picture.
    sequence
        Number, from 0, of the sequence to show where there are several.
    colormap
        Name of a colormap of matplotlib.
    power
        Colours follow values to this power: 0.5 shows small values brighter.
    largest
        Value of the last colour; None: the largest value.
    first
        Number of the first slice, 1 as in the paper, or 0.

    Examples
    --------
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


def given_values(data: Mapping[Any, Any], found: NamedMatrix, sequence: int) -> NamedMatrix:
    """Observations of a variable, NaN where there are none, in the shape of the values found."""
    if not isinstance(data, Mapping):
        raise OptionError(f"the data must be a mapping such as {{x: array}}, found {type(data).__name__}.")
    values = np.full_like(found.values, np.nan)
    if any(getattr(key, "name", key) == found.name for key in data):
        item = Variable(found.name, len(values), found.labels) if found.labels else found.name
        observed = matrix_of(data, item, sequence=sequence).values[:, : values.shape[1]]
        values[:, : observed.shape[1]] = observed
    return found._replace(values=values)


def listed(items: Iterable[Item]) -> list[Item]:
    """The items as a list; refuse an empty one, and a single item."""
    if isinstance(items, str | Variable | Parameter) or not isinstance(items, Iterable):
        raise OptionError(f"variables must be a list such as [x, h], found {items!r}.")
    chosen = list(items)
    if not chosen:
        raise OptionError("variables must name at least one variable, found an empty list.")
    return chosen
