"""The marks of a drawing, as plain data and on axes: nodes, arrows with dash marks, dashed lines, boxes, texts.

One unit is one point, texts and arrowheads included, so that a drawing in axes of another size scales as a whole.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from pfn.plots.curves import Oval, Points, length_of, place_along, samples
from pfn.plots.pictures import Picture, picture_and_axes
from pfn.plots.texts import text_shape, text_size

INK, SHADE, PAPER, IMPLIED = "0.1", "0.82", "white", "tab:blue"
NODE_TEXT, LINE_TEXT = 12.0, 9.0
RADIUS, TEXT_MARGIN = 14.0, 7.0
MARGIN = 8.0
HEAD_LENGTH, HEAD_WIDTH = 7.0, 5.0
MARK_LENGTH, MARK_STEP, MARK_PLACE = 8.0, 3.0, 12.0
DASHES = (0, (4, 3))
"""Lines as matplotlib describes them: 4 points drawn, 3 left out."""


@dataclass(frozen=True)
class NodeMark:
    """A circle, or longer for a long name, with a text; doubled for states in which one may end."""

    shape: Oval
    text: str
    fill: str = PAPER
    outline: str = "solid"
    doubled: bool = False


@dataclass(frozen=True)
class LineMark:
    """A curve with an arrowhead at its end, dash marks before it, and a text at a place."""

    curve: Points
    text: str = ""
    text_place: tuple[float, float] | None = None
    dashes: int = 0
    dashes_at: float = MARK_PLACE
    """Points from the end of the curve to the first dash mark."""
    head: bool = True
    style: str = "solid"
    colour: str = INK


@dataclass(frozen=True)
class BoxMark:
    """A rounded box with a text in a lower corner: a plate, or a machine inside a state."""

    left: float
    bottom: float
    right: float
    top: float
    text: str = ""


@dataclass(frozen=True)
class Sketch:
    """All marks of a drawing."""

    nodes: Sequence[NodeMark]
    lines: Sequence[LineMark]
    boxes: Sequence[BoxMark] = ()


def half_width(text: str) -> float:
    """Half the width of a node with this text."""
    width, _ = text_size(text, NODE_TEXT)
    return max(RADIUS, width / 2 + TEXT_MARGIN)


def label_half_width(text: str) -> float:
    """Half the width of a text on a line."""
    return text_size(text, LINE_TEXT)[0] / 2


def show(sketch: Sketch, ax: Axes | None) -> Picture:
    """The sketch on the axes, or as a picture of its own size."""
    left, bottom, right, top = extent(sketch)
    figure, axes = picture_and_axes(ax, ((right - left) / 72, (top - bottom) / 72))
    if ax is None:
        figure.set_layout_engine("none")
        axes.set_position((0, 0, 1, 1))
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.set_axis_off()
    for box in sketch.boxes:
        _draw_box(axes, box)
    for line in sketch.lines:
        _draw_line(axes, line)
    for line in sketch.lines:
        _draw_line_text(axes, line)
    for node in sketch.nodes:
        _draw_node(axes, node)
    return figure


def extent(sketch: Sketch, margin: float = MARGIN) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of all marks, with a margin."""
    corners: list[Iterable[Points]] = []
    for node in sketch.nodes:
        size = np.array([node.shape.half_width, node.shape.half_height])
        corners.append((node.shape.centre - size, node.shape.centre + size))
    for line in sketch.lines:
        corners.append(samples(line.curve))
        if line.text_place is not None:
            half = np.array(text_size(line.text, LINE_TEXT)) / 2
            corners.append((np.array(line.text_place) - half, np.array(line.text_place) + half))
    corners += [(np.array([box.left, box.bottom]), np.array([box.right, box.top])) for box in sketch.boxes]
    points = np.array([corner for pair in corners for corner in pair])
    (left, bottom), (right, top) = points.min(axis=0) - margin, points.max(axis=0) + margin
    return float(left), float(bottom), float(right), float(top)


