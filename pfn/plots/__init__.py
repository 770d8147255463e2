"""Drawings of networks and machines, plots of values, films (extra `plots`).

The names load their files on first use, so that `pfn.plots` can be imported without matplotlib. No file of this folder
may have a name below: importing the file would hide the function.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from pfn.errors import OptionError

if TYPE_CHECKING:
    from pfn.plots.drawings.dot import dot
    from pfn.plots.drawings.draw import draw
    from pfn.plots.images.convergence import convergence
    from pfn.plots.images.equation_pictures import equation
    from pfn.plots.images.films import Film, film
    from pfn.plots.images.heatmaps import before_and_after, image, stack
    from pfn.plots.images.sound import piano_roll, spectrogram
    from pfn.plots.pictures import Picture

_FILES = {
    "pfn.plots.drawings.dot": ("dot",),
    "pfn.plots.drawings.draw": ("draw",),
    "pfn.plots.images.convergence": ("convergence",),
    "pfn.plots.images.equation_pictures": ("equation",),
    "pfn.plots.images.films": ("Film", "film"),
    "pfn.plots.images.heatmaps": ("before_and_after", "image", "stack"),
    "pfn.plots.images.sound": ("piano_roll", "spectrogram"),
    "pfn.plots.pictures": ("Picture",),
}
_HOMES = {name: file for file, names in _FILES.items() for name in names}

__all__ = [
    "Film",
    "Picture",
    "before_and_after",
    "convergence",
    "dot",
    "draw",
    "equation",
    "film",
    "image",
    "piano_roll",
    "spectrogram",
    "stack",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'pfn.plots' has no attribute {name!r}")
    try:
        value = getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("jinja2", "matplotlib"):
            raise
        raise OptionError(
            f"pfn.plots.{name} needs {package}, which is not installed. "
            "Run: pip install 'positive-factor-networks[plots]'"
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
