"""The top-level columns of a Spark DDL schema, parsed without Spark."""

from __future__ import annotations

import re
from typing import Final

KAFKA_COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
_NAME: Final = r"(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^\s:`]+))"
_COLUMN: Final = re.compile(rf"^\s*{_NAME}(?:\s*:\s*|\s+)(?P<type>\S.*)$", re.DOTALL)


def columns(ddl: str) -> list[tuple[str, str]]:
    """The (name, type) of each column of `name TYPE, ...`; ValueError names the part that is not one."""
    found = []
    for part in _parts(ddl):
        column = _COLUMN.match(part)
        if column is None:
            raise ValueError(f"{part.strip()!r} is not a column; write NAME TYPE")
        name = column["plain"] or column["quoted"].replace("``", "`")
        found.append((name, column["type"].strip()))
    return found


def _parts(ddl: str) -> list[str]:
    """Split at the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(ddl):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            parts.append(ddl[start:at])
            start = at + 1
    return [*parts, ddl[start:]]


def duplicate_columns(ddl: str) -> list[str]:
    """Columns of a schema that repeat the name of another one or of Kafka's; case is ignored, as in Spark."""
    seen = {name.lower() for name in KAFKA_COLUMNS}
    found = []
    for name, _ in columns(ddl):
        if name.lower() in seen:
            found.append(name)
        seen.add(name.lower())
    return found


def nested_columns(ddl: str) -> list[str]:
    """Columns of a schema with types that a CSV row cannot hold."""
    return [name for name, kind in columns(ddl) if re.match(r"(array|map|struct)\s*<", kind, re.IGNORECASE)]