def moved(sketch: Sketch, up: float) -> Sketch:
    """The same marks that much higher."""
    return Sketch(
        [replace(node, shape=node.shape._replace(y=node.shape.y + up)) for node in sketch.nodes],
        [
            replace(
                line,
                curve=line.curve + np.array([0.0, up]),
                text_place=None if line.text_place is None else (line.text_place[0], line.text_place[1] + up),
            )
            for line in sketch.lines
        ],
        [replace(box, bottom=box.bottom + up, top=box.top + up) for box in sketch.boxes],
    )


def _draw_node(axes: Axes, node: NodeMark) -> None:
    for inset in (0.0, 2.5) if node.doubled else (0.0,):
        outline = _outline(node.shape, inset)
        style = DASHES if node.outline == "dashed" else node.outline
        axes.add_artist(PathPatch(outline, facecolor=node.fill, edgecolor=INK, linewidth=1.0, linestyle=style))
    _write(axes, node.text, (node.shape.x, node.shape.y), NODE_TEXT, INK)


def _outline(shape: Oval, inset: float) -> Path:
    """Two half circles, with straight lines between them where the shape is longer than high."""
    half_circle = Path.arc(-90, 90)
    right, codes = np.asarray(half_circle.vertices) * (shape.half_height - inset), np.asarray(half_circle.codes)
    right += np.array([shape.half_width - shape.half_height, 0.0])
    points = np.concatenate([right, -right, right[:1]]) + shape.centre
    return Path(points, [*codes, Path.LINETO, *codes[1:], Path.CLOSEPOLY])


def _draw_line(axes: Axes, line: LineMark) -> None:
    codes = [Path.MOVETO] + [Path.CURVE4] * (len(line.curve) - 1)
    look = {"edgecolor": line.colour, "linewidth": 0.9, "capstyle": "butt"}
    style = DASHES if line.style == "dashed" else line.style
    axes.add_artist(PathPatch(Path(line.curve, codes), facecolor="none", linestyle=style, **look))
    if line.head:
        tip, base, side = _head(line.curve)
        corners = [tip, base + side, base + 0.2 * (tip - base), base - side]
        axes.add_artist(Polygon(corners, closed=True, facecolor=line.colour, linewidth=0))
    for mark in dash_marks(line):
        axes.add_artist(PathPatch(Path(mark), facecolor="none", **look))


def _head(curve: Points) -> tuple[Points, Points, Points]:
    base, _ = place_along(curve, -min(HEAD_LENGTH, length_of(curve)))
    along = (curve[-1] - base) / np.linalg.norm(curve[-1] - base)
    return curve[-1], base, np.array([-along[1], along[0]]) * HEAD_WIDTH / 2


def dash_marks(line: LineMark) -> list[Points]:
    """The short strokes across a line, near its end, that tell its equation from others of the same child."""
    marks = []
    for number in range(line.dashes):
        centre, along = place_along(line.curve, -(line.dashes_at + number * MARK_STEP))
        across = np.array([-along[1], along[0]]) * MARK_LENGTH / 2
        marks.append(np.array([centre - across, centre + across]))
    return marks


def _draw_line_text(axes: Axes, line: LineMark) -> None:
    if not line.text or line.text_place is None:
        return
    width, height = text_size(line.text, LINE_TEXT)
    x, y = line.text_place
    corner = (x - width / 2, y - height / 2)
    behind = FancyBboxPatch(corner, width, height, boxstyle="round,pad=1.5", facecolor=PAPER, linewidth=0)
    axes.add_artist(behind)
    _write(axes, line.text, line.text_place, LINE_TEXT, line.colour)


def _draw_box(axes: Axes, box: BoxMark) -> None:
    corner, width, height = (box.left, box.bottom), box.right - box.left, box.top - box.bottom
    axes.add_artist(
        FancyBboxPatch(
            corner,
            width,
            height,
            boxstyle="round,pad=0,rounding_size=6",
            facecolor="none",
            edgecolor="0.4",
            linewidth=0.9,
        )
    )
    width, height = text_size(box.text, LINE_TEXT)
    _write(axes, box.text, (box.right - width / 2 - 5, box.bottom + height / 2 + 5), LINE_TEXT, INK)


def _write(axes: Axes, text: str, place: tuple[float, float], size: float, colour: str) -> None:
    outline = Affine2D().translate(*place).transform_path(text_shape(text, size))
    axes.add_artist(PathPatch(outline, facecolor=colour, linewidth=0))
