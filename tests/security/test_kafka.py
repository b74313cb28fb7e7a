"""Each backend works on a secured Kafka, and says what is wrong when it does not."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from authorized_kafka import Acl
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import AuthenticationError, ClusterUnavailableError, ConfigError, SaslAuthenticationError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, NewTopic
from eosfw.records import OffsetRange
from pytest_eos.contracts.backends.harness import BackendHarness, commit
from secured_kafka import PASSWORD, SCRAM, SecuredKafka
from token_endpoint import CLIENT_ID, TokenEndpoint

pytestmark = pytest.mark.kafka
WAIT = 30.0
WAYS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "PEM", "PKCS12"]


@pytest.fixture
def tokens() -> Iterator[TokenEndpoint]:
    with TokenEndpoint() as serving:
        yield serving


def without_jaas(properties: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in properties.items() if name != "sasl.jaas.config"}


@pytest.fixture(params=WAYS)
def way(
    request: pytest.FixtureRequest, kafka: SecuredKafka, pkcs12: Callable[..., Path], tokens: TokenEndpoint
) -> tuple[str, dict[str, str]]:
    """A principal, and the properties by which a client is one."""
    if request.param == "OAUTHBEARER":
        return CLIENT_ID, {**without_jaas(kafka.sasl()), **tokens.client()}
    if request.param not in ("PEM", "PKCS12"):
        return "alice", kafka.sasl(mechanism=request.param)
    key = kafka.authority.issue("client.pem", "alice-client")
    mutual = {"bootstrap.servers": kafka.mutual, "security.protocol": "SSL", "ssl.keystore.location": str(key)}
    if request.param == "PEM":
        return "alice-client", {**mutual, "ssl.truststore.location": str(kafka.authority.ca)}
    stores = {
        "ssl.keystore.location": str(pkcs12("client.p12", key.read_bytes())),
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(pkcs12("authority.p12", kafka.authority.ca.read_bytes())),
        "ssl.truststore.password": PASSWORD,
    }
    return "alice-client", {**mutual, **stores}


def test_a_transaction_is_written_and_read_over_each_way_in(
    kafka: SecuredKafka, backend_class: type[Any], way: tuple[str, dict[str, str]]
) -> None:
    """SEC-12: Kafka's names; what PEM and PKCS12 hold."""
    principal, properties = way
    name = f"secured-{uuid.uuid4().hex}"
    for resource in ("TOPIC", "TRANSACTIONAL_ID"):
        kafka.grant(Acl(_principal(principal, kafka), resource, name, "ALL"))
    with closing(BackendHarness(backend_class.connect(properties, ThreadRuntime()), ThreadRuntime())) as lab:
        lab.admin.create_topics([NewTopic(name)])
        commit(lab.producer(name), name, b"value")
        assert lab.values(name) == [b"value"]


WRONG_PASSWORD = {"sasl.jaas.config": f'{SCRAM} required username="alice" password="s3cret-guess";'}
MISTAKES: Mapping[str, tuple[dict[str, str], str]] = {
    "wrong password": (WRONG_PASSWORD, "refused user 'alice' with SCRAM-SHA-512: Authentication failed"),
    "wrong mechanism": ({"sasl.mechanism": "GSSAPI"}, "it takes PLAIN, SCRAM-SHA-"),
    "no authority": (
        {"ssl.truststore.location": "", "ssl.truststore.type": ""},
        "which is not in this machine's store of authorities",
    ),
    "no TLS": ({"security.protocol": "SASL_PLAINTEXT"}, "answers with TLS"),
    "no SASL": ({"security.protocol": "SSL"}, "requires SASL (PLAIN, SCRAM-SHA-"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_at_the_first_call(
    kafka: SecuredKafka, backend_class: type[Any], hasty: ThreadRuntime, mistake: str
) -> None:
    """SEC-10: rather than to wait for a broker until its time is over."""
    changed, text = MISTAKES[mistake]
    properties = {name: text for name, text in {**kafka.sasl(), **changed}.items() if text}
    if mistake == "wrong mechanism" and backend_class.name != "kafka-python":
        why = r"this client speaks PLAIN, SCRAM-SHA-|No provider for SASL mechanism GSSAPI"
        with pytest.raises(ConfigError, match=why), closing(backend_class.connect(properties, hasty)) as backend:
            backend.admin()
        return
    with closing(backend_class.connect(properties, hasty)) as backend, pytest.raises(AuthenticationError) as refused:
        backend.admin().partitions()

    assert text in str(refused.value)
    assert "s3cret-guess" not in repr(refused.value)


def test_a_token_that_kafka_refuses_is_reported_at_the_first_call(
    kafka: SecuredKafka, backend_class: type[Any], hasty: ThreadRuntime, tokens: TokenEndpoint
) -> None:
    """SEC-32."""
    tokens.claims["exp"] = 1
    properties = {**without_jaas(kafka.sasl()), **tokens.client()}
    with closing(backend_class.connect(properties, hasty)) as backend, pytest.raises(AuthenticationError) as refused:
        backend.admin().partitions()

    assert f"refused the token of client {CLIENT_ID!r} from {tokens.url}: " in str(refused.value)
    assert "invalid_token" in str(refused.value)


@pytest.mark.parametrize("client", ["producer", "reader", "group member"])
def test_every_client_reports_it(
    kafka: SecuredKafka, backend_class: type[Any], hasty: ThreadRuntime, client: str
) -> None:
    with (
        closing(backend_class.connect({**kafka.sasl(), **WRONG_PASSWORD}, hasty)) as backend,
        pytest.raises(SaslAuthenticationError),
    ):
        _first_call(backend, client)


@pytest.mark.parametrize("backend_class", ["confluent", "kafka-python"], indirect=True)
def test_a_password_that_changes_later_is_retriable_and_reported(kafka: SecuredKafka, backend_class: type[Any]) -> None:
    """SEC-11: tasks go on once it is set back: nothing is lost."""
    user, short = f"user-{uuid.uuid4().hex}", {"default.api.timeout.ms": "3000"}
    kafka.set_password(user, PASSWORD)
    with closing(backend_class.connect(kafka.sasl(user, "SCRAM-SHA-256"), ThreadRuntime())) as backend:
        backend.admin().partitions()
        kafka.set_password(user, "another one")

        with pytest.raises(ClusterUnavailableError) as refused:
            backend.admin(short).partitions()
        kafka.set_password(user, PASSWORD)
        backend.admin().partitions()

    assert f"refused user {user!r} with SCRAM-SHA-256: Authentication failed" in str(refused.value)
    assert "is the cluster running" not in str(refused.value)


def _first_call(backend: Any, client: str) -> None:
    match client:
        case "producer":
            backend.producer("any").init_transactions(WAIT)
        case "reader":
            ranges = {TopicPartition("any", 0): OffsetRange(0, 1)}
            next(backend.reader(IsolationLevel.READ_COMMITTED).read(ranges, WAIT))
        case _:
            backend.group_consumer("any", "any", client_id="any").poll(WAIT)


def _principal(name: str, kafka: SecuredKafka) -> str:
    return name if name in ("alice", CLIENT_ID) else kafka.authority.subject(name)
