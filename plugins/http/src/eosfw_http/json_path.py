"""Find a value inside JSON by a path, such as `data.items`, `$.links[0].next` or `['@odata.nextLink']`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from eosfw.config import Key

_STEP: Final = re.compile(r"""\.?([^.\[\]'"]+)|\[(\d+)\]|\['([^']+)'\]|\["([^"]+)"\]""")


@dataclass(frozen=True, slots=True)
class JsonPath(Key):
    """A path; the empty one is that of the document itself."""

    def parse(self, text: str) -> str:
        _steps(text)
        return text


def found(document: Any, path: str, absent: Any = None) -> Any:
    """The value at a path; `absent` where the document ends before it. A list is entered by a number."""
    for name in _steps(path):
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdecimal() and int(name) < len(document):
            document = document[int(name)]
        else:
            return absent
    return document


@cache
def _steps(path: str) -> tuple[str, ...]:
    """The names and numbers of a path; ValueError if it is none."""
    steps, at = [], 1 if path.startswith("$") else 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError("Expected a path such as data.items, links[0].next or ['@next']")
        steps.append(next(name for name in step.groups() if name is not None))
        at = step.end()
    return tuple(steps)
