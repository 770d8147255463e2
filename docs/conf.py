"""Sphinx configuration. The build needs no network: no outside inventories, equations written as text."""

from importlib.metadata import version as installed

project = "pfn"
author = copyright = "the pfn authors"  # noqa: A001  (the name Sphinx reads)
version = release = installed("positive-factor-networks")

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_build"]
nitpicky = False  # the types of numpy and scipy in signatures are documented elsewhere

myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 100
numpydoc_show_class_members = False  # api.md chooses the members

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
