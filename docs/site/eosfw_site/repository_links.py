"""Lead links at files of the repository to a hosted copy of it, where one is named; else the site has copies.

`EOSFW_SOURCE_URL` names it, such as `https://example.org/eosfw/blob/v0.1.0`. Without it a link is a download.
"""

from __future__ import annotations

import os

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def _lead_to_copy(app: Sphinx, doctree: nodes.document) -> None:
    url = os.environ.get("EOSFW_SOURCE_URL", "").rstrip("/")
    if not url:
        return
    for node in list(doctree.findall(addnodes.download_reference)):
        path, _ = app.env.relfn2path(node["reftarget"], app.env.docname)
        link = nodes.reference("", "", *node.children, internal=False, refuri=f"{url}/{path}")
        node.replace_self(link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    # Before Sphinx collects, and copies, what is downloaded.
    app.connect("doctree-read", _lead_to_copy, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
