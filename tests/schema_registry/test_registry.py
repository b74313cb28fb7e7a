"""A schema registry is asked once for each schema; what it answers is said in its own words, without credentials."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from eosfw.config import ConfigDef, Password
from eosfw.config.secrets import secret_values
from eosfw.errors import ConfigError, DataError, RetriableError
from eosfw.registry import load_plugins
from eosfw_schema_registry.properties import REGISTRY, client_properties
from eosfw_schema_registry.registry import RegistrySchema, SchemaRegistry
from eosfw_schema_registry.subject_names import subject_name
from eosfw_schema_registry.wire_format import head, parted

from .http_registry import SchemaRegistry as HttpRegistry
from .http_registry import served_registry

LONG, TEXT = RegistrySchema('"long"'), RegistrySchema('"string"')


@pytest.fixture
def server() -> Iterator[HttpRegistry]:
    with served_registry() as served:
        yield served


@pytest.fixture
def opened(server: HttpRegistry) -> Iterator[Any]:
    """Opens registries with the properties given, and closes them."""
    made: list[SchemaRegistry] = []

    def make(**properties: str) -> SchemaRegistry:
        given = {"schema.registry.url": server.url} | {n.replace("_", "."): text for n, text in properties.items()}
        made.append(SchemaRegistry(REGISTRY.parse(given)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_schema_is_registered_once_for_each_subject(opened, server, monkeypatch):
    """CNV-16: then not even the client is asked, which takes a hundred times as long as to look it up here."""
    registry = opened()

    ids = [registry.registered_id(subject, schema) for subject in "aab" for schema in (LONG, TEXT)]

    assert ids == [1, 2, 1, 2, 1, 2]
    assert len(server.requests) == 4
    assert registry.by_id(2) == TEXT
    monkeypatch.setattr(registry._client, "register_schema", None)
    assert registry.registered_id("a", LONG) == 1


def test_nothing_is_registered_where_that_is_off(opened, server):
    """CNV-16."""
    registry = opened(auto_register_schemas="false")
    server.add("a", '"long"')

    assert registry.registered_id("a", LONG) == 1
    with pytest.raises(
        DataError, match=r"has no such schema in subject a, and auto.register.schemas is false: Schema not"
    ):
        registry.registered_id("a", TEXT)
    assert server.schemas == ['"long"']


def test_a_latest_version_is_asked_for_once(opened, server):
    server.add("a", '"long"')
    registry = opened()

    assert [registry.latest("a") for _ in range(2)] == [(1, LONG)] * 2
    assert len(server.requests) == 1
    with pytest.raises(DataError, match="has no latest version of subject b: Schema not found"):
        registry.latest("b")


def test_registries_of_one_mock_url_are_one():
    """CNV-16: so that a test reads what a converter registered."""
    properties = REGISTRY.parse({"schema.registry.url": "mock://one"})
    first, second = SchemaRegistry(properties), SchemaRegistry(properties)

    assert first.registered_id("a", LONG) == second.registered_id("a", LONG)
    assert second.by_id(first.registered_id("a", TEXT)) == TEXT
    first.close()


@pytest.mark.parametrize(("urls", "loaded"), [("http://a, http://b", 0), ("https://a", 1), ("http://a, https://b", 1)])
def test_certificates_of_authorities_are_read_for_https_alone(opened, monkeypatch, urls, loaded):
    """To read all of them takes longer than all else that a converter does to start."""
    made = []
    create = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda **options: made.append(options) or create(**options))

    opened(**{"schema.registry.url": urls})

    assert len(made) == loaded


@pytest.mark.parametrize(
    ("failure", "error"), [(503, RetriableError), (429, RetriableError), (401, DataError), (409, DataError)]
)
def test_an_answer_is_named_by_what_can_be_done(opened, server, failure, error):
    """CNV-17: with the registry's words."""
    server.failures = [failure]
    with pytest.raises(error, match=rf"the schema registry at {server.url} .*: busy \(HTTP status code {failure}"):
        opened(max_retries="0").registered_id("a", LONG)


def test_a_registry_that_is_down_is_named_without_credentials(opened, server):
    """CNV-17: the call may be repeated."""
    with served_registry() as gone:
        nowhere = gone.url.replace("//", "//user:word%20@")
    with pytest.raises(RetriableError, match=r"the schema registry at http://127.0.0.1:\d+ does not answer") as refused:
        opened(schema_registry_url=nowhere, max_retries="0").registered_id("a", LONG)

    assert "word" not in str(refused.value)


def test_credentials_that_the_registry_repeats_are_not_shown(opened, server, monkeypatch):
    """CNV-17."""
    monkeypatch.setattr(server, "answer", lambda *_: (401, {"error_code": 401, "message": "no: name:secret, secret"}))
    given = {"basic_auth_credentials_source": "USER_INFO", "basic_auth_user_info": "name:secret"}

    with pytest.raises(DataError, match=r"no: \*\*\*\*, \*\*\*\* "):
        opened(**given).registered_id("a", LONG)


