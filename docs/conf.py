"""Sphinx settings: Markdown pages, and the reference from the docstrings of the installed package."""

import maxmargin

project = "maxmargin"
author = "The maxmargin developers"
copyright = f"2026, {author}"
version = release = maxmargin.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "maxmargin"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

default_role = "code"
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    # scikit-learn's, with links into its own documentation
    "exclude-members": "get_metadata_routing, set_fit_request, set_predict_request, set_score_request",
}
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
