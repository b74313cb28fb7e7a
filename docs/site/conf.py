"""Configure the documentation site: `uv run tox -e docs` builds it into `build/site`.

The source is the repository itself, so that the pages read the same there, in an editor, and on the site. Where a site
is published beside those of other versions, `EOS_SITE_VERSION` names it, and `EOS_SOURCE_URL` where its sources are.
"""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

SITE = Path(__file__).parent
ROOT = SITE.parents[1]
sys.path.insert(0, str(SITE))

project = "eosfw"
author = "the authors of eosfw"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "eosfw_site.navigation",
    "eosfw_site.module_pages",
    "eosfw_site.repository_links",
    "eosfw_site.drawings",
    "eosfw_site.reference_index",
    "eosfw_site.front_page",
    "eosfw_site.certificates",
]

root_doc = "README"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/**.md",
    "docs/site/api/*.rst",
    "backends/*/README.md",
    "plugins/*/README.md",
    "pytest_eos/README.md",
    "examples/*/README.md",
    "benchmarks/*.md",
]
# Folders that are not walked; the longest walk would be that of the virtual environments.
exclude_patterns = [".*", "**/.*", "build", "dist", "src", "tests", "**/node_modules"]

myst_heading_anchors = 4
default_role = "code"  # docstrings have code in single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
add_module_names = False
python_maximum_signature_line_length = 88
highlight_language = "text"

html_theme = "furo"
published_as = os.environ.get("EOS_SITE_VERSION")
html_title = f"eosfw {published_as or version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [
    (name, {"defer": "defer"}) for name in ("tables.js", "drawings.js", *(["versions.js"] if published_as else []))
]
html_search_scorer = str(SITE / "search-scorer.js")
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
