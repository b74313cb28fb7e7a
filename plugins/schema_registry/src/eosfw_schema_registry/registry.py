"""The schema registry as converters ask it, by confluent-kafka's client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from eosfw.config import Config
from eosfw.errors import ConfigError, DataError, Problem, RetriableError, with_class
from eosfw_schema_registry.properties import client_properties

_BUSY: Final = (408, 429)
"""Answers beside those from 500 on after which a request may be repeated."""
_UNKNOWN: Final = 404
_LONGEST: Final = 1_000
"""Characters that are shown of an answer: a proxy answers with whole pages."""
_mocks: dict[str, Any] = {}
"""Registries of `mock://` URLs: one for each URL in a process, as in Java."""


class RegistrySchema(NamedTuple):
    """A schema in the form in which a registry keeps it."""

    text: str
    kind: str = "AVRO"
    """The registry's word for the format: AVRO, JSON or PROTOBUF."""
    references: tuple[tuple[str, str, int], ...] = ()
    """Schemas that it refers to: the name under which it does, subject, version."""


class SchemaRegistry:
    """A registry, asked once for each subject and schema.

    What can be done about an error is in its class: RetriableError if the registry does not answer or is busy,
    DataError with the registry's own words if it refuses. None shows credentials, also those of the URL.
    """

    def __init__(self, config: Config) -> None:
        """Open a client with properties of `REGISTRY`; ConfigError if they do not fit each other."""
        properties = client_properties(config)
        self.url = _without_users(properties["url"])
        self._secrets = tuple(_secrets(properties))
        self._client = self._opened(properties)
        self._registers = config["auto.register.schemas"]
        self._normalize = config["normalize.schemas"]
        self._ids: dict[tuple[str, RegistrySchema], int] = {}
        self._latest: dict[str, tuple[int, RegistrySchema]] = {}
        self._by_id: dict[int, RegistrySchema] = {}

    def registered_id(self, subject: str, schema: RegistrySchema) -> int:
        """The id of a schema under a subject: registered, or looked up where `auto.register.schemas` is false."""
        found = self._ids.get((subject, schema))
        if found is None:
            found = self._ids[subject, schema] = self._registered_id(subject, schema)
        return found

    def _registered_id(self, subject: str, schema: RegistrySchema) -> int:
        asked = _for_client(schema)
        if self._registers:
            with self._errors(f"refuses to register the schema of subject {subject}"):
                number: int = self._client.register_schema(subject, asked, self._normalize)
        else:
            with self._errors(f"has no such schema in subject {subject}, and auto.register.schemas is false"):
                number = self._client.lookup_schema(subject, asked, self._normalize).schema_id
        return number

    def latest(self, subject: str) -> tuple[int, RegistrySchema]:
        """The id and the schema of the latest version of a subject, as it was when it was first asked for."""
        if subject not in self._latest:
            with self._errors(f"has no latest version of subject {subject}"):
                found = self._client.get_latest_version(subject)
            self._latest[subject] = (found.schema_id, _of_client(found.schema))
        return self._latest[subject]

    def registered_version(self, subject: str, schema: RegistrySchema) -> int:
        """The version that a schema is of its subject, for another that refers to it; registered if need be."""
        self.registered_id(subject, schema)
        with self._errors(f"has no such schema in subject {subject}"):
            return int(self._client.lookup_schema(subject, _for_client(schema), self._normalize).version)

    def is_compatible(self, subject: str, schema: RegistrySchema) -> bool:
        """Whether the registry takes a schema for compatible with the latest version of a subject."""
        with self._errors(f"cannot compare a schema with subject {subject}"):
            return bool(self._client.test_compatibility(subject, _for_client(schema), "latest"))

    def by_id(self, number: int, form: str | None = None) -> RegistrySchema:
        """The schema of an id; `form` asks the registry for another form of its text than the one registered."""
        if number not in self._by_id:
            with self._errors(f"has no schema with the id {number}"):
                self._by_id[number] = _of_client(self._client.get_schema(number, fmt=form))
        return self._by_id[number]

    def texts(self, schema: RegistrySchema) -> list[str]:
        """The text of a schema behind those of all schemas that it refers to, each after those that it refers to."""
        made: dict[str, None] = {}
        for _, subject, version in schema.references:
            made |= dict.fromkeys(self.texts(self.version(subject, version)))
        return [*made, schema.text]

    def version(self, subject: str, version: int, form: str | None = None) -> RegistrySchema:
        """A version of a subject, such as another schema refers to."""
        with self._errors(f"has no version {version} of subject {subject}"):
            return _of_client(self._client.get_version(subject, version, fmt=form).schema)

    def close(self) -> None:
        """Close the connections."""
        if self._client not in _mocks.values():
            self._client.close()

    def _opened(self, properties: Mapping[str, Any]) -> Any:
        from confluent_kafka.schema_registry import SchemaRegistryClient

        url = properties["url"]
        try:
            if url.startswith("mock://"):
                return _mocks.setdefault(url, SchemaRegistryClient.new_client({"url": url}))
            return SchemaRegistryClient({**_without_authorities(url), **properties})
        except Exception as why:  # noqa: BLE001 it raises many, and their texts may show values
            raise wrong(f"the properties of the schema registry do not fit: {self._shown(why)}") from None

    @contextmanager
    def _errors(self, refused: str) -> Iterator[None]:
        from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError

        place = f"the schema registry at {self.url}"
        try:
            yield
        except SchemaRegistryError as why:
            status = why.http_status_code
            if status in _BUSY or status >= 500:
                raise RetriableError(f"{place} cannot answer now: {self._shown(why)}") from None
            raise DataError(f"{place} {refused}: {self._shown(why)}") from None
        except OAuthTokenError as why:
            raise RetriableError(f"there is no token for {place}: {self._shown(why)}") from None
        except Exception as why:  # noqa: BLE001 its HTTP client has many
            raise RetriableError(f"{place} does not answer: {self._shown(why)}") from None

    def _shown(self, why: Exception) -> str:
        text = " ".join(str(why).split()) if type(why).__name__ == "SchemaRegistryError" else with_class(why)
        for secret in self._secrets:
            text = text.replace(secret, "****")
        return text[:_LONGEST]


