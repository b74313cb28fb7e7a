"""The memory client and a secured embedded broker: the same transactions over TLS and SASL, refusals with a remedy."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError, SaslAuthenticationError, SslAuthenticationError
from eosfw.protocols import NewTopic
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.transport.tls_context import TlsSocket
from eosfw_memory.cluster import EmbeddedCluster
from ports import free_ports
from pytest_eos.contracts.backends.harness import BackendHarness, commit, record
from secured_kafka import Authority

WAIT = 30.0
PASSWORD = "s3cret-of-alice"
USERS = f'required user_alice="{PASSWORD}";'
MECHANISMS = {"PLAIN": "PlainLoginModule", "SCRAM-SHA-256": "ScramLoginModule", "SCRAM-SHA-512": "ScramLoginModule"}
SECURED = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
Secured = Callable[..., dict[str, str]]


class Hasty(ThreadRuntime):
    """Does not wait before it asks again."""

    def sleep(self, seconds: float) -> None:
        """Go on at once."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.make(tmp_path_factory.mktemp("authority"))


def start(keystore: Path, authority: Authority, listeners: Mapping[str, int]) -> EmbeddedCluster:
    properties = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items()),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "ssl.keystore.location": str(keystore),
        "ssl.truststore.location": str(authority.ca),
        "ssl.client.auth": "required",
        "connection.failed.authentication.delay.ms": "0",
    }
    users = {
        f"listener.name.{name.lower()}.{mechanism.lower()}.sasl.jaas.config": f"{module} {USERS}"
        for name in listeners
        if name.startswith("SASL")
        for mechanism, module in MECHANISMS.items()
    }
    return EmbeddedCluster.start(properties | users, ThreadRuntime())


@pytest.fixture(scope="module")
def cluster(authority: Authority) -> Iterator[EmbeddedCluster]:
    with closing(start(authority.issue("broker.pem", "127.0.0.1"), authority, dict.fromkeys(SECURED, 0))) as served:
        yield served


@pytest.fixture
def secured(cluster: EmbeddedCluster, authority: Authority) -> Secured:
    """The properties of a client of a listener, some of them changed."""

    def properties(listener: str, mechanism: str = "SCRAM-SHA-512", **changed: str) -> dict[str, str]:
        given = {"bootstrap.servers": cluster.endpoints[listener], "security.protocol": listener}
        if listener.endswith("SSL"):
            given["ssl.truststore.location"] = str(authority.ca)
        if listener == "SSL":
            given["ssl.keystore.location"] = str(authority.issue("client.pem", "alice@example.org"))
        else:
            jaas = f'{MECHANISMS[mechanism]} required username="alice" password="{PASSWORD}";'
            package = "plain" if mechanism == "PLAIN" else "scram"
            given["sasl.mechanism"] = mechanism
            given["sasl.jaas.config"] = f"org.apache.kafka.common.security.{package}.{jaas}"
        return {**given, **{name.replace("_", "."): value for name, value in changed.items()}}

    return properties


def roundtrip(properties: Mapping[str, str], value: bytes) -> list[bytes | None]:
    """Commit a record in a new topic, abort another, read at read_committed."""
    with closing(BackendHarness(MemoryBackend.connect(properties, ThreadRuntime()), ThreadRuntime())) as lab:
        topic, producer = lab.topic(), lab.producer()
        commit(producer, topic, value)
        producer.begin_transaction()
        producer.send(record(topic, b"aborted"))
        producer.flush(WAIT)
        producer.abort_transaction(WAIT)
        return lab.values(topic)


@pytest.mark.parametrize(
    ("listener", "mechanism"), [("SSL", ""), *((each, name) for each in SECURED[1:] for name in MECHANISMS)]
)
def test_a_transaction_is_written_and_read_over_each_protection(
    secured: Secured, listener: str, mechanism: str
) -> None:
    """SEC-26: a record of a megabyte, too, which comes in many pieces of TLS."""
    value = bytes(range(256)) * 3_000

    assert roundtrip(secured(listener, mechanism or "PLAIN"), value) == [value]


def test_a_secured_listener_of_this_process_is_not_called_directly(secured: Secured) -> None:
    """SEC-26: else the tests of an author would pass with a wrong password."""
    with pytest.raises(ConfigError, match="direct calls have neither TLS nor SASL"):
        MemoryBackend.connect(secured("SASL_SSL", eosfw_transport="direct"), ThreadRuntime())


