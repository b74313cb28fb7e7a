"""Lead links at files and folders of the repository to a hosted copy of it, where one is named.

`EOS_SOURCE_URL` names it, such as `https://example.org/eosfw/blob/v0.1.0`. Without it the site has copies of the files,
and the names of folders are no links.
"""

from __future__ import annotations

import os
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

_URL = os.environ.get("EOS_SOURCE_URL", "").rstrip("/")


def _link_sources(app: Sphinx, doctree: nodes.document) -> None:
    for node in list(doctree.findall(addnodes.download_reference)) if _URL else ():
        path, _ = app.env.relfn2path(node["reftarget"], app.env.docname)
        node.replace_self(_link(path, node.children))
    # MyST takes every link without an extension for one at a page.
    for node in list(doctree.findall(addnodes.pending_xref)):
        path, absolute = app.env.relfn2path(node["reftarget"], app.env.docname)
        if node["reftype"] == "myst" and node["reftarget"] and Path(absolute).is_dir():
            node.replace_self(_link(path, node.children) if _URL else node.children)


def _link(path: str, children: list[nodes.Node]) -> nodes.reference:
    return nodes.reference("", "", *children, internal=False, refuri=f"{_URL}/{path}")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    # Before Sphinx collects, and copies, what is downloaded.
    app.connect("doctree-read", _link_sources, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