def wrong(what: str) -> ConfigError:
    """The error of properties that do not fit each other."""
    return ConfigError(Problem("", what))


def _without_authorities(urls: str) -> dict[str, Any]:
    """For plain HTTP none are read: that takes longer than all else that a converter does to start."""
    plain = all(one.strip().startswith("http://") for one in urls.split(","))
    return {"ssl.ca.location": False} if plain else {}


def _for_client(schema: RegistrySchema) -> Any:
    from confluent_kafka.schema_registry import Schema, SchemaReference

    return Schema(schema.text, schema.kind, [SchemaReference(*one) for one in schema.references])


def _of_client(schema: Any) -> RegistrySchema:
    references = tuple((one.name, one.subject, one.version) for one in schema.references or ())
    return RegistrySchema(schema.schema_str, schema.schema_type or "AVRO", references)


def _without_users(urls: str) -> str:
    return ",".join(_without_user(one.strip()) for one in urls.split(","))


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _secrets(properties: Mapping[str, Any]) -> Iterator[str]:
    """What no message may show, the longer ones first."""
    given = [
        str(properties[name]) for name in properties if name.endswith((".user.info", ".token", "secret", "password"))
    ]
    for one in properties["url"].split(","):
        user, at, _ = urlsplit(one.strip()).netloc.rpartition("@")
        given += [user, unquote(user)] if at else []
    parts = [part for one in given for part in (one, one.partition(":")[2]) if part]
    yield from sorted(set(parts), key=len, reverse=True)
