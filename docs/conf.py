"""Sphinx configuration. The build needs no network: no outside inventories, equations written as text."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_pictures

project = "pfn"
author = copyright = "the pfn authors"  # noqa: A001  (the name Sphinx reads)
version = release = installed("positive-factor-networks")

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build"]
nitpicky = False  # the types of numpy and scipy in signatures are documented elsewhere

myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 100
numpydoc_show_class_members = False  # api.md chooses the members

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "image_scrapers": ("gallery_pictures",),
    "reset_modules": (),
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "pfn"
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"**": []}
