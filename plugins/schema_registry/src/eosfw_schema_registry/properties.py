"""The properties of converters with a schema registry, by Confluent's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from eosfw.config import Boolean, Choice, Config, ConfigDef, Int, Long, Password, String
from eosfw.errors import ConfigError, Problem
from eosfw_schema_registry.subject_names import TOPIC_NAME, SubjectNameStrategy

_SSL: Final = "schema.registry."
"""The prefix with which Confluent's converters tell TLS of the registry from that of Kafka."""

REGISTRY: Final = ConfigDef(
    String("schema.registry.url", doc="URL of the schema registry; several separated by commas; mock://NAME for tests"),
    Boolean("auto.register.schemas", True, "register the schema of a record when it is first written"),
    Boolean("use.latest.version", False, "write by the latest schema of the subject, and register none"),
    Boolean("normalize.schemas", False, "register and look for schemas in their normal form"),
    SubjectNameStrategy("key.subject.name.strategy", TOPIC_NAME, "how the subject of a key's schema is named"),
    SubjectNameStrategy("value.subject.name.strategy", TOPIC_NAME, "how the subject of a value's schema is named"),
    Choice(
        "basic.auth.credentials.source",
        "URL",
        "where name and password for the registry are: in its URL, or in basic.auth.user.info",
        among=("URL", "USER_INFO"),
    ),
    Password("basic.auth.user.info", None, "NAME:PASSWORD for the registry, with USER_INFO"),
    Choice(
        "bearer.auth.credentials.source",
        None,
        "where a bearer token is from: bearer.auth.token, or an issuer (OAuth)",
        among=("STATIC_TOKEN", "OAUTHBEARER"),
    ),
    Password("bearer.auth.token", None, "the token, with STATIC_TOKEN"),
    String("bearer.auth.issuer.endpoint.url", None, "URL of the issuer of tokens, with OAUTHBEARER"),
    String("bearer.auth.client.id", None, "name of the client at the issuer"),
    Password("bearer.auth.client.secret", None, "secret of the client at the issuer"),
    String("bearer.auth.scope", None, "scope that the issuer is asked for"),
    String("bearer.auth.logical.cluster", None, "id of the registry in Confluent Cloud"),
    String("bearer.auth.identity.pool.id", None, "id of the identity pool in Confluent Cloud"),
    String("schema.registry.ssl.ca.location", None, "file or folder with the certificates that the registry's is from"),
    String("schema.registry.ssl.certificate.location", None, "file with the client's certificate"),
    String("schema.registry.ssl.key.location", None, "file with the client's key, if it is not with its certificate"),
    Password("schema.registry.ssl.key.password", None, "password of the client's key"),
    String("proxy.host", None, "host of an HTTP proxy"),
    Int("proxy.port", None, "port of the HTTP proxy", at_least=1),
    Long("request.timeout.ms", 10_000, "how long the registry may take to answer", at_least=1),
    Int("max.retries", 3, "how often a request is repeated at once, before `errors.retry.timeout`", at_least=0),
    Int("retries.wait.ms", 1_000, "longest wait before the first of these repetitions", at_least=0),
    Int("retries.max.wait.ms", 20_000, "longest wait before any of these repetitions", at_least=0),
    Choice("converter.type", "value", "set by the framework", among=("key", "value", "header")),
)


def client_properties(config: Config) -> dict[str, Any]:
    """The properties of confluent-kafka's `SchemaRegistryClient`; ConfigError if credentials are announced only."""
    if _has_user_info(config) and config["basic.auth.user.info"] is None:
        raise ConfigError(Problem("", "basic.auth.credentials.source is USER_INFO: say basic.auth.user.info, too"))
    made = {
        "url": config["schema.registry.url"],
        "timeout": config["request.timeout.ms"] / 1000,
        "max.retries": config["max.retries"],
        "retries.wait.ms": config["retries.wait.ms"],
        "retries.max.wait.ms": config["retries.max.wait.ms"],
        "proxy": _proxy(config),
        "basic.auth.user.info": config["basic.auth.user.info"] if _has_user_info(config) else None,
    }
    bearer = {name: config[name] for name in REGISTRY.keys if name.startswith("bearer.auth.")}
    if config["bearer.auth.credentials.source"] is not None and config["bearer.auth.logical.cluster"] is None:
        # The client asks for one, which registries outside of Confluent Cloud do not have.
        bearer["bearer.auth.logical.cluster"] = ""
    tls = {name.removeprefix(_SSL): config[name] for name in REGISTRY.keys if name.startswith(f"{_SSL}ssl.")}
    return {name: value for name, value in {**made, **bearer, **tls}.items() if value is not None}


def _has_user_info(config: Mapping[str, Any]) -> bool:
    return bool(config["basic.auth.credentials.source"] == "USER_INFO")


def _proxy(config: Mapping[str, Any]) -> str | None:
    host, port = config["proxy.host"], config["proxy.port"]
    return None if host is None else f"http://{host}" if port is None else f"http://{host}:{port}"
