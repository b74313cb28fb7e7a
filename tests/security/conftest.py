"""An authority for the session, brokers that speak TLS, and one real Kafka behind it."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trustme

from eosfw.concurrency import ThreadRuntime
from eosfw.security import check_connection, first_authentication, sasl
from real_kafka import RealKafkaUnavailableError
from secured_kafka import PASSWORD, Authority, SecuredKafka

from .tiny_broker import Judge, TinyBroker

SHARED = pytest.StashKey[SecuredKafka]()
"""In the controlling process of pytest-xdist."""
SHARED_FOLDER = pytest.StashKey[TemporaryDirectory[str]]()


WAIT = 30.0


class Hasty(ThreadRuntime):
    """Does not wait before it asks again."""

    def sleep(self, seconds: float) -> None:
        """Go on at once."""


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Signs what brokers and clients present."""
    return Authority.make(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def server_context(authority: Authority) -> Callable[..., ssl.SSLContext]:
    """The TLS of a broker with a certificate for these names."""

    def make(*names: str, until: datetime | None = None, client_authority: trustme.CA | None = None) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.signs.issue_cert(*(names or ("127.0.0.1",)), not_after=until).configure_cert(context)
        if client_authority is not None:
            client_authority.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    return make


@pytest.fixture
def broker() -> Iterator[Callable[..., TinyBroker]]:
    """Starts brokers, which end with the test."""
    with ExitStack() as running:

        def start(context: ssl.SSLContext | None = None, judge: Judge | None = None) -> TinyBroker:
            return running.enter_context(TinyBroker(context, judge))

        yield start


@pytest.fixture
def plain_login() -> Judge:
    """Takes alice with her password."""
    return f"\0alice\0{PASSWORD}".encode().__eq__


@pytest.fixture(autouse=True)
def _patient_first_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a broker, or an endpoint, may answer later than a first contact waits for."""
    monkeypatch.setattr(first_authentication, "check_connection", lambda *who, **_: check_connection(*who[:2], WAIT))
    monkeypatch.setattr(sasl, "TOKEN_WAIT", WAIT)
    monkeypatch.setattr("eosfw.security.check._ALERT_WAIT", WAIT)


@pytest.fixture
def hasty() -> Hasty:
    """A runtime that does not sleep."""
    return Hasty()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let the workers of pytest-xdist share one secured node, where `-m` asks for its tests."""
    config = node.config
    if "kafka" not in config.option.markexpr or "not kafka" in config.option.markexpr:
        return
    if SHARED not in config.stash:
        config.stash[SHARED_FOLDER] = TemporaryDirectory(prefix="eosfw-secured-")
        with suppress(RealKafkaUnavailableError):  # then each worker tries, and says why it cannot
            config.stash[SHARED] = SecuredKafka.start(Path(config.stash[SHARED_FOLDER].name))
    if SHARED in config.stash:
        shared = config.stash[SHARED]
        node.workerinput["eos_secured_kafka"] = (str(shared.authority.folder), dict(shared.listeners))


def pytest_unconfigure(config: pytest.Config) -> None:
    if SHARED in config.stash:
        config.stash[SHARED].stop()
    if SHARED_FOLDER in config.stash:
        config.stash[SHARED_FOLDER].cleanup()


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """One secured node for the session: use topics, ids and users of your own."""
    if shared := getattr(request.config, "workerinput", {}).get("eos_secured_kafka"):
        folder, listeners = shared
        yield SecuredKafka(listeners, Authority.of(Path(folder), tmp_path_factory.mktemp("secured-kafka")))
        return
    node = SecuredKafka.start(tmp_path_factory.mktemp("secured-kafka"))
    try:
        yield node
    finally:
        node.stop()


@pytest.fixture(params=["memory", "confluent", "kafka-python"])
def backend_class(request: pytest.FixtureRequest) -> type[Any]:
    """Each backend."""
    if request.param == "memory":
        from eosfw_memory.client.backend import MemoryBackend

        return MemoryBackend
    if request.param == "confluent":
        from eosfw_confluent.backend import ConfluentBackend

        return ConfluentBackend
    from eosfw_kafka_python.backend import KafkaPythonBackend

    return KafkaPythonBackend


@pytest.fixture(scope="session")
def pkcs12(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bytes, Path], Path]:
    """Makes a PKCS#12 file of a PEM file, with a key if that has one."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
    from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

    folder = tmp_path_factory.mktemp("pkcs12")

    def make(name: str, pem: bytes) -> Path:
        chain = x509.load_pem_x509_certificates(pem)
        key: Any = load_pem_private_key(pem, None) if b"PRIVATE KEY" in pem else None
        own, others = (chain[0], chain[1:]) if key is not None else (None, chain)
        path = folder / name
        path.write_bytes(
            serialize_key_and_certificates(b"one", key, own, others, BestAvailableEncryption(PASSWORD.encode()))
        )
        return path

    return make