def test_a_token_goes_to_the_registry(opened, server):
    """CNV-17: to one that knows no clusters of Confluent Cloud, too."""
    token = {"bearer_auth_credentials_source": "STATIC_TOKEN", "bearer_auth_token": "secret"}

    assert opened(**token).registered_id("a", LONG) == 1
    assert server.authorization == "Bearer secret"


def test_an_issuer_of_tokens_that_does_not_answer_is_no_fault_of_the_registry(opened):
    """CNV-17: the call may be repeated."""
    with served_registry() as gone:
        issuer = f"{gone.url}/token"
    names = ("credentials.source", "client.id", "client.secret", "scope", "issuer.endpoint.url")
    values = ("OAUTHBEARER", "name", "secret", "all", issuer)
    given = {f"bearer.auth.{name}": value for name, value in zip(names, values, strict=True)}

    with pytest.raises(RetriableError, match=r"there is no token for the schema registry at .*: OAuthTokenError") as no:
        opened(max_retries="0", **given).registered_id("a", LONG)
    assert "secret" not in str(no.value)


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ({}, {}),
        ({"basic.auth.user.info": "a:b"}, {}),
        (
            {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "a:b"},
            {"basic.auth.user.info": "a:b"},
        ),
        (
            {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "t"},
            {
                "bearer.auth.credentials.source": "STATIC_TOKEN",
                "bearer.auth.token": "t",
                "bearer.auth.logical.cluster": "",
            },
        ),
        ({"schema.registry.ssl.ca.location": "/ca"}, {"ssl.ca.location": "/ca"}),
        ({"proxy.host": "p", "proxy.port": "3128"}, {"proxy": "http://p:3128"}),
        ({"request.timeout.ms": "1500"}, {"timeout": 1.5}),
    ],
)
def test_properties_go_to_the_client_by_its_names(properties, wanted):
    defaults = {"url": "u", "timeout": 10.0, "max.retries": 3, "retries.wait.ms": 1000, "retries.max.wait.ms": 20_000}

    assert client_properties(REGISTRY.parse({"schema.registry.url": "u", **properties})) == defaults | wanted


def test_properties_that_do_not_fit_are_refused_without_their_values(opened):
    """CNV-17."""
    with pytest.raises(ConfigError, match=r"do not fit: ValueError: Invalid url ftp://\*\*\*\*@x") as no:
        opened(schema_registry_url="ftp://user:word@x")
    assert "word" not in str(no.value)
    with pytest.raises(ConfigError, match=r"is USER_INFO: say basic.auth.user.info, too"):
        opened(basic_auth_credentials_source="USER_INFO")
    with pytest.raises(
        ConfigError, match=r"the properties of the schema registry do not fit: .*basic.auth.user.info"
    ) as no:
        opened(basic_auth_credentials_source="USER_INFO", basic_auth_user_info="secret")
    assert "secret" not in str(no.value)


@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [
        ("TopicNameStrategy", "orders-value"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", "org.Order"),
        ("TopicRecordNameStrategy", "orders-org.Order"),
    ],
)
def test_subjects_are_named_as_by_confluents_strategies(strategy, wanted):
    """CNV-16."""
    given = {"schema.registry.url": "u", "value.subject.name.strategy": strategy}
    parsed = REGISTRY.parse(given)["value.subject.name.strategy"]

    assert subject_name(parsed, "orders", "value", "org.Order") == wanted
    if wanted != "orders-value":
        with pytest.raises(DataError, match="the schema of the value must be a STRUCT"):
            subject_name(parsed, "orders", "value", None)


def test_an_unknown_strategy_is_refused():
    with pytest.raises(ConfigError, match="must be one of: TopicNameStrategy, RecordNameStrategy, TopicRecordName"):
        REGISTRY.parse({"schema.registry.url": "u", "key.subject.name.strategy": "MyStrategy"})


def test_a_value_stands_behind_the_id_of_its_schema():
    """CNV-16: Confluent's wire format."""
    assert head(258) + b"x" == b"\0\0\0\1\2x"
    assert parted(b"\0\0\0\1\2x") == (258, b"x")
    for foreign in (b"", b"\0\0\0\1", b"\1\0\0\0\1x"):
        with pytest.raises(DataError, match="Unknown magic byte!"):
            parted(foreign)


def test_the_passwords_of_installed_parts_are_known_by_their_names() -> None:
    """No text of a task shows them, though its connector's definition does not have them."""
    plugins = load_plugins()
    found = {
        "converter": plugins.converter,
        "transformation": plugins.transformation,
        "predicate": plugins.predicate,
    }
    passwords = {
        f"value.converter.{name}": "canary"
        for role, part in found.items()
        for kind in map(part, plugins.names(role))
        for name, key in getattr(kind, "config", ConfigDef()).keys.items()
        if isinstance(key, Password)
    }

    assert "value.converter.bearer.auth.token" in passwords
    assert [name for name, text in passwords.items() if not secret_values({name: text})] == []
