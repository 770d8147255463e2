"""`draw`: networks, state machines, hierarchies and regular expressions on matplotlib axes."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from pfn.automata import Hierarchy, RegularExpression
from pfn.network import Network
from pfn.plots.drawings.contents import Drawable, Observed, check_options, scheme
from pfn.plots.drawings.curves import length_of, place_along
from pfn.plots.drawings.marks import (
    INK,
    LINE_TEXT,
    NODE_TEXT,
    PAPER,
    BoxMark,
    LineMark,
    NodeMark,
    dash_marks,
    extent,
    text_shape,
    text_size,
)
from pfn.plots.drawings.networks import sketch_network
from pfn.plots.drawings.state_diagrams import sketch_hierarchy, sketch_machine
from pfn.plots.pictures import Picture, picture_and_axes

# Points.
HEAD_LENGTH = 7.0
HEAD_WIDTH = 5.0
# Between the two outlines of a doubled state.
DOUBLE_GAP = 2.5
# Matplotlib's form of a dashed line: offset, then points drawn and points left out.
DASHES = (0, (4, 3))


def draw(
    thing: Drawable,
    *,
    observed: Observed = (),
    slices: int | None = None,
    plates: str | int | None = "N",
    implicit: bool = False,
    ax: Axes | None = None,
) -> Picture:
    """A drawing in the conventions of the paper's figures, as a picture of its own or on matplotlib axes.

    Networks: levels from top to bottom, `observed` variables white and hidden ones shaded, parameters on the arcs
    (the parts of a stacked one numbered), dash marks where a child has several equations, dashed lines between what
    is forced to be active together. With `slices` that many time slices; without, one slice, where (+1) leads to the
    next. A network without links in time stands on a plate. Machines: the off state dashed, arrows into start states,
    end and accepting states doubled.

    Parameters
    ----------
    thing
        Network, StateMachine, Hierarchy or RegularExpression.
    observed
        Observed variables of a network, or their names.
    slices
        Number of time slices to draw, at most 30; None: one slice, with the lags written at the arcs.
    plates
        Text of the plate, the number of samples; None draws the variables alone.
    implicit
        Draw the transitions that the diagram of a hierarchy leaves out, too, in blue.
    ax
        Axes to draw into; None: a new picture.

    Examples
    --------
    >>> import pfn
    >>> from pfn import t
    >>> x, h = pfn.Variable("x", 4), pfn.Variable("h", 6)
    >>> network = pfn.Network(pfn.Factorization([x[t], x[t + 1]], pfn.Parameter("W", shape=(8, 6)) @ h[t]))
    >>> picture = draw(network, observed=[x], slices=4)
    >>> picture.svg()[:5]
    '<?xml'
    """
    check_options("draw", thing, observed=observed, slices=slices, implicit=implicit)
    if isinstance(thing, Network):
        sketch = sketch_network(scheme(thing, observed, slices, plates))
    elif isinstance(thing, Hierarchy):
        sketch = sketch_hierarchy(thing, implicit=implicit)
    elif isinstance(thing, RegularExpression):
        sketch = sketch_machine(thing.machine, thing.accepting)
    else:
        sketch = sketch_machine(thing)
    left, bottom, right, top = extent(sketch)
    figure, axes = picture_and_axes(ax, ((right - left) / 72, (top - bottom) / 72))
    if ax is None:
        figure.set_layout_engine("none")
        axes.set_position((0, 0, 1, 1))
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.set_axis_off()
    # In this order no line hides a text or a node: later marks cover earlier ones.
    for box in sketch.boxes:
        _draw_box(axes, box)
    for line in sketch.lines:
        _draw_line(axes, line)
    for line in sketch.lines:
        _draw_label(axes, line)
    for node in sketch.nodes:
        _draw_node(axes, node)
    return figure


def _draw_box(axes: Axes, box: BoxMark) -> None:
    """A rounded box, with its text in the lower right corner."""
    corner, width, height = (box.left, box.bottom), box.right - box.left, box.top - box.bottom
    rounded = "round,pad=0,rounding_size=6"
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": "0.4", "linewidth": 0.9}
    axes.add_artist(FancyBboxPatch(corner, width, height, boxstyle=rounded, **look))
    width, height = text_size(box.text, LINE_TEXT)
    _write(axes, box.text, (box.right - width / 2 - 5, box.bottom + height / 2 + 5), LINE_TEXT, INK)


def _draw_line(axes: Axes, line: LineMark) -> None:
    """A curve with its arrowhead and dash marks."""
    curve = line.curve
    codes = [Path.MOVETO] + [Path.CURVE4] * (len(curve) - 1)
    look: dict[str, Any] = {"edgecolor": line.colour, "linewidth": 0.9, "capstyle": "butt"}
    style = DASHES if line.style == "dashed" else line.style
    axes.add_artist(PathPatch(Path(curve, codes), facecolor="none", linestyle=style, **look))
    if line.head:
        tip, (base, _) = curve[-1], place_along(curve, -min(HEAD_LENGTH, length_of(curve)))
        along = (tip - base) / np.linalg.norm(tip - base)
        side = np.array([-along[1], along[0]]) * HEAD_WIDTH / 2
        corners = [tip, base + side, base + 0.2 * (tip - base), base - side]
        axes.add_artist(Polygon(corners, closed=True, facecolor=line.colour, linewidth=0))
    for mark in dash_marks(line):
        axes.add_artist(PathPatch(Path(mark), facecolor="none", **look))


def _draw_label(axes: Axes, line: LineMark) -> None:
    """The label of a line, on a ground that hides the line behind it."""
    if not line.text or line.text_place is None:
        return
    width, height = text_size(line.text, LINE_TEXT)
    x, y = line.text_place
    corner = (x - width / 2, y - height / 2)
    axes.add_artist(FancyBboxPatch(corner, width, height, boxstyle="round,pad=1.5", facecolor=PAPER, linewidth=0))
    _write(axes, line.text, line.text_place, LINE_TEXT, line.colour)


def _draw_node(axes: Axes, node: NodeMark) -> None:
    """The outline of a node, twice if it is doubled, and its text."""
    shape, half_circle = node.shape, Path.arc(-90, 90)
    codes = np.asarray(half_circle.codes)
    style = DASHES if node.outline == "dashed" else node.outline
    for inset in (0.0, DOUBLE_GAP) if node.doubled else (0.0,):
        # Two half circles, with straight lines between them where the shape is wider than high.
        right = np.asarray(half_circle.vertices) * (shape.half_height - inset)
        right += np.array([shape.half_width - shape.half_height, 0.0])
        points = np.concatenate([right, -right, right[:1]]) + shape.centre
        outline = Path(points, [*codes, Path.LINETO, *codes[1:], Path.CLOSEPOLY])
        axes.add_artist(PathPatch(outline, facecolor=node.fill, edgecolor=INK, linewidth=1.0, linestyle=style))
    _write(axes, node.text, (shape.x, shape.y), NODE_TEXT, INK)


def _write(axes: Axes, text: str, place: tuple[float, float], size: float, colour: str) -> None:
    outline = Affine2D().translate(*place).transform_path(text_shape(text, size))
    axes.add_artist(PathPatch(outline, facecolor=colour, linewidth=0))
