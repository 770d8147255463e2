"""Finds the pictures of the gallery: those that an example gave names to, each shown once."""

from collections.abc import Callable
from typing import Any

from sphinx_gallery.scrapers import figure_rst

from pfn.plots import Picture


def pictures_of(_block: Any, variables: dict[str, Any], configuration: dict[str, Any]) -> str:
    """Save the pictures that a block of an example made, and say where they are."""
    names = variables["example_globals"]
    shown = names.setdefault("__shown__", set())
    new = [value for value in names.values() if isinstance(value, Picture) and id(value) not in shown]
    paths = []
    for picture in new:
        shown.add(id(picture))
        paths.append(next(variables["image_path_iterator"]))
        picture.save(paths[-1])
    return str(figure_rst(paths, configuration["src_dir"]))


def _get_sg_image_scraper() -> Callable[..., str]:
    """What the gallery asks a module of its settings for."""
    return pictures_of
