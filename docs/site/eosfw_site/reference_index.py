"""Enter the rows of reference tables into the index, so that a search for a property leads to its row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

_NAMED_BY_CODE = {
    f"docs/reference/{page}" for page in ("broker", "errors", "faults", "metrics", "properties", "pytest-eos")
}
_NAMED_BY_FIRST_CELL = {f"docs/reference/{page}" for page in ("glossary", "guarantees")}


class ReferenceIndex(SphinxTransform):
    """Give each row an id, and an entry of the index by its first piece of code or by its first cell."""

    # Before Sphinx collects the entries of the index (850).
    default_priority = 800

    def apply(self, **_: Any) -> None:
        """Change the page that was read."""
        for row in self._rows() if self.env.docname in _NAMED_BY_CODE | _NAMED_BY_FIRST_CELL else ():
            name = self._name(row)
            row["ids"] = [self._new_id(name)]
            entry = ("single", name, row["ids"][0], "main", None)
            row[0].insert(0, addnodes.index(entries=[entry]))

    def _name(self, row: nodes.row) -> str:
        code = next(row.findall(nodes.literal), None) if self.env.docname in _NAMED_BY_CODE else None
        return row[0].astext() if code is None else code.astext()

    def _rows(self) -> Iterator[nodes.row]:
        for body in self.document.findall(nodes.tbody):
            yield from body.findall(nodes.row)

    def _new_id(self, name: str) -> str:
        identifier = nodes.make_id(f"row {name}")
        while identifier in self.document.ids:
            identifier += "-"
        self.document.ids[identifier] = identifier
        return identifier


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_transform(ReferenceIndex)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
