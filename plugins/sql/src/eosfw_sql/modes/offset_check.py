"""Whether a source offset is one that a mode writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eosfw.errors import DamagedDataError
from eosfw_sql.modes.positions import digests, hashed_columns, number_of, time_of, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eosfw.records import SourceOffset

_ENTRIES: Final[Mapping[str, Sequence[str]]] = {
    "bulk": ("round", "row", "after"),
    "incrementing": ("incrementing",),
    "timestamp": ("timestamp", "rows", "columns"),
    "timestamp+incrementing": ("timestamp", "incrementing"),
}


def check_offset(mode: str, offset: SourceOffset) -> None:
    """Raise DamagedDataError for an offset with which no task could begin, such as one of another mode."""
    if not offset.keys() <= {*_ENTRIES[mode]}:
        raise DamagedDataError(
            "the source offset was made in another mode, which says nothing of the rows that this one has read: set "
            "mode as it was, or reset the connector's offsets"
        )
    if mode == "bulk":
        whole(offset, "round")
        whole(offset, "row")
    if "timestamp" in mode:
        time_of(offset)
    if "incrementing" in mode:
        number_of(offset)
    if mode == "timestamp":
        digests(offset)
        hashed_columns(offset)