MISTAKES: Mapping[str, tuple[str, dict[str, str], type[Exception], tuple[str, ...]]] = {
    "wrong password": (
        "SASL_SSL",
        {"sasl.password": "gu3ss"},
        SaslAuthenticationError,
        ("refused user 'alice' with SCRAM-SHA-512", "invalid credentials", "Correct sasl.username and sasl.password"),
    ),
    "wrong password, PLAIN": (
        "SASL_PLAINTEXT",
        {"sasl.mechanism": "PLAIN", "sasl.password": "gu3ss"},
        SaslAuthenticationError,
        ("Authentication failed: Invalid username or password", "Correct sasl.username and sasl.password"),
    ),
    "unknown authority": (
        "SASL_SSL",
        {"ssl.truststore.location": "{other}"},
        SslAuthenticationError,
        ("set ssl.truststore.location",),
    ),
    "wrong host name": (
        "SASL_SSL",
        {"bootstrap.servers": "localhost:{port}"},
        SslAuthenticationError,
        ("is for 127.0.0.1, not for localhost", "write one of its names in bootstrap.servers"),
    ),
    "no certificate": ("SSL", {"ssl.keystore.location": ""}, SslAuthenticationError, ("set ssl.keystore.location",)),
    "no TLS": (
        "SASL_SSL",
        {"security.protocol": "SASL_PLAINTEXT"},
        SslAuthenticationError,
        ("answers with TLS", "set security.protocol"),
    ),
    "TLS to a plain listener": (
        "SASL_PLAINTEXT",
        {"security.protocol": "SSL", "sasl.mechanism": "", "sasl.username": "", "sasl.password": ""},
        SslAuthenticationError,
        ("speaks Kafka without TLS", "security.protocol=PLAINTEXT"),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_the_broker_refuses_is_one_sentence_with_the_remedy_at_the_first_call(
    secured: Secured, tmp_path: Path, mistake: str
) -> None:
    """SEC-27: of a client that would wait 30 s for a broker to come back; without the password."""
    listener, changed, error, sentences = MISTAKES[mistake]
    given = secured(listener)
    if listener.startswith("SASL"):
        del given["sasl.jaas.config"]
        given |= {"sasl.username": "alice", "sasl.password": PASSWORD}
    port = given["bootstrap.servers"].rpartition(":")[2]
    other = Authority.make(tmp_path, "another authority").ca
    given |= {name: text.format(port=port, other=other) for name, text in changed.items()}
    properties = {name: text for name, text in given.items() if text}
    with closing(MemoryBackend.connect(properties, Hasty())) as backend, pytest.raises(error) as refused:
        backend.admin().partitions()

    assert all(each in str(refused.value) for each in sentences), str(refused.value)
    assert "\n" not in str(refused.value)
    assert "gu3ss" not in repr(refused.value)


def test_any_host_name_will_do_where_the_properties_say_so(secured: Secured) -> None:
    """SEC-27: by default it will not."""
    given = secured("SASL_SSL", ssl_endpoint_identification_algorithm="none")
    given["bootstrap.servers"] = given["bootstrap.servers"].replace("127.0.0.1", "localhost")
    with closing(MemoryBackend.connect(given, ThreadRuntime())) as backend, closing(backend.admin()) as admin:
        assert admin.partitions() is not None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"sasl.mechanism": "GSSAPI"},
            "sasl.mechanism: this client speaks PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER; take the",
        ),
        (
            {"sasl.mechanism": ""},
            "set sasl.mechanism to one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER; for GSSAPI, Kafka's",
        ),
        ({"ssl.truststore.location": "/nowhere.pem"}, "/nowhere.pem cannot be read"),
        ({"security.protocol": "TLS"}, "it must be one of PLAINTEXT, SSL"),
        ({"ssl.truststore.locaton": "x"}, "did you mean ssl.truststore.location?"),
    ],
)
def test_properties_that_no_connection_can_have_are_refused_before_the_first(
    secured: Secured, changed: dict[str, str], message: str
) -> None:
    """SEC-27."""
    with pytest.raises(ConfigError) as refused:
        MemoryBackend.connect({**secured("SASL_SSL"), **changed}, ThreadRuntime())

    assert message in str(refused.value)
    assert PASSWORD not in repr(refused.value)


def test_a_client_goes_on_where_a_broker_comes_back_with_another_certificate(authority: Authority) -> None:
    """SEC-26: and one that was let in before waits while it is refused, as it does for a broker that is away."""
    ports = dict(zip(("SASL_SSL",), free_ports(1), strict=True))
    address = f"127.0.0.1:{ports['SASL_SSL']}"
    given = {
        "bootstrap.servers": address,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(authority.ca),
    }
    with closing(MemoryBackend.connect(given, ThreadRuntime())) as backend, closing(backend.admin()) as admin:
        with closing(start(authority.issue("first.pem", "127.0.0.1"), authority, ports)):
            admin.create_topics([NewTopic("before")])
        with closing(start(authority.issue("second.pem", "127.0.0.1"), authority, ports)):
            admin.create_topics([NewTopic("behind")])
            assert set(admin.partitions()) == {"behind"}


def test_bytes_that_were_looked_at_are_taken_next(authority: Authority, secured: Secured) -> None:
    """SEC-26: TLS has no MSG_PEEK, by which the client sees whether an answer has come."""
    import socket

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.ca)
    context.sslsocket_class = TlsSocket
    host, _, port = secured("SASL_SSL")["bootstrap.servers"].partition(":")
    opened = context.wrap_socket(socket.create_connection((host, int(port)), WAIT), server_hostname=host)
    opened.setblocking(False)
    with pytest.raises(BlockingIOError):
        opened.recv(1, socket.MSG_PEEK)
    opened.settimeout(WAIT)
    opened.sendall(bytes.fromhex("0000000a 0012 0000 00000007 ffff".replace(" ", "")))  # ApiVersions
    first, again = opened.recv(1, socket.MSG_PEEK), opened.recv(1, socket.MSG_PEEK)
    received = bytearray(8)
    at = 0
    while at < 8:
        at += opened.recv_into(memoryview(received)[at:])
    opened.close()

    assert first == again == received[:1]
    assert received[4:8] == bytes((0, 0, 0, 7))
