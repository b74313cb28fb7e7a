"""Find a value inside JSON by a path of names, such as `data.items` or `$.links[0].next`."""

from __future__ import annotations

from typing import Any


def found(document: Any, path: str) -> Any:
    """The value at a path; None where the document ends before it. A list is entered by a number."""
    for name in _names(path):
        if isinstance(document, dict):
            document = document.get(name)
        elif isinstance(document, list) and name.isdecimal() and int(name) < len(document):
            document = document[int(name)]
        else:
            return None
    return document


def _names(path: str) -> list[str]:
    plain = path.removeprefix("$").replace("[", ".").replace("]", "")
    return [name for name in plain.split(".") if name]
