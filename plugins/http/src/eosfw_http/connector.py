"""The connector `http`, which reads an API in one task."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, ClassVar, Final

import httpx2

from eosfw.builtin.converters import value_schema
from eosfw.connectors import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw_http.api import Api
from eosfw_http.properties import CONNECTOR, NEEDED, NEEDED_BESIDE, SENT_IN_HEADERS, task_properties
from eosfw_http.reader import check_offset, source_partition
from eosfw_http.task import HttpSourceTask
from eosfw_http.urls import first_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTask
    from eosfw.records import SourceOffset, SourcePartition


_VALUE: Final = re.compile(r"[\x20-\x7e]*")
_HOST: Final = re.compile(rb"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?|[0-9A-Fa-f:.]+")
_LAST_PORT: Final = 65535
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class HttpSourceConnector(SourceConnector):
    """Polls a REST API that answers with JSON."""

    name: ClassVar[str] = "http"
    task: ClassVar[type[SourceTask]] = HttpSourceTask
    config: ClassVar[ConfigDef] = CONNECTOR

    def problems(self, config: Config) -> Iterable[Problem]:
        return [
            *_lacking(config),
            *_problems_of_headers(config),
            *_problems_of_urls(config),
            *_problems_of_schema(config),
        ]

    def check(self, config: Config) -> Iterable[Problem]:
        with closing(Api(config)) as api:
            try:
                api.get(first_page(config), {})
            except ConfigError as error:
                return error.problems
            except DamagedDataError as error:
                return [Problem("records.path", str(error))]
        return []

    def task_configs(self, config: Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [task_properties(config)]

    def exactly_once_support(self, config: Config) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def transaction_boundaries(self, config: Config) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.UNSUPPORTED

    def alter_offsets(self, config: Config, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]) -> bool:
        for partition, offset in offsets:
            if offset is None:  # also of a url that the connector had before: nobody else could tidy it up
                continue
            if partition != source_partition(config):
                raise DamagedDataError(f"the only source partition of this connector is {source_partition(config)}")
            check_offset(config, offset)
        return True


def _lacking(config: Config) -> Iterator[Problem]:
    for (name, choice), needed in NEEDED.items():
        if config[name] == choice:
            yield from (Problem(one, f"{name} = {choice} needs it; set it") for one in needed if config[one] is None)
    for name, one in NEEDED_BESIDE.items():
        if config[name] and config[one] is None:
            yield Problem(one, f"{name} needs it; set it")


def _problems_of_headers(config: Config) -> Iterator[Problem]:
    """What a header cannot hold, without the text, which is a secret."""
    for name in SENT_IN_HEADERS[config["auth.type"]]:
        if not _VALUE.fullmatch(config[name] or ""):
            yield Problem(name, "it has characters that no header can hold; look how it was copied")
    if config["auth.type"] == "api_key" and not _NAME.fullmatch(config["api.key.name"]):
        yield Problem("api.key.name", "this is no name of a header or parameter; write one such as X-API-KEY")
    if config["auth.type"] == "basic" and ":" in (config["connection.user"] or ""):
        yield Problem("connection.user", "the name of a user of auth.type = basic has no colon; correct it")


def _problems_of_schema(config: Config) -> Iterable[Problem]:
    try:
        value_schema(config)
    except ConfigError as error:
        return error.problems
    return ()


def _problems_of_urls(config: Config) -> Iterator[Problem]:
    """What is wrong with URLs, without their text, which may have a secret."""
    for name in ("url", "oauth2.token.url"):
        if config[name] is None:
            continue
        try:
            url = httpx2.URL(config[name])
        except httpx2.InvalidURL:
            url = httpx2.URL()
        if url.scheme not in ("http", "https") or not _HOST.fullmatch(url.raw_host) or (url.port or 1) > _LAST_PORT:
            yield Problem(name, "this is no URL; write one such as https://api.example.org/orders")
        elif url.userinfo or url.query or url.fragment:
            yield Problem(
                name, "it is shown, so leave user, password and query out; see auth.type and query.parameters"
            )
