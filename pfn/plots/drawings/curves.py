"""Curves between shapes: cubic Bézier pieces, trimmed where they meet what they connect."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.bezier import BezierSegment, NonIntersectingPathException, split_bezier_intersecting_with_closedpath
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq

# The control points of a curve, (3 n + 1, 2) for n pieces, or other points (points, 2).
Points = npt.NDArray[np.float64]

# Points that a piece of a curve is judged by: even across a large drawing closer together than a node is wide.
SAMPLES = 80


class Oval(NamedTuple):
    """A circle around its centre, or one drawn out to both sides: two half circles joined by straight lines."""

    x: float
    y: float
    half_width: float
    half_height: float

    @classmethod
    def at(cls, centre: npt.ArrayLike, half_width: float, half_height: float | None = None) -> "Oval":
        """An oval around a point; a circle if only one size is given."""
        x, y = np.asarray(centre, dtype=float).tolist()
        return cls(x, y, half_width, half_width if half_height is None else half_height)

    @property
    def centre(self) -> Points:
        """The centre, as an array (2,)."""
        return np.array([self.x, self.y])

    def overlaps(self, other: "Oval") -> bool:
        """True if the rectangles around two ovals overlap."""
        return (
            abs(self.x - other.x) < self.half_width + other.half_width
            and abs(self.y - other.y) < self.half_height + other.half_height
        )

    def clearance(self, points: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Distances of points from the outline; negative inside."""
        offset = np.abs(np.asarray(points, dtype=float) - self.centre)
        beside = np.maximum(offset[..., 0] - (self.half_width - self.half_height), 0)
        distance: npt.NDArray[np.float64] = np.hypot(beside, offset[..., 1]) - self.half_height
        return distance


def straight(start: npt.ArrayLike, end: npt.ArrayLike) -> Points:
    """A straight line, as a curve of one piece."""
    return np.linspace(np.asarray(start, dtype=float), np.asarray(end, dtype=float), 4)


def smooth(points: Sequence[tuple[float, float]]) -> Points:
    """A curve through points of falling (or rising) height; between two of them it never leaves their range."""
    x, height = np.asarray(points, dtype=float).T
    order = np.argsort(height)
    slopes = PchipInterpolator(height[order], x[order]).derivative()(height)
    pieces = [np.array([[x[0], height[0]]])]
    for here in range(len(x) - 1):
        third = (height[here + 1] - height[here]) / 3
        pieces.append(
            np.array(
                [
                    [x[here] + slopes[here] * third, height[here] + third],
                    [x[here + 1] - slopes[here + 1] * third, height[here + 1] - third],
                    [x[here + 1], height[here + 1]],
                ]
            )
        )
    return np.concatenate(pieces)


def bowed(start: npt.ArrayLike, end: npt.ArrayLike, bow: float) -> Points:
    """A curve that leaves the straight line by `bow` times its length, to the left in its own direction."""
    begin, finish = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    along = finish - begin
    aside = np.array([-along[1], along[0]]) * bow * 4 / 3  # a cubic reaches 3/4 of its control points' height
    return np.array([begin, begin + along * 0.25 + aside, begin + along * 0.75 + aside, finish])


def under(start: npt.ArrayLike, end: npt.ArrayLike, depth: float) -> Points:
    """A curve that passes `depth` below the lower end: down, flat to below the other end, and up to it."""
    begin, finish = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    low = min(begin[1], finish[1]) - depth
    turn = min(2 * depth, abs(finish[0] - begin[0]) / 2) * np.sign(finish[0] - begin[0])
    first, last = np.array([begin[0] + turn, low]), np.array([finish[0] - turn, low])
    down = [begin, (begin[0] + 0.2 * turn, low), (begin[0] + 0.5 * turn, low), first]
    up = [(finish[0] - 0.5 * turn, low), (finish[0] - 0.2 * turn, low), finish]
    return np.array([*down, *straight(first, last)[1:], *up], dtype=float)


def loop(shape: Oval, angle: float, size: float) -> Points:
    """A curve from a shape to itself, `size` points out in the direction of the angle."""
    points = []
    spread = np.deg2rad(24 + 0.45 * size)  # larger loops are wider, so that their ends are apart
    for side in (1, -1):
        towards = np.array([np.cos(angle + side * spread), np.sin(angle + side * spread)])
        edge = brentq(
            lambda reach, towards=towards: shape.clearance(shape.centre + reach * towards), 0, 2 * shape.half_width
        )
        points.append([shape.centre + reach * towards for reach in (edge, edge + 4 / 3 * size)])
    return np.array([*points[0], *reversed(points[1])])


def trimmed(curve: Points, start: Oval, end: Oval) -> Points:
    """The part of a curve outside of the shapes in which it begins and ends."""
    pieces = [curve[first : first + 4] for first in range(0, len(curve) - 1, 3)]
    pieces[0] = _outside(pieces[0], start)
    pieces[-1] = _outside(pieces[-1][::-1], end)[::-1]  # which begins where the curve ends
    return np.concatenate([pieces[0][:1], *(piece[1:] for piece in pieces)])


def _outside(piece: Points, shape: Oval) -> Points:
    """The part of a piece after it leaves the shape in which it begins."""

    def inside(point: Any) -> bool:
        return bool(shape.clearance(point) < 0)

    try:
        _, outer = split_bezier_intersecting_with_closedpath(piece, inside, tolerance=0.01)
    except NonIntersectingPathException:  # it only touches the shape
        return piece
    return np.asarray(outer)


def samples(curve: Points) -> Points:
    """Points along a curve, `SAMPLES` on each of its pieces."""
    steps = np.linspace(0, 1, SAMPLES)
    return np.concatenate([BezierSegment(curve[first : first + 4])(steps) for first in range(0, len(curve) - 1, 3)])


def place_along(curve: Points, distance: float) -> tuple[Points, Points]:
    """The point at a distance along the curve (from its end if negative), and the direction there, of length 1."""
    points = samples(curve)
    # Pieces share their ends: without equal neighbours every step has a direction.
    points = points[np.r_[True, np.linalg.norm(np.diff(points, axis=0), axis=1) > 0]]
    lengths = np.r_[0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))]
    at = distance if distance >= 0 else lengths[-1] + distance
    step = int(np.clip(np.searchsorted(lengths, at) - 1, 0, len(points) - 2))
    along = points[step + 1] - points[step]
    share = (at - lengths[step]) / (lengths[step + 1] - lengths[step])
    return points[step] + share * along, along / np.linalg.norm(along)


def length_of(curve: Points) -> float:
    """The length of a curve."""
    return float(np.linalg.norm(np.diff(samples(curve), axis=0), axis=1).sum())
