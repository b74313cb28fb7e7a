"""The schema registry, asked through confluent-kafka's client."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar
from urllib.parse import urlsplit, urlunsplit

from eosfw.errors import ConfigError, Problem, RetriableError
from eosfw_spark.formats.undecodable import UndecodableError

T = TypeVar("T")
_DEFAULTS: Final = {"timeout": "10", "max.retries": "1"}
"""A registry that is down is named within seconds: Spark's user waits for `load()`."""
_UNKNOWN: Final = 404
_FORBIDDEN: Final = (401, 403)
_UNPROCESSABLE: Final = 422
_FORMATS: Final = {"PROTOBUF": "serialized"}
"""How the registry is to write schemas: a .proto file needs a compiler to be read, its descriptor does not."""
_INSTALL: Final = "pip install 'eosfw-spark[registry]'"


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """A schema with the schemas that it refers to, those first that others refer to."""

    text: str
    kind: str = "AVRO"
    """The registry's word for the format: AVRO, JSON or PROTOBUF."""
    references: tuple[tuple[str, str], ...] = ()
    """By the names under which they are referred to, such as the imported files of Protobuf."""
    number: int | None = None
    """Its id in the registry."""


class SchemaRegistry(Protocol):
    """What formats ask of a registry; `kind` is the registry's word for the format."""

    def latest(self, subject: str, kind: str) -> StoredSchema:
        """The latest schema of a subject; ConfigError if there is none of this kind."""

    def by_id(self, number: int, kind: str) -> StoredSchema:
        """The schema of an id; UndecodableError if there is none, RetriableError if the registry does not answer."""


class ConfluentSchemaRegistry:
    """A registry over HTTP; its client keeps the schemas that it has seen."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.url = shown_url(properties["url"])
        self._client = _client(properties)

    def latest(self, subject: str, kind: str) -> StoredSchema:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            with self._errors():
                # The client keeps the latest one for ever, and this process the client.
                self._client.clear_latest_caches()
                found = self._client.get_latest_version(subject, fmt=_FORMATS.get(kind))
                stored = self._stored(found.schema, found.schema_id, kind)
        except SchemaRegistryError as why:
            if why.http_status_code == _UNKNOWN:
                what = f"has no subject {subject}: register its schema, or name another subject with value.subject"
                raise _wrong(f"the schema registry at {self.url} {what}") from None
            raise self._refused(why) from None
        if stored.kind != kind:
            raise _wrong(f"subject {subject} of the schema registry at {self.url} is {stored.kind}, not {kind}")
        return stored

    def by_id(self, number: int, kind: str) -> StoredSchema:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            with self._errors():
                stored = self._stored(self._client.get_schema(number, fmt=_FORMATS.get(kind)), number, kind)
        except SchemaRegistryError as why:
            # An id that is none, because the bytes are damaged, may be refused with another status.
            if why.http_status_code in (_UNKNOWN, _UNPROCESSABLE):
                raise UndecodableError(f"its schema, {number}, is not in the schema registry at {self.url}") from None
            raise self._refused(why) from None
        if stored.kind != kind:
            raise UndecodableError(f"its schema, {number}, is {stored.kind}, not {kind}")
        return stored

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _stored(self, schema: Any, number: int, kind: str) -> StoredSchema:
        texts: dict[str, str] = {}
        self._collect(schema, kind, texts)
        return StoredSchema(schema.schema_str, schema.schema_type or "AVRO", tuple(texts.items()), number)

    def _collect(self, schema: Any, kind: str, texts: dict[str, str]) -> None:
        for each in schema.references or ():
            if each.name not in texts:
                referred = self._client.get_version(each.subject, each.version, fmt=_FORMATS.get(kind)).schema
                self._collect(referred, kind, texts)
                texts[each.name] = referred.schema_str

    def _refused(self, why: Any) -> Exception:
        if why.http_status_code in _FORBIDDEN:
            what = "refuses the credentials: give schema.registry.basic.auth.user.info as NAME:PASSWORD"
            return _wrong(f"the schema registry at {self.url} {what}")
        return RetriableError(
            f"the schema registry at {self.url} answers with status {why.http_status_code}; try again"
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Name a registry that does not answer; the texts of its client may show its URL with a password."""
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            yield
        except SchemaRegistryError:
            raise
        except Exception as why:  # noqa: BLE001 - its HTTP client has many
            what = (
                f"the schema registry at {self.url} does not answer ({type(why).__name__}); check schema.registry.url"
            )
            raise RetriableError(what) from None


