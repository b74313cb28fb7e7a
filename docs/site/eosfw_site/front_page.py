"""Serve README as the site's first page."""

from __future__ import annotations

import shutil
from pathlib import Path

from sphinx.application import Sphinx


def _copy_root(app: Sphinx, error: Exception | None) -> None:
    root = Path(app.outdir, f"{app.config.root_doc}.html")
    if error is None and root.exists():
        shutil.copyfile(root, root.with_name("index.html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", _copy_root)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
