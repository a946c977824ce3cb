"""Sphinx: furo and MyST; mathematics by a MathJax that comes with the pages."""

from cranium import __version__

project = "Cranium"
author = "The Cranium developers"
copyright = "2026, The Cranium developers"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2
html_theme = "furo"
html_title = "Cranium"
html_extra_path = ["automaton.schema.json"]
exclude_patterns = ["_build"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
nitpicky = False
# The fields of a NamedTuple have annotations without their modules, and Transition is the name of
# two classes: one of machines, one of learners.
suppress_warnings = ["ref.python"]
