"""The rows with the largest replication keys, as hashes.

All rows that share a value of the replication key are remembered or forgotten together, the smallest value first, and
the largest that was forgotten is kept. So of a row that a tap gives, when it is started again, one of three things is
certain: it is a row that was given (its hash is remembered), a new row (its replication key is above all that were
forgotten), or neither can be told.

Of a stream with key properties the last version of each row is remembered: a row is given again if it equals that one.
Without them equal rows are different ones, so they are counted; so are the rows of a log, which gives several versions
of a row in one run.
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
_KEY_BYTES: Final = 8
"""Two keys with one hash have different rows, so one of these would be sent again; none would be lost."""
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

    __slots__ = ("_counted", "_counts", "_fresh", "_given", "_keys", "_left", "_versions", "given", "value")

    def __init__(self, value: Any, keys: tuple[str, ...]) -> None:
        self.value = value
        """Their value of the replication key as the tap gave it."""
        self.given = 0
        """How many there are, each version of a row counted."""
        self._keys, self._counted = keys, not keys
        self._fresh: list[Mapping[str, Any]] = []
        self._counts: dict[bytes, int] = {}
        """If rows are counted: how often there is one with each hash."""
        self._left: dict[bytes, int] = {}
        """If rows are counted: what may come once more in this run."""
        self._versions: dict[bytes, bytes] = {}
        """Else the hash of the last version of each row, by that of its key."""
        self._given: set[bytes] = set()
        """The keys that have come in this run."""

    def add(self, record: Mapping[str, Any]) -> None:
        # Most rows are forgotten with the next value of the replication key: no hash is made for those.
        self._fresh.append(record)
        self.given += 1
        if len(self._fresh) >= _MOST_FRESH:
            self._hash()

    def repeats(self, record: Mapping[str, Any]) -> bool:
        """Whether a row was given before this run, or is the last version of its row."""
        if not self._counted:
            self._hash()
        if self._counted:
            if not self._left or not self._left.get(digest := digest_of(record)):
                return False
            self._left[digest] -= 1
            return True
        key = _key_digest(record, self._keys)
        if self._versions.get(key) != digest_of(record):
            return False
        self._given.add(key)
        return True

    def packed(self) -> list[Any]:
        """Value, hashes, and whether they are counted though there are keys."""
        self._hash()
        entries = Counter(self._counts).elements() if self._counted else (k + v for k, v in self._versions.items())
        text = b64encode(b"".join(sorted(entries))).decode()
        return [self.value, text, *([1] if self._counted and self._keys else [])]

    @classmethod
    def unpacked(cls, keys: tuple[str, ...], value: Any, text: str, counted: int = 0) -> _Rows:
        """What was packed, at the beginning of a run; ValueError for what cannot have been."""
        made = cls(value, keys)
        made._counted = bool(counted) or not keys
        data, size = b64decode(text, validate=True), DIGEST_BYTES + (0 if made._counted else _KEY_BYTES)
        if len(data) % size:
            raise ValueError("there is a part of a hash")
        entries = [data[at : at + size] for at in range(0, len(data), size)]
        if made._counted:
            made._counts, made._left = Counter(entries), Counter(entries)
        else:
            made._versions = {one[:_KEY_BYTES]: one[_KEY_BYTES:] for one in entries}
        made.given = len(entries)
        return made

    def _hash(self) -> None:
        for record in self._fresh:
            digest = digest_of(record)
            if not self._counted:
                self._version(_key_digest(record, self._keys), digest)
            if self._counted:
                self._counts[digest] = self._counts.get(digest, 0) + 1
        self._fresh = []

    def _version(self, key: bytes, digest: bytes) -> None:
        if key not in self._given or self._versions.get(key) == digest:
            self._versions[key] = digest
            self._given.add(key)
            return
        # A table has one version of a row; what gives two in one run is a log, which gives both in its next run.
        self._counts = dict.fromkeys(self._versions.values(), 1)
        self._left = {one: 1 for name, one in self._versions.items() if name not in self._given}
        self._counted, self._versions = True, {}


class LatestRows:
    """The latest rows of a stream, or of one partition of it, during one run of its tap."""

    def __init__(self, keys: tuple[str, ...], more: int) -> None:
        """`more` is how many rows to remember beside those with the largest replication key."""
        self._keys, self._more = keys, more
        self._rows: dict[Order, _Rows] = {}
        self._orders: list[Order] = []
        """A heap of the values of the replication key, but for the largest."""
        self._latest: Order | None = None
        self._behind = 0
        """How many rows are remembered beside those with the largest value."""
        self._forgotten: tuple[Order, Any] | None = None
        self._before: Mapping[Order, _Rows] = {}
        """What was remembered when the run began: forgotten meanwhile, it may still come again in this run."""
        self._old: Order | None = None
        """The largest value that was forgotten when the run began."""

    @property
    def total(self) -> int:
        """How many rows are remembered."""
        return self._behind + (0 if self._latest is None else self._rows[self._latest].given)

    def take(self, record: Mapping[str, Any], value: Any) -> Seen:
        """Say whether a row with this replication key was given before, and remember it."""
        order = order_of(value)
        if order is None:  # a bookmark never asks for rows without a value
            return Seen.NEW
        rows = self._rows.get(order) or self._before.get(order)
        if rows is not None and rows.repeats(record):
            return Seen.REPEATED
        if self._old is not None and order <= self._old:
            return Seen.UNKNOWN
        if self._forgotten is None or order > self._forgotten[0]:
            self._remember(order, value, record)
        return Seen.NEW

    def _remember(self, order: Order, value: Any, record: Mapping[str, Any]) -> None:
        rows = self._rows.get(order)
        if rows is None:
            rows = self._rows[order] = _Rows(value, self._keys)
            self._arrange(order)
        rows.add(record)
        if order != self._latest:
            self._behind += 1
        while self._behind > self._more:
            oldest = heappop(self._orders)
            forgotten = self._rows.pop(oldest)
            self._behind -= forgotten.given
            self._forgotten = (oldest, forgotten.value)

    def _arrange(self, order: Order) -> None:
        if self._latest is None or order > self._latest:
            before, self._latest = self._latest, order
            if before is None:
                return
            self._behind += self._rows[before].given
            order = before
        heappush(self._orders, order)

    def stored(self) -> dict[str, Any]:
        """What a source offset keeps of it, as JSON."""
        rows = [one.packed() for _, one in sorted(self._rows.items(), key=lambda item: item[0])]
        return {"rows": rows} | ({} if self._forgotten is None else {"forgotten": self._forgotten[1]})

    @classmethod
    def of(cls, stored: Mapping[str, Any], keys: tuple[str, ...], more: int) -> LatestRows:
        """What was stored, at the beginning of a run."""
        made = cls(keys, more)
        for packed in stored["rows"]:
            rows = _Rows.unpacked(keys, *packed)
            order = _order(rows.value)
            made._rows[order] = rows
            made._arrange(order)
        made._before = dict(made._rows)
        if "forgotten" in stored:
            made._old = _order(stored["forgotten"])
            made._forgotten = (made._old, stored["forgotten"])
        return made


def digest_of(record: Mapping[str, Any]) -> bytes:
    """What tells a row from others in every process."""
    if not _VOLATILE.isdisjoint(record):
        record = {name: value for name, value in record.items() if name not in _VOLATILE}
    return _digest(record, DIGEST_BYTES)


def _key_digest(record: Mapping[str, Any], keys: tuple[str, ...]) -> bytes:
    return _digest([record.get(name) for name in keys], _KEY_BYTES)


def _digest(value: Any, size: int) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_number)
    return blake2b(text.encode(), digest_size=size).digest()


def _number(value: Decimal) -> float | str:
    """A number as `decimal.handling.mode=double` has it, which may be changed between two runs, if it loses nothing."""
    number = float(value)
    return number if Decimal(repr(number)) == value else str(value)


def order_of(value: Any) -> Order | None:
    """What a value of a replication key is compared by; None for one that has no order, such as null."""
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, Decimal):  # the source offset has it as a float
        return (0, float(value))
    if not isinstance(value, str):
        return None
    # As moments: `12:00:00.5Z` is later than `12:00:00Z`, but not as a text. Only what is written as a date with
    # hyphens, since a number such as 20240131 may be anything.
    if value[4:5] == "-" and value[7:8] == "-":
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return (2, value)
        return (1, moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    return (2, value)


def _order(value: Any) -> Order:
    order = order_of(value)
    if order is None:
        raise DamagedDataError("the source offset has rows without a replication key: reset the connector's offsets")
    return order
