"""The properties of the connector; those of authentication bear the names of Confluent's HTTP source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.config import Choice, ConfigDef, Int, Long, Password, String

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eosfw.config import Config

_KEYS = (
    String("url", doc="the URL that gives the records, without a query"),
    String("topic", doc="the topic of the records"),
    String("query.parameters", default="", doc="the fixed part of the query, such as `sort=changed&state=all`"),
    String("records.path", default="", doc="where the list of records is in an answer, such as `data.items`"),
    String("key.path", default=None, doc="where the key is in a record, such as `id`; without it keys are null"),
    Choice(
        "paging",
        default="none",
        among=("none", "page", "offset", "cursor", "link"),
        doc="how the next page is asked for: by number, by number of records, by a cursor, or by the header Link",
    ),
    String("page.parameter", default="page", doc="the query parameter with the number of the page"),
    Int("page.first", default=1, at_least=0, doc="the number of the first page"),
    Int("page.size", default=None, at_least=1, doc="records of a full page, as the API really gives them"),
    String("page.size.parameter", default=None, doc="the query parameter that asks for `page.size`"),
    String("offset.parameter", default="offset", doc="the query parameter with the number of records to leave out"),
    String("cursor.parameter", default="cursor", doc="the query parameter with the cursor"),
    String("cursor.path", default=None, doc="where the next cursor is in an answer, such as `meta.next`"),
    String("incremental.path", default=None, doc="where a record has its bookmark: a number or a time that grows"),
    String("incremental.parameter", default=None, doc="the query parameter with the least bookmark to read"),
    String("incremental.initial", default=None, doc="the first bookmark to ask for"),
    Long("poll.interval.ms", default=5000, at_least=0, doc="pause after an answer without new records, milliseconds"),
    Long("request.timeout.ms", default=30_000, at_least=1, doc="how long to wait for an answer, milliseconds"),
    Long("retry.backoff.ms", default=1000, at_least=1, doc="first pause after a failure, milliseconds; it doubles"),
    Long("retry.backoff.max.ms", default=60_000, at_least=1, doc="longest pause after a failure, milliseconds"),
    Choice(
        "auth.type",
        default="none",
        among=("none", "basic", "bearer", "api_key", "oauth2"),
        doc="how to log in; oauth2 is the grant by client credentials",
    ),
    String("connection.user", default=None, doc="the user of `basic`"),
    Password("connection.password", default=None, doc="the password of `basic`"),
    Password("bearer.token", default=None, doc="the token of `bearer`"),
    String("api.key.name", default="X-API-KEY", doc="the header of `api_key`"),
    Password("api.key.value", default=None, doc="the key of `api_key`"),
    String("oauth2.token.url", default=None, doc="the URL that gives tokens"),
    String("oauth2.client.id", default=None, doc="the client of `oauth2`"),
    Password("oauth2.client.secret", default=None, doc="the client's secret"),
    String("oauth2.client.scope", default=None, doc="the scope to ask for"),
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


def task_properties(config: Config) -> Mapping[str, str]:
    """The properties of the only task."""
    return {key.name: str(config[key.name]) for key in _KEYS if config[key.name] not in (None, "")}
