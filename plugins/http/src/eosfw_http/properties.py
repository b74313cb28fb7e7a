"""The properties of the connector; those of authentication bear the names of Confluent's HTTP source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from eosfw.config import Choice, ConfigDef, Int, Long, Password, String
from eosfw_http.json_path import JsonPath

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eosfw.config import Config

_KEYS = (
    String("url", doc="the URL that gives the records, without a query"),
    String("topic", doc="the topic of the records"),
    String("query.parameters", default="", doc="the fixed part of the query, such as `sort=changed&state=all`"),
    JsonPath("records.path", default="", doc="where the list of records is in an answer, such as `data.items`"),
    JsonPath("key.path", default=None, doc="where the key is in a record, such as `id`; without it keys are null"),
    String("value.schema", default=None, doc="the schema of the values, as JsonConverter writes schemas"),
    String("value.schema.file", default=None, doc="a file with the schema of the values"),
    Choice(
        "paging",
        default="none",
        among=("none", "page", "offset", "cursor", "link"),
        doc="how the next page is asked for: by number, by number of records, by cursor or by link",
    ),
    String("page.parameter", default="page", doc="the query parameter with the number of the page"),
    Int("page.first", default=1, at_least=0, doc="the number of the first page"),
    Int("page.size", default=None, at_least=1, doc="records of a full page, as the API really gives them"),
    String("page.size.parameter", default=None, doc="the query parameter that asks for `page.size`"),
    String("offset.parameter", default="offset", doc="the query parameter with the number of records to leave out"),
    String("cursor.parameter", default="cursor", doc="the query parameter with the cursor"),
    JsonPath("cursor.path", default=None, doc="where the next cursor is in an answer, such as `meta.next`"),
    JsonPath("link.path", default=None, doc="where the next link is in an answer; without it, in the header `Link`"),
    JsonPath("incremental.path", default=None, doc="where a record has its bookmark: a number or a time that grows"),
    String("incremental.parameter", default=None, doc="the query parameter with the least bookmark to read"),
    String("incremental.initial", default=None, doc="the first bookmark to ask for"),
    Long(
        "incremental.overlap",
        default=0,
        at_least=0,
        doc="how far before the bookmark to ask, in its numbers or seconds; 1 for APIs that leave out the bookmark",
    ),
    Long("poll.interval.ms", default=5000, at_least=0, doc="pause after an answer without new records, milliseconds"),
    Long("request.interval.ms", default=0, at_least=0, doc="least pause between two requests, milliseconds"),
    Long("request.timeout.ms", default=30_000, at_least=1, doc="how long to wait for an answer, milliseconds"),
    Long("retry.backoff.ms", default=1000, at_least=1, doc="first pause after a failure, milliseconds; it doubles"),
    Long("retry.backoff.max.ms", default=60_000, at_least=1, doc="longest pause after a failure, milliseconds"),
    Long("response.max.bytes", default=64 * 1024 * 1024, at_least=1, doc="largest answer that is read, decompressed"),
    Choice(
        "auth.type",
        default="none",
        among=("none", "basic", "bearer", "api_key", "oauth2"),
        doc="how to log in; oauth2 is the grant by client credentials",
    ),
    String("connection.user", default=None, doc="the user of `basic`"),
    Password("connection.password", default=None, doc="the password of `basic`"),
    Password("bearer.token", default=None, doc="the token of `bearer`"),
    String("api.key.name", default="X-API-KEY", doc="the header, or the query parameter, of `api_key`"),
    Choice("api.key.location", default="header", among=("header", "query"), doc="where the key of `api_key` is sent"),
    Password("api.key.value", default=None, doc="the key of `api_key`"),
    String("oauth2.token.url", default=None, doc="the URL that gives tokens"),
    String("oauth2.client.id", default=None, doc="the client of `oauth2`"),
    Password("oauth2.client.secret", default=None, doc="the client's secret"),
    String("oauth2.client.scope", default=None, doc="the scope to ask for"),
    Choice(
        "oauth2.client.auth.mode",
        default="header",
        among=("header", "url"),
        doc="how the client logs in for a token: by the header Authorization, or among the parameters of the form",
    ),
)
CONNECTOR = ConfigDef(*_KEYS)

NEEDED = {
    ("paging", "page"): ("page.size",),
    ("paging", "cursor"): ("cursor.path",),
    ("auth.type", "basic"): ("connection.user", "connection.password"),
    ("auth.type", "bearer"): ("bearer.token",),
    ("auth.type", "api_key"): ("api.key.value",),
    ("auth.type", "oauth2"): ("oauth2.token.url", "oauth2.client.id", "oauth2.client.secret"),
}
"""Properties that a choice needs."""
NEEDED_BESIDE = {
    "incremental.path": "incremental.parameter",
    "incremental.parameter": "incremental.path",
    "incremental.initial": "incremental.parameter",
    "incremental.overlap": "incremental.parameter",
    "page.size.parameter": "page.size",
}
"""Properties that another one needs."""
SENT_IN_HEADERS = {
    "none": (),
    "basic": (),
    "bearer": ("bearer.token",),
    "api_key": ("api.key.value",),
    "oauth2": (),
}
"""Texts that must be fit for a header."""


def task_properties(config: Config) -> Mapping[str, str]:
    """The properties of the only task."""
    return {key.name: str(config[key.name]) for key in _KEYS if config[key.name] not in (None, "")}


_LEAST_SECRET: Final = 6
"""Shorter texts are found everywhere."""


def secrets(config: Config) -> frozenset[str]:
    """The secrets of a configuration, as they stand in a URL, too."""
    texts = [config[key.name] for key in _KEYS if isinstance(key, Password) and config[key.name] is not None]
    return frozenset(form for text in texts if len(text) >= _LEAST_SECRET for form in (text, quote(text, safe="")))
