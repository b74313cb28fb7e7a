"""Read the records of an API page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from eosfw.builtin.converters import value_schema
from eosfw.errors import DamagedDataError
from eosfw.records import SourceBatch
from eosfw_http.json_path import found
from eosfw_http.paging import paging
from eosfw_http.positions import OFFSET_NAMES, position_of
from eosfw_http.properties import secrets
from eosfw_http.response_checks import ResponseChecks
from eosfw_http.urls import page_url
from eosfw_http.values import values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import httpx2

    from eosfw.config import Config
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceOffset, SourcePartition
    from eosfw_http.api import Answer, Api
    from eosfw_http.paging import Place
    from eosfw_http.positions import Position, Record


_REMEMBERED: Final = 10_000
"""Pages that are known again: links in a circle are seldom longer."""


def source_partition(config: Config) -> SourcePartition:
    """The source partition of an API."""
    return {"url": config["url"]}


class Reader:
    """Reads behind the committed offset."""

    def __init__(self, api: Api, config: Config, context: SourceTaskContext) -> None:
        self._api, self._config, self._context = api, config, context
        self._partition = source_partition(config)
        self._paging = paging(config)
        self._position: Position = position_of(config, context.offset(self._partition), self._paging.entry)
        self._secrets = secrets(config)
        self._schema = value_schema(config)
        self._last: tuple[httpx2.URL, Mapping[str, str]] | None = None
        """The last page that had none behind it, with the headers that ask whether it has changed."""
        self._checks = ResponseChecks(api, config, self._paging, self._position)
        self._asked: dict[str, None] = {}
        """URLs of the pages from the first one on to the present one."""
        self.rests = False
        """Whether the API had nothing new when it was asked last."""

    def take(self) -> SourceBatch | None:
        """The next page; None if it has nothing new. A page of known records only moves the offset."""
        place = self._position.place
        url = page_url(self._config, self._paging, place, self._position.least)
        answer = self._api.get(url, self._validators(url))
        if answer is None:
            self._checks.unchanged()
            self.rests = True
            return None
        following = self._following(place, answer)
        self._refuse_circle(url, place, following)
        self._checks.filter(answer)
        unread = self._position.unread(answer.records)
        offsets = self._move(unread, following)
        self._last = (url, answer.validators) if following is None else None
        # Some APIs give a next cursor forever: an empty page is the last one for now.
        self.rests = not unread and (following is None or not answer.records)
        return None if not unread and following is None else self._batch(unread, offsets)

    def _validators(self, url: httpx2.URL) -> Mapping[str, str]:
        known = self._last is not None and self._last[0] == url and not self._checks.is_due
        return self._last[1] if self._last is not None and known else {}

    def _following(self, place: Place, answer: Answer) -> Place | None:
        following = self._paging.following(place, answer)
        if following is None:
            self._checks.last_page(place, answer)
        elif any(secret in text for text in following.values() if isinstance(text, str) for secret in self._secrets):
            raise DamagedDataError(
                "the API's next cursor or link has a secret of this connector, which the source offset would show; "
                "send it another way, see auth.type"
            )
        return following

    def _refuse_circle(self, url: httpx2.URL, place: Place, following: Place | None) -> None:
        """Refuse pages that have no end: their records would come again and again."""
        if not place:
            self._asked.clear()
        self._asked[str(url)] = None
        if len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]
        if following is None:
            return
        if str(page_url(self._config, self._paging, following, self._position.least)) in self._asked:
            raise DamagedDataError(
                "the API's next cursor or link leads back to a page that was read before, so the pages have no end; "
                "correct cursor.path or link.path, or report it"
            )

    def _move(self, unread: Sequence[Record], following: Place | None) -> list[SourceOffset] | None:
        if not self._context.record_offsets:
            self._position.move(unread)
            self._position.leave(following)
            return None
        offsets = []
        for record in unread:
            self._position.move([record])
            offsets.append(self._position.offset)
        self._position.leave(following)
        return [*offsets[:-1], self._position.offset] if offsets else []

    def _batch(self, records: Sequence[Record], offsets: list[SourceOffset] | None) -> SourceBatch:
        path = self._config["key.path"]
        return SourceBatch(
            topic=self._config["topic"],
            values=values_of(self._schema, records),
            value_schema=self._schema,
            keys=None if path is None else [_key(record, path) for record in records],
            source_partition=self._partition,
            source_offset=self._position.offset,
            source_offsets=offsets,
        )


def check_offset(config: Config, offset: SourceOffset) -> None:
    """Refuse a source offset from which nothing can be read; DamagedDataError."""
    if unknown := sorted(offset.keys() - OFFSET_NAMES):
        raise DamagedDataError(f"no task of this connector writes {unknown[0]!r} into a source offset")
    pages = paging(config)
    position = position_of(config, offset, pages.entry)
    page_url(config, pages, position.place, position.least)


def _key(record: Record, path: str) -> Any:
    key = found(record, path)
    if key is None:
        raise DamagedDataError(f"a record has no key at {path}; correct key.path")
    return key
