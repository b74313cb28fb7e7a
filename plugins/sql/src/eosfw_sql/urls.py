"""URLs of databases, SQLAlchemy's and JDBC's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from eosfw_sql.errors import refused

if TYPE_CHECKING:
    from eosfw.config import Config

_PROPERTY: Final = "connection.url"
_JDBC: Final = {
    "postgresql": "postgresql+psycopg",
    "mariadb": "mariadb+pymysql",
    "mysql": "mysql+pymysql",
}
_EXAMPLE: Final = "postgresql+psycopg://HOST/DATABASE or sqlite:////absolute/path"


def url_of(config: Config) -> URL:
    """The URL with user and password; ConfigError, without the URL's text, for one that is none."""
    text: str = config[_PROPERTY]
    try:
        url = make_url(_translated(text))
    except (ArgumentError, ValueError):
        raise refused(_PROPERTY, f"this is no URL of a database; write one such as {_EXAMPLE}") from None
    url = _with_credentials(url)
    return url.set(
        username=config["connection.user"] or url.username, password=config["connection.password"] or url.password
    )


def _translated(text: str) -> str:
    if not text.startswith("jdbc:"):
        return text
    kind, _, rest = text.removeprefix("jdbc:").partition(":")
    if kind == "sqlite":
        return f"sqlite:///{rest}"
    if kind in _JDBC and rest.startswith("//"):
        return f"{_JDBC[kind]}:{rest}"
    raise refused(
        _PROPERTY,
        f"JDBC URLs of {kind or 'no kind'} are not translated (sqlite, postgresql, mariadb and mysql are); write "
        f"SQLAlchemy's URL of the database, such as {_EXAMPLE}",
    )


def _with_credentials(url: URL) -> URL:
    """Take `user` and `password` out of the query, where JDBC has them."""
    query = dict(url.query)
    user, password = query.pop("user", None), query.pop("password", None)
    return url.set(username=url.username or _one(user), password=url.password or _one(password), query=query)


def _one(value: str | tuple[str, ...] | None) -> str | None:
    return value[0] if isinstance(value, tuple) else value
