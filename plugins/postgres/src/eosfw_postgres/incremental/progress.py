"""How far an incremental snapshot has come, as the source offset keeps it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from eosfw.errors import DamagedDataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eosfw.records import SourceOffset

__all__ = ["OFFSET_FIELD", "Key", "Progress"]

Key: TypeAlias = tuple[str, ...]
OFFSET_FIELD = "incremental"
"""The field of the source offset."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The tables to be read, and the last row of the first of them that was read."""

    tables: tuple[tuple[str, str], ...] = ()
    """SCHEMA.TABLE, and the condition for its rows in SQL, or nothing."""
    behind: Key | None = None
    signal: tuple[int, int] = (0, 0)
    """The place of the last signal that was followed: LSN of the commit, number of the change."""

    def with_tables(self, tables: Iterable[tuple[str, str]]) -> Progress:
        """With more tables, behind the others; one that waits already is not read twice."""
        waiting = {name for name, _ in self.tables[self.behind is not None :]}
        return replace(self, tables=(*self.tables, *(one for one in tables if one[0] not in waiting)))

    def without(self, stopped: Iterable[str]) -> Progress:
        """Without tables, however far they were read."""
        left = tuple(one for one in self.tables if one[0] not in set(stopped))
        return replace(self, tables=left, behind=self.behind if left[:1] == self.tables[:1] else None)

    def at(self, key: Key | None) -> Progress:
        """Behind a row of the first table; None stands for its end."""
        return replace(self, behind=key) if key is not None else replace(self, tables=self.tables[1:], behind=None)

    def text(self) -> str | None:
        """As a text of JSON; None if there is nothing to be read."""
        if not self.tables:
            return None
        return json.dumps({"tables": self.tables, "behind": self.behind, "signal": self.signal}, separators=(",", ":"))

    def offset(self, offset: SourceOffset) -> SourceOffset:
        """A source offset with this progress."""
        text = self.text()
        return offset if text is None else {**offset, OFFSET_FIELD: text}

    @classmethod
    def of(cls, text: object) -> Progress:
        """The progress of a field of the source offset; DamagedDataError if it is none."""
        if text is None:
            return cls()
        try:
            found = json.loads(str(text))
            behind = found["behind"]
            lsn, n = found["signal"]
            tables = tuple((str(name), str(condition)) for name, condition in found["tables"])
            return cls(tables, None if behind is None else tuple(map(str, behind)), (int(lsn), int(n)))
        except (ValueError, KeyError, TypeError):
            raise DamagedDataError(
                "the source offset of the connector has an incremental snapshot that cannot be read: reset its offsets"
            ) from None
