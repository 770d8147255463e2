"""The film: values settling along the sweeps, as one HTML page with a player that asks nothing of the network."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from pfn.errors import FileError
from pfn.files import write_whole
from pfn.network import Network, Parameter, Variable
from pfn.plots.film_page import film_page, page_height
from pfn.plots.heatmaps import Look
from pfn.plots.recording import Recording, Sweeps, record
from pfn.solve import Result


@dataclass(frozen=True, eq=False, repr=False)
class Film:
    """What `film` returns: the frames as data, and the page that plays them; it shows itself in notebooks."""

    recording: Recording
    look: Look

    @property
    def result(self) -> Result:
        """The result of the run that was filmed."""
        return self.recording.result

    @property
    def sweeps(self) -> tuple[int, ...]:
        """The sweeps done before each frame; frame 0 is what was given."""
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
        height = page_height(self.recording)
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(repr(self))}" '
            f'style="width:100%;height:{height}px;border:0"></iframe>'
        )


def film(
    network: Network,
    data: Mapping[Any, Any],
    variables: Iterable[Variable | Parameter | str],
    *,
    every: Sweeps = None,
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

    - network, data, options: as for `pfn.infer`, or `pfn.learn` with `learn=True`;
    - variables: what to show, from top to bottom; parameters too;
    - every: a frame after every so many sweeps, or after those listed, as in [10, 50, 500]; None: after most of the
      first sweeps and ever fewer later; before the first and after the last sweep there is always one;
    - sequence: the number, from 0, of the sequence to show where there are several;
    - path: where to write the page at once; `film.save(path)` does it later;
    - colormap, power, first: as for `image`; the colours mean the same in all frames.

    >>> import numpy as np, pfn
    >>> x, h = pfn.Variable("x", 2), pfn.Variable("h", 2)
    >>> W = pfn.Parameter("W", [[1, 0], [0, 1], [0, 1], [1, 0]])
    >>> network = pfn.Network(pfn.Factorization([x[pfn.t], x[pfn.t + 1]], W @ h[pfn.t]))
    >>> X = np.array([[3.0, np.nan, np.nan], [1.0, np.nan, np.nan]])
    >>> film(network, {x: X}, [x, h], every=[10, 50], iterations=500)
    Film of x, h: 4 frames, 500 sweeps
    """
    look = Look(colormap, power, None, first)
    recording = record(
        network, data, variables, every=every, iterations=iterations, learn=learn, sequence=sequence, options=options
    )
    made = Film(recording, look)
    if path is not None:
        made.save(path)
    return made
