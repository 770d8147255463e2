"""Drawings of networks and machines, plots of values, films (extra `plots`).

The names load their files on first use, so that `pfn.plots` can be named without matplotlib. No file here may
be called like a name below: importing it would hide the name.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from pfn.errors import OptionError

if TYPE_CHECKING:
    from pfn.plots.dot_text import dot
    from pfn.plots.drawing import draw
    from pfn.plots.equations import equation
    from pfn.plots.films import Film, film
    from pfn.plots.histories import convergence
    from pfn.plots.images import before_and_after, image, stack
    from pfn.plots.pictures import Picture
    from pfn.plots.rolls import piano_roll
    from pfn.plots.spectra import spectrogram

_FILES = {
    "pfn.plots.dot_text": ("dot",),
    "pfn.plots.drawing": ("draw",),
    "pfn.plots.equations": ("equation",),
    "pfn.plots.films": ("Film", "film"),
    "pfn.plots.histories": ("convergence",),
    "pfn.plots.images": ("before_and_after", "image", "stack"),
    "pfn.plots.pictures": ("Picture",),
    "pfn.plots.rolls": ("piano_roll",),
    "pfn.plots.spectra": ("spectrogram",),
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
