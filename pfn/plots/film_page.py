"""The page of a film: frames as bytes, ticks, the curve of the errors, and the template that plays them."""

import zlib
from base64 import b64encode
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pfn.plots.heatmaps import HIDDEN, Look, colours, ticks
from pfn.plots.matrices import Matrix
from pfn.plots.pages import rendered
from pfn.plots.recording import Recording

HIDDEN_BYTE = 255
"""What stands for a hidden entry; the values from 0 to the largest are the bytes below it."""

MOST_ROWS, MOST_COLUMNS = 256, 512
"""A screen shows no more: of larger matrices, every pixel is the largest of some neighbouring values."""

ROW, LEAST, MOST = 18, 200, 300
"""Pixels on the screen: of a row where there are few, of an image where there are more and where there are many."""

LINE, MOST_COLUMN_TICKS = 12, 12
"""Pixels that a label takes down the side, and labels for which a narrow screen has room."""

CURVE = (1000, 100)
"""The coordinates of the curve of the errors, which the page stretches."""


class Tick(NamedTuple):
    """A label, and where it stands in per cent of the axis."""

    place: float
    text: str


class Track(NamedTuple):
    """What the page shows of one variable: its pixels, how large they are on the screen, its labels, its frames."""

    name: str
    symbol: str  # as HTML
    rows: int
    columns: int
    height: int
    width: float  # per cent of the widest
    row_ticks: list[Tick]
    column_ticks: list[Tick]
    largest: str
    neighbours: str  # how many values a pixel stands for, as in "2 × 2"
    frames: str


def film_page(recording: Recording, look: Look) -> str:
    """The HTML page with everything in it."""
    widest = max(frames[0].values.shape[1] for frames in recording.frames.values())
    tracks = [_track(frames, look, widest) for frames in recording.frames.values()]
    errors = _errors(recording)
    return rendered(
        "plots/film.html.jinja",
        network=recording.result.network,
        stop=recording.result.stop,
        tracks=tracks,
        label_width=max(len(tick.text) for track in tracks for tick in track.row_ticks),
        curve=_curve(errors),
        hidden=HIDDEN,
        film={
            "sweeps": recording.sweeps,
            "errors": [f"{error:.2g}" if np.isfinite(error) else None for error in errors],
            "colours": _palette(look),
            "tracks": [{"rows": t.rows, "columns": t.columns, "frames": t.frames} for t in tracks],
        },
    )


def page_height(recording: Recording) -> int:
    """Pixels that the page takes, about: its images with their labels, the player above them."""
    return 300 + sum(_height(len(frames[0].values)) + 50 for frames in recording.frames.values())


def _track(frames: Sequence[Matrix], look: Look, widest: int) -> Track:
    rows, columns = frames[0].values.shape
    steps = -(-rows // MOST_ROWS), -(-columns // MOST_COLUMNS)
    pixels = np.stack([pooled(frame.values, *steps) for frame in frames])
    largest = float(np.nanmax(pixels, initial=0.0))
    return Track(
        name=frames[0].name,
        symbol=frames[0].symbol.html(),
        rows=pixels.shape[1],
        columns=pixels.shape[2],
        height=_height(rows),
        width=round(100 * columns / widest, 3),
        row_ticks=_ticks(rows, _height(rows) // LINE, frames[0].labels, look),
        column_ticks=_ticks(columns, MOST_COLUMN_TICKS, None, look),
        largest=f"{largest:.3g}",
        neighbours="" if steps == (1, 1) else f"{steps[0]} × {steps[1]}",
        frames=packed(as_bytes(pixels, look.norm(largest))),
    )


def pooled(values: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The largest of every so many rows and columns; hidden where all are.

    >>> pooled(np.array([[1, 2, 3], [4, np.nan, np.nan]]), 2, 2)
    array([[4., 3.]])
    """
    down = np.fmax.reduceat(values, np.arange(0, values.shape[0], rows), axis=0)
    across: np.ndarray = np.fmax.reduceat(down, np.arange(0, values.shape[1], columns), axis=1)
    return across


def as_bytes(frames: np.ndarray, norm: Any) -> np.ndarray:
    """Values as the numbers of colours, 0 to 254; 255 is hidden."""
    shown = np.asarray(norm(np.nan_to_num(frames))) * (HIDDEN_BYTE - 1)
    return np.where(np.isnan(frames), HIDDEN_BYTE, np.rint(shown)).astype(np.uint8)


def packed(frames: np.ndarray) -> str:
    """Frames as text: each as its difference from the one before, since late frames hardly differ, then deflated."""
    differences = np.diff(frames, axis=0, prepend=np.zeros_like(frames[:1]))  # modulo 256, as the page adds them up
    return b64encode(zlib.compress(differences.tobytes(), level=9)).decode()


def _palette(look: Look) -> str:
    """Red, green, blue and opacity of 0 … 254 and of hidden entries."""
    places = np.append(np.linspace(0.0, 1.0, HIDDEN_BYTE), np.nan)
    return b64encode(colours(look.colormap)(places, bytes=True).tobytes()).decode()


def _ticks(count: int, most: int, labels: Sequence[str] | None, look: Look) -> list[Tick]:
    numbers = ticks(count, most, look.first)
    texts = [str(number) if labels is None else labels[number - look.first] for number in numbers]
    places = [100 * (number - look.first + 0.5) / count for number in numbers]
    return [Tick(round(place, 3), text) for place, text in zip(places, texts, strict=True)]


def _height(rows: int) -> int:
    return min(ROW * rows, max(LEAST, min(MOST, 8 * rows)))


def _errors(recording: Recording) -> np.ndarray:
    """The largest RMSE of an equation in each frame; unknown before the first sweep."""
    history = recording.result.history
    largest = np.fmax.reduce([history[name] for name in history])  # NaN where no entry of an equation counts
    known = dict(zip((history.iterations + 1).tolist(), largest.tolist(), strict=True))
    return np.array([known.get(sweeps, np.nan) for sweeps in recording.sweeps])


def _curve(errors: np.ndarray) -> dict[str, str] | None:
    """The errors as a line, logarithmic, the largest on top; none where fewer than two are known and above 0."""
    places = np.flatnonzero(np.isfinite(errors) & (errors > 0))
    if len(places) < 2:
        return None
    heights = np.log(errors[places])
    low, high = heights.min(), heights.max()
    x = CURVE[0] * places / (len(errors) - 1)
    y = CURVE[1] * (high - heights) / ((high - low) or 1.0)
    points = " ".join(f"{across:.1f},{down:.1f}" for across, down in zip(x, y, strict=True))
    return {"points": points, "largest": f"{np.exp(high):.2g}", "smallest": f"{np.exp(low):.2g}"}
