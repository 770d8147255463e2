"""The page: what results.json says, with the pictures, in one HTML file that asks nothing of anyone."""

from base64 import b64encode
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from pfn.plots.pages import rendered

SECTIONS = {
    "2": "Positive factor networks",
    "3": "Factored sequential data models",
    "4": "Hierarchical factored state model",
    "5": "Multiple target tracking model",
    "6": "Sparse hierarchical sequential data model",
    "7": "Language modelling",
    "Appendix": "Appendices",
}


def page(results: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """The page that shows these results; `files` are the pictures by name."""
    parts = [(key, SECTIONS[key], list(members)) for key, members in groupby(results["experiments"], key=_section)]
    pictures = {name: _picture(name, content) for name, content in files.items()}
    return rendered("paper/page.html.jinja", results=results, parts=parts, pictures=pictures)


def _section(experiment: Mapping[str, Any]) -> str:
    return str(experiment["section"]).split(".")[0].split()[0]


def _picture(name: str, content: bytes) -> dict[str, Any]:
    """What the template needs of a picture or film."""
    if name.endswith(".html"):
        return {"page": content.decode()}
    return {"page": None, "address": f"data:image/png;base64,{b64encode(content).decode()}"}