def _client(properties: Mapping[str, str]) -> Any:
    try:
        from confluent_kafka.schema_registry import SchemaRegistryClient
    except ImportError as why:
        raise _wrong(f"a schema registry needs more packages ({why.name} is missing): {_INSTALL}") from None
    given: dict[str, Any] = {**_DEFAULTS, **properties}
    # It says where the user's name is, which the client sees by itself.
    given.pop("basic.auth.credentials.source", None)
    for name, read in (("timeout", float), ("max.retries", int)):
        try:
            given[name] = read(given[name])
        except ValueError:
            raise _wrong(f"option schema.registry.{name} must be a number") from None
    try:
        return SchemaRegistryClient(given)
    except Exception as why:  # noqa: BLE001 - it raises many, and their texts may show values
        what = "do not fit each other, or name a file that is missing"
        raise _wrong(f"the options schema.registry.* {what} ({type(why).__name__})") from None


def _wrong(what: str) -> ConfigError:
    return ConfigError(Problem("", what))


PROPERTIES: Final = (
    "url",
    "timeout",
    "max.retries",
    "proxy",
    "basic.auth.credentials.source",
    "basic.auth.user.info",
    "bearer.auth.credentials.source",
    "bearer.auth.token",
    "bearer.auth.logical.cluster",
    "bearer.auth.identity.pool.id",
    "bearer.auth.client.id",
    "bearer.auth.client.secret",
    "bearer.auth.scope",
    "bearer.auth.issuer.endpoint.url",
    "ssl.ca.location",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.certificate.location",
)
"""The properties of the client that are options, behind `schema.registry.`."""


def shown_url(url: str) -> str:
    """The addresses of a registry without names and passwords."""
    return ",".join(_without_user(each.strip()) for each in url.split(","))


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class WriterSchemas(Generic[T]):
    """Writers' schemas by their ids, each read once; so are ids without one, which damaged bytes may be full of."""

    def __init__(self, registry: SchemaRegistry, kind: str, read: Callable[[StoredSchema], T]) -> None:
        self._registry = registry
        self._kind = kind
        self._read = read
        self._known: dict[int, T] = {}
        self._reasons: dict[int, str] = {}

    def of(self, number: int) -> T:
        """The schema of an id; UndecodableError if there is none, RetriableError if the registry does not answer."""
        if number in self._reasons:
            raise UndecodableError(self._reasons[number])
        if number not in self._known:
            try:
                self._known[number] = self._read(self._registry.by_id(number, self._kind))
            except UndecodableError as why:
                self._reasons[number] = str(why)
                raise
            except ValueError as why:
                self._reasons[number] = f"its schema, {number}, {why}"
                raise UndecodableError(self._reasons[number]) from None
        return self._known[number]


_kept: dict[tuple[object, ...], ConfluentSchemaRegistry] = {}


def kept_registry(properties: Mapping[str, str]) -> SchemaRegistry:
    """A client that this process keeps with the schemas it knows, for the next task, too."""
    key = (os.getpid(), *sorted(properties.items()))
    if key not in _kept:
        _kept[key] = ConfluentSchemaRegistry(properties)
    return _kept[key]


@atexit.register
def close_kept_registries() -> None:
    """Close what this process keeps; a forked one leaves alone what it has of its parent."""
    for key in [each for each in _kept if each[0] == os.getpid()]:
        _kept.pop(key).close()
