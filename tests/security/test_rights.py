"""Who lacks a right is told which one, and the command that grants it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from authorized_kafka import Acl
from eosfw.concurrency import ThreadRuntime
from eosfw.config.security import security_settings
from eosfw.errors import (
    ClusterUnavailableError,
    EosfwError,
    GroupAuthorizationError,
    TopicAuthorizationError,
    TransactionalIdAuthorizationError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, NewTopic
from eosfw.records import OffsetRange
from eosfw.security.rights import principal_of, with_refusal
from pytest_eos.contracts.backends.harness import commit
from secured_kafka import SecuredKafka

WAIT = 30.0


def commit_to(backend: Any, name: str) -> None:
    with closing(backend.producer(f"{name}-allowed")) as producer:
        producer.init_transactions(WAIT)
        commit(producer, name, b"value")


def read_from(backend: Any, name: str) -> None:
    with closing(backend.reader(IsolationLevel.READ_COMMITTED)) as reader:
        next(reader.read({TopicPartition(name, 0): OffsetRange(0, 1)}, WAIT))


def end_of(backend: Any, name: str) -> None:
    backend.admin().end_offsets([TopicPartition(name, 0)], IsolationLevel.READ_COMMITTED)


def delete(backend: Any, name: str) -> None:
    raise backend.admin().delete_topics([name])[name]


def confirm(backend: Any, name: str) -> None:
    with closing(backend.group_consumer(f"{name}-group", f"{name}-described", client_id="any")) as member:
        while not member.poll(WAIT).partitions:
            """Join."""
        member.confirm(WAIT)


CALLS: Mapping[str, tuple[Callable[[Any, str], object], type[EosfwError], str]] = {
    "create a topic": (
        lambda backend, name: backend.admin().create_topics([NewTopic(f"{name}-new")]),
        TopicAuthorizationError,
        "Create on the topic '{}-new'",
    ),
    "delete a topic": (delete, TopicAuthorizationError, "Delete on the topic '{}'"),
    "ask for the end": (end_of, TopicAuthorizationError, "Describe on the topic '{}'"),
    "commit": (commit_to, TopicAuthorizationError, "Write on the topic '{}'"),
    "read": (read_from, TopicAuthorizationError, "Read on the topic '{}'"),
    "read what may only be described": (
        lambda backend, name: read_from(backend, f"{name}-described"),
        TopicAuthorizationError,
        "Read on the topic '{}-described'",
    ),
    "take an id": (
        lambda backend, name: backend.producer(name).init_transactions(WAIT),
        TransactionalIdAuthorizationError,
        "Write and Describe on the transactional id '{}'",
    ),
    "join a group": (
        lambda backend, name: backend.group_consumer(name, f"{name}-described", client_id="any").poll(WAIT),
        GroupAuthorizationError,
        "Read on the group '{}'",
    ),
    "be confirmed as a member of a group": (
        confirm,
        TopicAuthorizationError,
        "Read on the topic '{}-described'",
    ),
    "look at a group": (
        lambda backend, name: backend.admin().describe_group(name),
        GroupAuthorizationError,
        "Describe on the group '{}'",
    ),
}


@pytest.fixture(scope="module")
def name(kafka: SecuredKafka) -> str:
    """A topic that exists and that bob may do nothing with; he has an id and a group, and may describe another one."""
    name = f"denied-{uuid.uuid4().hex}"
    kafka.create_topics(name, f"{name}-described")
    kafka.grant(
        Acl("bob", "TRANSACTIONAL_ID", f"{name}-allowed", "ALL"),
        Acl("bob", "TOPIC", f"{name}-described", "DESCRIBE"),
        Acl("bob", "GROUP", f"{name}-group", "READ"),
    )
    return name


@pytest.mark.kafka
@pytest.mark.parametrize("backend_class", ["memory", "confluent", "kafka-python"], indirect=True)
@pytest.mark.parametrize("what", CALLS)
def test_a_missing_right_is_reported_with_the_command_that_grants_it(
    kafka: SecuredKafka, backend_class: type[Any], name: str, what: str
) -> None:
    """SEC-14: at the first call that needs it."""
    call, kind, needed = CALLS[what]
    with (
        closing(backend_class.connect(kafka.sasl("bob"), ThreadRuntime())) as backend,
        pytest.raises(kind) as refused,
    ):
        call(backend, name)

    needed = needed.format(name)
    operations, _, resource = needed.partition(" on the ")
    options = " ".join(f"--operation {one}" for one in operations.split(" and "))
    kind_of, _, quoted = resource.rpartition(" ")
    grant = f"--add --allow-principal User:bob {options} --{kind_of.replace(' ', '-')} {quoted.strip(chr(39))} ("
    assert f"User:bob needs {needed}: kafka-acls.sh --bootstrap-server {kafka.sasl_ssl} {grant}" in str(refused.value)
    assert str(refused.value).count("kafka-acls.sh") == 1


def test_a_refusal_that_an_error_has_already_is_not_repeated() -> None:
    """A call within a call would repeat it, and so would a connection that has the refusal itself."""
    known = SimpleNamespace(refusal=lambda: "the broker refused user 'bob'")
    once = with_refusal(ClusterUnavailableError("no answer; is the cluster running?"), known)  # type: ignore[arg-type]

    assert str(once) == "no answer; the broker refused user 'bob'"
    assert str(with_refusal(once, known)) == str(once)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "principal"),
    [
        ({}, "User:ANONYMOUS"),
        ({"security.protocol": "SSL"}, "User:ANONYMOUS"),
        ({"security.protocol": "SASL_SSL", "sasl.username": "alice"}, "User:alice"),
        ({"security.protocol": "SSL", "ssl.certificate.location": "own.pem"}, None),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, None),
    ],
)
def test_the_principal_is_named_where_it_is_known(given: dict[str, str], principal: str | None) -> None:
    assert principal_of(security_settings(given)) == principal
