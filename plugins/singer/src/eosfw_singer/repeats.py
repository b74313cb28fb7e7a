"""Find the rows that a tap gives again because its bookmark says `>=`.

Of each stream with a replication key the latest rows are remembered in the source offset; where the STATE has bookmarks
of partitions, those of each.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from eosfw.errors import DamagedDataError
from eosfw_singer.latest_rows import DIGEST_BYTES, LatestRows, Seen

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES: Final = 900_000
"""The most that remembered rows may take in a source offset: Kafka takes records of 1 MiB."""
_MOST_WAITING: Final = 40_000


class StreamRepeats:
    """The latest rows of one stream, those of each partition that its STATE has a bookmark for.

    Which columns tell partitions is known once there was a STATE; until then all rows are kept.
    """

    def __init__(self, keys: tuple[str, ...], more: int, columns: tuple[str, ...] | None = None) -> None:
        self.keys = keys
        self._more, self._columns = more, columns
        self._partitions: dict[tuple[Any, ...], LatestRows] = {}
        self._waiting: list[tuple[Mapping[str, Any], Any]] = []

    @property
    def total(self) -> int:
        """How many rows are remembered."""
        return sum(one.total for one in self._partitions.values())

    def take(self, record: Mapping[str, Any], value: Any) -> Seen:
        """Say whether a row with this replication key was given before, and remember it."""
        if self._columns is not None:
            return self._partition(record, self._columns).take(record, value)
        self._waiting.append((record, value))
        if len(self._waiting) > _MOST_WAITING:
            self.tell_partitions(())
        return Seen.NEW

    def tell_partitions(self, columns: tuple[str, ...]) -> None:
        """Say which columns tell partitions; only the first time counts."""
        if self._columns is None:
            self._columns, waiting, self._waiting = columns, self._waiting, []
            for record, value in waiting:
                self.take(record, value)

    def _partition(self, record: Mapping[str, Any], columns: tuple[str, ...]) -> LatestRows:
        name = tuple(_plain(record.get(column)) for column in columns)
        found = self._partitions.get(name)
        if found is None:
            found = self._partitions[name] = LatestRows(self.keys, self._more)
        return found

    def stored(self) -> dict[str, Any]:
        """What a source offset keeps of it, as JSON."""
        rows = [one.stored() | ({"of": name} if name else {}) for name, one in self._partitions.items() if one.total]
        return {"keys": self.keys, "by": self._columns, "partitions": rows}

    @classmethod
    def of(cls, stored: Mapping[str, Any], more: int) -> StreamRepeats:
        """What was stored, at the beginning of a run."""
        keys = tuple(stored["keys"])
        made = cls(keys, more, tuple(stored["by"]))
        for one in stored["partitions"]:
            made._partitions[tuple(one.get("of", ()))] = LatestRows.of(one, keys, more)
        return made


class Repeats:
    """The latest rows of all streams of a tap, during one run of it; DamagedDataError if none can have been stored."""

    def __init__(self, stored: str | None, more: int) -> None:
        self._more = more
        self._streams: dict[str, StreamRepeats] = {}
        try:
            for stream, one in ({} if stored is None else json.loads(stored)).items():
                self._streams[stream] = StreamRepeats.of(one, more)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DamagedDataError(
                "the source offset has another form than this version writes: reset the connector's offsets"
            ) from None

    def of(self, stream: str, keys: tuple[str, ...] = ()) -> StreamRepeats:
        """The rows of one stream with these key properties."""
        found = self._streams.get(stream)
        if found is None:
            found = self._streams[stream] = StreamRepeats(keys, self._more)
        elif found.keys != keys:
            raise DamagedDataError(
                f"the key properties of stream {stream!r} have changed, so that rows that come again cannot be told: "
                f"reset the connector's offsets"
            )
        return found

    def text(self, state: Any = None) -> str | None:
        """What a source offset keeps beside a STATE; None if that is nothing. DamagedDataError if it is too much."""
        for stream, one in self._streams.items():
            one.tell_partitions(partition_columns(state, stream))
        kept = {stream: one.stored() for stream, one in sorted(self._streams.items()) if one.total}
        if not kept:
            return None
        text = json.dumps(kept, separators=(",", ":"), default=float)
        if len(text) > MAX_BYTES:
            stream, one = max(self._streams.items(), key=lambda item: item[1].total)
            raise DamagedDataError(
                f"{one.total} rows of stream {stream!r} would have to be remembered in the source offset, which has "
                f"room for about {MAX_BYTES // 2 // DIGEST_BYTES}: set lookback.rows lower, give the stream a "
                f"replication key that fewer rows share, or name it in full.table.streams if no row comes again"
            )
        return text


def partition_columns(state: Any, stream: str) -> tuple[str, ...]:
    """The columns that tell the partitions of a stream for which a STATE of Singer's SDK has bookmarks of their own."""
    bookmarks = state.get("bookmarks") if isinstance(state, dict) else None
    bookmark = bookmarks.get(stream) if isinstance(bookmarks, dict) else None
    partitions = bookmark.get("partitions") if isinstance(bookmark, dict) else None
    contexts = [one.get("context") for one in partitions or () if isinstance(one, dict)]
    return tuple(sorted({str(name) for context in contexts if isinstance(context, dict) for name in context}))


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else json.dumps(value, default=str)
