"""How far an API was read: what is asked for next, which of its records are new, and the source offset."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from eosfw.errors import DamagedDataError
from eosfw_http.json_path import found
from eosfw_http.paging import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw.config import Config
    from eosfw.records import SourceOffset
    from eosfw_http.paging import Place

Record: TypeAlias = dict[str, Any]
_DIGEST_BYTES: Final = 12
MAX_TIES: Final = 40_000
"""Records that share a bookmark: their hashes stand in the offset, and Kafka takes 1 MiB."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d")
_PLACES: Final = ("page", "offset", "cursor", "link")


class Position(Protocol):
    """A place among the records of an API."""

    place: Place
    """The page to ask for."""

    @property
    def least(self) -> str | None:
        """The bookmark to ask for; None for none."""

    def unread(self, records: Sequence[Record]) -> Sequence[Record]:
        """The records of the page without those that were read before."""

    def move(self, read: Sequence[Record]) -> None:
        """Go behind these unread records of the page, and stay on it."""

    def leave(self, following: Place | None) -> None:
        """All of the page was read: go to the page behind it, if there is one, or to the first behind the bookmark."""

    @property
    def offset(self) -> SourceOffset:
        """The source offset of this place."""


def position_of(config: Config, offset: SourceOffset | None) -> Position:
    """The place at which to go on."""
    if config["incremental.path"] is None:
        return PagePosition(offset or {})
    return BookmarkPosition(config["incremental.path"], config["incremental.initial"], offset or {})


class PagePosition:
    """Behind so many records of a page of a list that only grows at its end."""

    def __init__(self, offset: SourceOffset) -> None:
        self.place: Place = _place(offset)
        self._record = whole(offset, "record", 0)

    @property
    def least(self) -> str | None:
        return None

    def unread(self, records: Sequence[Record]) -> Sequence[Record]:
        if len(records) < self._record:
            raise DamagedDataError(
                f"a page has {len(records)} records, and {self._record} of it were read: records were removed, or "
                f"come in another order; read the API with incremental.path"
            )
        return records[self._record :]

    def move(self, read: Sequence[Record]) -> None:
        self._record += len(read)

    def leave(self, following: Place | None) -> None:
        if following is not None:
            self.place, self._record = following, 0

    @property
    def offset(self) -> SourceOffset:
        return {**self.place, "record": self._record}


class BookmarkPosition:
    """Behind the greatest bookmark; the hashes of the records that have it say which of them were read.

    Records come in the order of their bookmarks. So a greater one begins anew with the first page behind it, and a
    record that moves to the end when it changes pushes none from one page to another that was read.
    """

    def __init__(self, path: str, initial: str | None, offset: SourceOffset) -> None:
        self._path, self._initial = path, initial
        self.place: Place = {}
        self._bookmark: Any = offset.get("bookmark")
        self._tied = _digests(offset)
        self._anew = False

    @property
    def least(self) -> str | None:
        return self._initial if self._bookmark is None else str(self._bookmark)

    def unread(self, records: Sequence[Record]) -> Sequence[Record]:
        unread: list[Record] = []
        before, self._anew = self._bookmark, False
        for count, record in enumerate(records):
            bookmark = self._bookmark_of(record)
            if count and self._less(bookmark, before):
                raise DamagedDataError(
                    f"the API's records do not come in the order of {self._path}: ask for it by query.parameters"
                )
            before = bookmark
            if (
                self._bookmark is None
                or self._less(self._bookmark, bookmark)
                or (not self._less(bookmark, self._bookmark) and digest_of(record) not in self._tied)
            ):
                unread.append(record)
        return unread

    def move(self, read: Sequence[Record]) -> None:
        for record in read:
            bookmark = self._bookmark_of(record)
            if self._bookmark is None or self._less(self._bookmark, bookmark):
                self._bookmark, self._tied, self.place = bookmark, set(), {}
                self._anew = True
            self._tied.add(digest_of(record))
        if len(self._tied) > MAX_TIES:
            raise DamagedDataError(f"more than {MAX_TIES} records share one {self._path}: choose a finer one")

    def leave(self, following: Place | None) -> None:
        if not self._anew:
            self.place = following or {}

    @property
    def offset(self) -> SourceOffset:
        tied = b"".join(sorted(self._tied))
        return {"bookmark": self._bookmark, "rows": b64encode(tied).decode()}

    def _bookmark_of(self, record: Record) -> Any:
        bookmark = found(record, self._path)
        if isinstance(bookmark, bool) or not isinstance(bookmark, int | float | str):
            raise DamagedDataError(f"a record has neither number nor text at {self._path}; correct incremental.path")
        return bookmark

    def _less(self, one: Any, other: Any) -> bool:
        try:
            return bool(_order(one) < _order(other))
        except TypeError:
            raise DamagedDataError(
                f"records have values at {self._path} that cannot be compared; choose another incremental.path"
            ) from None


def digest_of(record: Record) -> bytes:
    """What tells a record from others in every process, whatever the order of its names."""
    return blake2b(json.dumps(record, sort_keys=True).encode(), digest_size=_DIGEST_BYTES).digest()


def _order(bookmark: Any) -> Any:
    """What a bookmark is compared by: texts of times as times, so that `00:00:00Z` is before `00:00:00.5Z`."""
    if not isinstance(bookmark, str) or not _TIME.match(bookmark):
        return bookmark
    try:
        moment = datetime.fromisoformat(bookmark)
    except ValueError:
        return bookmark
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _place(offset: SourceOffset) -> Place:
    return {name: offset[name] for name in _PLACES if name in offset}


def _digests(offset: SourceOffset) -> set[bytes]:
    packed = b64decode(str(offset.get("rows", "")))
    return {packed[at : at + _DIGEST_BYTES] for at in range(0, len(packed), _DIGEST_BYTES)}
