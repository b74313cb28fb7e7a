"""The connector `http`, which reads an API in one task."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, ClassVar

import httpx2

from eosfw.connectors import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw_http.api import Api
from eosfw_http.properties import CONNECTOR, NEEDED, task_properties
from eosfw_http.reader import first_page
from eosfw_http.task import HttpSourceTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTask


class HttpSourceConnector(SourceConnector):
    """Polls a REST API that answers with JSON."""

    name: ClassVar[str] = "http"
    task: ClassVar[type[SourceTask]] = HttpSourceTask
    config: ClassVar[ConfigDef] = CONNECTOR

    def problems(self, config: Config) -> Iterable[Problem]:
        for (name, choice), needed in NEEDED.items():
            if config[name] == choice:
                yield from (
                    Problem(one, f"{name} = {choice} needs it; set it") for one in needed if config[one] is None
                )
        if (config["incremental.path"] is None) != (config["incremental.parameter"] is None):
            yield Problem("incremental.parameter", "incremental.path and incremental.parameter go together; set both")
        if config["page.size.parameter"] is not None and config["page.size"] is None:
            yield Problem("page.size", "page.size.parameter needs it; set it")
        for name in ("url", "oauth2.token.url"):
            if config[name] is not None:
                yield from _problems_of_url(name, config[name])

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


def _problems_of_url(name: str, text: str) -> Iterator[Problem]:
    """What is wrong with a URL, without its text, which may have a secret."""
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        url = httpx2.URL()
    if url.scheme not in ("http", "https") or not url.host:
        yield Problem(name, "this is no URL; write one such as https://api.example.org/orders")
    elif url.userinfo or url.query or url.fragment:
        yield Problem(name, "it is shown, so leave user, password and query out; see auth.type and query.parameters")
