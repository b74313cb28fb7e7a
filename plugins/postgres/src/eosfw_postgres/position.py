"""The source offset: a place in the stream of a slot, between two records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eosfw.errors import DamagedDataError

if TYPE_CHECKING:
    from eosfw.records import SourceOffset

__all__ = ["Position"]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Everything before it is done.

    `lsn` is where the log has the commit of a transaction, `n` how many of its changes are done, and `part` how many
    records of the next one, if a change makes several.
    """

    lsn: int
    n: int = 0
    part: int = 0

    def offset(self) -> dict[str, int]:
        """As a source offset."""
        return {"lsn": self.lsn, "n": self.n, "part": self.part}

    @classmethod
    def of(cls, offset: SourceOffset) -> Position:
        """The position of a source offset; DamagedDataError if it is none."""
        values = [offset.get(name, 0 if name != "lsn" else None) for name in ("lsn", "n", "part")]
        if any(not isinstance(value, int) or isinstance(value, bool) or value < 0 for value in values):
            raise DamagedDataError(
                "the source offset of the connector is no position of a replication slot (lsn, n, part): reset its "
                "offsets, or name another topic.prefix"
            )
        return cls(*(int(value or 0) for value in values))
