"""Read the records of an API page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2

from eosfw.errors import DamagedDataError
from eosfw.records import SourceBatch
from eosfw_http.json_path import found
from eosfw_http.paging import paging
from eosfw_http.positions import position_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eosfw.config import Config
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceOffset, SourcePartition
    from eosfw_http.api import Api
    from eosfw_http.paging import Place
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
        self._position: Position = position_of(config, context.offset(self._partition))
        self._first = first_page(config)
        self._last: tuple[httpx2.URL, Mapping[str, str]] | None = None
        """The last page that had none behind it, with the headers that ask whether it has changed."""

    def take(self) -> SourceBatch | None:
        """The next page; None if there is none at the moment. A page of known records only moves the offset."""
        url = self._url()
        validators = self._last[1] if self._last is not None and self._last[0] == url else {}
        answer = self._api.get(url, validators)
        if answer is None:
            return None
        unread = self._position.unread(answer.records)
        following = self._paging.following(self._position.place, answer)
        offsets = self._move(unread, following)
        self._last = (url, answer.validators) if following is None else None
        return None if not unread and following is None else self._batch(unread, offsets)

    def _url(self) -> httpx2.URL:
        url, least = self._first, self._position.least
        if self._config["incremental.parameter"] is not None and least is not None:
            url = url.copy_set_param(self._config["incremental.parameter"], least)
        return self._paging.url(url, self._position.place)

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
            values=records,
            keys=None if path is None else [_key(record, path) for record in records],
            source_partition=self._partition,
            source_offset=self._position.offset,
            source_offsets=offsets,
        )


def first_page(config: Config) -> httpx2.URL:
    """The URL of the first page, without a bookmark."""
    url = httpx2.URL(config["url"], params=httpx2.QueryParams(config["query.parameters"]))
    if config["page.size.parameter"] is not None:
        url = url.copy_set_param(config["page.size.parameter"], config["page.size"])
    return url


def _key(record: Record, path: str) -> Any:
    key = found(record, path)
    if key is None:
        raise DamagedDataError(f"a record has no key at {path}; correct key.path")
    return key
