"""Certify connectors while the site is built; the page "Certificates" leads to what came of it.

A connector that fails breaks the build.
"""

from __future__ import annotations

import json
import subprocess
import sys
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from eosfw_site.certified_sources import SOURCES

_FOLDER = "certificates"
_PAGE = "docs/reference/certificates"
_PROGRAM = "from eosfw.cli import main; main()"
_WITHOUT = ("--without", "kills", "--without", "spark")
"""These take longer than all the rest of the site."""


def link_text(text: str, headlines: dict[str, str]) -> str:
    """The page with a link where it names the file of a certificate."""
    for name, headline in headlines.items():
        file = f"{_FOLDER}/{name}.html"
        text = text.replace(f"`{file}`", f'<a href="../../{file}">{escape(headline)}</a>')
    return text


def certify(name: str, page: Path) -> str:
    """Certify a connector; the headline of its page, or ExtensionError with the witness."""
    with TemporaryDirectory(prefix="certify-") as folder, SOURCES[name](Path(folder)) as properties:
        file = Path(folder) / "properties.json"
        file.write_text(json.dumps(properties), encoding="utf-8")
        arguments = [name, "--properties", str(file), "--output", str(page), "--json", *_WITHOUT]
        command = [sys.executable, "-c", _PROGRAM, "certify", *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise ExtensionError(f"connector {name} is not certified: {ended.stdout or ended.stderr}")
    return str(json.loads(ended.stdout)["headline"])


def _certify_all(app: Sphinx) -> None:
    headlines = {}
    if app.builder.format == "html":
        headlines = {name: certify(name, Path(app.outdir, _FOLDER, f"{name}.html")) for name in SOURCES}
    app.connect("source-read", lambda _, docname, source: _link(docname, source, headlines))


def _link(docname: str, source: list[str], headlines: dict[str, str]) -> None:
    if docname == _PAGE:
        source[0] = link_text(source[0], headlines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", _certify_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
