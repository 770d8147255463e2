"""Films: values recorded along the sweeps of a run, as one HTML page with a player that needs no connection."""

import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pfn.errors import FileError, OptionError
from pfn.files import write_whole
from pfn.network import Factorization, Network, Parameter, Variable
from pfn.plots.images.heatmaps import HIDDEN, Look, colours, given_values, listed, ticks
from pfn.plots.images.named_matrices import NamedMatrix, matrix_of, named_matrix
from pfn.plots.pages import rendered
from pfn.solve import Exact, Result, infer
from pfn.solve import learn as learn_parameters
from pfn.solve.checks import check_count

Every = int | Iterable[int] | None

# Frames of a film by default: enough to see how values move, few enough for a small page.
FRAMES = 60

# Byte of a hidden entry; the values from 0 to the largest are the bytes below it.
HIDDEN_BYTE = 255
# A screen shows no more: of larger matrices, every pixel is the largest of some neighbouring values.
MOST_ROWS = 256
MOST_COLUMNS = 512

# Pixels on the screen: of a row where there are few, and of an image of more rows, at least and at most.
ROW = 18
LEAST = 200
MOST = 300
# Pixels that a label takes down the side, and labels for which a narrow screen has room.
LABEL = 12
MOST_COLUMN_TICKS = 12
# Coordinates of the curve of the errors, which the page stretches.
CURVE_WIDTH = 1000
CURVE_HEIGHT = 100


