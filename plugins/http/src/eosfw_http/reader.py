"""Read the records of an API page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2

from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw.records import SourceBatch
from eosfw_http.json_path import found
from eosfw_http.paging import paging
from eosfw_http.positions import position_of
from eosfw_http.properties import secrets
from eosfw_http.schemas import value_schema, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eosfw.config import Config
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceOffset, SourcePartition
    from eosfw_http.api import Answer, Api
    from eosfw_http.paging import Paging, Place
    from eosfw_http.positions import Position, Record


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
        self._trusts_last = self._trusts_filter = False
        self._cleared: str | None = None
        """What `_doubt_filter` asked last, to no effect."""
        self.rests = False
        """Whether the API had nothing new when it was asked last."""

    def take(self) -> SourceBatch | None:
        """The next page; None if it has nothing new. A page of known records only moves the offset."""
        place = self._position.place
        url = self._url(place, self._position.least)
        answer = self._api.get(url, self._last[1] if self._last is not None and self._last[0] == url else {})
        if answer is None:
            self.rests = True
            return None
        following = self._following(place, answer)
        self._doubt_filter(answer)
        unread = self._position.unread(answer.records)
        offsets = self._move(unread, following)
        self._last = (url, answer.validators) if following is None else None
        # Some APIs give a next cursor forever: an empty page is the last one for now.
        self.rests = not unread and (following is None or not answer.records)
        return None if not unread and following is None else self._batch(unread, offsets)

    def _url(self, place: Place, least: str | None) -> httpx2.URL:
        return _page_url(self._config, self._paging, place, least)

    def _following(self, place: Place, answer: Answer) -> Place | None:
        following = self._paging.following(place, answer)
        if following is None:
            self._doubt_last(place, answer)
        elif any(secret in str(value) for value in following.values() for secret in self._secrets):
            raise DamagedDataError(
                "the API's next cursor or link has a secret of this connector, which the source offset would show; "
                "send it another way, see auth.type"
            )
        return following

    def _doubt_last(self, place: Place, answer: Answer) -> None:
        """Refuse a `page.size` above the real one, with which the first page would seem to be the last forever."""
        beyond = None if self._trusts_last else self._paging.beyond(place, answer)
        if beyond is None:
            return
        try:
            more = self._api.get(self._url(beyond, self._position.least), {})
        except ConfigError:  # some APIs have no page behind the last one
            more = None
        if more is not None and more.records and more.records != answer.records:
            # Records may have come between the two requests; then the page is full by now.
            again = self._api.get(answer.url, {})
            if again is not None and self._paging.following(place, again) is None:
                size = self._config["page.size"]
                raise DamagedDataError(
                    f"a page has {len(again.records)} records, and there is one behind it, but page.size is {size}: "
                    "set it to what the API gives"
                )
        self._trusts_last = True

    def _doubt_filter(self, answer: Answer) -> None:
        """Refuse an API that leaves out the records at the bookmark: those that share it would be lost."""
        doubted = None if self._config["incremental.parameter"] is None else self._position.doubted
        if self._trusts_filter or doubted in (None, self._cleared):
            return
        if self._position.knows(answer.records):
            self._trusts_filter = True
            return
        # The record at the bookmark may have changed or gone: then it is not here, either.
        more = self._api.get(self._url({}, doubted), {})
        if more is not None and self._position.knows(more.records):
            name = self._config["incremental.parameter"]
            sentence = f"the API leaves out the records at {name} itself, so some would be lost; set it to 1"
            raise ConfigError(Problem("incremental.overlap", sentence))
        self._cleared = doubted

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
    pages = paging(config)
    position = position_of(config, offset, pages.entry)
    _page_url(config, pages, position.place, position.least)


def first_page(config: Config) -> httpx2.URL:
    """The URL of the first page, without a bookmark."""
    url = httpx2.URL(config["url"], params=httpx2.QueryParams(config["query.parameters"]))
    if config["page.size.parameter"] is not None:
        url = url.copy_set_param(config["page.size.parameter"], config["page.size"])
    return url


def _page_url(config: Config, pages: Paging, place: Place, least: str | None) -> httpx2.URL:
    url = first_page(config)
    try:
        if config["incremental.parameter"] is not None and least is not None:
            url = url.copy_set_param(config["incremental.parameter"], least)
        return pages.url(url, place)
    except (httpx2.InvalidURL, UnicodeError):
        raise DamagedDataError(
            "the API's cursor, link or bookmark cannot be a part of a URL; correct the path to it"
        ) from None


def _key(record: Record, path: str) -> Any:
    key = found(record, path)
    if key is None:
        raise DamagedDataError(f"a record has no key at {path}; correct key.path")
    return key
