"""How far an API was read: what is asked for next, which of its records are new, and the source offset."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from eosfw.errors import DamagedDataError
from eosfw_http.bookmarks import before, bookmark_of, is_less
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
_PLACES: Final = frozenset({"offset", "cursor", "link"})
OFFSET_NAMES: Final = _PLACES | {"record", "bookmark.path", "bookmark", "rows"}
"""What source offsets are made of."""


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
    def earlier_bookmark(self) -> str | None:
        """A bookmark before `least`, to see whether the API leaves out the records at it; None where it does not."""

    def knows(self, records: Sequence[Record]) -> bool:
        """Whether there are records among these that were read before, at the bookmark."""

    @property
    def offset(self) -> SourceOffset:
        """The source offset of this place."""


def position_of(config: Config, offset: SourceOffset | None, entry: str | None) -> Position:
    """The place at which to go on; `entry` is what names a page there."""
    kept = offset or {}
    is_known = kept.get("bookmark.path") == config["incremental.path"] and {entry}.issuperset(_place(kept))
    # A place on the first page has no name but in pages that are counted, which would begin with it again.
    if offset is not None and (not is_known or (entry == "offset" and "record" in kept)):
        raise DamagedDataError(
            "the source offset was made with another paging or incremental.path: "
            "set those as they were, or reset the connector's offsets"
        )
    if config["incremental.path"] is None:
        return PagePosition(config, kept, entry)
    return BookmarkPosition(config, kept)


class PagePosition:
    """Behind so many records of a page of a list that only grows at its end."""

    def __init__(self, config: Config, offset: SourceOffset, entry: str | None) -> None:
        self._counts = entry == "offset"
        self.place: Place = _place(offset)
        self._record = whole(offset, "record")
        if self._counts:
            # A number of records is a place in pages of any size.
            read = whole(offset, "offset")
            self._record = read % config["page.size"] if config["paging"] == "page" else 0
            self.place = {"offset": read - self._record}

    @property
    def least(self) -> str | None:
        return None

    @property
    def earlier_bookmark(self) -> str | None:
        return None

    def knows(self, records: Sequence[Record]) -> bool:
        return True

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
        if self._counts:
            return {"offset": whole(self.place, "offset") + self._record}
        return {**self.place, "record": self._record}


class BookmarkPosition:
    """Behind the greatest bookmark; the hashes of the records that have it say which of them were read.

    Records come in the order of their bookmarks. So a greater one begins anew with the first page behind it, and a
    record that moves to the end when it changes pushes none from one page to another that was read.
    """

    def __init__(self, config: Config, offset: SourceOffset) -> None:
        self._path: str = config["incremental.path"]
        self._initial: str | None = config["incremental.initial"]
        self._overlap: int = config["incremental.overlap"]
        self.place: Place = {}
        self._bookmark: Any = offset.get("bookmark")
        self._tied = _digests(offset)
        self._anew = False

    @property
    def least(self) -> str | None:
        if self._bookmark is None:
            return self._initial
        if not self._overlap:
            return str(self._bookmark)
        return self._text_before(self._overlap)

    @property
    def earlier_bookmark(self) -> str | None:
        if self._bookmark is None or self.place or self._overlap:
            return None
        earlier = before(self._bookmark, 1)
        return None if earlier is None else str(earlier)

    def knows(self, records: Sequence[Record]) -> bool:
        return any(digest_of(record) in self._tied for record in records)

    def unread(self, records: Sequence[Record]) -> Sequence[Record]:
        unread: list[Record] = []
        seen, last, self._anew = set(self._tied), None, False
        for record in records:
            bookmark = bookmark_of(record, self._path)
            if last is not None and is_less(bookmark, last, self._path):
                raise DamagedDataError(
                    f"the API's records do not come in the order of {self._path}: ask for it by query.parameters"
                )
            last, digest = bookmark, digest_of(record)
            if digest not in seen and not self._is_behind(bookmark):
                unread.append(record)
                seen.add(digest)
        return unread

    def move(self, read: Sequence[Record]) -> None:
        for record in read:
            bookmark = bookmark_of(record, self._path)
            if self._bookmark is None or is_less(self._bookmark, bookmark, self._path):
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
        return {"bookmark.path": self._path, "bookmark": self._bookmark, "rows": b64encode(tied).decode()}

    def _is_behind(self, bookmark: Any) -> bool:
        return self._bookmark is not None and is_less(bookmark, self._bookmark, self._path)

    def _text_before(self, amount: int) -> str:
        earlier = before(self._bookmark, amount)
        if earlier is None:
            raise DamagedDataError(
                f"{self._path} is neither a number nor a time, so nothing can be asked from before it; "
                "leave incremental.overlap out"
            )
        return str(earlier)


def digest_of(record: Record) -> bytes:
    """What tells a record from others in every process, whatever the order of its names."""
    try:
        text = json.dumps(record, sort_keys=True)
    except RecursionError:
        raise DamagedDataError("a record is nested too deep to be told apart from others; leave it out") from None
    return blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()


def _place(offset: SourceOffset) -> Place:
    return {name: offset[name] for name in _PLACES if name in offset}


def _digests(offset: SourceOffset) -> set[bytes]:
    try:
        packed = b64decode(str(offset.get("rows", "")), validate=True)
    except ValueError:
        raise DamagedDataError("the source offset has no hashes at 'rows': reset the connector's offsets") from None
    return {packed[at : at + _DIGEST_BYTES] for at in range(0, len(packed), _DIGEST_BYTES)}
