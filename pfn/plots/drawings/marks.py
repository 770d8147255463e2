"""Marks of a drawing as plain data: nodes, arrows with dash marks, dashed lines, boxes, and the sizes of their texts.

One unit is one point, texts and arrowheads included, so that a drawing in axes of another size scales as a whole.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from pfn.plots.drawings.curves import Oval, Points, place_along, samples

# Formulas in the paper's letters. Both fonts come with matplotlib, so a drawing looks the same on every machine.
FONT = FontProperties(family="DejaVu Serif", math_fontfamily="cm")

INK = "0.1"
PAPER = "white"
# Hidden variables, as in the paper's figures.
SHADE = "0.82"
# Implied transitions of hierarchies: the one colour, so that they stand apart from what was declared.
IMPLIED = "tab:blue"

# Sizes in points.
NODE_TEXT = 12.0
LINE_TEXT = 9.0
RADIUS = 14.0
# Between the text of a long node and its outline.
TEXT_MARGIN = 7.0
# Around the whole drawing.
MARGIN = 8.0
# A dash mark, and the way from one to the next along the arrow.
MARK_LENGTH = 8.0
MARK_STEP = 3.0
# From the tip of the arrow to the first dash mark, clear of the arrowhead.
MARK_PLACE = 12.0


@dataclass(frozen=True)
class NodeMark:
    """A circle with a text, wider for a long text; doubled for states in which one may end."""

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
    """A rounded box with a text in its lower right corner: a plate, or the machine of a refining state."""

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


@lru_cache(maxsize=4096)
def text_shape(text: str, size: float) -> Path:
    """The outline of a text, centred at the origin; an empty path for blanks."""
    if not text.strip():
        return Path(np.empty((0, 2)))
    outline = TextPath((0, 0), text, size=size, prop=FONT)
    left, bottom, right, top = _box_of(outline)
    return Affine2D().translate(-(left + right) / 2, -(bottom + top) / 2).transform_path(outline)


@lru_cache(maxsize=4096)
def text_size(text: str, size: float) -> tuple[float, float]:
    """Width and height of a text."""
    if not text.strip():
        return 0.0, 0.0
    left, bottom, right, top = _box_of(text_shape(text, size))
    return right - left, top - bottom


def _box_of(outline: Path) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of an outline."""
    # The point of a CLOSEPOLY is a placeholder at (0, 0): it would pull the box to the origin.
    points = np.asarray(outline.vertices)[np.asarray(outline.codes) != Path.CLOSEPOLY]
    (left, bottom), (right, top) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return left, bottom, right, top


def half_width(text: str) -> float:
    """Half the width of a node with this text."""
    width, _ = text_size(text, NODE_TEXT)
    return max(RADIUS, width / 2 + TEXT_MARGIN)


def label_half_width(text: str) -> float:
    """Half the width of the label of a line."""
    return text_size(text, LINE_TEXT)[0] / 2


def dash_marks(line: LineMark) -> list[Points]:
    """Short strokes across a line near its end, which tell the equations of one child apart."""
    marks = []
    for number in range(line.dashes):
        centre, along = place_along(line.curve, -(line.dashes_at + number * MARK_STEP))
        across = np.array([-along[1], along[0]]) * MARK_LENGTH / 2
        marks.append(np.array([centre - across, centre + across]))
    return marks


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
    """The sketch moved up by that many points, or down where negative."""
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
