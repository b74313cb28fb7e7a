"""Sessions of authenticated connections (KIP-368)."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw_confluent.backend import ConfluentBackend
from eosfw_kafka_python.backend import KafkaPythonBackend
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from eosfw_memory.server.network import connection, session
from eosfw_memory.server.network.session import Session, session_lifetime

from .conftest import PASSWORD, users
from .sasl_requests import Stranger

WAIT = 30.0
ALICE, BOB = f"\0alice\0{PASSWORD}".encode(), b"\0bob\0other"
LISTENER = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"}
IMMEDIATE = {"connection.failed.authentication.delay.ms": "0"}


def serving(longest: str) -> EmbeddedCluster:
    limited = {"connections.max.reauth.ms": longest}
    return EmbeddedCluster.start(LISTENER | IMMEDIATE | users("SASL_PLAINTEXT") | limited, ThreadRuntime())


@contextmanager
def known(cluster: EmbeddedCluster) -> Iterator[Stranger]:
    """A connection that is authenticated as Alice."""
    with closing(Stranger(cluster.bootstrap_servers)) as stranger:
        stranger.handshake()
        stranger.authenticate(ALICE)
        yield stranger


def client(cluster: EmbeddedCluster) -> dict[str, str]:
    return {
        "bootstrap.servers": cluster.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
    }


@pytest.mark.parametrize(
    ("longest", "expires_at", "lifetime"),
    [
        (None, None, None),
        (60.0, None, 60.0),
        (None, 105.0, 5.0),
        (60.0, 105.0, 5.0),
        (2.0, 105.0, 2.0),
        (9.0, 99.0, 0.0),
    ],
)
def test_a_session_ends_as_the_broker_says_or_with_the_credentials(longest, expires_at, lifetime):
    """SEC-34."""
    assert session_lifetime(longest, expires_at, 100.0) == lifetime


def test_a_session_may_be_renewed_once_in_a_second():
    """SEC-34: as in Kafka; the first time at any time, and one without an end never."""
    assert Session("PLAIN", "User:alice", ends_at=9.0).may_be_renewed(0.0)
    again = Session("PLAIN", "User:alice", ends_at=9.0, renewed_at=5.0)
    assert (again.may_be_renewed(5.9), again.may_be_renewed(6.0)) == (False, True)
    assert not Session("PLAIN", "User:alice").may_be_renewed(0.0)


def test_a_client_learns_its_session_and_authenticates_itself_anew_on_the_same_connection(monkeypatch):
    """SEC-34: a second time within a second, here an hour, is refused as any SaslHandshake out of place."""
    monkeypatch.setattr(session, "_LEAST_INTERVAL", 3600.0)
    with closing(serving("60000")) as cluster, closing(Stranger(cluster.bootstrap_servers)) as stranger:
        stranger.handshake()
        first = stranger.authenticate(ALICE)
        assert stranger.stays_open()
        assert stranger.handshake()["error_code"] == Code.NONE
        again = stranger.authenticate(ALICE)
        assert stranger.stays_open()
        assert stranger.handshake()["error_code"] == Code.ILLEGAL_SASL_STATE

    assert [each["session_lifetime"] for each in (first, again)] == [timedelta(minutes=1)] * 2


def test_without_a_limit_there_is_no_session():
    with closing(serving("0")) as cluster, closing(Stranger(cluster.bootstrap_servers)) as stranger:
        stranger.handshake()
        assert stranger.authenticate(ALICE)["session_lifetime"] == timedelta(0)
        assert stranger.stays_open()


def test_after_its_session_a_connection_is_closed_at_any_request_but_an_authentication():
    """SEC-34."""
    with closing(serving("1")) as cluster, known(cluster) as late, known(cluster) as renewing:
        with pytest.raises((AssertionError, OSError)):
            ask_for_ever(late)
        assert renewing.handshake()["error_code"] == Code.NONE
        assert renewing.authenticate(ALICE)["error_code"] == Code.NONE


@pytest.mark.parametrize(
    ("mechanism", "token", "sentence"),
    [
        ("PLAIN", b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        ("PLAIN", BOB, "Cannot change principals during re-authentication from User:alice: User:bob"),
        ("SCRAM-SHA-256", b"n,,n=alice,r=x", "SASL mechanism 'SCRAM-SHA-256' requested by client is not supported"),
    ],
)
def test_a_client_stays_who_it_is_or_is_turned_away(mechanism, token, sentence):
    """SEC-34."""
    with closing(serving("60000")) as cluster, known(cluster) as stranger:
        stranger.handshake(mechanism)
        refused = stranger.authenticate(token)

        assert refused["error_code"] == Code.SASL_AUTHENTICATION_FAILED
        assert sentence in refused["error_message"]
        assert stranger.closed()


@pytest.mark.parametrize("backend_class", [ConfluentBackend, KafkaPythonBackend])
def test_the_client_libraries_authenticate_themselves_anew_on_the_same_connection(caplog, monkeypatch, backend_class):
    """SEC-35: however late they are on a busy machine, which is why the broker does not end the session here."""
    monkeypatch.setattr(Session, "is_over", lambda *_: False)
    caplog.set_level(logging.DEBUG, connection.__name__)
    runtime = ThreadRuntime()
    with closing(serving("1000")) as cluster, closing(backend_class.connect(client(cluster), runtime)) as backend:
        backend.admin().create_topics([NewTopic("counts")])
        with closing(backend.producer("counts")) as producer:
            producer.init_transactions(WAIT)
            while not renewed(caplog):
                commit_one(producer)


def test_the_memory_client_authenticates_itself_anew_on_the_same_connection(caplog, monkeypatch):
    """SEC-35: before its session is over, by its own clock."""
    caplog.set_level(logging.DEBUG, connection.__name__)
    runtime, late = ThreadRuntime(), [0.0]
    clock = runtime.now
    monkeypatch.setattr(runtime, "now", lambda: clock() + late[0])
    with closing(serving("6000000")) as cluster, closing(MemoryBackend.connect(client(cluster), runtime)) as backend:
        backend.admin().create_topics([NewTopic("counts")])
        with closing(backend.producer("counts")) as producer:
            producer.init_transactions(WAIT)
            before = renewed(caplog)
            late[0] = 5200.0
            commit_one(producer)
            connections = set(authenticated(caplog))
            commit_one(producer)

    assert (before, renewed(caplog)) == (0, 1)
    assert set(authenticated(caplog)) == connections


def ask_for_ever(stranger: Stranger) -> None:
    while stranger.stays_open():
        pass


def commit_one(producer) -> None:
    producer.begin_transaction()
    producer.send(ProducerRecord("counts", b"1"))
    producer.commit_transaction(WAIT)


def authenticated(caplog) -> list[str]:
    """The connections, each as often as it was authenticated."""
    return [found[1] for line in caplog.messages if (found := re.match(r"connection of (.*) is authenticated", line))]


def renewed(caplog) -> int:
    """How often a connection was authenticated beyond the first time, at most."""
    return max(Counter(authenticated(caplog)).values(), default=1) - 1
