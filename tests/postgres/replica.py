"""A table rebuilt from records, which complains about every record that does not fit."""

from __future__ import annotations

from typing import Any
from uuid import UUID


def replica(records) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows by their keys. AssertionError for a row that is there already, or a change of one that is not."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for _, key, value in records:
        place = tuple(key.values())
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
    return rows


def table_rows(session, table):
    """The same of the table itself, whose key is its first column."""
    cursor = session.execute(f"SELECT * FROM {table}")
    names = [column.name for column in cursor.description]
    rows = [[str(one) if isinstance(one, UUID) else one for one in row] for row in cursor]
    return {(row[0],): dict(zip(names, row, strict=True)) for row in rows}
