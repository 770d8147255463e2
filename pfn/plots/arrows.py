"""Arrows between states: clear of all other states, in two curves where they go both ways, with their names."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pfn.plots.curves import Oval, Points, bowed, length_of, loop, place_along, samples, straight, trimmed
from pfn.plots.shapes import INK, LINE_TEXT, LineMark
from pfn.plots.texts import text_size

CLEARANCE = 5.0
"""Points that an arrow keeps from the states that it passes."""

BOW, BOW_STEP, MOST_BOW = 0.13, 0.05, 1.6
"""How far arrows leave the straight line, relative to its length: side by side, then further, at most."""

HEIGHT = 44.0
"""Points that an arrow leaves the straight line at least where it goes around a state: its ends are then apart from
those of arrows between neighbours."""

LOOP_SIZE = 17.0
ENTRY_LENGTH = 22.0


class Arrow(NamedTuple):
    """A transition between states, by number."""

    source: int
    target: int
    text: str = ""
    colour: str = INK


def arrows(shapes: Sequence[Oval], wanted: Sequence[Arrow], *, both_sides: bool, loops_up: bool) -> list[LineMark]:
    """The curves of all transitions. With both sides, an arrow may pass a state on its right as well."""
    curves: dict[int, Points] = {}
    obstacles = list(shapes)
    centre = np.mean([shape.centre for shape in shapes], axis=0)
    loops = Counter[int]()
    for number, arrow in enumerate(wanted):
        if arrow.source == arrow.target:
            shape, size = shapes[arrow.source], LOOP_SIZE * (1 + loops[arrow.source])
            angle = np.pi / 2 if loops_up else _outwards(shape, centre)
            curves[number] = loop(shape, angle, size)
            obstacles.append(Oval.at(curves[number].mean(axis=0), size / 2))
            loops[arrow.source] += 1
    taken = Counter((arrow.target, arrow.source) for arrow in wanted)
    for number, arrow in enumerate(wanted):
        if arrow.source != arrow.target:
            least = taken[arrow.source, arrow.target]
            curves[number] = _clear_curve(shapes, obstacles, arrow, least * BOW, both_sides)
            taken[arrow.source, arrow.target] += 2  # a parallel one goes further out
    return _named([curves[number] for number in range(len(wanted))], wanted, shapes)


def entry(shape: Oval, angle: float) -> LineMark:
    """An arrow from nowhere: a walk may begin in this state."""
    outside = shape.centre + (shape.half_width + ENTRY_LENGTH) * np.array([np.cos(angle), np.sin(angle)])
    curve = straight(outside, shape.centre)
    return LineMark(trimmed(curve, Oval.at(outside, 0.0), shape))


def _outwards(shape: Oval, centre: Points) -> float:
    x, y = shape.centre - centre
    return float(np.arctan2(y, x)) if np.hypot(x, y) > 1 else np.pi / 2


def _clear_curve(
    shapes: Sequence[Oval], obstacles: Iterable[Oval], arrow: Arrow, least: float, both_sides: bool
) -> Points:
    """The least bowed curve that keeps clear of everything else; the most bowed one if none does."""
    start, end = shapes[arrow.source], shapes[arrow.target]
    others = [shape for shape in obstacles if shape not in (start, end)]
    sides = (1, -1) if both_sides and not least else (1,)
    around = min(2 * BOW, HEIGHT / float(np.linalg.norm(end.centre - start.centre)))
    for bow in [least, *np.arange(max(least, around), MOST_BOW, BOW_STEP)]:
        for side in sides:
            curve = trimmed(bowed(start.centre, end.centre, side * bow), start, end)
            points = samples(curve)
            if all(shape.clearance(points).min() >= CLEARANCE for shape in others):
                return curve
    return curve


def _named(curves: list[Points], wanted: Sequence[Arrow], shapes: Sequence[Oval]) -> list[LineMark]:
    """The curves with their names, each where it covers no state and no other name, if there is such a place."""
    written: list[Oval] = []
    marks = []
    for curve, arrow in zip(curves, wanted, strict=True):
        if not arrow.text:
            marks.append(LineMark(curve, colour=arrow.colour))
            continue
        width, height = text_size(arrow.text, LINE_TEXT)
        places = _name_places(curve, shapes[arrow.source], width, height, arrow.source == arrow.target)
        ovals = [Oval.at(place, max(width, height) / 2 + 2, height / 2 + 2) for place in places]
        best = next((oval for oval in ovals if not _covers(oval, [*shapes, *written])), ovals[0])
        written.append(best)
        marks.append(LineMark(curve, arrow.text, (best.x, best.y), colour=arrow.colour))
    return marks


def _name_places(curve: Points, source: Oval, width: float, height: float, is_loop: bool) -> list[Points]:
    """Along the curve, the middle first; beyond the far end of a loop."""
    if not is_loop:
        return [place_along(curve, share * length_of(curve))[0] for share in (0.5, 0.4, 0.6, 0.3, 0.7)]
    far, _ = place_along(curve, 0.5 * length_of(curve))
    out = (far - source.centre) / np.linalg.norm(far - source.centre)
    return [far + out * (abs(out[0]) * width / 2 + abs(out[1]) * height / 2 + 3)]


def _covers(oval: Oval, others: Iterable[Oval]) -> bool:
    return any(
        abs(oval.x - other.x) < oval.half_width + other.half_width
        and abs(oval.y - other.y) < oval.half_height + other.half_height
        for other in others
    )
