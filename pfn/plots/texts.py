"""Texts as shapes, which scale with a drawing and can be measured before anything is drawn."""

from functools import lru_cache

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

FONT = FontProperties(family="DejaVu Serif", math_fontfamily="cm")
"""Formulas in the paper's letters; both come with matplotlib, so a drawing looks the same everywhere."""


@lru_cache(maxsize=4096)
def text_shape(text: str, size: float) -> Path:
    """The outline of a text of that size, centred at the origin; none for blanks."""
    if not text.strip():
        return Path(np.empty((0, 2)))
    outline = TextPath((0, 0), text, size=size, prop=FONT)
    left, bottom, right, top = _extent(outline)
    return Affine2D().translate(-(left + right) / 2, -(bottom + top) / 2).transform_path(outline)


@lru_cache(maxsize=4096)
def text_size(text: str, size: float) -> tuple[float, float]:
    """Width and height of a text of that size."""
    if not text.strip():
        return 0.0, 0.0
    left, bottom, right, top = _extent(text_shape(text, size))
    return right - left, top - bottom


def _extent(outline: Path) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of all points but those that only close a line."""
    points = np.asarray(outline.vertices)[np.asarray(outline.codes) != Path.CLOSEPOLY]
    (left, bottom), (right, top) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return left, bottom, right, top
