"""Pictures: matplotlib figures made without pyplot, which show themselves in notebooks and save to the same bytes."""

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from pfn.errors import FileError, OptionError
from pfn.files import write_whole

# Metadata of files: no dates, so that equal pictures are equal files.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "pfn"},
    "png": {"Software": "pfn"},
    "pdf": {"CreationDate": None, "Creator": "pfn", "Producer": None},
}

# Dots per inch of PNG pictures: sharp on screens, twice as fine as the points in which sizes are given.
DPI = 144


class Picture(Figure):
    """A matplotlib figure of its own: no window, no global list of figures, no style changed.

    It shows itself in notebooks, and has everything that figures of matplotlib have.

    >>> picture = Picture(figsize=(2, 1))
    >>> picture.add_subplot().plot([1, 2, 4])
    [...]
    >>> picture.svg()[:5]
    '<?xml'
    """

    endings: ClassVar[tuple[str, ...]] = tuple(f".{kind}" for kind in METADATA)

    def save(self, path: str | PathLike[str], *, dpi: float = DPI) -> None:
        """Write the picture to a .svg, .png or .pdf file, the same bytes for the same picture."""
        place = Path(path)
        kind = place.suffix.lower().removeprefix(".")
        if kind not in METADATA:
            raise FileError(
                f"{place}: the name must end in {', '.join(self.endings)}, found {place.suffix or 'no ending'}."
            )
        write_whole(place, self._bytes(kind, dpi))

    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        return self._bytes("svg", DPI).decode()

    def png(self, dpi: float = DPI) -> bytes:
        """The picture as the bytes of a PNG file."""
        return self._bytes("png", dpi)

    def _bytes(self, kind: str, dpi: float) -> bytes:
        """The picture as the content of a file, without dates or random names."""
        content = BytesIO()
        with mpl.rc_context({"svg.hashsalt": "pfn"}):  # else names inside SVG files are hashed with a random number
            self.savefig(content, format=kind, dpi=dpi, metadata=METADATA[kind])
        return content.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg()


def picture_and_axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Picture, Axes]:
    """A new picture of that size in inches with its axes, or the given axes and their figure."""
    if ax is None:
        picture = Picture(figsize=size, layout="constrained")
        return picture, picture.add_subplot()
    figure = ax.get_figure(root=True)
    if figure is None:
        raise OptionError("ax must be matplotlib axes in a figure, found axes that were removed from theirs.")
    return cast("Picture", figure), ax  # the owner of the axes has the figure, and knows its type


def picture_or(figure: Figure | SubFigure | None, size: tuple[float, float]) -> Picture:
    """A new picture of that size in inches, or the given figure or subfigure."""
    return Picture(figsize=size, layout="constrained") if figure is None else cast("Picture", figure)  # as above