class FilmFrames(NamedTuple):
    """Frames of a run: by name, the matrix of every frame."""

    result: Result
    sweeps: tuple[int, ...]
    """Sweeps done before each frame; frame 0 holds the given values, before any sweep."""
    frames: Mapping[str, tuple[NamedMatrix, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class Film:
    """Frames as data, and the page that plays them, which shows itself in notebooks: made by `film`."""

    recording: FilmFrames
    look: Look

    @property
    def result(self) -> Result:
        """The result of the run that was filmed."""
        return self.recording.result

    @property
    def sweeps(self) -> tuple[int, ...]:
        """Sweeps done before each frame; frame 0 holds the given values."""
        return self.recording.sweeps

    @cached_property
    def frames(self) -> Mapping[str, np.ndarray]:
        """By name, the values (frames, components, slices); NaN is hidden."""
        return {name: np.stack([frame.values for frame in frames]) for name, frames in self.recording.frames.items()}

    @cached_property
    def html(self) -> str:
        """The page."""
        return film_page(self.recording, self.look)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page into one .html file, to be opened in a browser."""
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise FileError(f"{path}: a film is a page, so the name must end in .html, found {Path(path).name!r}.")
        write_whole(Path(path), self.html.encode())

    def __repr__(self) -> str:
        return f"Film of {', '.join(self.recording.frames)}: {len(self.sweeps)} frames, {self.sweeps[-1]} sweeps"

    def _repr_html_(self) -> str:
        # The player, then every image with its name and ticks.
        height = 300 + sum(_height(len(frames[0].values)) + 50 for frames in self.recording.frames.values())
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(repr(self))}" '
            f'style="width:100%;height:{height}px;border:0"></iframe>'
        )


def film(
    network: Network,
    data: Mapping[Any, Any],
    variables: Iterable[Variable | Parameter | str],
    *,
    every: Every = None,
    iterations: int = 1000,
    learn: bool = False,
    sequence: int = 0,
    path: str | PathLike[str] | None = None,
    colormap: str = "hot",
    power: float = 1.0,
    first: int = 1,
    **options: Any,
) -> Film:
    """Record values along the sweeps of a run, to watch them settle in a player.

    Inference may be done after a sweep or two; `method=pfn.PAPER` shows all of the paper's own.

    Parameters
    ----------
    network
        Network, as for `pfn.infer` or `pfn.learn`.
    data
        Observations, as for `pfn.infer` or `pfn.learn`.
    variables
        Variables and parameters to show, from top to bottom.
    every
        Number of sweeps from frame to frame, or the sweeps to show, as in [10, 50, 500]; None: most of the first
        sweeps and ever fewer later. There is always a frame before the first sweep and one after the last.
    iterations
        Sweeps at most.
    learn
        Learn parameters, as `pfn.learn` does, in place of `pfn.infer`.
    sequence
        Number, from 0, of the sequence to show where there are several.
    path
        Where to write the page at once; `film.save(path)` does it later.
    colormap
        Name of a colormap of matplotlib.
    power
        Colours follow values to this power: 0.5 shows small values brighter. They mean the same in all frames.
    first
        Number of the first slice, 1 as in the paper, or 0.
    **options
        Further options of `pfn.infer` or `pfn.learn`.

    Examples
    --------
    >>> import numpy as np, pfn
    >>> x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
    >>> W = pfn.Parameter("W", [[1, 0], [0, 1], [0, 1], [1, 0]])
    >>> network = pfn.Network(pfn.Factorization([x[pfn.t], x[pfn.t + 1]], W @ h[pfn.t]))
    >>> X = np.array([[3.0, np.nan, np.nan], [1.0, np.nan, np.nan]])
    >>> film(network, {x: X}, [x, h], every=[10, 50], iterations=500)
    Film of x, h: 4 frames, 500 sweeps
    """
    look = Look(colormap, power, None, first)
    if not isinstance(network, Network):
        raise OptionError(f"film needs a pfn.Network, found {type(network).__name__}.")
    check_count(iterations, "iterations", 1)
    if options.get("restarts", 1) != 1:
        raise OptionError(f"a film shows one run, found restarts={options['restarts']}. Leave restarts out.")
    if isinstance(options.get("method"), Exact) or options.get("method") == "exact":
        raise OptionError("a film shows sweeps, and exact inference has none. Use method='propagate'.")
    items: list[Variable | Parameter] = []
    for name in listed(variables):
        found = network[name]
        if isinstance(found, Factorization):
            raise OptionError(
                f"{found.name} is an equation, but a film shows variables and parameters. Name one of these."
            )
        items.append(found)
    seen = _Camera(items, wanted_sweeps(every, iterations), sequence, options.get("callback"))
    run = learn_parameters if learn else infer
    # A film shows every sweep that is asked for, those in which nothing moves any more, too.
    result = run(network, data, iterations=iterations, **{"stall": None, **options, "callback": seen})
    seen.keep(result.iterations, result)

    # In front of the frames of each item, its given values.
    frames = {}
    for item, *kept in zip(items, *list(seen.frames.values())[1:], strict=True):
        known = isinstance(item, Parameter) and item.value is not None
        given = matrix_of(item.value, item) if known else given_values(data, kept[-1], sequence)
        frames[item.name] = (given, *kept)
    made = Film(FilmFrames(result, tuple(seen.frames), frames), look)
    if path is not None:
        made.save(path)
    return made


def wanted_sweeps(every: Every, iterations: int) -> frozenset[int]:
    """Sweeps with a frame after them: at regular intervals, as listed, or ever fewer as the run goes on.

    >>> sorted(wanted_sweeps(100, 400)), sorted(wanted_sweeps([10, 50, 500], 1000))
    ([100, 200, 300, 400], [10, 50, 500])
    """
    if every is None:
        return frozenset(np.geomspace(1, iterations, FRAMES).round().astype(int).tolist())
    if isinstance(every, Iterable):
        chosen = list(every)
        for sweep in chosen:
            check_count(sweep, "every: each of the sweeps", 1)
        return frozenset(int(sweep) for sweep in chosen)
    check_count(every, "every", 1)
    return frozenset(range(every, iterations + 1, every))


class _Camera:
    """The callback of the run: keeps the values after the wanted sweeps."""

    def __init__(
        self,
        items: list[Variable | Parameter],
        wanted: frozenset[int],
        sequence: int,
        callback: Callable[[int, Mapping[str, Any]], object] | None,
    ) -> None:
        self.items, self.wanted, self.sequence, self.callback = items, wanted, sequence, callback
        self.frames: dict[int, list[NamedMatrix]] = {0: []}  # the given values are known at the end

    def __call__(self, iteration: int, values: Mapping[str, Any]) -> object:
        if iteration + 1 in self.wanted:
            self.keep(iteration + 1, values)
        return None if self.callback is None else self.callback(iteration, values)

    def keep(self, sweeps: int, values: Any) -> None:
        """Keep the values after a number of sweeps."""
        if sweeps not in self.frames:
            now = [named_matrix(values[item.name], item, self.sequence) for item in self.items]
            before = self.frames[max(self.frames)] or now
            # Values that have not changed, such as those of a variable observed throughout, are kept once.
            self.frames[sweeps] = [
                old if np.array_equal(old.values, new.values, equal_nan=True) else new
                for old, new in zip(before, now, strict=True)
            ]


class Tick(NamedTuple):
    """A label, and its place in per cent of the axis."""

    place: float
    text: str


class Track(NamedTuple):
    """The images of one variable on the page: their pixels, size on the screen, labels and frames."""

    name: str
    symbol: str  # as HTML
    rows: int
    columns: int
    height: int
    width: float  # per cent of the widest
    row_ticks: list[Tick]
    column_ticks: list[Tick]
    largest: str
    neighbours: str  # values that a pixel stands for, as in "2 × 2"
    frames: str


def film_page(recording: FilmFrames, look: Look) -> str:
    """The HTML page with everything in it."""
    widest = max(frames[0].values.shape[1] for frames in recording.frames.values())
    tracks = [_track(frames, look, widest) for frames in recording.frames.values()]
    errors = _errors(recording)
    # Red, green, blue and opacity of the bytes 0 … 254 and of hidden entries.
    palette = colours(look.colormap)(np.append(np.linspace(0.0, 1.0, HIDDEN_BYTE), np.nan), bytes=True)
    return rendered(
        "plots/images/film.html.jinja",
        network=recording.result.network,
        stop=recording.result.stop,
        tracks=tracks,
        label_width=max(len(tick.text) for track in tracks for tick in track.row_ticks),
        curve=_curve(errors),
        hidden=HIDDEN,
        film={
            "sweeps": recording.sweeps,
            "errors": [f"{error:.2g}" if np.isfinite(error) else None for error in errors],
            "colours": b64encode(palette.tobytes()).decode(),
            "tracks": [{"rows": t.rows, "columns": t.columns, "frames": t.frames} for t in tracks],
        },
    )


def _track(frames: Sequence[NamedMatrix], look: Look, widest: int) -> Track:
    """The images of one variable, pooled where they have more entries than a screen has pixels."""
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
        row_ticks=_ticks(rows, _height(rows) // LABEL, frames[0].labels, look),
        column_ticks=_ticks(columns, MOST_COLUMN_TICKS, None, look),
        largest=f"{largest:.3g}",
        neighbours="" if steps == (1, 1) else f"{steps[0]} × {steps[1]}",
        frames=packed(as_bytes(pixels, look.norm(largest))),
    )


def pooled(values: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The largest value of each block of rows and columns; NaN where all of a block are hidden.

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
    """Frames as text: differences from the frame before, since late frames hardly differ, then deflated."""
    differences = np.diff(frames, axis=0, prepend=np.zeros_like(frames[:1]))  # modulo 256, as the page adds them up
    return b64encode(zlib.compress(differences.tobytes(), level=9)).decode()


def _ticks(count: int, most: int, labels: Sequence[str] | None, look: Look) -> list[Tick]:
    """Labels of entries, with their places."""
    numbers = ticks(count, most, look.first)
    texts = [str(number) if labels is None else labels[number - look.first] for number in numbers]
    places = [100 * (number - look.first + 0.5) / count for number in numbers]
    return [Tick(round(place, 3), text) for place, text in zip(places, texts, strict=True)]


def _height(rows: int) -> int:
    """Pixels on the screen that an image takes down."""
    return min(ROW * rows, max(LEAST, min(MOST, 8 * rows)))


def _errors(recording: FilmFrames) -> np.ndarray:
    """The largest RMSE of an equation in each frame; NaN before the first sweep."""
    history = recording.result.history
    largest = np.fmax.reduce([history[name] for name in history])  # NaN where no entry of an equation counts
    known = dict(zip((history.iterations + 1).tolist(), largest.tolist(), strict=True))
    return np.array([known.get(sweeps, np.nan) for sweeps in recording.sweeps])


def _curve(errors: np.ndarray) -> dict[str, str] | None:
    """The errors as a line, logarithmic, the largest on top; None where fewer than two are known and above 0."""
    places = np.flatnonzero(np.isfinite(errors) & (errors > 0))
    if len(places) < 2:
        return None
    heights = np.log(errors[places])
    low, high = heights.min(), heights.max()
    x = CURVE_WIDTH * places / (len(errors) - 1)
    y = CURVE_HEIGHT * (high - heights) / ((high - low) or 1.0)
    points = " ".join(f"{across:.1f},{down:.1f}" for across, down in zip(x, y, strict=True))
    return {"points": points, "largest": f"{np.exp(high):.2g}", "smallest": f"{np.exp(low):.2g}"}
