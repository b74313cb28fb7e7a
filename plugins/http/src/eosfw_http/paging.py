"""Which page follows a page, and how it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import httpx2

from eosfw.errors import DamagedDataError
from eosfw_http.json_path import found

if TYPE_CHECKING:
    from eosfw.config import Config
    from eosfw_http.api import Answer

Place: TypeAlias = Mapping[str, Any]
"""Names a page as the source offset does; empty for the first one."""


class Paging(Protocol):
    """A way to page."""

    entry: ClassVar[str | None]
    """What names a page in a source offset."""
    may_end_early: ClassVar[bool]
    """Whether a page is taken for the last one because it has fewer records than a property says."""

    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        """The URL of a page, made of that of the first one."""

    def following(self, place: Place, answer: Answer) -> Place | None:
        """The page behind a page; None where there is none yet, so that the page itself may still grow."""

    def beyond(self, place: Place) -> Place:
        """The page behind a last page, which has to be empty; where it may have been taken for it too early."""

    def preceding(self, place: Place) -> tuple[Place, int] | None:
        """The page before an empty one, with how many records it must have; None where places are not counted."""


def paging(config: Config) -> Paging:
    """The way that `paging` says."""
    kind = config["paging"]
    if kind == "page":
        return _Pages(config["page.parameter"], config["page.first"], config["page.size"])
    if kind == "offset":
        return _Offsets(config["offset.parameter"])
    if kind == "cursor":
        return _Cursors(config["cursor.parameter"], config["cursor.path"])
    if kind == "link":
        return _Links(config["link.path"], config["api.key.name"] if config["auth.type"] == "api_key" else None)
    return _One()


class _One:
    entry: ClassVar[str | None] = None
    may_end_early: ClassVar[bool] = False

    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        return url

    def following(self, place: Place, answer: Answer) -> Place | None:
        return None

    def beyond(self, place: Place) -> Place:
        raise NotImplementedError

    def preceding(self, place: Place) -> tuple[Place, int] | None:
        return None


class _Pages(_One):
    """Pages are named by the number of records before them, so that `page.size` may change."""

    entry: ClassVar[str | None] = "offset"
    may_end_early: ClassVar[bool] = True

    def __init__(self, parameter: str, first: int, size: int) -> None:
        self._parameter, self._first, self._size = parameter, first, size

    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        return url.copy_set_param(self._parameter, self._first + self._number(place))

    def following(self, place: Place, answer: Answer) -> Place | None:
        count = len(answer.records)
        if count > self._size:
            # A page that is taken for full although it may grow would lose what comes.
            raise DamagedDataError(
                f"a page has {count} records, and page.size is {self._size}: set it to what the API gives"
            )
        return self.beyond(place) if count == self._size else None

    def beyond(self, place: Place) -> Place:
        return {"offset": (self._number(place) + 1) * self._size}

    def preceding(self, place: Place) -> tuple[Place, int] | None:
        before = self._number(place) - 1
        return None if before < 0 else ({"offset": before * self._size}, self._size)

    def _number(self, place: Place) -> int:
        return whole(place, "offset") // self._size


class _Offsets(_One):
    entry: ClassVar[str | None] = "offset"

    def __init__(self, parameter: str) -> None:
        self._parameter = parameter

    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        return url.copy_set_param(self._parameter, whole(place, "offset"))

    def following(self, place: Place, answer: Answer) -> Place | None:
        return {"offset": whole(place, "offset") + len(answer.records)} if answer.records else None

    def preceding(self, place: Place) -> tuple[Place, int] | None:
        read = whole(place, "offset")
        return None if not read else ({"offset": read - 1}, 1)


class _Cursors(_One):
    entry: ClassVar[str | None] = "cursor"

    def __init__(self, parameter: str, path: str) -> None:
        self._parameter, self._path = parameter, path

    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        return url.copy_set_param(self._parameter, place["cursor"]) if "cursor" in place else url

    def following(self, place: Place, answer: Answer) -> Place | None:
        cursor = found(answer.document, self._path)
        if cursor is None or cursor == "":
            return None
        if isinstance(cursor, bool) or not isinstance(cursor, str | int):
            raise DamagedDataError(f"{self._path} of an answer is neither text nor number; correct cursor.path")
        # An API that repeats its last cursor has no page behind it.
        return None if cursor == place.get("cursor") else {"cursor": cursor}


class _Links(_One):
    entry: ClassVar[str | None] = "link"

    def __init__(self, path: str | None, key: str | None) -> None:
        self._path, self._key = path, key

    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        # Never joined: a path that begins with `//` would lead to another server.
        return url.copy_with(raw_path=str(place["link"]).encode("ascii")) if "link" in place else url

    def following(self, place: Place, answer: Answer) -> Place | None:
        link = answer.next_link if self._path is None else found(answer.document, self._path)
        if link is None or link == "":
            return None
        there = self._joined(answer.url, link)
        # An API that links its last page to itself has no page behind it.
        return None if there == answer.url else {"link": there.raw_path.decode("ascii")}

    def _joined(self, here: httpx2.URL, link: Any) -> httpx2.URL:
        if not isinstance(link, str):
            raise DamagedDataError(f"{self._path} of an answer is no text; correct link.path")
        try:
            there = here.join(link)
        except (httpx2.InvalidURL, UnicodeError):
            raise DamagedDataError("the link to the next page is no URL, so it cannot be followed; report it") from None
        # Its path alone is kept, and asked of the server of `url`: behind a proxy, links often say http for https.
        if (there.host, there.port) != (here.host, here.port):
            raise DamagedDataError("the link to the next page leads to another server, which is not asked; correct url")
        # The key is added to each request, and must not get into the source offset.
        return there if self._key is None or self._key not in there.params else there.copy_remove_param(self._key)


def whole(place: Place, entry: str) -> int:
    """A number of a source offset, 0 if there is none; DamagedDataError if it is no such number."""
    value = place.get(entry, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DamagedDataError(f"the source offset has no whole number {entry!r}: reset the connector's offsets")
    return value
