"""Embed SVG drawings as documents of their own, so that their titles show under the pointer."""

from __future__ import annotations

import posixpath
import re
from html import escape
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_SIZE = re.compile(r'(<svg\b[^>]*?) width="[\d.]+" height="[\d.]+"')


def _visit_image(self: HTML5Translator, node: nodes.image) -> None:
    if not node["uri"].endswith(".svg"):
        HTML5Translator.visit_image(self, node)
        return
    uri = posixpath.join(self.builder.imagedir and self.builder.imgpath, quote(self.builder.images[node["uri"]]))
    label = escape(node.get("alt", ""), quote=True)
    drawing = f'<object type="image/svg+xml" data="{uri}" aria-label="{label}">{label}</object>'
    self.body.append(f'<div class="drawing">{drawing}</div>')
    raise nodes.SkipNode


def _depart_image(self: HTML5Translator, node: nodes.image) -> None:
    HTML5Translator.depart_image(self, node)


def _let_scale(app: Sphinx, error: Exception | None) -> None:
    """Take the fixed size off the site's copies: an embedded document does not scale with the page otherwise."""
    for path in Path(app.outdir, "_images").glob("*.svg") if error is None else ():
        path.write_text(_SIZE.sub(r"\1", path.read_text(encoding="utf-8"), count=1), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(nodes.image, override=True, html=(_visit_image, _depart_image))
    app.connect("build-finished", _let_scale)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
