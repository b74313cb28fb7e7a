"""Find the rows that a tap gives again because its bookmark says `>=`.

Of each stream with a replication key the latest rows are remembered as hashes, in the source offset. All rows that
share a value of the key are remembered or forgotten together, the smallest value first, and the largest that was
forgotten is kept. So of a row that a tap gives, when it is started again, one of three things is certain: it is a row
that was given (its hash is remembered), a new row (its key is above all that were forgotten), or neither can be told.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from hashlib import blake2b
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from eosfw.errors import DamagedDataError

if TYPE_CHECKING:
    from collections.abc import Mapping

DIGEST_BYTES: Final = 16
MAX_BYTES: Final = 900_000
"""The most that remembered rows may take in a source offset: Kafka takes records of 1 MiB."""
_MOST_FRESH: Final = 1000
_VOLATILE: Final = frozenset({"_sdc_extracted_at", "_sdc_received_at", "_sdc_batched_at", "_sdc_sequence"})
"""Columns that say when a row was extracted, so that they differ each time."""

Order: TypeAlias = tuple[int, Any]
"""What values of a replication key are compared by: numbers, then moments, then other texts."""


class Seen(Enum):
    """What is known of a row that a tap gives."""

    NEW = "new"
    REPEATED = "repeated"
    UNKNOWN = "unknown"
    """It is as old as rows that were forgotten, so it may be one of them."""


class _Rows:
    """Rows that share a value of the replication key, as they were given until somebody asks for their hashes."""

    __slots__ = ("_digests", "_fresh", "key")

    def __init__(self, key: Any, digests: Counter[bytes] | None = None) -> None:
        self.key = key
        """Their value of the replication key as the tap gave it."""
        self._digests = Counter[bytes]() if digests is None else digests
        self._fresh: list[Mapping[str, Any]] = []

    def __len__(self) -> int:
        return self._digests.total() + len(self._fresh)

    def add(self, record: Mapping[str, Any]) -> None:
        # Most rows are forgotten with the next value of the key: no hash is made for those.
        self._fresh.append(record)
        if len(self._fresh) >= _MOST_FRESH:
            self.digests()

    def digests(self) -> Counter[bytes]:
        self._digests.update(map(digest_of, self._fresh))
        self._fresh = []
        return self._digests


class StreamRepeats:
    """The latest rows of one stream, during one run of its tap."""

    def __init__(self, more: int) -> None:
        self._more = more
        self._rows: dict[Order, _Rows] = {}
        self._orders: list[Order] = []
        """A heap of the values of the key, but for the largest."""
        self._latest: Order | None = None
        self._behind = 0
        """How many rows are remembered beside those with the largest value."""
        self._forgotten: tuple[Order, Any] | None = None
        self._left: Counter[bytes] = Counter()
        """What may come once more in this run."""
        self._old: Order | None = None
        """The largest value of the key that was forgotten when the run began."""
        self._known: Order | None = None
        """The largest value of the key that was remembered when the run began."""

    @property
    def total(self) -> int:
        """How many rows are remembered."""
        return self._behind + (0 if self._latest is None else len(self._rows[self._latest]))

    def take(self, record: Mapping[str, Any], key: Any) -> Seen:
        """Say whether a row was given before, and remember it."""
        order = order_of(key)
        if order is None:  # a bookmark never asks for rows without a value
            return Seen.NEW
        if self._known is not None and order <= self._known and self._left[digest := digest_of(record)] > 0:
            self._left[digest] -= 1
            return Seen.REPEATED
        if self._old is not None and order <= self._old:
            return Seen.UNKNOWN
        if self._forgotten is None or order > self._forgotten[0]:
            self._remember(order, key, record)
        return Seen.NEW

    def _remember(self, order: Order, key: Any, record: Mapping[str, Any]) -> None:
        rows = self._rows.get(order)
        if rows is None:
            rows = self._rows[order] = _Rows(key)
            self._arrange(order)
        rows.add(record)
        if order != self._latest:
            self._behind += 1
        while self._behind > self._more:
            oldest = heappop(self._orders)
            forgotten = self._rows.pop(oldest)
            self._behind -= len(forgotten)
            self._forgotten = (oldest, forgotten.key)

    def _arrange(self, order: Order) -> None:
        if self._latest is None or order > self._latest:
            before, self._latest = self._latest, order
            if before is None:
                return
            self._behind += len(self._rows[before])
            order = before
        heappush(self._orders, order)

    def stored(self) -> dict[str, Any]:
        """What a source offset keeps of it, as JSON."""
        rows = [
            [one.key, b64encode(b"".join(sorted(one.digests().elements()))).decode()]
            for _, one in sorted(self._rows.items(), key=lambda item: item[0])
        ]
        return {"rows": rows} | ({} if self._forgotten is None else {"forgotten": self._forgotten[1]})

    @classmethod
    def of(cls, stored: Mapping[str, Any], more: int) -> StreamRepeats:
        """What was stored, at the beginning of a run."""
        made = cls(more)
        for key, packed in stored["rows"]:
            digests = _unpacked(packed)
            order = _order(key)
            made._rows[order] = _Rows(key, digests)
            made._arrange(order)
            made._left.update(digests)
            made._known = order
        if "forgotten" in stored:
            made._old = _order(stored["forgotten"])
            made._forgotten = (made._old, stored["forgotten"])
        return made


class Repeats:
    """The latest rows of all streams of a tap, during one run of it."""

    def __init__(self, stored: str | None, more: int) -> None:
        self._more = more
        self._streams: dict[str, StreamRepeats] = {}
        for stream, one in _loaded(stored).items():
            self._streams[stream] = StreamRepeats.of(one, more)

    def of(self, stream: str) -> StreamRepeats:
        """The rows of one stream."""
        found = self._streams.get(stream)
        if found is None:
            found = self._streams[stream] = StreamRepeats(self._more)
        return found

    def text(self) -> str | None:
        """What a source offset keeps; None if that is nothing. DamagedDataError if it is too much."""
        kept = {stream: one.stored() for stream, one in sorted(self._streams.items()) if one.total}
        if not kept:
            return None
        text = json.dumps(kept, separators=(",", ":"), default=float)
        if len(text) > MAX_BYTES:
            stream, one = max(self._streams.items(), key=lambda item: item[1].total)
            raise DamagedDataError(
                f"{one.total} rows of stream {stream!r} would have to be remembered in the source offset, which has "
                f"room for about {MAX_BYTES * 3 // 4 // DIGEST_BYTES}: set lookback.rows lower, or give the stream a "
                f"replication key that fewer rows share"
            )
        return text


def digest_of(record: Mapping[str, Any]) -> bytes:
    """What tells a row from others in every process."""
    if not _VOLATILE.isdisjoint(record):
        record = {name: value for name, value in record.items() if name not in _VOLATILE}
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), default=str)
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


def order_of(key: Any) -> Order | None:
    """What a value of a replication key is compared by; None for one that has no order, such as null."""
    if isinstance(key, int | float | Decimal):
        return (0, key)
    if not isinstance(key, str):
        return None
    # As moments: `12:00:00.5Z` is later than `12:00:00Z`, but not as a text. Only what is written as a date with
    # hyphens, since a number such as 20240131 may be anything.
    if key[4:5] == "-" and key[7:8] == "-":
        try:
            moment = datetime.fromisoformat(key)
        except ValueError:
            return (2, key)
        return (1, moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    return (2, key)


def _order(key: Any) -> Order:
    order = order_of(key)
    if order is None:
        raise DamagedDataError("the source offset has rows without a replication key: reset the connector's offsets")
    return order


def _unpacked(packed: str) -> Counter[bytes]:
    data = b64decode(packed)
    return Counter(data[at : at + DIGEST_BYTES] for at in range(0, len(data), DIGEST_BYTES))


def _loaded(stored: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {} if stored is None else json.loads(stored)
    return found
