"""TLS at the listeners of the embedded broker."""

from __future__ import annotations

import logging
import logging.handlers
import queue
import ssl
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress

import pytest
import trustme

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.cluster import EmbeddedCluster

from .conftest import PASSWORD, text, trusting
from .sasl_requests import METADATA, Stranger, raw_socket


@pytest.fixture
def logged() -> Iterator[queue.SimpleQueue]:
    """What is logged at level INFO and above, by whatever thread."""
    records, root = queue.SimpleQueue(), logging.getLogger()
    handler, level = logging.handlers.QueueHandler(records), root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield records
    root.removeHandler(handler)
    root.setLevel(level)


METADATA_FIELDS = {"topics": (), "allow_auto_topic_creation": False}
FIND_COORDINATOR, DESCRIBE_CLUSTER = 10, 60


@pytest.mark.parametrize("listener", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_each_listener_sends_clients_to_itself(secured, authority, listener):
    """SEC-20: a client that came by TLS is not sent to a plain port, nor the reverse."""
    tls = None
    if listener.endswith("SSL"):
        tls = trusting(authority)
        tls.load_cert_chain(authority.client)
    client = Stranger(secured.endpoints[listener], tls)
    if listener.startswith("SASL"):
        client.handshake()
        client.authenticate(f"\0alice\0{PASSWORD}".encode())

    [broker] = client.ask(METADATA, 4, **METADATA_FIELDS)["brokers"]
    [coordinator] = client.ask(FIND_COORDINATOR, 4, key_type=0, coordinator_keys=("g",))["coordinators"]
    [described] = client.ask(DESCRIBE_CLUSTER, 0, include_cluster_authorized_operations=False)["brokers"]

    assert {f"{each['host']}:{each['port']}" for each in (broker, coordinator, described)} == {
        secured.endpoints[listener]
    }
    assert len(set(secured.endpoints.values())) == 4
    client.close()


@pytest.mark.parametrize(
    ("wanted", "certificate", "taken"),
    [
        ("none", False, True),
        ("requested", False, True),
        ("requested", True, True),
        ("required", False, False),
        ("required", True, True),
    ],
)
def test_a_client_shows_a_certificate_where_it_must(authority, wanted, certificate, taken):
    """SEC-20."""
    properties = {"ssl.keystore.location": authority.broker, "ssl.truststore.location": authority.authority}
    cluster = EmbeddedCluster.start(
        {"listeners": "SSL://127.0.0.1:0", "ssl.client.auth": wanted} | properties, ThreadRuntime()
    )
    tls = trusting(authority)
    if certificate:
        tls.load_cert_chain(authority.client)
    client = Stranger(cluster.bootstrap_servers, tls)  # TLS 1.3 tells a client later that its certificate is missing

    if taken:
        assert client.stays_open()
    else:
        with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
            client.stays_open()
    client.close()
    cluster.close()


def test_certificates_of_another_authority_are_refused(secured, authority, logged):
    """SEC-20: one line says why, and no error is left for asyncio to report."""
    other = ssl.create_default_context(cafile=authority.authority)
    trustme.CA().issue_cert("eve@example.org").configure_cert(other)
    client = Stranger(secured.endpoints["SSL"], other)
    record = logged.get(timeout=20)
    while client.port not in record.getMessage():  # of another test, whose client had its alert before
        record = logged.get(timeout=20)
    assert client.closed()
    client.close()

    assert "closed: no TLS: CERTIFICATE_VERIFY_FAILED" in record.getMessage()
    assert record.levelno == logging.INFO
    assert logged.empty()


def test_older_tls_is_refused(secured, authority):
    """SEC-20."""
    tls = trusting(authority)
    tls.load_cert_chain(authority.client)
    tls.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        tls.minimum_version = tls.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        Stranger(secured.endpoints["SSL"], tls)


def test_key_and_certificate_may_be_given_as_text(authority):
    """SEC-20: as Kafka's ssl.keystore.key and ssl.keystore.certificate.chain (KIP-651)."""
    key, _, chain = text(authority.broker).partition("-----BEGIN CERTIFICATE")
    given = {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": "-----BEGIN CERTIFICATE" + chain}
    cluster = EmbeddedCluster.start({"listeners": "SSL://localhost:0"} | given, ThreadRuntime())
    client = Stranger(cluster.bootstrap_servers, trusting(authority))

    assert client.stays_open()
    client.close()
    cluster.close()


def test_a_large_answer_comes_whole_through_tls(secured, authority):
    """SEC-20: not past the encryption, as they go through a plain socket."""
    tls = trusting(authority)
    tls.load_cert_chain(authority.client)
    client = Stranger(secured.endpoints["SSL"], tls)
    names = tuple(Fields(name=f"t{number:05}") for number in range(20_000))

    answer = client.ask(METADATA, 4, topics=names, allow_auto_topic_creation=False)

    assert len(answer["topics"]) == len(names)
    client.close()


def test_a_client_without_tls_is_answered_by_an_alert(secured):
    """SEC-20: it can tell what is wrong; asyncio sends none."""
    client = raw_socket(secured.endpoints["SASL_SSL"])
    client.sendall(bytes.fromhex("0000000a00120000"))
    received = client.recv(100)
    client.close()

    assert received[:2] == b"\x15\x03"


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n"])
def test_a_client_that_begins_no_tls_is_closed_in_time_and_holds_up_no_end(authority, sent):
    """SEC-24: and while one is in the middle of it, the broker ends at once."""
    properties = {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.location": authority.broker}
    impatient = EmbeddedCluster.start(properties | {"eosfw.authentication.timeout.ms": "200"}, ThreadRuntime())
    patient = EmbeddedCluster.start(properties | {"eosfw.authentication.timeout.ms": "3600000"}, ThreadRuntime())
    first, second = raw_socket(impatient.bootstrap_servers), raw_socket(patient.bootstrap_servers)
    second.sendall(sent)
    with suppress(ConnectionError):  # it may be closed already
        first.sendall(sent)
        while first.recv(1000):  # an alert may come before the end
            pass
    patient.close()  # joins its thread
    first.close()
    second.close()
    impatient.close()


def test_a_handshake_that_never_ends_takes_a_place_until_its_client_is_gone(authority, until):
    """SEC-37: strangers cannot open more connections by beginning no TLS."""
    properties = {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.location": authority.broker}
    cluster = EmbeddedCluster.start(properties | {"max.connections.per.ip": "1"}, ThreadRuntime())
    stranger = raw_socket(cluster.bootstrap_servers)
    until(lambda: cluster._server._quotas._by_address.total() == 1)

    refused = raw_socket(cluster.bootstrap_servers)
    assert refused.recv(1) == b""
    stranger.close()
    until(lambda: cluster._server._quotas._by_address.total() == 0)

    known = Stranger(cluster.bootstrap_servers, trusting(authority))
    assert known.stays_open()
    for each in (refused, known):
        each.close()
    cluster.close()


def test_an_idle_connection_holds_no_buffer_for_what_it_may_send(authority):
    """SEC-20: asyncio's own TLS would hold 256 KiB for each."""
    cluster = EmbeddedCluster.start(
        {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.location": authority.broker}, ThreadRuntime()
    )
    tracemalloc.start()
    try:
        clients = [Stranger(cluster.bootstrap_servers, trusting(authority)) for _ in range(20)]
        assert all(client.stays_open() for client in clients)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held < len(clients) * 64 * 1024
    for client in clients:
        client.close()
    cluster.close()
