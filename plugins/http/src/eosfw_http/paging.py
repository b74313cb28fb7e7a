"""Which page follows a page, and how it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

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

    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        """The URL of a page, made of that of the first one."""

    def following(self, place: Place, answer: Answer) -> Place | None:
        """The page behind a page; None where there is none yet, so that the page itself may still grow."""


def paging(config: Config) -> Paging:
    """The way that `paging` says."""
    kind = config["paging"]
    if kind == "page":
        return _Pages(config["page.parameter"], config["page.first"], config["page.size"])
    if kind == "offset":
        return _Offsets(config["offset.parameter"])
    if kind == "cursor":
        return _Cursors(config["cursor.parameter"], config["cursor.path"])
    return _Links() if kind == "link" else _One()


class _One:
    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        return url

    def following(self, place: Place, answer: Answer) -> Place | None:
        return None


class _Pages:
    def __init__(self, parameter: str, first: int, size: int) -> None:
        self._parameter, self._first, self._size = parameter, first, size

    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        return url.copy_set_param(self._parameter, self._number(place))

    def following(self, place: Place, answer: Answer) -> Place | None:
        count = len(answer.records)
        if count > self._size:
            # A page that is taken for full although it may grow would lose what comes.
            raise DamagedDataError(
                f"a page has {count} records, and page.size is {self._size}: set it to what the API gives"
            )
        return {"page": self._number(place) + 1} if count == self._size else None

    def _number(self, place: Place) -> int:
        return whole(place, "page", self._first)


class _Offsets:
    def __init__(self, parameter: str) -> None:
        self._parameter = parameter

    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        return url.copy_set_param(self._parameter, whole(place, "offset", 0))

    def following(self, place: Place, answer: Answer) -> Place | None:
        return {"offset": whole(place, "offset", 0) + len(answer.records)} if answer.records else None


class _Cursors:
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


class _Links:
    def url(self, url: httpx2.URL, place: Place) -> httpx2.URL:
        return url.join(place["link"]) if "link" in place else url

    def following(self, place: Place, answer: Answer) -> Place | None:
        link = answer.next_link
        if link is None:
            return None
        there = answer.url.join(link)
        if _origin(there) != _origin(answer.url):
            # Whoever gets the next request gets the secrets in it.
            raise DamagedDataError("the header Link leads to another server, which is not asked; correct url")
        return {"link": there.raw_path.decode("ascii")}


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def whole(place: Place, entry: str, default: int) -> int:
    """A number of a source offset; DamagedDataError if it is none."""
    value = place.get(entry, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise DamagedDataError(f"the source offset has no whole number {entry!r}: reset the connector's offsets")
    return value
