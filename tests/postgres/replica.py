"""A table rebuilt from records, which complains about every record that does not fit."""

from __future__ import annotations

from typing import Any
from uuid import UUID

Place = tuple[Any, ...]


class Replica:
    """The rows by their keys. AssertionError for a row that is there already, or a change of one that is not."""

    def __init__(self) -> None:
        self.rows: dict[Place, dict[str, Any]] = {}

    def apply(self, key: dict[str, Any], value: dict[str, Any] | None) -> None:
        """Take the next record."""
        place, rows = tuple(key.values()), self.rows
        if value is None:
            assert place not in rows, f"the tombstone of {place} is not behind its deletion"
        elif value["op"] in "rc":
            assert place not in rows, f"{value['op']} of {place}, which is there already"
            rows[place] = value["after"]
        else:
            assert place in rows, f"{value['op']} of {place}, which is not there"
            rows[place] = value["after"]
            if value["op"] == "d":
                del rows[place]


def replica(records) -> dict[Place, dict[str, Any]]:
    """The rows behind all records."""
    made = Replica()
    for _, key, value in records:
        made.apply(key, value)
    return made.rows


def table_rows(session, table):
    """The same of the table itself, whose key is its first column."""
    cursor = session.execute(f"SELECT * FROM {table}")
    names = [column.name for column in cursor.description]
    rows = [[str(one) if isinstance(one, UUID) else one for one in row] for row in cursor]
    return {(row[0],): dict(zip(names, row, strict=True)) for row in rows}
