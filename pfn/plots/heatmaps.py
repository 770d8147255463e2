"""How a matrix is shown: colours, the scale bar, ticks for few and for many components, sizes in inches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import Colormap, Normalize, PowerNorm
from matplotlib.image import AxesImage
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator

from pfn.errors import OptionError
from pfn.plots.matrices import Matrix
from pfn.plots.symbols import plain
from pfn.solve.checks import check_count, check_positive

HIDDEN = "#9db0c3"
"""Hidden entries: a grey with some blue, which no colour of "hot" and no shade of "gray" can be mistaken for."""

LINE, NUMBER = 9.5, 24.0
"""Points that a line of small text takes, and a number of up to three digits with the space beside it."""

MOST_ROUND = 10
"""So many ticks are enough where not every entry has one."""

BAR = 0.13
"""Inches that the scale bar is wide."""

CELL = 0.28
"""Width and height of an entry in inches, where few entries leave the choice."""


@dataclass(frozen=True)
class Look:
    """How values become colours: 0 is the first colour of the map, `largest` (None: the largest value) the last.

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
        """From values to 0 … 1, the largest value given or this one."""
        top = self.largest or largest or 1.0  # nothing but zeros is black, whatever 1 would be
        return Normalize(0.0, top) if self.power == 1 else PowerNorm(self.power, 0.0, top)


def colours(name: str) -> Colormap:
    """A colormap of matplotlib with the colour of hidden entries."""
    if not isinstance(name, str) or name not in mpl.colormaps:
        raise OptionError(
            f"colormap must be the name of a matplotlib colormap, such as 'hot', or 'cividis', 'viridis', 'gray', "
            f"which everyone can tell apart; found {name!r}."
        )
    return mpl.colormaps[name].with_extremes(bad=HIDDEN)


def show(ax: Axes, matrix: Matrix, look: Look, *, norm: Normalize | None = None) -> AxesImage:
    """The matrix as an image in the axes, whose coordinates are the numbers of slices and components."""
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

    `lines` says that the labels are lines one after the other along the axis, not side by side.
    """
    numbers = range(look.first, look.first + count)
    texts = dict(zip(numbers, labels or map(str, numbers), strict=True))
    axis.set_major_locator(Entries(look.first, count, lines=lines))
    axis.set_major_formatter(FuncFormatter(lambda place, _: plain(texts.get(round(place), ""))))


class Entries(Locator):
    """Every entry gets a tick where there is room; otherwise round numbers do."""

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
    """The numbers of entries to mark: all, or at most about so many round ones.

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
    """The scale of colours beside axes one below the other: its lowest, middle and highest value."""
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


def inches(rows: int, columns: int, *, most: tuple[float, float] = (3.2, 6.0)) -> tuple[float, float]:
    """Width and height of an image: squares while there are few entries, then no larger than a page takes."""
    return float(np.clip(columns * CELL, 1.0, most[1])), float(np.clip(rows * CELL, 0.5, most[0]))
