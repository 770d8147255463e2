"""Where dash marks go: as near to the arrowhead as they touch no other line, no text, and no marks placed before."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.spatial import KDTree

from pfn.plots.curves import Points, length_of, samples
from pfn.plots.shapes import LINE_TEXT, MARK_PLACE, MARK_STEP, LineMark, dash_marks
from pfn.plots.texts import text_size

ROOM = 2.0
"""Points that dash marks keep from other lines, and from texts."""

FURTHEST = 0.5
"""Marks stay in this share of a line, next to its end."""


def with_clear_marks(lines: Sequence[LineMark]) -> list[LineMark]:
    """The same lines, the dash marks of some further from the end."""
    if not any(line.dashes for line in lines):
        return list(lines)
    ground, placed = _Ground(lines), []
    for number, line in enumerate(lines):
        clear = (moved for moved in _moved(line) if ground.is_clear(_points(moved), number))
        placed.append(next(clear, line))
        ground.marks = np.concatenate([ground.marks, _points(placed[-1])])
    return placed


def _moved(line: LineMark) -> Iterator[LineMark]:
    last = FURTHEST * length_of(line.curve) - line.dashes * MARK_STEP if line.dashes else 0.0
    return (replace(line, dashes_at=float(at)) for at in np.arange(MARK_PLACE, last, MARK_STEP / 2))


def _points(line: LineMark) -> Points:
    """Five points of every mark."""
    return np.concatenate([np.empty((0, 2)), *(np.linspace(mark[0], mark[1], 5) for mark in dash_marks(line))])


class _Ground:
    """What is drawn already: lines, texts, and the marks placed so far."""

    def __init__(self, lines: Sequence[LineMark]) -> None:
        curves = [samples(line.curve) for line in lines]
        self.tree = KDTree(np.concatenate(curves))
        self.owner = np.repeat(np.arange(len(lines)), [len(curve) for curve in curves])
        texts = [(line.text, line.text_place) for line in lines if line.text and line.text_place]
        self.centres = np.array([place for _, place in texts]).reshape(-1, 2)
        self.halves = np.array([text_size(text, LINE_TEXT) for text, _ in texts]).reshape(-1, 2) / 2 + ROOM
        self.marks: Points = np.empty((0, 2))

    def is_clear(self, points: Points, number: int) -> bool:
        """Whether these points of a line's marks touch nothing but that line."""
        near = np.concatenate(self.tree.query_ball_point(points, ROOM)).astype(int)
        on_text = (np.abs(points[:, None] - self.centres) < self.halves).all(axis=-1).any()
        to_marks = np.linalg.norm(points[:, None] - self.marks, axis=-1).min(initial=np.inf)
        return bool((self.owner[near] == number).all() and not on_text and to_marks > ROOM)
