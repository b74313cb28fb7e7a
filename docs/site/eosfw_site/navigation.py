"""Derive the site's navigation from the chapters of docs/README.md.

A page that no chapter lists gets no place in the navigation: Sphinx warns of it, and the strict build fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sphinx.application import Sphinx

_CHAPTER = re.compile(r"^\*\*(?P<title>[^*]+)\*\*", re.MULTILINE)
_ENTRY = re.compile(r"^- \[[^\]]+\]\((?P<target>[^)#]+)\.md\)", re.MULTILINE)
_INDEX = "docs/README"


def toctrees(index: str) -> Iterator[str]:
    """The chapters of the index as MyST's toctrees."""
    yield _toctree(None, [_INDEX])
    found = list(_CHAPTER.finditer(index))
    ends = [chapter.start() for chapter in found[1:]] + [len(index)]
    for chapter, end in zip(found, ends, strict=True):
        targets = [entry["target"] for entry in _ENTRY.finditer(index, chapter.end(), end)]
        yield _toctree(chapter["title"], [_document(target) for target in targets])


def _document(target: str) -> str:
    """The name of the document that a link of docs/README.md means, from the root of the repository."""
    return target.removeprefix("../") if target.startswith("../") else str(PurePosixPath("docs", target))


def _toctree(caption: str | None, documents: list[str]) -> str:
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["```{toctree}", *options, "", *documents, "```", ""])


def _add_toctrees(app: Sphinx, name: str, source: list[str]) -> None:
    if name == app.config.root_doc:
        index = Path(app.srcdir, _INDEX).with_suffix(".md").read_text(encoding="utf-8")
        source[0] = "\n".join([source[0], *toctrees(index)])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", _add_toctrees)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
